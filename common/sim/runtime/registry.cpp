#include "runtime/registry.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "runtime/process.h"

namespace sim::runtime {
namespace {

/// The file name of the executable or library whose data contains `address`.
std::string object_that_holds(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr || *info.dli_fname == '\0') return "The program";
  const std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

Binary::Binary(const void* data, std::string label) : data_(data), label_(std::move(label)) {}

void Binary::read() {
  if (read_) return;
  read_ = true;
  try {
    switch (recognise(data_)) {
      case ImageFormat::Wrapper: containers_ = read_wrapper(data_); break;
      case ImageFormat::Container:
        containers_ = {read_container({static_cast<const uint8_t*>(data_), readable_bytes(data_)})};
        break;
      case ImageFormat::Machine:
        problem_ =
            "is machine code without PTX, but the simulated device runs only PTX. Ask its compiler for PTX: nvcc "
            "with "
            "-gencode arch=compute_100a,code=compute_100a, NVRTC with nvrtcGetPTX, nvJitLink with -ptx, cuda.core with "
            "compile(\"ptx\"), CuPy with CUPY_COMPILE_WITH_PTX=1 in the environment";
        break;
      case ImageFormat::Other: {
        const auto* text = static_cast<const char*>(data_);
        bare_text_.assign(text, strnlen(text, readable_bytes(data_)));
        if (parse_target(ptx_target(bare_text_)).arch == 0) problem_ = "is neither a fat binary nor PTX";
        break;
      }
    }
  } catch (const FatbinError& error) {
    problem_ = std::string("holds a fat binary that cannot be used: ") + error.what();
  }
}

int Binary::newest_arch() {
  read();
  const std::vector<std::string> keys = gpu_keys();
  const auto runs_somewhere = [&](const Image& image) {
    return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) { return image.runs_on(*find_gpu(key)); });
  };
  // Libraries that nvcc links (cudadevrt) contain PTX for GPUs that are not simulated.
  int usable = 0, ptx = parse_target(ptx_target(bare_text_)).arch, any = 0;
  for (const auto& container : containers_) {
    for (const Image& image : container) {
      any = std::max(any, image.arch);
      if (image.kind == Image::Kind::Ptx) ptx = std::max(ptx, image.arch);
      if (runs_somewhere(image)) usable = std::max(usable, image.arch);
    }
  }
  return usable > 0 ? usable : ptx > 0 ? ptx : any;
}

bool Binary::defines_one_of(const std::vector<std::string>& kernels) const {
  return std::any_of(kernel_names_.begin(), kernel_names_.end(), [&](const std::string& name) {
    return std::find(kernels.begin(), kernels.end(), name) != kernels.end();
  });
}

std::vector<std::string> Binary::choose_texts(const Gpu& gpu) const {
  if (!problem_.empty()) refuse(cudaErrorInvalidKernelImage, "%s %s.", label_.c_str(), problem_.c_str());
  std::vector<Image> all;
  std::vector<std::string> texts;
  if (!bare_text_.empty()) {
    all.push_back(parse_target(ptx_target(bare_text_)));
    if (all.back().runs_on(gpu)) texts.push_back(bare_text_);
  }
  for (const auto& container : containers_) {
    all.insert(all.end(), container.begin(), container.end());
    const Image* image = choose(container, gpu);
    if (image == nullptr) continue;
    try {
      texts.push_back(image->text());
    } catch (const FatbinError& error) {
      refuse(cudaErrorInvalidKernelImage, "%s holds a fat binary that cannot be used: %s.", label_.c_str(),
             error.what());
    }
  }
  if (texts.empty()) refuse(cudaErrorNoKernelImageForDevice, "%s", explain_no_choice(all, gpu, label_).c_str());
  return texts;
}

void Binary::read_resources(const Gpu& gpu) {
  for (const auto& container : containers_) {
    for (const Image& image : container) {
      if (!image.is_for(gpu)) continue;
      try {
        const std::string elf = image.bytes();
        // The linked machine code comes last and is the valid one.
        for (auto& [name, resources] : resources_in({reinterpret_cast<const uint8_t*>(elf.data()), elf.size()}))
          resources_[name] = resources;
      } catch (const FatbinError&) {}  // only the PTX must be intact
    }
  }
}

