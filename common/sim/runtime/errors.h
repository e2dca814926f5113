// Names and texts of error codes.
#pragma once

namespace sim::runtime {

/// "cudaErrorInvalidValue", or nullptr for a number that is no error code.
const char* error_name(int error);
/// "invalid argument": the well-known phrase where there is one, otherwise the name in words.
const char* error_text(int error);

/// The same for the driver's codes: "CUDA_ERROR_INVALID_VALUE".
const char* driver_error_name(int error);
const char* driver_error_text(int error);

}  // namespace sim::runtime
