// Copies and fills, with checks: all bytes in device memory must lie inside one live allocation. Ordinary host memory
// cannot be checked.
#pragma once

#include "runtime/process.h"

namespace sim::runtime {

/// `rows` rows of `width` bytes each, `pitch` bytes apart; `slices` of those, `slice_pitch` bytes apart.
struct CopyShape {
  std::size_t width = 0, rows = 1, slices = 1;
  bool empty() const { return width == 0 || rows == 0 || slices == 0; }
};
struct Layout {
  std::size_t pitch = 0, slice_pitch = 0;
};

/// The sides that must be memory which the GPU can access: device, managed, page-locked or registered memory.
struct Sides {
  bool to_device = false, from_device = false;
};
Sides sides_of(cudaMemcpyKind kind);

void copy(Process& process, void* to, Layout to_layout, const void* from, Layout from_layout, CopyShape shape,
          cudaMemcpyKind kind);
inline void copy(Process& process, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  copy(process, to, {}, from, {}, {bytes}, kind);
}

/// The same for linear memory, from the API's structure.
void copy(Process& process, const cudaMemcpy3DParms& parameters);
cudaMemcpy3DParms copy_of(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                          std::size_t rows, cudaMemcpyKind kind);
inline cudaMemcpy3DParms copy_of(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy_of(to, bytes, from, bytes, bytes, 1, kind);
}
/// The program's variable at this address; refuses anything else.
DeviceVariable& find_variable(Process& process, const void* symbol);
/// Copies to or from a variable.
cudaMemcpy3DParms copy_to_symbol(Process& process, const void* symbol, const void* from, std::size_t bytes,
                                 std::size_t offset, cudaMemcpyKind kind);
cudaMemcpy3DParms copy_from_symbol(Process& process, void* to, const void* symbol, std::size_t bytes,
                                   std::size_t offset, cudaMemcpyKind kind);

/// Fills memory with a value of `unit` bytes (1, 2 or 4); widths and pitches are in bytes.
struct FillCopy {
  void* to = nullptr;
  Layout layout;
  CopyShape shape;
  uint32_t value = 0;
  std::size_t unit = 1;
};
void fill(Process& process, const FillCopy& fill);

/// A new allocation, refused when it does not fit. 0 bytes give a null pointer, as the real runtime does.
void* allocate(Process& process, std::size_t bytes, const char* label, GlobalMemory::Kind kind);

/// Frees an allocation of one of two kinds; a null pointer is allowed.
void release(Process& process, void* pointer, GlobalMemory::Kind kind, GlobalMemory::Kind or_kind);

}  // namespace sim::runtime