const KernelResources* Binary::resources(const std::string& kernel) const {
  const auto found = resources_.find(kernel);
  return found == resources_.end() ? nullptr : &found->second;
}

/// The program passes arguments as its own kernels declare them, so a replacement must have the same parameters.
void Binary::compare_parameters(const Replacement& replacement, const Gpu& gpu) const {
  std::vector<KernelInfo> own;
  for (const auto& container : containers_) {
    const Image* const image = choose(container, gpu);
    if (image == nullptr) continue;
    try {
      for (KernelInfo& kernel : Device::kernels_of(image->text())) own.push_back(std::move(kernel));
    } catch (const FatbinError&) {}  // reported when that code is needed
  }
  const auto sizes = [](const KernelInfo& kernel) {
    std::string list;
    for (const KernelInfo::Parameter& parameter : kernel.parameters)
      list += (list.empty() ? "" : ", ") + grouped(parameter.size);
    return list.empty() ? std::string("none") : list;
  };
  for (const KernelInfo& theirs : Device::kernels_of(replacement.text)) {
    const auto ours = std::find_if(own.begin(), own.end(), [&](const KernelInfo& k) { return k.name == theirs.name; });
    if (ours == own.end()) continue;
    const bool same =
        std::equal(ours->parameters.begin(), ours->parameters.end(), theirs.parameters.begin(), theirs.parameters.end(),
                   [](const auto& a, const auto& b) { return a.offset == b.offset && a.size == b.size; });
    if (!same) {
      refuse(cudaErrorInvalidPtx,
             "%s: the kernel %s has parameters of these sizes: %s. The program passes arguments of these sizes: %s.",
             replacement.file.c_str(), readable_name(theirs.name).c_str(), sizes(theirs).c_str(), sizes(*ours).c_str());
    }
  }
}

DeviceModule& Binary::module(Process& process) {
  if (module_ != nullptr) return *module_;
  read();
  const Gpu& gpu = process.gpu();
  std::string origin = label_;
  Device::PtxValidation judged = Device::PtxValidation::WhenExecuted;
  const Replacement* replacement = process.replacement();
  if (replacement != nullptr && defines_one_of(replacement->kernels)) {
    origin = replacement->file;
    const Image target = parse_target(ptx_target(replacement->text));
    if (!target.runs_on(gpu)) {
      refuse(cudaErrorNoKernelImageForDevice, "%s", explain_no_choice({target}, gpu, origin).c_str());
    }
    compare_parameters(*replacement, gpu);
    texts_ = {replacement->text};
    judged = Device::PtxValidation::Whole;
  } else {
    texts_ = choose_texts(gpu);
    read_resources(gpu);
    if (!bare_text_.empty()) judged = Device::PtxValidation::Whole;
  }

  Outcome outcome;
  const std::vector<std::string_view> texts(texts_.begin(), texts_.end());
  module_ = process.device().load(texts, origin, &outcome, judged);
  if (module_ == nullptr) refuse(static_cast<cudaError_t>(outcome.status), "%s", outcome.report.c_str());
  if (process.recorder() != nullptr) process.recorder()->loaded(module_, texts_, origin, judged);
  process.registry.place_managed(this, process, false);
  return *module_;
}

void Kernel::load(Process& process) {
  if (info_) return;
  module_ = &binary->module(process);
  const KernelInfo* const known = module_->kernel(name);
  if (known == nullptr) {
    refuse(cudaErrorInvalidDeviceFunction, "the PTX of %s does not define the kernel %s.", binary->label().c_str(),
           readable_name(name).c_str());
  }
  info_ = *known;
  if (const KernelResources* const made = binary->resources(name)) {
    info_->registers = made->registers;
    info_->local_bytes = static_cast<std::size_t>(made->local_bytes);
  }
}

DeviceModule& Kernel::module(Process& process) {
  load(process);
  return *module_;
}

