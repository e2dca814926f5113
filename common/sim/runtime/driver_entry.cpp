// Driver functions by name, for programs that look them up instead of linking libcuda.

#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/driver.h"

using namespace sim;
using namespace sim::runtime;

namespace {

struct Known {
  void* function;
  int since;  ///< the first CUDA version with the function, if programs depend on it
};

const std::unordered_map<std::string_view, Known>& entries() {
// A name without a version suffix refers to the function to which cuda.h maps it; the string is the name itself.
#define SIM_ENTRY(name)                          \
  {                                              \
#name, { reinterpret_cast<void*>(&name), 0 } \
  }
#define SIM_ENTRY_SINCE(name, since)                 \
  {                                                  \
#name, { reinterpret_cast<void*>(&name), since } \
  }
  static const auto& known = *new std::unordered_map<std::string_view, Known>{
      SIM_ENTRY(cuInit),
      SIM_ENTRY(cuDriverGetVersion),
      SIM_ENTRY(cuGetErrorName),
      SIM_ENTRY(cuGetErrorString),
      SIM_ENTRY(cuGetProcAddress),
      SIM_ENTRY(cuDeviceGet),
      SIM_ENTRY(cuDeviceGetCount),
      SIM_ENTRY(cuDeviceGetName),
      SIM_ENTRY(cuDeviceGetUuid),
      SIM_ENTRY(cuDeviceTotalMem),
      SIM_ENTRY(cuDeviceGetAttribute),
      SIM_ENTRY(cuDeviceGetPCIBusId),
      SIM_ENTRY(cuDeviceCanAccessPeer),
      SIM_ENTRY(cuDevicePrimaryCtxRetain),
      SIM_ENTRY(cuDevicePrimaryCtxRelease),
      SIM_ENTRY(cuDevicePrimaryCtxReset),
      SIM_ENTRY(cuDevicePrimaryCtxSetFlags),
      SIM_ENTRY(cuDevicePrimaryCtxGetState),
      SIM_ENTRY(cuCtxCreate),
      SIM_ENTRY(cuCtxDestroy),
      SIM_ENTRY(cuCtxPushCurrent),
      SIM_ENTRY(cuCtxPopCurrent),
      SIM_ENTRY(cuCtxSetCurrent),
      SIM_ENTRY(cuCtxGetCurrent),
      SIM_ENTRY(cuCtxGetDevice),
      SIM_ENTRY(cuCtxGetFlags),
      SIM_ENTRY(cuCtxGetId),
      SIM_ENTRY(cuCtxGetApiVersion),
      SIM_ENTRY(cuCtxSynchronize),
      SIM_ENTRY(cuCtxSetLimit),
      SIM_ENTRY(cuCtxGetLimit),
      SIM_ENTRY(cuCtxGetStreamPriorityRange),
      SIM_ENTRY(cuCtxResetPersistingL2Cache),
      SIM_ENTRY(cuMemGetInfo),
      SIM_ENTRY(cuMemAlloc),
      SIM_ENTRY(cuMemAllocManaged),
      SIM_ENTRY(cuMemAllocAsync),
      SIM_ENTRY(cuMemFree),
      SIM_ENTRY(cuMemFreeAsync),
      SIM_ENTRY(cuMemAllocHost),
      SIM_ENTRY(cuMemHostAlloc),
      SIM_ENTRY(cuMemFreeHost),
      SIM_ENTRY(cuMemGetAddressRange),
      SIM_ENTRY(cuPointerGetAttribute),
      SIM_ENTRY(cuMemcpy),
      SIM_ENTRY(cuMemcpyHtoD),
      SIM_ENTRY(cuMemcpyDtoH),
      SIM_ENTRY(cuMemcpyDtoD),
      SIM_ENTRY(cuMemcpyHtoDAsync),
      SIM_ENTRY(cuMemcpyDtoHAsync),
      SIM_ENTRY(cuMemcpyDtoDAsync),
      SIM_ENTRY(cuMemsetD8),
      SIM_ENTRY(cuMemsetD16),
      SIM_ENTRY(cuMemsetD32),
      SIM_ENTRY(cuMemsetD8Async),
      SIM_ENTRY(cuStreamWriteValue32),
      SIM_ENTRY(cuMemsetD16Async),
      SIM_ENTRY(cuMemsetD32Async),
      SIM_ENTRY(cuModuleLoad),
      SIM_ENTRY(cuModuleLoadData),
      SIM_ENTRY(cuModuleLoadDataEx),
      SIM_ENTRY(cuModuleLoadFatBinary),
      SIM_ENTRY(cuModuleUnload),
      SIM_ENTRY(cuModuleGetFunction),
      SIM_ENTRY(cuModuleGetGlobal),
      SIM_ENTRY(cuModuleGetLoadingMode),
      SIM_ENTRY_SINCE(cuLibraryLoadData, 12000),
      SIM_ENTRY_SINCE(cuLibraryUnload, 12000),
      SIM_ENTRY_SINCE(cuLibraryGetKernel, 12000),
      SIM_ENTRY_SINCE(cuLibraryGetGlobal, 12000),
      SIM_ENTRY_SINCE(cuKernelGetFunction, 12000),
      SIM_ENTRY_SINCE(cuKernelSetAttribute, 12000),
      SIM_ENTRY(cuFuncGetAttribute),
      SIM_ENTRY(cuFuncSetAttribute),
      SIM_ENTRY(cuFuncSetCacheConfig),
      SIM_ENTRY(cuFuncGetName),
      SIM_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor),
      SIM_ENTRY(cuOccupancyMaxActiveClusters),
      SIM_ENTRY(cuLaunchKernel),
      SIM_ENTRY_SINCE(cuLaunchKernelEx, 11060),
      SIM_ENTRY(cuStreamCreate),
      SIM_ENTRY(cuStreamCreateWithPriority),
      SIM_ENTRY(cuStreamDestroy),
      SIM_ENTRY(cuStreamSynchronize),
      SIM_ENTRY(cuStreamQuery),
      SIM_ENTRY(cuStreamWaitEvent),
      SIM_ENTRY(cuStreamIsCapturing),
      SIM_ENTRY(cuStreamGetCtx),
      SIM_ENTRY(cuEventCreate),
      SIM_ENTRY(cuEventDestroy),
      SIM_ENTRY(cuEventRecord),
      SIM_ENTRY(cuEventQuery),
      SIM_ENTRY(cuEventSynchronize),
      SIM_ENTRY(cuEventElapsedTime),
      SIM_ENTRY(cuGraphCreate),
      SIM_ENTRY(cuGraphDestroy),
      SIM_ENTRY(cuGraphClone),
      SIM_ENTRY(cuGraphNodeFindInClone),
      SIM_ENTRY(cuGraphGetNodes),
      SIM_ENTRY(cuGraphGetRootNodes),
      SIM_ENTRY(cuGraphGetEdges),
      SIM_ENTRY(cuGraphNodeGetDependencies),
      SIM_ENTRY(cuGraphNodeGetDependentNodes),
      SIM_ENTRY(cuGraphAddDependencies),
      SIM_ENTRY(cuGraphRemoveDependencies),
      SIM_ENTRY(cuGraphDestroyNode),
      SIM_ENTRY(cuGraphNodeGetType),
      SIM_ENTRY(cuGraphAddEmptyNode),
      SIM_ENTRY(cuGraphAddKernelNode),
      SIM_ENTRY(cuGraphKernelNodeGetParams),
      SIM_ENTRY(cuGraphKernelNodeSetParams),
      SIM_ENTRY(cuGraphAddMemcpyNode),
      SIM_ENTRY(cuGraphMemcpyNodeSetParams),
      SIM_ENTRY(cuGraphAddMemsetNode),
      SIM_ENTRY(cuGraphMemsetNodeGetParams),
      SIM_ENTRY(cuGraphMemsetNodeSetParams),
      SIM_ENTRY(cuGraphAddHostNode),
      SIM_ENTRY(cuGraphHostNodeGetParams),
      SIM_ENTRY(cuGraphHostNodeSetParams),
      SIM_ENTRY(cuGraphAddChildGraphNode),
      SIM_ENTRY(cuGraphChildGraphNodeGetGraph),
      SIM_ENTRY(cuGraphAddEventRecordNode),
      SIM_ENTRY(cuGraphAddEventWaitNode),
      SIM_ENTRY(cuGraphInstantiate),
      SIM_ENTRY(cuGraphExecGetFlags),
      SIM_ENTRY(cuGraphExecDestroy),
      SIM_ENTRY(cuGraphUpload),
      SIM_ENTRY(cuGraphLaunch),
      SIM_ENTRY(cuGraphExecUpdate),
      SIM_ENTRY(cuGraphExecKernelNodeSetParams),
      SIM_ENTRY(cuGraphExecMemcpyNodeSetParams),
      SIM_ENTRY(cuGraphExecMemsetNodeSetParams),
      SIM_ENTRY(cuGraphExecHostNodeSetParams),
      SIM_ENTRY(cuGraphExecChildGraphNodeSetParams),
      SIM_ENTRY(cuGraphNodeSetEnabled),
      SIM_ENTRY(cuGraphNodeGetEnabled),
      SIM_ENTRY(cuStreamBeginCapture),
      SIM_ENTRY(cuStreamEndCapture),
      SIM_ENTRY(cuMemcpyAsync),
      SIM_ENTRY(cuMemcpy2D),
      SIM_ENTRY(cuMemcpy2DUnaligned),
      SIM_ENTRY(cuMemcpy2DAsync),
      SIM_ENTRY(cuMemcpy3D),
      SIM_ENTRY(cuMemcpy3DAsync),
      SIM_ENTRY(cuMemAllocPitch),
      SIM_ENTRY(cuMemHostRegister),
      SIM_ENTRY(cuMemHostUnregister),
      SIM_ENTRY(cuMemHostGetDevicePointer),
      SIM_ENTRY(cuMemHostGetFlags),
      SIM_ENTRY(cuStreamGetFlags),
      SIM_ENTRY(cuStreamGetPriority),
      SIM_ENTRY(cuStreamGetId),
      SIM_ENTRY(cuStreamGetDevice),
      SIM_ENTRY(cuThreadExchangeStreamCaptureMode),
      SIM_ENTRY(cuLaunchHostFunc),
      SIM_ENTRY(cuStreamAddCallback),
      SIM_ENTRY(cuEventRecordWithFlags),
      SIM_ENTRY(cuLaunchCooperativeKernel),
      SIM_ENTRY(cuOccupancyMaxPotentialClusterSize),
      SIM_ENTRY(cuKernelGetName),
      SIM_ENTRY(cuKernelGetAttribute),
      SIM_ENTRY(cuFuncLoad),
      SIM_ENTRY(cuFuncIsLoaded),
      SIM_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags),
      SIM_ENTRY(cuOccupancyAvailableDynamicSMemPerBlock),
      SIM_ENTRY(cuOccupancyMaxPotentialBlockSize),
      SIM_ENTRY(cuOccupancyMaxPotentialBlockSizeWithFlags),
      SIM_ENTRY(cuLibraryLoadFromFile),
      SIM_ENTRY(cuDeviceGetByPCIBusId),
      SIM_ENTRY(cuDeviceGetDefaultMemPool),
      SIM_ENTRY(cuDeviceGetMemPool),
      SIM_ENTRY(cuMemGetAllocationGranularity),
      SIM_ENTRY(cuMemAddressReserve),
      SIM_ENTRY(cuMemAddressFree),
      SIM_ENTRY(cuMemCreate),
      SIM_ENTRY(cuMemRelease),
      SIM_ENTRY(cuMemMap),
      SIM_ENTRY(cuMemUnmap),
      SIM_ENTRY(cuMemSetAccess),
      SIM_ENTRY(cuMemGetAccess),
      SIM_ENTRY(cuMemRetainAllocationHandle),
      SIM_ENTRY(cuMemGetAllocationPropertiesFromHandle),
      SIM_ENTRY(cuMemExportToShareableHandle),
      SIM_ENTRY(cuMemImportFromShareableHandle),
      SIM_ENTRY(cuMemPoolSetAttribute),
      SIM_ENTRY(cuMemPoolGetAttribute),
      SIM_ENTRY(cuMemPoolTrimTo),
      SIM_ENTRY(cuMemPoolCreate),
      SIM_ENTRY(cuMemPoolDestroy),
      SIM_ENTRY(cuMemAllocFromPoolAsync),
      SIM_ENTRY(cuLinkCreate),
      SIM_ENTRY(cuLinkAddData),
      SIM_ENTRY(cuLinkComplete),
      SIM_ENTRY(cuLinkDestroy),
      SIM_ENTRY(cuGetExportTable),
      SIM_ENTRY_SINCE(cuMemAdvise, 13000),
      SIM_ENTRY_SINCE(cuMemPrefetchAsync, 13000),
      SIM_ENTRY_SINCE(cuTensorMapEncodeTiled, 12000),
      SIM_ENTRY_SINCE(cuTensorMapEncodeIm2col, 12000),
      SIM_ENTRY_SINCE(cuTensorMapEncodeIm2colWide, 12080),
      SIM_ENTRY_SINCE(cuTensorMapReplaceAddress, 12000),
  };
