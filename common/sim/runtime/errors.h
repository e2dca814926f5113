// Names and texts of error codes.
#pragma once

namespace sim::runtime {

/// "cudaErrorInvalidValue", or nullptr for a number that is not an error code.
const char* error_name(int error);
/// "invalid argument": CUDA's phrase if it is well known, otherwise the name split into words.
const char* error_text(int error);

/// The same name for the driver's codes: "CUDA_ERROR_INVALID_VALUE".
const char* driver_error_name(int error);
const char* driver_error_text(int error);

}  // namespace sim::runtime
