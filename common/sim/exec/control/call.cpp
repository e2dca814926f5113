// Calls of system functions: printf, assert, malloc. Other calls are inlined (exec/core/builder.cpp) or executed as
// calls (routine.cpp).
#include <algorithm>
#include <array>
#include <cstdio>

#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/routine.h"
#include "machine/address.h"
#include "report/text.h"

namespace sim {
namespace {

using ptx::Operand;

/// Offsets in the frame.
struct SystemCall {
  std::array<int32_t, 5> arguments{-1, -1, -1, -1, -1};
  int32_t result = -1;
};

/// The `index`-th argument, which has `bytes` bytes.
uint64_t argument(Warp& w, const SystemCall& call, int lane, size_t index, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, in_frame(w, lane, static_cast<uint32_t>(call.arguments[index])), bytes);
  return value;
}
void return_value(Warp& w, const SystemCall& call, int lane, const void* value, size_t bytes) {
  if (call.result >= 0) std::memcpy(in_frame(w, lane, static_cast<uint32_t>(call.result)), value, bytes);
}

/// Host address of device data that a system call reads; `room` gets the bytes up to the end of its memory.
const uint8_t* device_data(Warp& w, uint64_t address, int lane, size_t* room) {
  if (in_local_window(address)) {
    const uint64_t offset = address & ~kWindowMask;
    const uint32_t bytes = cluster_of(w).launch->local_bytes;
    if (offset >= bytes) throw Fault{faults::printf_outside_local_memory, {}, lane};
    *room = bytes - offset;
    return w.local + static_cast<size_t>(lane) * bytes + offset;
  }
  const GlobalMemory::Allocation* found = cluster_of(w).launch->memory->find(address, 1);
  if (found == nullptr)
    throw Fault{faults::printf_of_bad_address, {report::place(cluster_of(w).launch->memory->place_of(address))}, lane};
  *room = found->end - address;
  return host_pointer(address);
}
std::string device_string(Warp& w, uint64_t address, int lane) {
  size_t room = 0;
  const auto* text = reinterpret_cast<const char*>(device_data(w, address, lane, &room));
  return std::string(text, strnlen(text, room));
}

/// vprintf(format, buffer): arguments packed at their natural alignment; floats arrive as doubles, small integers as 32
/// bits.
std::string format(Warp& w, int lane, const std::string& pattern, uint64_t buffer) {
  std::string out;
  size_t offset = 0;
  const auto take = [&](size_t bytes) {
    offset = (offset + bytes - 1) / bytes * bytes;
    size_t room = 0;
    const uint8_t* at = device_data(w, buffer + offset, lane, &room);
    uint64_t value = 0;
    std::memcpy(&value, at, std::min(bytes, room));
    offset += bytes;
    return value;
  };
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    std::string spec = "%";
    bool is_long = false;
    for (++i; i < pattern.size(); ++i) {
      const char c = pattern[i];
      if (c == 'l' || c == 'z' || c == 'j' || c == 't') {
        is_long = true;
      } else if (c == 'h') {
      } else if (c == '*') {
        spec += std::to_string(static_cast<int32_t>(take(4)));
      } else if (std::strchr("-+ #0123456789.", c) != nullptr) {
        spec += c;
      } else {
        break;
      }
    }
    if (i >= pattern.size()) break;
    const char kind = pattern[i];
    char text[512] = "";
    switch (kind) {
      case '%': out += '%'; continue;
      case 'd':
      case 'i':
        std::snprintf(
            text, sizeof text, (spec + "lld").c_str(),
            is_long ? static_cast<long long>(take(8)) : static_cast<long long>(static_cast<int32_t>(take(4))));
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        std::snprintf(text, sizeof text, (spec + "ll" + kind).c_str(),
                      static_cast<unsigned long long>(is_long ? take(8) : take(4) & 0xFFFF'FFFF));
        break;
      case 'c': std::snprintf(text, sizeof text, (spec + "c").c_str(), static_cast<int>(take(4))); break;
      case 'p': std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(take(8))); break;
      case 's': {
        const std::string value = device_string(w, take(8), lane);
        std::vector<char> wide(value.size() + 4096);
        std::snprintf(wide.data(), wide.size(), (spec + "s").c_str(), value.c_str());
        out += wide.data();
        continue;
      }
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A': std::snprintf(text, sizeof text, (spec + kind).c_str(), std::bit_cast<double>(take(8))); break;
      default: out += spec + kind; continue;
    }
    out += text;
  }
  return out;
}

Flow device_printf(Warp& w, const SystemCall& call, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const std::string text =
        format(w, lane, device_string(w, argument(w, call, lane, 0, 8), lane), argument(w, call, lane, 1, 8));
    cluster_of(w).output += text;
    ++cluster_of(w).progress;
    const auto length = static_cast<uint32_t>(text.size());
    return_value(w, call, lane, &length, sizeof length);
  }
  return Flow::Next;
}

