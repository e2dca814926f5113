#include "runtime/transfer.h"
#include "report/text.h"

#include <atomic>
#include <cstring>

namespace sim::runtime {
namespace {

/// The range from the first byte of a box to its last.
std::size_t span_of(Layout layout, CopyShape shape) {
  if (shape.empty()) return 0;
  return (shape.slices - 1) * layout.slice_pitch + (shape.rows - 1) * layout.pitch + shape.width;
}

/// Refuses a range that the operation may not touch. `role` names the parameter.
void check(Process& process, const void* pointer, std::size_t bytes, bool on_device, const char* role) {
  if (bytes == 0) return;
  if (pointer == nullptr) refuse(cudaErrorInvalidValue, "%s is a null pointer (%s).", role, in_bytes(bytes).c_str());
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const GlobalMemory& memory = process.memory();
  const bool known = memory.in_range(address) || memory.find(address, 1) != nullptr;
  if (!known && on_device) {
    refuse(cudaErrorInvalidValue,
           "%s is %p, which is not device memory: no cudaMalloc returned it. Is it a host pointer, or are the two "
           "pointers or the direction of the copy exchanged?",
           role, pointer);
  }
  if (known && memory.find(address, bytes) == nullptr) {
    const uintptr_t last = address + bytes - 1;
    refuse(cudaErrorInvalidValue, "%s is not valid for %s: it starts %s, and its last byte is %s.", role,
           in_bytes(bytes).c_str(), report::place(memory.place_of(address)).c_str(),
           report::place(memory.place_of(last)).c_str());
  }
}

void check_pitch(const char* role, Layout layout, CopyShape shape) {
  if (shape.rows > 1 && layout.pitch < shape.width) {
    refuse(cudaErrorInvalidPitchValue, "the %s pitch of %s is less than the width of %s.", role,
           in_bytes(layout.pitch).c_str(), in_bytes(shape.width).c_str());
  }
}

/// The rows in memory that the GPU can access, for the order checker.
std::vector<order::Range> rows_of(Process& process, const void* pointer, Layout layout, CopyShape shape) {
  std::vector<order::Range> rows;
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  if (process.memory().find(begin, 1) == nullptr) return rows;
  for (std::size_t slice = 0; slice < shape.slices; ++slice) {
    for (std::size_t row = 0; row < shape.rows; ++row) {
      const uint64_t at = begin + slice * layout.slice_pitch + row * layout.pitch;
      if (!rows.empty() && rows.back().end == at)
        rows.back().end += shape.width;
      else
        rows.push_back({at, at + shape.width});
    }
  }
  return rows;
}

/// Checks that the transfer is ordered after the launches whose memory it accesses.
void check_order(Process& process, const char* what, const std::vector<order::Range>& reads,
                 const std::vector<order::Range>& writes) {
  const std::optional<Finding> wrong =
      process.order().operation(process.work.stream, process.work.host_waits, what, reads, writes);
  if (wrong) process.tell(*wrong);
}

recording::MemoryBox box_of(const void* pointer, Layout layout, CopyShape shape) {
  return {
      reinterpret_cast<uintptr_t>(pointer), shape.width, shape.rows, shape.slices, layout.pitch, layout.slice_pitch};
}

}  // namespace

Sides sides_of(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault: return {false, false};  // the kind follows from the pointers
    case cudaMemcpyHostToDevice: return {true, false};
    case cudaMemcpyDeviceToHost: return {false, true};
    case cudaMemcpyDeviceToDevice: return {true, true};
  }
  refuse(cudaErrorInvalidMemcpyDirection, "%d is not a cudaMemcpyKind.", static_cast<int>(kind));
}

void copy(Process& process, void* to, Layout to_layout, const void* from, Layout from_layout, CopyShape shape,
          cudaMemcpyKind kind) {
  const Sides sides = sides_of(kind);
  if (shape.empty()) return;
  check_pitch("destination's", to_layout, shape);
  check_pitch("source's", from_layout, shape);
  check(process, to, span_of(to_layout, shape), sides.to_device, "the destination");
  check(process, from, span_of(from_layout, shape), sides.from_device, "the source");
  if (process.order().matters()) {
    check_order(process, "a copy", rows_of(process, from, from_layout, shape), rows_of(process, to, to_layout, shape));
  }
  const GlobalMemory& memory = process.memory();
  const recording::MemoryBox to_box = box_of(to, to_layout, shape), from_box = box_of(from, from_layout, shape);
  Recorder* const recorder = process.recorder();
  if (recorder != nullptr) {
    recorder->copies(to_box, memory.find(to_box.address, 1) != nullptr, from_box,
                     memory.find(from_box.address, 1) != nullptr);
  }
  for (std::size_t slice = 0; slice < shape.slices; ++slice) {
    for (std::size_t row = 0; row < shape.rows; ++row) {
      std::memmove(static_cast<char*>(to) + slice * to_layout.slice_pitch + row * to_layout.pitch,
                   static_cast<const char*>(from) + slice * from_layout.slice_pitch + row * from_layout.pitch,
                   shape.width);
    }
  }
  if (recorder != nullptr) recorder->took_effect();
}

void copy(Process& process, const cudaMemcpy3DParms& p) {
  if (p.srcArray != nullptr || p.dstArray != nullptr)
    refuse(cudaErrorNotSupported, "CUDA arrays are not simulated: use linear memory (cudaMalloc3D).");
  const auto first = [](const cudaPitchedPtr& memory, const cudaPos& at) {
    return static_cast<char*>(memory.ptr) + (at.z * memory.ysize + at.y) * memory.pitch + at.x;
  };
  const auto layout = [](const cudaPitchedPtr& memory) { return Layout{memory.pitch, memory.pitch * memory.ysize}; };
  copy(process, first(p.dstPtr, p.dstPos), layout(p.dstPtr), first(p.srcPtr, p.srcPos), layout(p.srcPtr),
       {p.extent.width, p.extent.height, p.extent.depth}, p.kind);
}

