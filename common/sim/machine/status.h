// How a launch can end, in the numbers of cudaError_t (the simulator proper does not include CUDA headers).
#pragma once

namespace sim {

enum class Status : int {
  Success = 0,
  InvalidValue = 1,
  MemoryAllocation = 2,
  InvalidDeviceFunction = 98,
  NoKernelImage = 209,
  InvalidPtx = 218,
  UnsupportedPtxVersion = 222,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,
  Assert = 710,
  HardwareStackError = 714,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  InvalidAddressSpace = 717,
  InvalidPc = 718,
  LaunchFailure = 719,
  NotSupported = 801,
};

}  // namespace sim