Flow assert_fail(Warp& w, const SystemCall& call, Mask m) {  // __assertfail(message, file, line, function, char size)
  const int lane = first_lane(m);
  const std::string message = device_string(w, argument(w, call, lane, 0, 8), lane);
  const std::string file = device_string(w, argument(w, call, lane, 1, 8), lane);
  const uint64_t line = argument(w, call, lane, 2, 4);
  const std::string function = device_string(w, argument(w, call, lane, 3, 8), lane);
  throw Fault{faults::assertion, {message, file, line, function}, lane};
}

Flow device_malloc(Warp& w, const SystemCall& call, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    void* memory = cluster_of(w).launch->memory->allocate(argument(w, call, lane, 0, 8), "device malloc");
    const uint64_t address = memory == nullptr ? 0 : device_address(memory);
    return_value(w, call, lane, &address, sizeof address);
  }
  return Flow::Next;
}
Flow device_free(Warp& w, const SystemCall& call, Mask m) {
  Cluster& cluster = cluster_of(w);
  ++cluster.launch->frees;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const uint64_t address = argument(w, call, first_lane(rest), 0, 8);
    if (address != 0 && !cluster.launch->memory->release(host_pointer(address))) {
      throw Fault{faults::free_of_foreign, {address}, first_lane(rest)};
    }
  }
  return Flow::Next;
}

/// A condition's handle is the address of its value (runtime/graph.h).
Flow set_conditional(Warp& w, const SystemCall& call, Mask m) {  // cudaGraphSetConditional(handle, value)
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const auto value = static_cast<uint32_t>(argument(w, call, lane, 1, 4));
    uint8_t* const place = global_location(cluster_of(w), argument(w, call, lane, 0, 8), sizeof value, sizeof value,
                                           true, "cudaGraphSetConditional");
    std::memcpy(place, &value, sizeof value);
  }
  return Flow::Next;
}

struct SystemFunction {
  std::string_view name;
  Execution<SystemCall> execution;
  size_t arguments;
  bool needs_order;  ///< clusters can observe one another by it
};
constexpr SystemFunction kFunctions[] = {
    {"vprintf", execution<device_printf>, 2, false},
    {"__assertfail", execution<assert_fail>, 5, false},
    {"malloc", execution<device_malloc>, 1, true},
    {"free", execution<device_free>, 1, true},
    {"cudaGraphSetConditional", execution<set_conditional>, 2, true},
};

void decode_call(Decoder& d) {
  const auto& operands = d.in->operands;
  const bool has_results = !operands.empty() && operands[0].kind == Operand::Kind::Vector;
  const size_t name_at = has_results ? 1 : 0;
  const Operand& callee = d.operand(name_at);
  if (callee.kind != Operand::Kind::Function) d.unsupported(faults::target_is_no_function);
  const auto* const function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                            [&](const SystemFunction& each) { return each.name == callee.text; });
  if (function == std::end(kFunctions)) {
    if (callee.text.starts_with("__cudaCDP2")) d.unsupported(faults::dynamic_parallelism);
    d.unsupported(faults::function_without_body, {callee.text});
  }
  const auto local_offset = [&](const Operand& operand) {
    if (operand.kind != Operand::Kind::Variable) d.unsupported(faults::argument_not_in_param);
    // The address of a call's .param variable is its offset in local memory: a constant.
    return static_cast<int32_t>(d.local_offset(operand.variable));
  };
  SystemCall call;
  const size_t given = operands.size() > name_at + 1 ? operands[name_at + 1].elements.size() : 0;
  if (given != function->arguments) d.unsupported(faults::other_arguments, {callee.text});
  for (size_t i = 0; i < given; ++i) call.arguments[i] = local_offset(operands[name_at + 1].elements[i]);
  if (has_results && !operands[0].elements.empty()) call.result = local_offset(operands[0].elements[0]);
  d.emit(function->execution, call);
  d.program().needs_order |= function->needs_order;
  d.program().needs_others |= function->needs_order;
}

constexpr Mnemonic kMnemonics[] = {{"call", decode_call, Manner{.use = DataUse::Steers, .transfers_control = true}}};
constexpr std::string_view kIgnored[] = {"uni"};

}  // namespace

constinit const Family families::call{kMnemonics, kIgnored};

}  // namespace sim
