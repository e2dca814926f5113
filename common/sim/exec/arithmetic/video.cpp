// Video instructions: sums, differences, comparisons of bytes and halves of registers, one, two or four at a time.
// Current GPUs execute them as sequences of other instructions.
#include <algorithm>
#include <array>

#include "exec/core/families.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

/// The values that an operand selects from a register or from two consecutive ones. `size`: bits of each.
struct LaneSelection {
  std::array<uint8_t, 4> at{};  ///< first bit of each
  uint8_t count = 1, size = 32;
  bool is_signed = false;

  int64_t value(uint64_t bits, int i) const {
    const auto field = static_cast<int64_t>(bits >> at[static_cast<size_t>(i)] << (64 - size));
    return is_signed ? field >> (64 - size) : static_cast<int64_t>(static_cast<uint64_t>(field) >> (64 - size));
  }
};

/// Parses b0 to b3, h0, h1, or none (the whole register); with two and four lanes one digit for each, from the highest
/// lane on: h10, b3210. Lanes are numbered through a and then b.
LaneSelection selection_of(const Operand& operand, int lanes, bool is_signed, bool is_second) {
  LaneSelection s;
  s.is_signed = is_signed;
  s.count = static_cast<uint8_t>(lanes);
  const std::string& text = operand.text;
  if (lanes > 1) s.size = static_cast<uint8_t>(32 / lanes);
  if (lanes == 1 && !text.empty()) s.size = text[0] == 'b' ? 8 : 16;
  for (int i = 0; i < lanes; ++i) {
    const size_t digit = text.size() - 1 - static_cast<size_t>(i);
    const int value = !text.empty() ? text[digit] - '0' : lanes > 1 && is_second ? i + lanes : i;
    s.at[static_cast<size_t>(i)] = static_cast<uint8_t>(value * s.size);
  }
  return s;
}

enum class VideoOperation : uint8_t { Add, Subtract, Difference, Average, Min, Max, ShiftLeft, ShiftRight, Compare };
enum class Second : uint8_t { None, Add, Min, Max };
enum class Comparison : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

struct Video {
  int32_t d = -1, a = -1, b = -1, c = -1;  ///< slots
  LaneSelection from_a, from_b, to;        ///< `to`: the lanes to write; the others come from c
  VideoOperation operation = VideoOperation::Add;
  Comparison comparison = Comparison::Eq;
  Second second = Second::None;
  bool is_signed = false;  ///< of the result; for comparisons, of the third operand
  bool saturates = false, clamps = false;
  uint8_t mask = 1;  ///< lanes that are computed
};

