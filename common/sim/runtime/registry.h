// The program's registered fat binaries, with their kernels and variables. Each is decompressed and parsed at first
// use, since a fat binary contains many kernels that never run.
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

/// The code of one call of __cudaRegisterFatBinary or cudaLibraryLoadData.
class Binary {
 public:
  /// `data` is a wrapper, a container, machine code, or PTX text that ends with a zero.
  Binary(const void* data, std::string label);

  /// The newest architecture among the PTX images that a simulated GPU runs; otherwise among all PTX images; without
  /// PTX, among all images; 0 if there is no image.
  int newest_arch();
  /// The reason why nothing in it can be read, as the rest of a sentence that begins with its label; empty if something
  /// can be read.
  const std::string& problem() const { return problem_; }

  /// The kernels that the program registered with this binary. A replacement is matched by their names.
  void expect_kernel(std::string name) { kernel_names_.push_back(std::move(name)); }
  bool defines_one_of(const std::vector<std::string>& kernels) const;

  /// A kernel's resources in the machine code for this GPU; nullptr if there is none, or the code is replaced.
  const KernelResources* resources(const std::string& kernel) const;

  /// Parses the code at first use, and links its translation units. Refuses if there is no code for this GPU.
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
  std::string bare_text_;           // if `data` is PTX text
  std::string problem_;             // the reason why nothing could be read; empty if something was
  std::vector<std::string> texts_;  // the module's source, to which it may refer
  DeviceModule* module_ = nullptr;
  std::unordered_map<std::string, KernelResources> resources_;
};

/// One __global__ function. Its address serves as cudaKernel_t, cudaFunction_t and CUfunction.
struct Kernel {
  std::shared_ptr<Binary> binary;
  std::string name;  ///< mangled

  /// Its module and its resources, from machine code if there is some. Loads the module at first use; refuses if the
  /// GPU cannot run it.
  DeviceModule& module(Process& process);
  const KernelInfo& info(Process& process);

  // Attributes that the program set by cudaFuncSetAttribute.
  int max_dynamic_smem = -1;  ///< -1: not set, then 48 KiB minus the static part
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

/// One __device__, __constant__ or __managed__ variable. The host refers to it by the address of its shadow variable.
struct DeviceVariable {
  std::shared_ptr<Binary> binary;
  std::string name;
  std::size_t bytes = 0;
  void** managed = nullptr;  ///< the host's pointer to a managed variable, set when memory is allocated; else nullptr

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
  /// `host_function` is nullptr for a kernel that is only known by its handle. Returns the handle.
  Kernel* add_kernel(Binary* binary, const void* host_function, std::string name);
  void add_variable(Binary* binary, const void* host_variable, const char* name, std::size_t bytes, void** managed);

  /// Finds a kernel by its host function's address or by handle; nullptr if it is neither.
  Kernel* find_kernel(const void* function);
  DeviceVariable* find_variable(const void* host_variable);

  /// Sets the host's pointers to the managed variables of `binary`. If its PTX lacks one, as a replacement may, refuses
  /// if the host is about to use it.
  void place_managed(Binary* binary, Process& process, bool in_use);

  /// Loads a binary at run time (cudaLibraryLoadData, cuModuleLoadData), and finds one of its kernels by name.
  Binary* add_library(const void* data, std::string label);
  Kernel* library_kernel(Binary* library, std::string_view name, Process& process);

  /// The newest architecture of all binaries registered so far.
  int newest_arch();
  /// Reports why binaries cannot be read. A program may query its GPU, and give up, before it needs the code.
  void say_what_is_unreadable() const;
  bool any_defines_one_of(const std::vector<std::string>& kernels) const;

 private:
  std::shared_ptr<Binary> owner(const Binary* binary) const;

  std::vector<std::shared_ptr<Binary>> binaries_;
  std::unordered_map<const void*, std::shared_ptr<Kernel>> kernels_;  // by host function and by the Kernel's address
  std::unordered_map<const void*, DeviceVariable> variables_;         // by host variable
};

}  // namespace sim::runtime
