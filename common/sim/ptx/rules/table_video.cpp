// Video instructions: one, two or four values of a register at a time. A dot before an operand's type: it may select
// bytes or halves of its register, `%r1.b0`; a minus: it may be negated.
#include "ptx/rules/signature.h"

namespace sim::ptx {
namespace {

#define T ".{u32|s32}"
#define SECOND ".{add|min|max}"
#define COMPARE ".{eq|ne|lt|le|gt|ge}"
#define SCALAR(opcode)                                                                                      \
  {opcode, T T T "[.sat]", "=u32, .u32, .u32"}, {opcode, T T T "[.sat]" SECOND, "=u32, .u32, .u32, u32"}, { \
    opcode, T T T "[.sat]", "=.u32, .u32, .u32, u32"                                                        \
  }
#define SHIFT(opcode)                                                            \
  {opcode, T T ".u32[.sat].{clamp|wrap}", "=u32, .u32, .u32"},                   \
      {opcode, T T ".u32[.sat].{clamp|wrap}" SECOND, "=u32, .u32, .u32, u32"}, { \
    opcode, T T ".u32[.sat].{clamp|wrap}", "=.u32, .u32, .u32, u32"              \
  }
#define PACKED(opcode) \
  {opcode, T T T "[.sat]", "=.u32, .%u32, .%u32, %u32"}, { opcode, T T T ".add", "=.u32, .%u32, .%u32, %u32" }

constexpr Row kRows[] = {
    SCALAR("vadd"),
    SCALAR("vsub"),
    SCALAR("vabsdiff"),
    SCALAR("vmin"),
    SCALAR("vmax"),
    SHIFT("vshl"),
    SHIFT("vshr"),
    {"vmad", T T T "[.sat][.{shr7|shr15}]", "=u32, -.u32, -.u32, -u32"},
    {"vmad", T T T ".po[.sat][.{shr7|shr15}]", "=u32, .u32, .u32, u32"},
    {"vset", T T COMPARE, "=u32, .u32, .u32"},
    {"vset", T T COMPARE SECOND, "=u32, .u32, .u32, u32"},
    {"vset", T T COMPARE, "=.u32, .u32, .u32, u32"},
    PACKED("vadd2"),
    PACKED("vsub2"),
    PACKED("vavrg2"),
    PACKED("vabsdiff2"),
    PACKED("vmin2"),
    PACKED("vmax2"),
    {"vset2", T T COMPARE "[.add]", "=.u32, .%u32, .%u32, %u32"},
    PACKED("vadd4"),
    PACKED("vsub4"),
    PACKED("vavrg4"),
    PACKED("vabsdiff4"),
    PACKED("vmin4"),
    PACKED("vmax4"),
    {"vset4", T T COMPARE "[.add]", "=.u32, .%u32, .%u32, %u32"},
};

}  // namespace

std::span<const Row> video_rows() { return kRows; }

}  // namespace sim::ptx