int64_t clamped(int64_t value, int bits, bool is_signed) {
  return is_signed ? std::clamp(value, -(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1)
                   : std::clamp(value, int64_t{0}, (int64_t{1} << bits) - 1);
}

bool compared(Comparison how, int64_t a, int64_t b) {
  switch (how) {
    case Comparison::Eq: return a == b;
    case Comparison::Ne: return a != b;
    case Comparison::Lt: return a < b;
    case Comparison::Le: return a <= b;
    case Comparison::Gt: return a > b;
    default: return a >= b;
  }
}

/// Saturation uses a 34-bit intermediate, as the ISA specifies. For a left shift beyond that, bit 33 is the sign.
int64_t saturated(const Video& o, int64_t value) {
  const int64_t low = static_cast<int64_t>(static_cast<uint64_t>(value) << 30) >> 30;
  return clamped(low, o.to.size, o.is_signed);
}

int64_t computed(const Video& o, int64_t a, int64_t b) {
  const auto amount = static_cast<uint32_t>(b), by = o.clamps ? std::min(amount, 32u) : amount & 31;
  switch (o.operation) {
    case VideoOperation::Add: return a + b;
    case VideoOperation::Subtract: return a - b;
    case VideoOperation::Difference: return std::abs(a - b);
    case VideoOperation::Average: return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case VideoOperation::Min: return std::min(a, b);
    case VideoOperation::Max: return std::max(a, b);
    case VideoOperation::ShiftLeft: return static_cast<int64_t>(static_cast<uint64_t>(a) << by);
    case VideoOperation::ShiftRight: return a >> by;
    default: return compared(o.comparison, a, b);
  }
}

Flow video(Warp& w, const Video& o, Mask m) {
  auto* const d = lanes<uint32_t>(w, o.d);
  const auto *const a = lanes<uint32_t>(w, o.a), *const b = lanes<uint32_t>(w, o.b), *const c = lanes<uint32_t>(w, o.c);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const bool is_packed = o.from_a.count > 1;
    const uint64_t first = is_packed ? uint64_t{b[lane]} << 32 | a[lane] : a[lane],
                   second = is_packed ? first : b[lane];
    uint32_t result = c[lane];
    for (int i = 0; i < o.from_a.count; ++i) {
      if (!(o.mask >> i & 1)) continue;
      int64_t value = computed(o, o.from_a.value(first, i), o.from_b.value(second, i));
      if (o.saturates) value = saturated(o, value);
      const auto low = static_cast<uint32_t>(value);
      // Comparison before truncation to 32 bits.
      const int64_t other = o.is_signed ? int64_t{static_cast<int32_t>(c[lane])} : int64_t{c[lane]};
      const bool is_less = o.is_signed ? value < other : static_cast<uint64_t>(value) < static_cast<uint64_t>(other);
      switch (o.second) {
        case Second::Add: result += low; break;
        case Second::Min: result = is_less ? low : c[lane]; break;
        case Second::Max: result = is_less ? c[lane] : low; break;
        case Second::None: {
          const uint32_t field = o.to.size == 32 ? ~0u : ((1u << o.to.size) - 1) << o.to.at[static_cast<size_t>(i)];
          result = (result & ~field) | (low << o.to.at[static_cast<size_t>(i)] & field);
        }
      }
    }
    d[lane] = result;
  }
  return Flow::Next;
}

void decode_operands(Decoder& d, Video& o, int lanes, bool first_signed, bool second_signed) {
  const Operand& to = d.operand(0);
  o.to = selection_of(lanes > 1 ? Operand{} : to, lanes, false, false);
  o.mask = static_cast<uint8_t>((1 << lanes) - 1);
  if (lanes > 1 && !to.text.empty()) {
    o.mask = 0;
    for (size_t i = 1; i < to.text.size(); ++i) o.mask |= static_cast<uint8_t>(1 << (to.text[i] - '0'));
  }
  o.from_a = selection_of(d.operand(1), lanes, first_signed, false);
  o.from_b = selection_of(d.operand(2), lanes, second_signed, true);
  o.a = d.source(1, Type::B32);
  o.b = d.source(2, Type::B32);
  o.c = d.count() > 3 ? d.source(3, Type::B32) : d.constant(0, 4);
  o.d = d.destination(0, 4);
}

template <VideoOperation OPERATION, int LANES>
void decode_video(Decoder& d) {
  Video o;
  o.operation = OPERATION;
  int type = 0;
  if (OPERATION != VideoOperation::Compare) o.is_signed = ptx::is_signed(d.type(type++));
  const bool first_signed = ptx::is_signed(d.type(type++)), second_signed = ptx::is_signed(d.type(type));
  if (OPERATION == VideoOperation::Compare) {
    o.is_signed = first_signed;
    o.comparison = d.one_of<Comparison>({{"eq", Comparison::Eq},
                                         {"ne", Comparison::Ne},
                                         {"lt", Comparison::Lt},
                                         {"le", Comparison::Le},
                                         {"gt", Comparison::Gt},
                                         {"ge", Comparison::Ge}},
                                        faults::comparison_required);
  }
  o.saturates = d.has("sat");
  o.clamps = d.which({"wrap", "clamp"}) == 1;
  o.second = static_cast<Second>(1 + d.which({"add", "min", "max"}));
  decode_operands(d, o, LANES, first_signed, second_signed);
  d.emit<video>(std::move(o));
}

// ---- vmad: a product, a sum, a shift