cudaMemcpy3DParms copy_of(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                          std::size_t rows, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p{};
  p.dstPtr = {to, to_pitch, width, rows};
  p.srcPtr = {const_cast<void*>(from), from_pitch, width, rows};
  p.extent = {width, rows, 1};
  p.kind = kind;
  return p;
}

DeviceVariable& find_variable(Process& process, const void* symbol) {
  DeviceVariable* variable = process.registry.find_variable(symbol);
  if (variable == nullptr) {
    refuse(cudaErrorInvalidSymbol, "%p is not a __device__ or __constant__ variable of this program.", symbol);
  }
  return *variable;
}

namespace {

void* bytes_of(Process& process, const void* symbol, std::size_t bytes, std::size_t offset) {
  DeviceVariable& variable = find_variable(process, symbol);
  if (offset > variable.bytes || bytes > variable.bytes - offset) {
    refuse(cudaErrorInvalidValue, "%s at byte %s do not fit into %s, which has %s.", in_bytes(bytes).c_str(),
           grouped(offset).c_str(), variable.name.c_str(), in_bytes(variable.bytes).c_str());
  }
  return static_cast<char*>(variable.address(process)) + offset;
}

}  // namespace

cudaMemcpy3DParms copy_to_symbol(Process& process, const void* symbol, const void* from, std::size_t bytes,
                                 std::size_t offset, cudaMemcpyKind kind) {
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
    refuse(cudaErrorInvalidMemcpyDirection, "a symbol can only be the destination of a copy to the device.");
  }
  return copy_of(bytes_of(process, symbol, bytes, offset), from, bytes, kind);
}

cudaMemcpy3DParms copy_from_symbol(Process& process, void* to, const void* symbol, std::size_t bytes,
                                   std::size_t offset, cudaMemcpyKind kind) {
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
    refuse(cudaErrorInvalidMemcpyDirection, "a symbol can only be the source of a copy from the device.");
  }
  return copy_of(to, bytes_of(process, symbol, bytes, offset), bytes, kind);
}

void fill(Process& process, const FillCopy& what) {
  const auto& [to, layout, shape, value, unit] = what;
  if (shape.empty()) return;
  if (shape.rows > 1 && layout.pitch < shape.width) {
    refuse(cudaErrorInvalidValue, "the pitch of %s is less than the width of %s.", in_bytes(layout.pitch).c_str(),
           in_bytes(shape.width).c_str());
  }
  check(process, to, span_of(layout, shape), true, "the destination");
  if (process.order().matters()) check_order(process, "a fill", {}, rows_of(process, to, layout, shape));
  if (process.recorder() != nullptr)
    process.recorder()->fills(box_of(to, layout, shape), value, static_cast<uint32_t>(unit));
  for (std::size_t slice = 0; slice < shape.slices; ++slice) {
    for (std::size_t row = 0; row < shape.rows; ++row) {
      char* const line = static_cast<char*>(to) + slice * layout.slice_pitch + row * layout.pitch;
      if (unit == 1) {
        std::memset(line, static_cast<int>(value), shape.width);
      } else {
        for (std::size_t at = 0; at < shape.width; at += unit) std::memcpy(line + at, &value, unit);
      }
    }
  }
  if (process.recorder() != nullptr) process.recorder()->took_effect();
}

void* allocate(Process& process, std::size_t bytes, const char* label, GlobalMemory::Kind kind) {
  static std::atomic<unsigned> count = 0;
  if (bytes == 0) return nullptr;
  GlobalMemory& memory = process.memory();
  const std::string name = format("%s #%u", label, ++count);
  void* const pointer = memory.allocate(bytes, name, false, kind);
  if (pointer != nullptr) {
    if (process.recorder() != nullptr) process.recorder()->allocated(pointer, bytes, name, kind);
    return pointer;
  }
  if (kind == GlobalMemory::Kind::Host || bytes <= memory.capacity() - memory.used()) {
    refuse(cudaErrorMemoryAllocation, "the host has no memory for %s.", in_bytes(bytes).c_str());
  }
  refuse(cudaErrorMemoryAllocation, "out of device memory: the program asks for %s, and of the %s's %s, %s are free.",
         in_bytes(bytes).c_str(), process.gpu().name.c_str(), in_bytes(memory.capacity()).c_str(),
         grouped(memory.capacity() - memory.used()).c_str());
}

void release(Process& process, void* pointer, GlobalMemory::Kind kind, GlobalMemory::Kind or_kind) {
  if (pointer == nullptr) return;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const GlobalMemory::Allocation* allocation = process.memory().find(address, 0);
  if (HostOrder& order = process.order(); order.matters() && allocation != nullptr) {
    if (process.work.host_waits)
      order.wait_for_all();  // as cudaFree does
    else
      check_order(process, "cudaFreeAsync", {}, {{allocation->begin, allocation->end}});
    order.forget(allocation->begin, allocation->end);
  }
  const bool right = allocation != nullptr && allocation->begin == address &&
                     (allocation->kind == kind || allocation->kind == or_kind);
  if (right && process.recorder() != nullptr) process.recorder()->released(pointer);
  if (!right || !process.memory().release(pointer)) {
    refuse(cudaErrorInvalidValue, "the pointer is not what an allocation of this kind returned: it is %s.",
           report::place(process.memory().place_of(address)).c_str());
  }
}

}  // namespace sim::runtime
