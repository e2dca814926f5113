// A device that runs nothing: it reads from PTX what the runtime needs to know about kernels, and writes each launch to
// the file that FAKE_DEVICE_LOG names. Kernels whose names contain "faults", "unfit" or "spins" end as such kernels do.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "check/order/launches.h"
#include "device/device.h"

namespace sim {
namespace {

class FakeModule : public DeviceModule {
 public:
  FakeModule(GlobalMemory& memory, const std::string& commented) {
    const std::string text = std::regex_replace(commented, std::regex("//[^\n]*"), "");
    static const std::regex entry(R"(\.entry\s+(\w+)\s*\(([^)]*)\)([^{]*)\{)");
    for (std::sregex_iterator it(text.begin(), text.end(), entry), end; it != end; ++it) {
      add_kernel((*it)[1], (*it)[2], (*it)[3], text);
    }
    static const std::regex variable(R"(\.(global|const)[^;=\[]*\.(b|u|s|f)(8|16|32|64)\s+(\w+)(\[(\d+)\])?)");
    for (std::sregex_iterator it(text.begin(), text.end(), variable), end; it != end; ++it) {
      const std::size_t count = (*it)[6].matched ? std::stoul((*it)[6]) : 1;
      DeviceVariable& v = variables_[(*it)[4]];
      v.bytes = count * std::stoul((*it)[3]) / 8;
      v.address = memory.allocate(v.bytes, (*it)[4], (*it)[1] == "const");
      std::memset(v.address, 0, v.bytes);
    }
  }

  std::vector<KernelInfo> kernels() const {
    std::vector<KernelInfo> all;
    for (const auto& [name, info] : kernels_) all.push_back(info);
    return all;
  }
  const KernelInfo* kernel(std::string_view name) const override {
    const auto found = kernels_.find(std::string(name));
    return found == kernels_.end() ? nullptr : &found->second;
  }
  void* variable(std::string_view name, std::size_t* bytes) const override {
    const auto found = variables_.find(std::string(name));
    if (found == variables_.end()) return nullptr;
    *bytes = found->second.bytes;
    return found->second.address;
  }

 private:
  struct DeviceVariable {
    std::size_t bytes = 0;
    void* address = nullptr;
  };

  void add_kernel(const std::string& name, const std::string& parameters, const std::string& directives,
                  const std::string& text) {
    KernelInfo& info = kernels_[name];
    info.name = name;
    info.target = 0;
    static const std::regex parameter(
        R"(\.param\s+(\.align\s+(\d+)\s+)?\.\w(8|16|32|64)\s*(\.ptr[^,\s]*\s*(\.\w+\s*\d*\s*)*)?(\w+)(\[(\d+)\])?)");
    uint32_t offset = 0;
    for (std::sregex_iterator it(parameters.begin(), parameters.end(), parameter), end; it != end; ++it) {
      const auto unit = static_cast<uint32_t>(std::stoul((*it)[3]) / 8);
      const uint32_t size = (*it)[8].matched ? static_cast<uint32_t>(std::stoul((*it)[8])) : unit;
      const uint32_t align = (*it)[2].matched ? static_cast<uint32_t>(std::stoul((*it)[2])) : unit;
      offset = (offset + align - 1) / align * align;
      info.parameters.push_back({offset, size, align});
      offset += size;
    }
    std::smatch found;
    if (std::regex_search(directives, found, std::regex(R"(\.maxntid\s+(\d+)(,\s*(\d+))?(,\s*(\d+))?)"))) {
      info.max_threads = std::stoi(found[1]);
      if (found[3].matched) info.max_threads *= std::stoi(found[3]);
      if (found[5].matched) info.max_threads *= std::stoi(found[5]);
    }
    if (std::regex_search(directives, found, std::regex(R"(\.reqnctapercluster\s+(\d+)(,\s*(\d+))?(,\s*(\d+))?)"))) {
      for (std::size_t i = 0; i < 3; ++i) {
        info.required_cluster[i] = found[2 * i + 1].matched ? static_cast<uint32_t>(std::stoul(found[2 * i + 1])) : 1;
      }
    }
    info.explicit_cluster = directives.find(".explicitcluster") != std::string::npos;
    if (std::regex_search(text, found, std::regex(R"(\.target\s+sm_(\d+))"))) info.target = std::stoi(found[1]);
    if (std::regex_search(directives, found, std::regex(R"(\.maxnreg\s+(\d+))"))) info.registers = std::stoi(found[1]);
    // Static shared memory is named after its kernel in the tests: <kernel>_static[bytes].
    const std::regex shared(R"(\.shared[^;]*_static\w*\[(\d+)\])");
    if (name.find("static") != std::string::npos && std::regex_search(text, found, shared)) {
      info.static_smem = std::stoul(found[1]);
    }
  }

