// Branches, exits, traps, and the calls that the system provides: printf, assert, malloc.
#include <cstdio>

#include "exec/async/groups.h"
#include "exec/core/access.h"
#include "exec/core/decoder.h"
#include "exec/core/lifetime.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

Flow branch(Warp& w, const Op& op, Mask m) {
  Split& split = w.split();
  const auto target = static_cast<uint32_t>(op.imm);
  if (m == split.mask) {
    split.pc = target;
  } else {
    split.mask &= ~m;
    ++split.pc;
    w.fork(m, target);
  }
  return Flow::Jump;
}

Flow indexed_branch(Warp& w, const Op& op, Mask m) {
  Split& split = w.split();
  const auto* index = lanes<uint32_t>(w, op.a);
  const auto& targets = op.extra->list;
  const Mask not_taken = split.mask & ~m;
  const uint32_t next = split.pc + 1;
  bool first = true;
  for (Mask rest = m; rest;) {
    const uint32_t value = index[first_lane(rest)];
    if (value >= targets.size()) {
      throw Fault{
          Status::IllegalInstruction,
          "brx.idx: index " + std::to_string(value) + " of a table of " + std::to_string(targets.size()) + " targets",
          first_lane(rest)};
    }
    Mask same = 0;
    for (Mask others = rest; others; others &= others - 1) {
      if (index[first_lane(others)] == value) same |= 1u << first_lane(others);
    }
    if (first) {
      split.mask = same;
      split.pc = static_cast<uint32_t>(targets[value]);
    } else {
      w.fork(same, static_cast<uint32_t>(targets[value]));
    }
    first = false;
    rest &= ~same;
  }
  if (not_taken) w.fork(not_taken, next);
  return Flow::Jump;
}

Flow exit_thread(Warp& w, const Op&, Mask m) {
  Split& split = w.split();
  ++split.pc;
  exit_lanes(w, m);
  return Flow::Jump;
}

Flow trap(Warp&, const Op& op, Mask m) {
  throw Fault{Status::LaunchFailure, op.flags ? "a breakpoint (brkpt) was reached" : "the kernel executed trap",
              first_lane(m)};
}

Flow nothing(Warp&, const Op&, Mask) { return Flow::Next; }

// ---- system calls. Arguments lie in local memory, at the offsets in extra->list.

uint8_t* local_of(Warp& w, int lane, int32_t offset) {
  return w.local + static_cast<size_t>(lane) * cluster_of(w).launch->program->local_bytes + offset;
}
uint64_t argument(Warp& w, const Op& op, int lane, size_t index, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, local_of(w, lane, op.extra->list.at(index)), bytes);
  return value;
}

/// Host address of device data that a system call reads, with the room that is left there.
const uint8_t* device_data(Warp& w, uint64_t address, int lane, size_t* room) {
  if (in_local_window(address)) {
    const uint64_t offset = address & ~kWindowMask;
    const uint32_t bytes = cluster_of(w).launch->program->local_bytes;
    if (offset >= bytes) throw Fault{Status::IllegalAddress, "printf: an argument lies outside local memory", lane};
    *room = bytes - offset;
    return local_of(w, lane, static_cast<int32_t>(offset));
  }
  const GlobalMemory::Allocation* found = cluster_of(w).launch->memory->find(address, 1);
  if (found == nullptr)
    throw Fault{Status::IllegalAddress, "printf: " + cluster_of(w).launch->memory->describe(address), lane};
  *room = found->end - address;
  return reinterpret_cast<const uint8_t*>(address);
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

Flow device_printf(Warp& w, const Op& op, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const std::string text =
        format(w, lane, device_string(w, argument(w, op, lane, 0, 8), lane), argument(w, op, lane, 1, 8));
    cluster_of(w).output += text;
    if (op.d >= 0) {
      const auto length = static_cast<uint32_t>(text.size());
      std::memcpy(local_of(w, lane, op.d), &length, sizeof length);
    }
  }
  return Flow::Next;
}

Flow assert_fail(Warp& w, const Op& op, Mask m) {  // __assertfail(message, file, line, function, char size)
  const int lane = first_lane(m);
  const std::string message = device_string(w, argument(w, op, lane, 0, 8), lane);
  const std::string file = device_string(w, argument(w, op, lane, 1, 8), lane);
  const uint64_t line = argument(w, op, lane, 2, 4);
  const std::string function = device_string(w, argument(w, op, lane, 3, 8), lane);
  throw Fault{Status::Assert,
              "assertion `" + message + "` failed at " + file + ":" + std::to_string(line) + " in " + function, lane};
}