const KernelInfo& Kernel::info(Process& process) {
  load(process);
  return *info_;
}

void* DeviceVariable::find(Process& process) {
  if (address_ != nullptr) return address_;
  std::size_t placed_bytes = 0;
  return address_ = binary->module(process).variable(name, &placed_bytes);
}

void* DeviceVariable::address(Process& process) {
  if (void* const found = find(process)) return found;
  refuse(cudaErrorInvalidSymbol, "the PTX of %s does not define the variable %s.", binary->label().c_str(),
         name.c_str());
}

Binary* Registry::add_binary(const void* wrapper) {
  return binaries_.emplace_back(std::make_shared<Binary>(wrapper, object_that_holds(wrapper))).get();
}

Binary* Registry::add_library(const void* data, std::string label) {
  return binaries_.emplace_back(std::make_shared<Binary>(data, std::move(label))).get();
}

void Registry::remove_binary(Binary* binary) {
  std::erase_if(kernels_, [&](const auto& entry) { return entry.second->binary.get() == binary; });
  std::erase_if(variables_, [&](const auto& entry) { return entry.second.binary.get() == binary; });
  std::erase_if(binaries_, [&](const auto& known) { return known.get() == binary; });
}

std::shared_ptr<Binary> Registry::owner(const Binary* binary) const {
  const auto known = std::find_if(binaries_.begin(), binaries_.end(), [&](const auto& b) { return b.get() == binary; });
  return known == binaries_.end() ? nullptr : *known;
}

Kernel* Registry::add_kernel(Binary* binary, const void* host_function, std::string name) {
  const auto kernel = std::make_shared<Kernel>();
  kernel->binary = owner(binary);
  kernel->name = std::move(name);
  if (kernel->binary == nullptr) return nullptr;
  kernel->binary->expect_kernel(kernel->name);
  kernels_[kernel.get()] = kernel;
  if (host_function != nullptr) kernels_[host_function] = kernel;
  return kernel.get();
}

void Registry::add_variable(Binary* binary, const void* host_variable, const char* name, std::size_t bytes,
                            void** managed) {
  DeviceVariable variable;
  variable.binary = owner(binary);
  variable.name = name;
  variable.bytes = bytes;
  variable.managed = managed;
  if (variable.binary != nullptr) variables_[host_variable] = variable;
}

Kernel* Registry::find_kernel(const void* function) {
  const auto found = kernels_.find(function);
  return found == kernels_.end() ? nullptr : found->second.get();
}

DeviceVariable* Registry::find_variable(const void* host_variable) {
  const auto found = variables_.find(host_variable);
  return found == variables_.end() ? nullptr : &found->second;
}

Kernel* Registry::library_kernel(Binary* library, std::string_view name, Process& process) {
  for (const auto& [key, kernel] : kernels_) {
    if (kernel->binary.get() == library && kernel->name == name) return kernel.get();
  }
  if (library->module(process).kernel(name) == nullptr) return nullptr;
  return add_kernel(library, nullptr, std::string(name));
}

void Registry::place_managed(Binary* binary, Process& process, bool in_use) {
  for (auto& [host, variable] : variables_) {
    if (variable.managed == nullptr || variable.binary.get() != binary) continue;
    *variable.managed = in_use ? variable.address(process) : variable.find(process);
    if (process.recorder() != nullptr && *variable.managed != nullptr && !in_use)
      process.recorder()->shared_with_host(*variable.managed, variable.bytes);
  }
}

int Registry::newest_arch() {
  int newest = 0;
  for (const auto& binary : binaries_) newest = std::max(newest, binary->newest_arch());
  return newest;
}

void Registry::say_what_is_unreadable() const {
  for (const auto& binary : binaries_)
    if (!binary->problem().empty()) say(binary->label() + " " + binary->problem() + ".");
}

bool Registry::any_defines_one_of(const std::vector<std::string>& kernels) const {
  return std::any_of(binaries_.begin(), binaries_.end(),
                     [&](const auto& binary) { return binary->defines_one_of(kernels); });
}

}  // namespace sim::runtime
