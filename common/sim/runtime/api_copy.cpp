// Copies and fills of linear memory and of variables.
#include "runtime/capture.h"
#include "runtime/transfer.h"

using namespace sim;
using namespace sim::runtime;

// -------------------------------------------------------------------------------------------------------------- copies

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return call("cudaMemcpy", [&](Process& process) { copy(process, to, from, bytes, kind); });
}
SIM_PER_THREAD(cudaMemcpy, _ptds)

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&](Process& process) { in_order(process, stream, copy_of(to, from, bytes, kind)); });
}
SIM_PER_THREAD(cudaMemcpyAsync, _ptsz)

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  return call("cudaMemcpy2D", [&](Process& process) {
    copy(process, to, {to_pitch}, from, {from_pitch}, {width, height}, kind);
  });
}
SIM_PER_THREAD(cudaMemcpy2D, _ptds)

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpy2DAsync", [&](Process& process) {
    in_order(process, stream, copy_of(to, to_pitch, from, from_pitch, width, height, kind));
  });
}
SIM_PER_THREAD(cudaMemcpy2DAsync, _ptsz)

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return call("cudaMemcpy3D", [&](Process& process) { copy(process, result(parameters, "p")); });
}
SIM_PER_THREAD(cudaMemcpy3D, _ptds)

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return call("cudaMemcpy3DAsync", [&](Process& process) { in_order(process, stream, result(parameters, "p")); });
}
SIM_PER_THREAD(cudaMemcpy3DAsync, _ptsz)

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return call("cudaMemcpyPeer", [&](Process& process) {
    check_device(to_device);
    check_device(from_device);
    copy(process, to, from, bytes, cudaMemcpyDeviceToDevice);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  return call("cudaMemcpyPeerAsync", [&](Process& process) {
    check_device(to_device);
    check_device(from_device);
    in_order(process, stream, copy_of(to, from, bytes, cudaMemcpyDeviceToDevice));
  });
}

// --------------------------------------------------------------------------------------------------------------- fills

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return call("cudaMemset", [&](Process& process) {
    enter_stream(process, nullptr);  // the host does not wait for fills
    fill(process, {to, {}, {bytes}, static_cast<uint32_t>(value)});
  });
}
SIM_PER_THREAD(cudaMemset, _ptds)

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync", [&](Process& process) {
    in_order(process, stream, FillCopy{to, {}, {bytes}, static_cast<uint32_t>(value)});
  });
}
SIM_PER_THREAD(cudaMemsetAsync, _ptsz)

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return call("cudaMemset2D", [&](Process& process) {
    enter_stream(process, nullptr);
    fill(process, {to, {pitch}, {width, height}, static_cast<uint32_t>(value)});
  });
}
SIM_PER_THREAD(cudaMemset2D, _ptds)

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  return call("cudaMemset2DAsync", [&](Process& process) {
    in_order(process, stream, FillCopy{to, {pitch}, {width, height}, static_cast<uint32_t>(value)});
  });
}
SIM_PER_THREAD(cudaMemset2DAsync, _ptsz)

cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return call("cudaMemset3D", [&](Process& process) {
    enter_stream(process, nullptr);
    fill(process, {to.ptr,
                   {to.pitch, to.pitch * to.ysize},
                   {extent.width, extent.height, extent.depth},
                   static_cast<uint32_t>(value)});
  });
}
SIM_PER_THREAD(cudaMemset3D, _ptds)

cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return call("cudaMemset3DAsync", [&](Process& process) {
    in_order(process, stream,
             FillCopy{to.ptr,
                      {to.pitch, to.pitch * to.ysize},
                      {extent.width, extent.height, extent.depth},
                      static_cast<uint32_t>(value)});
  });
}
SIM_PER_THREAD(cudaMemset3DAsync, _ptsz)

// ------------------------------------------------------------------------------- __device__, __constant__, __managed__

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return call("cudaMemcpyToSymbol",
              [&](Process& process) { copy(process, copy_to_symbol(process, symbol, from, bytes, offset, kind)); });
}
SIM_PER_THREAD(cudaMemcpyToSymbol, _ptds)

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpyToSymbolAsync", [&](Process& process) {
    in_order(process, stream, copy_to_symbol(process, symbol, from, bytes, offset, kind));
  });
}
SIM_PER_THREAD(cudaMemcpyToSymbolAsync, _ptsz)

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return call("cudaMemcpyFromSymbol",
              [&](Process& process) { copy(process, copy_from_symbol(process, to, symbol, bytes, offset, kind)); });
}
SIM_PER_THREAD(cudaMemcpyFromSymbol, _ptds)

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return call("cudaMemcpyFromSymbolAsync", [&](Process& process) {
    in_order(process, stream, copy_from_symbol(process, to, symbol, bytes, offset, kind));
  });
}
SIM_PER_THREAD(cudaMemcpyFromSymbolAsync, _ptsz)

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  return call("cudaGetSymbolAddress",
              [&](Process& process) { result(pointer, "devPtr") = find_variable(process, symbol).address(process); });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return call("cudaGetSymbolSize", [&](Process& process) {
    DeviceVariable& variable = find_variable(process, symbol);
    variable.address(process);
    result(bytes, "size") = variable.bytes;
  });
}
