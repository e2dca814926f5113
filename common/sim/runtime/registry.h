// What the program registered: fat binaries, and the kernels and variables in them. Nothing is decompressed or parsed
// before it is used, because a fat binary holds many kernels that never run.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "runtime/fatbin.h"
#include "runtime/machine_code.h"

namespace sim::runtime {

class Process;
struct Replacement;

/// The code that one __cudaRegisterFatBinary or cudaLibraryLoadData call brought.
class Binary {
 public:
  /// `data` is a wrapper, a container, machine code, or PTX text that ends with a zero.
  Binary(const void* data, std::string label);

  /// The newest architecture among the PTX images that a simulated GPU runs; or else among the PTX images, or among all if
  /// there is no PTX; 0 if there is no image.
  int newest_arch();
  /// Why nothing in it can be read: the rest of a sentence that begins with its label. Empty if something can.
  const std::string& problem() const { return problem_; }

  /// The kernels that the program registered with this binary: a replacement is recognised by them.
  void expect_kernel(std::string name) { kernel_names_.push_back(std::move(name)); }
  bool defines_one_of(const std::vector<std::string>& kernels) const;

  /// What ptxas has made of a kernel for this GPU; nullptr if there is no machine code, or the code is replaced.
  const KernelResources* resources(const std::string& kernel) const;

  /// Parses the code at first use, links its translation units, and refuses when there is none for this GPU.
  DeviceModule& module(Process& process);
  const std::string& label() const { return label_; }

 private:
  void read();
  std::vector<std::string> choose_texts(const Gpu& gpu) const;
  void read_resources(const Gpu& gpu);
  void compare_parameters(const Replacement& replacement, const Gpu& gpu) const;

  const void* data_;
  std::string label_;
  std::vector<std::string> kernel_names_;
  bool read_ = false;
  std::vector<std::vector<Image>> containers_;
  std::string bare_text_;           // if `data` is PTX itself
  std::string problem_;             // why nothing could be read; empty if something was
  std::vector<std::string> texts_;  // what the module was parsed from, and may refer to
  DeviceModule* module_ = nullptr;
  std::unordered_map<std::string, KernelResources> resources_;
};

/// One __global__ function. Its address serves as cudaKernel_t, cudaFunction_t and CUfunction.
struct Kernel {
  std::shared_ptr<Binary> binary;
  std::string name;  ///< mangled

  /// Where it is and what it needs, as its machine code says where there is some; loaded at first use, refused if the GPU
  /// cannot run it.
  DeviceModule& module(Process& process);
  const KernelInfo& info(Process& process);

  // What the program set by cudaFuncSetAttribute.
  int max_dynamic_smem = -1;  ///< -1: not set, 48 KiB less the static part
  int carveout = -1;
  int cluster_policy = 0;
  bool nonportable_cluster = false;
  bool cluster_must_be_set = false;
  std::array<uint32_t, 3> required_cluster{0, 0, 0};

 private:
  void load(Process& process);
  DeviceModule* module_ = nullptr;
  std::optional<KernelInfo> info_;
};

/// One __device__, __constant__ or __managed__ variable, known to the host by the address of its shadow.
struct DeviceVariable {
  std::shared_ptr<Binary> binary;
  std::string name;
  std::size_t bytes = 0;
  void** managed = nullptr;  ///< the host's pointer to it, to be set when it is placed; nullptr if it is not managed

  void* address(Process& process);  ///< refused if the PTX does not define it
  void* find(Process& process);     ///< nullptr if the PTX does not define it

 private:
  void* address_ = nullptr;
};

class Registry {
 public:
  Binary* add_binary(const void* wrapper);
  void remove_binary(Binary* binary);
  bool knows(const Binary* binary) const { return owner(binary) != nullptr; }
  /// `host_function` is nullptr for a kernel that only its handle names. Returns the handle.
  Kernel* add_kernel(Binary* binary, const void* host_function, std::string name);
  void add_variable(Binary* binary, const void* host_variable, const char* name, std::size_t bytes, void** managed);

  /// By the host function's address or by handle; nullptr if it is neither.
  Kernel* find_kernel(const void* function);
  DeviceVariable* find_variable(const void* host_variable);

  /// Gives the host its pointers to the managed variables of `binary`. Those that its PTX lacks (a replacement may lack
  /// some) are refused if the host is about to use one.
  void place_managed(Binary* binary, Process& process, bool in_use);

  /// A binary that is loaded at run time (cudaLibraryLoadData, cuModuleLoadData), and a kernel of it by name.
  Binary* add_library(const void* data, std::string label);
  Kernel* library_kernel(Binary* library, std::string_view name, Process& process);

  /// Over all binaries that were registered so far.
  int newest_arch();
  /// Says of each that cannot be read why. A program may ask which GPU it has, and give up, before it needs its code.
  void say_what_is_unreadable() const;
  bool any_defines_one_of(const std::vector<std::string>& kernels) const;

 private:
  std::shared_ptr<Binary> owner(const Binary* binary) const;

  std::vector<std::shared_ptr<Binary>> binaries_;
  std::unordered_map<const void*, std::shared_ptr<Kernel>> kernels_;  // by host function and by the Kernel's address
  std::unordered_map<const void*, DeviceVariable> variables_;         // by host variable
};

}  // namespace sim::runtime
