// Results of a launch, with the values of cudaError_t (the simulator proper does not include CUDA headers).
#pragma once

namespace sim {

enum class Status : int {
  Success = 0,
  InvalidValue = 1,
  MemoryAllocation = 2,
  InvalidDeviceFunction = 98,
  InvalidPtx = 218,
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

/// Whether the error has corrupted the context, so that every further call fails; false if the kernel never started.
constexpr bool is_fault(Status status) {
  switch (status) {
    case Status::IllegalAddress:
    case Status::LaunchTimeout:
    case Status::Assert:
    case Status::IllegalInstruction:
    case Status::MisalignedAddress:
    case Status::InvalidAddressSpace:
    case Status::InvalidPc:
    case Status::HardwareStackError:
    case Status::LaunchFailure: return true;
    default: return false;
  }
}

}  // namespace sim
