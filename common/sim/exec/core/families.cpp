// Which family knows an opcode.
#include <unordered_map>

#include "exec/core/decoder.h"

namespace sim {

Decode family_of(std::string_view opcode, const ptx::Instruction& instruction) {
  static const std::unordered_map<std::string_view, Decode> families = [] {
    std::unordered_map<std::string_view, Decode> map;
    const auto all = [&](Decode decode, std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) map[name] = decode;
    };
    all(decode_arithmetic,
        {"add",  "addc", "sub", "subc", "mul",   "mad", "madc", "fma",   "mul24", "mad24", "div",   "rem",
         "abs",  "neg",  "min", "max",  "setp",  "set", "selp", "slct",  "and",   "or",    "xor",   "not",
         "cnot", "shl",  "shr", "shf",  "lop3",  "bfe", "bfi",  "bfind", "popc",  "clz",   "brev",  "prmt",
         "dp4a", "dp2a", "rcp", "sqrt", "rsqrt", "ex2", "lg2",  "sin",   "cos",   "tanh",  "testp", "copysign"});
    all(decode_convert, {"mov", "cvt", "cvta", "isspacep"});
    all(decode_memory, {"ld", "ldu", "st", "atom", "red", "ldmatrix", "stmatrix", "movmatrix", "prefetch", "prefetchu",
                        "applypriority", "discard", "createpolicy"});
    all(decode_control, {"bra", "brx", "call", "ret", "exit", "trap", "brkpt", "pmevent"});
    all(decode_warp, {"elect", "shfl", "vote", "match", "redux", "activemask"});
    all(decode_barrier, {"bar", "barrier", "fence", "membar", "setmaxnreg", "nanosleep", "griddepcontrol"});
    all(decode_mbarrier, {"mbarrier"});
    all(decode_bulk, {"tensormap", "clusterlaunchcontrol"});
    all(decode_tcgen05, {"tcgen05"});
    all(decode_wgmma, {"wgmma"});
    all(decode_mma, {"mma"});
    all(decode_wmma, {"wmma"});
    all(decode_address, {"mapa", "getctarank"});
    return map;
  }();
  // A few opcodes are shared by families.
  if (opcode == "bar" && instruction.has("warp")) return decode_warp;
  if ((opcode == "st" || opcode == "red") && instruction.has("async")) return decode_bulk;
  if (opcode == "cp") {
    if (instruction.has("bulk")) return decode_bulk;
    return instruction.has("mbarrier") ? decode_mbarrier : decode_memory;
  }
  const auto found = families.find(opcode);
  return found == families.end() ? nullptr : found->second;
}

}  // namespace sim
