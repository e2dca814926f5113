// Device attributes, as programs query them.
#pragma once

#include <optional>

#include "machine/gpu.h"
#include "runtime/api.h"

namespace sim::runtime {

/// The value of a device attribute, or nothing if there is no attribute with this number. The runtime's cudaDevAttr...
/// and the driver's CU_DEVICE_ATTRIBUTE_... have the same numbers. Where the simulated device lacks something that the
/// real GPU has (interprocess events, for example), the value says that it is not supported.
std::optional<int> device_attribute(const Gpu& gpu, int attribute);

cudaDeviceProp device_properties(const Gpu& gpu);

}  // namespace sim::runtime
