#include "environment.h"

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "text.h"

namespace harness {
namespace {

std::string executable_folder() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return ".";
  const std::string text(path, static_cast<size_t>(length));
  return text.substr(0, text.rfind('/') + 1);
}

/// The first line that a shell command prints, or nothing if it fails.
std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  char line[256] = "";
  if (std::fgets(line, sizeof line, pipe) == nullptr) line[0] = '\0';
  if (::pclose(pipe) != 0) return "";
  std::string text = line;
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string version_text(int number) { return format("%d.%d", number / 1000, number / 10 % 100); }

}  // namespace

std::string toolkit_version() { return version_text(CUDART_VERSION); }

std::string commit_id() {
  if (const char* commit = std::getenv("LADDER_COMMIT")) return commit;
  return output_of("git -C " + shell_quoted(executable_folder()) +
                   " describe --always --dirty --abbrev=7 --exclude='*' 2>/dev/null");
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Environment describe(const Device& device, const Nvml* nvml, const std::string& cublas_version) {
  Environment environment;
  environment.simulated = device.simulated;
  environment.gpu = device.name();
  environment.cuda = toolkit_version();
  environment.cublas = cublas_version;
  if (device.simulated) return environment;
  if (nvml != nullptr) {
    environment.driver = nvml->driver();
    environment.power_cap_w = nvml->power_cap_w();
  }
  int supported = 0;
  if (environment.driver.empty() && cudaDriverGetVersion(&supported) == cudaSuccess) {
    environment.driver = "CUDA " + version_text(supported);
  }
  return environment;
}

}  // namespace harness