struct VideoMad {
  int32_t d = -1, a = -1, b = -1, c = -1;
  LaneSelection from_a, from_b;
  bool is_signed = false, saturates = false;  ///< is_signed: the sum
  bool negates_product = false, negates_c = false, plus_one = false;
  uint8_t shift = 0;
};

Flow video_mad(Warp& w, const VideoMad& o, Mask m) {
  auto* const d = lanes<uint32_t>(w, o.d);
  const auto *const a = lanes<uint32_t>(w, o.a), *const b = lanes<uint32_t>(w, o.b), *const c = lanes<uint32_t>(w, o.c);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const __int128 product = static_cast<__int128>(o.from_a.value(a[lane], 0)) * o.from_b.value(b[lane], 0);
    const __int128 addend = o.is_signed ? __int128{static_cast<int32_t>(c[lane])} : __int128{c[lane]};
    __int128 sum = (o.negates_product ? -product : product) + (o.negates_c ? -addend : addend) + (o.plus_one ? 1 : 0);
    sum >>= o.shift;
    if (o.saturates) {
      const __int128 low = o.is_signed ? INT32_MIN : 0, high = o.is_signed ? __int128{INT32_MAX} : __int128{UINT32_MAX};
      sum = sum < low ? low : sum > high ? high : sum;
    }
    d[lane] = static_cast<uint32_t>(sum);
  }
  return Flow::Next;
}

void decode_mad(Decoder& d) {
  VideoMad o;
  ptx::is_signed(d.type(0));
  const bool first_signed = ptx::is_signed(d.type(1)), second_signed = ptx::is_signed(d.type(2));
  o.negates_product = d.operand(1).minus != d.operand(2).minus;
  o.negates_c = d.operand(3).minus;
  o.is_signed = first_signed || second_signed || o.negates_product || o.negates_c;
  o.plus_one = d.has("po");
  o.saturates = d.has("sat");
  o.shift = d.has("shr7") ? 7 : d.has("shr15") ? 15 : 0;
  o.from_a = selection_of(d.operand(1), 1, first_signed, false);
  o.from_b = selection_of(d.operand(2), 1, second_signed, true);
  o.a = d.source(1, Type::B32);
  o.b = d.source(2, Type::B32);
  o.c = d.source(3, Type::B32);
  o.d = d.destination(0, 4);
  d.emit<video_mad>(std::move(o));
}

constexpr Mnemonic kMnemonics[] = {
    {"vadd", decode_video<VideoOperation::Add, 1>},
    {"vsub", decode_video<VideoOperation::Subtract, 1>},
    {"vabsdiff", decode_video<VideoOperation::Difference, 1>},
    {"vmin", decode_video<VideoOperation::Min, 1>},
    {"vmax", decode_video<VideoOperation::Max, 1>},
    {"vshl", decode_video<VideoOperation::ShiftLeft, 1>},
    {"vshr", decode_video<VideoOperation::ShiftRight, 1>},
    {"vset", decode_video<VideoOperation::Compare, 1>},
    {"vmad", decode_mad},
    {"vadd2", decode_video<VideoOperation::Add, 2>},
    {"vsub2", decode_video<VideoOperation::Subtract, 2>},
    {"vavrg2", decode_video<VideoOperation::Average, 2>},
    {"vabsdiff2", decode_video<VideoOperation::Difference, 2>},
    {"vmin2", decode_video<VideoOperation::Min, 2>},
    {"vmax2", decode_video<VideoOperation::Max, 2>},
    {"vset2", decode_video<VideoOperation::Compare, 2>},
    {"vadd4", decode_video<VideoOperation::Add, 4>},
    {"vsub4", decode_video<VideoOperation::Subtract, 4>},
    {"vavrg4", decode_video<VideoOperation::Average, 4>},
    {"vabsdiff4", decode_video<VideoOperation::Difference, 4>},
    {"vmin4", decode_video<VideoOperation::Min, 4>},
    {"vmax4", decode_video<VideoOperation::Max, 4>},
    {"vset4", decode_video<VideoOperation::Compare, 4>},
};

}  // namespace

constinit const Family families::video{.mnemonics = kMnemonics, .pure = true};

}  // namespace sim