Flow device_malloc(Warp& w, const Op& op, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    void* memory = cluster_of(w).launch->memory->allocate(argument(w, op, lane, 0, 8), "device malloc");
    const auto address = reinterpret_cast<uint64_t>(memory);
    if (op.d >= 0) std::memcpy(local_of(w, lane, op.d), &address, sizeof address);
  }
  return Flow::Next;
}
Flow device_free(Warp& w, const Op& op, Mask m) {
  Cluster& cluster = cluster_of(w);
  ++cluster.launch->frees;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const uint64_t address = argument(w, op, first_lane(rest), 0, 8);
    if (address != 0 && !cluster.launch->memory->release(reinterpret_cast<void*>(address))) {
      throw Fault{Status::IllegalAddress, "free of " + hex(address) + ", which malloc did not return",
                  first_lane(rest)};
    }
  }
  return Flow::Next;
}

void decode_call(Decoder& d) {
  Op& op = *d.op;
  const auto& operands = d.in->operands;
  const bool has_results = !operands.empty() && operands[0].kind == Operand::Kind::Vector;
  const size_t name_at = has_results ? 1 : 0;
  const Operand& callee = d.operand(name_at);
  if (callee.kind != Operand::Kind::Function) d.unsupported("calls through pointers are not supported");
  const auto local_offset = [&](const Operand& operand) {
    if (operand.kind != Operand::Kind::Variable) d.unsupported("an argument that is not a .param variable");
    // The address of a call's .param variable is its offset in local memory: a constant.
    return static_cast<int32_t>(d.local_offset(operand.variable));
  };
  if (operands.size() > name_at + 1) {
    for (const Operand& each : operands[name_at + 1].elements) d.extra().list.push_back(local_offset(each));
  }
  if (has_results && !operands[0].elements.empty()) op.d = local_offset(operands[0].elements[0]);
  if (callee.text == "vprintf")
    op.run = device_printf;
  else if (callee.text == "__assertfail")
    op.run = assert_fail;
  else if (callee.text == "malloc")
    op.run = device_malloc, d.program().needs_order = true;
  else if (callee.text == "free")
    op.run = device_free, d.program().needs_order = true;
  else
    d.unsupported("the function '" + callee.text +
                  "' has no body in this image and is no system call that is supported");
}

}  // namespace

void exit_lanes(Warp& warp, Mask mask) {
  Split& split = warp.split();
  Cta& cta = *warp.cta;
  Cluster& cluster = *cta.cluster;
  split.mask &= ~mask;
  warp.live &= ~mask;
  if (split.mask == 0) warp.used &= ~(1u << warp.current);
  cluster.live_threads -= static_cast<uint32_t>(std::popcount(mask));
  // Threads that are gone count as arrived. Those that had arrived in the running phase must not count twice.
  for (Mask rest = mask; rest; rest &= rest - 1) {
    if (warp.cluster_phase[static_cast<size_t>(first_lane(rest))] == cluster.barrier.phase + 1)
      --cluster.barrier.arrived;
  }
  note_effect(warp);
  // Lanes that wait for these at a collective instruction look again.
  for_waiting(warp, Wait::Gather, [&](uint8_t split) { look_again(warp, split); });
  if (warp.live == 0) {
    if (uint32_t reads = bulk_reads_in_flight(warp); reads > 0) {
      const Fault early{
          Status::LaunchFailure,
          "the warp exits while " + std::to_string(reads) +
              " of its bulk stores still read shared memory: cp.async.bulk.wait_group.read 0 is required before"};
      if (!cluster.launch->lenient) throw early;
      cluster.scheduler->remark(early, &warp, nullptr);
    }
    // Its registers stay with the CTA and are lost to setmaxnreg: on an H200, 40 and 240 hang although idle warps exit.
    --cta.live_warps;
    check_cta_barriers(cta);
    if (cta.live_warps == 0) {
      if (cta.tmem.live_columns() > 0) {
        throw Fault{Status::LaunchFailure,
                    "the CTA exits with tensor memory allocated (" + cta.tmem.describe() +
                        "): tcgen05.dealloc is required, or a later CTA waits for the columns for ever"};
      }
      cta.exited = true;
      --cluster.live_ctas;
    }
  }
  check_cluster_barrier(cluster);
}

void decode_control(Decoder& d) {
  Op& op = *d.op;
  const std::string& name = d.in->opcode;
  d.ignore({"uni", "idx"});
  if (name == "bra") {
    if (d.operand(0).kind != Operand::Kind::Label) d.unsupported("the target is not a label");
    op.imm = d.operand(0).value;
    op.run = branch;
  } else if (name == "brx") {
    op.a = d.source(0, Type::B32);
    op.run = indexed_branch;
  } else if (name == "exit" || name == "ret") {
    op.run = exit_thread;
  } else if (name == "trap" || name == "brkpt") {
    op.flags = name == "brkpt";
    op.run = trap;
  } else if (name == "call") {
    decode_call(d);
  } else if (name == "pmevent") {
    op.run = nothing;
  }
}

}  // namespace sim