  std::map<std::string, KernelInfo> kernels_;
  std::map<std::string, DeviceVariable> variables_;
};

}  // namespace

struct Device::Impl {
  std::vector<std::unique_ptr<FakeModule>> modules;
  void log(const std::string& line) {
    const char* file = std::getenv("FAKE_DEVICE_LOG");
    if (file == nullptr) return;
    std::FILE* stream = std::fopen(file, "a");
    std::fprintf(stream, "%s\n", line.c_str());
    std::fclose(stream);
  }
};

Device::Device(Gpu gpu, Options options)
    : gpu_(std::move(gpu)), options_(std::move(options)), memory_(gpu_.global_bytes), impl_(std::make_unique<Impl>()) {
  if (options_.sms > 0) gpu_.sm_count = options_.sms;
}

Device::~Device() = default;

DeviceModule* Device::load(std::string_view text, std::string name, Outcome* outcome, PtxValidation) {
  if (text.find("syntax error") != std::string_view::npos) {
    *outcome = {Status::InvalidPtx, name + ":1: this is not PTX."};
    return nullptr;
  }
  impl_->log("load " + name);
  return impl_->modules.emplace_back(std::make_unique<FakeModule>(memory_, std::string(text))).get();
}

DeviceModule* Device::load(std::span<const std::string_view> texts, std::string name, Outcome* outcome,
                           PtxValidation judged) {
  std::string all;
  for (const std::string_view text : texts) all.append(text);
  return load(all, std::move(name), outcome, judged);
}

std::vector<KernelInfo> Device::kernels_of(std::string_view text) {
  GlobalMemory memory(size_t{1} << 24);
  return FakeModule(memory, std::string(text)).kernels();
}

Outcome Device::launch(DeviceModule&, const KernelInfo& kernel, const LaunchConfig& config, void* const* arguments) {
  const auto list = [](const auto& dim) {
    return std::to_string(dim[0]) + "," + std::to_string(dim[1]) + "," + std::to_string(dim[2]);
  };
  std::string line = "launch " + kernel.name + " grid " + list(config.grid) + " block " + list(config.block) +
                     " cluster " + list(config.cluster) + " smem " + std::to_string(config.dynamic_smem) + " arguments";
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    line += ' ';
    for (uint32_t byte = 0; byte < kernel.parameters[i].size; ++byte) {
      char hex[3];
      std::snprintf(hex, sizeof hex, "%02x", static_cast<const unsigned char*>(arguments[i])[byte]);
      line += hex;
    }
  }
  impl_->log(line);
  const auto fault = [&](Status status, const std::string& what) {
    return Outcome{.status = status, .findings = {{.kind = Finding::Kind::Fault, .kernel = kernel.name, .what = what}}};
  };
  if (kernel.name.find("faults") != std::string::npos) { return fault(Status::IllegalAddress, "a store went astray"); }
  if (kernel.name.find("spins") != std::string::npos) return fault(Status::LaunchTimeout, "no progress");
  if (kernel.name.find("unfit") != std::string::npos)
    return {Status::LaunchOutOfResources, kernel.name + " does not fit"};
  return {};
}

int Device::max_active_clusters(const KernelInfo& kernel, const LaunchConfig& config) const {
  const auto ctas = static_cast<int>(std::max(1u, config.cluster[0] * config.cluster[1] * config.cluster[2]));
  const int threads = static_cast<int>(config.block[0] * config.block[1] * config.block[2]);
  return max_active_blocks_per_sm(kernel, threads, config.dynamic_smem) * gpu_.sm_count / ctas;
}

int Device::max_active_blocks_per_sm(const KernelInfo& kernel, int threads, std::size_t dynamic_smem) const {
  const auto smem = static_cast<int>(kernel.static_smem + dynamic_smem) + static_cast<int>(Gpu::smem_reserved);
  return std::min({gpu_.blocks_per_sm, gpu_.threads_per_sm / threads, gpu_.smem_per_sm / smem});
}

Outcome Device::settle() { return {}; }

void Device::note_useful_flops(uint64_t) {}
void Device::name_shared(std::vector<SharedName>) {}

bool Device::finish() {
  impl_->log("finish");
  return !options_.counters_file.ends_with("unwritable");
}

}  // namespace sim