#undef SIM_ENTRY
#undef SIM_ENTRY_SINCE
  return known;
}

struct DriverEntry {
  void* function = nullptr;  ///< nullptr: not found, or too new for the caller
  bool too_new = false;      ///< it exists, but not in the CUDA version that the caller requests
};

/// `version` is the CUDA version (12000) that defines the meaning of the name.
DriverEntry find_driver_entry(const char* name, int version) {
  // cuMemAlloc_v2 and cuMemcpyHtoD_v2_ptds are other spellings of names in the table.
  std::string_view base = name;
  for (const std::string_view suffix : {"_ptsz", "_ptds", "_v2", "_v3", "_v4"}) {
    if (base.ends_with(suffix)) base.remove_suffix(suffix.size());
  }
  const auto found = entries().find(base);
  if (found == entries().end()) return {};
  if (version < found->second.since) return {nullptr, true};
  return {found->second.function, false};
}

}  // namespace

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  if (name == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const DriverEntry entry = find_driver_entry(name, version);
  *function = entry.function;
  const CUdriverProcAddressQueryResult answer = entry.function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                                                : entry.too_new           ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                                                          : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (status != nullptr) *status = answer;
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  return query("cudaGetDriverEntryPoint", [&](Process&) {
    const DriverEntry entry = find_driver_entry(&result(name, "symbol"), static_cast<int>(version));
    result(function, "funcPtr") = entry.function;
    if (status != nullptr) {
      *status = entry.function != nullptr ? cudaDriverEntryPointSuccess
                : entry.too_new           ? cudaDriverEntryPointVersionNotSufficent
                                          : cudaDriverEntryPointSymbolNotFound;
    }
    if (entry.function == nullptr && !entry.too_new) {
      // PyTorch asks for a dozen at each import, and uses none.
      static const std::string first = name;
      say(
          format("cudaGetDriverEntryPoint: the program asks for functions that are not simulated, for %s first; it is "
                 "told that the driver lacks them.",
                 first.c_str()));
    }
  });
}
SIM_PER_THREAD(cudaGetDriverEntryPointByVersion, _ptsz)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(name, function, CUDART_VERSION, flags, status);
}
SIM_PER_THREAD(cudaGetDriverEntryPoint, _ptsz)
#pragma GCC diagnostic pop
