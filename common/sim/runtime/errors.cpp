#include "runtime/errors.h"

#include <cctype>
#include <map>
#include <string>
#include <string_view>

#include "runtime/api.h"

namespace sim::runtime {
namespace {

struct ErrorEntry {
  std::string name, text;
};
using Table = std::map<int, ErrorEntry>;

/// The well-known phrases of CUDA for these errors.
std::string_view known_phrase(int error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidPitchValue: return "invalid pitch argument";
    case cudaErrorInvalidSymbol: return "invalid device symbol";
    case cudaErrorInvalidMemcpyDirection: return "invalid copy direction for memcpy";
    case cudaErrorInvalidDeviceFunction: return "invalid device function";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidKernelImage: return "device kernel image is invalid";
    case cudaErrorNoKernelImageForDevice: return "no kernel image is available for execution on the device";
    case cudaErrorInvalidPtx: return "a PTX JIT compilation failed";
    case cudaErrorUnsupportedPtxVersion: return "the provided PTX was compiled with an unsupported toolchain.";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
    case cudaErrorLaunchTimeout: return "the launch timed out and was terminated";
    case cudaErrorAssert: return "device-side assert triggered";
    case cudaErrorIllegalInstruction: return "an illegal instruction was encountered";
    case cudaErrorMisalignedAddress: return "misaligned address";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorCooperativeLaunchTooLarge: return "too many blocks in cooperative launch";
    case cudaErrorNotSupported: return "operation not supported";
    case cudaErrorInvalidClusterSize: return "invalid cluster size";
    case cudaErrorUnknown: return "unknown error";
    default: return "";
  }
}

/// "cudaErrorStreamCaptureMerge" and "CUDA_ERROR_STREAM_CAPTURE_MERGE" -> "stream capture merge".
std::string in_words(std::string_view name) {
  for (const std::string_view prefix : {"cudaError", "cuda", "CUDA_ERROR_", "CUDA_"}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    break;
  }
  std::string words;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    const bool starts_word = i > 0 && std::isupper(c) && std::islower(static_cast<unsigned char>(name[i - 1]));
    if (c == '_' || starts_word) words += ' ';
    if (c != '_') words += static_cast<char>(std::tolower(c));
  }
  return words;
}

ErrorEntry entry(int error, const char* name) {
  const std::string_view phrase = known_phrase(error);
  return {name, phrase.empty() ? in_words(name) : std::string(phrase)};
}

const Table& runtime_table() {
  static const auto& table = *new Table{
#define SIM_ERROR(name) {name, entry(name, #name)},
#include "runtime_errors.inc"
#undef SIM_ERROR
  };
  return table;
}

const Table& driver_table() {
  static const auto& table = *new Table{
#define SIM_ERROR(name) {name, entry(name, #name)},
#include "driver_errors.inc"
#undef SIM_ERROR
  };
  return table;
}

const ErrorEntry* find(const Table& table, int error) {
  const auto found = table.find(error);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace

const char* error_name(int error) {
  const ErrorEntry* known = find(runtime_table(), error);
  return known == nullptr ? nullptr : known->name.c_str();
}

const char* error_text(int error) {
  const ErrorEntry* known = find(runtime_table(), error);
  return known == nullptr ? nullptr : known->text.c_str();
}

const char* driver_error_name(int error) {
  const ErrorEntry* known = find(driver_table(), error);
  return known == nullptr ? nullptr : known->name.c_str();
}

const char* driver_error_text(int error) {
  const ErrorEntry* known = find(driver_table(), error);
  return known == nullptr ? nullptr : known->text.c_str();
}

}  // namespace sim::runtime
