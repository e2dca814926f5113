// A shared library that may be absent: opened while the program runs, never linked.
#pragma once

#include <initializer_list>
#include <string>

namespace harness {

class Library {
 public:
  /// Opens the first of `names` that the loader finds, or that lies beside the CUDA runtime in use.
  explicit Library(std::initializer_list<const char*> names);

  bool open() const { return handle_ != nullptr; }

  /// Sets `function` to the symbol `name`, or to nullptr if there is no such symbol or no library.
  template <typename Function>
  bool find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
};

}  // namespace harness
