// Integer, logic and floating-point arithmetic, comparisons and selections, against models written from the PTX ISA.
#include <algorithm>
#include <bitset>
#include <cmath>

#include "support.h"

namespace sim::test {
namespace {

using u128 = unsigned __int128;

const std::vector<uint64_t> k16 = edge_integers(16), k32 = edge_integers(32), k64 = edge_integers(64);

int64_t signed_of(uint64_t value, int bits) { return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits); }
uint64_t low(uint64_t value, int bits) { return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1); }

struct Width {
  int bits;
  const char* registers;  // type of the registers
  const std::vector<uint64_t>* values;
};
const Width kWidths[] = {{16, "b16", &k16}, {32, "b32", &k32}, {64, "b64", &k64}};

std::string two(const Width& w) { return std::string(w.registers) + " a, " + w.registers + " b"; }
std::string result(const Width& w) { return std::string(w.registers) + " d"; }

// ---- integers

TEST(Integer, AddSubMul) {
  for (const Width& w : kWidths) {
    const std::string bits = std::to_string(w.bits);
    const Rows rows = pairs(*w.values, *w.values);
    for (const std::string& type : {"u" + bits, "s" + bits}) {
      expect_value("add." + type + " d, a, b;", two(w), result(w), rows,
                   [&](const Row& x) { return low(x[0] + x[1], w.bits); });
      expect_value("sub." + type + " d, a, b;", two(w), result(w), rows,
                   [&](const Row& x) { return low(x[0] - x[1], w.bits); });
      expect_value("mul.lo." + type + " d, a, b;", two(w), result(w), rows,
                   [&](const Row& x) { return low(x[0] * x[1], w.bits); });
      const bool is_signed = type[0] == 's';
      expect_value("mul.hi." + type + " d, a, b;", two(w), result(w), rows, [&](const Row& x) {
        if (is_signed)
          return low(static_cast<uint64_t>((static_cast<__int128>(signed_of(x[0], w.bits)) * signed_of(x[1], w.bits)) >>
                                           w.bits),
                     w.bits);
        return low(static_cast<uint64_t>((static_cast<u128>(x[0]) * x[1]) >> w.bits), w.bits);
      });
      if (w.bits == 64) continue;
      const std::string wide = w.bits == 16 ? "b32" : "b64";
      const auto product = [&](const Row& x) {
        return low(is_signed ? static_cast<uint64_t>(signed_of(x[0], w.bits) * signed_of(x[1], w.bits)) : x[0] * x[1],
                   2 * w.bits);
      };
      expect_value("mul.wide." + type + " d, a, b;", two(w), wide + " d", rows, product);
      Rows with_c;
      for (size_t i = 0; i < rows.size(); ++i)
        with_c.push_back({rows[i][0], rows[i][1], low(k64[i % k64.size()], 2 * w.bits)});
      expect_value("mad.wide." + type + " d, a, b, c;", two(w) + ", " + wide + " c", wide + " d", with_c,
                   [&](const Row& x) { return low(product(x) + x[2], 2 * w.bits); });
    }
  }
}

TEST(Integer, SaturatingAdd) {
  const Rows rows = pairs(k32, k32);
  const auto clamp = [](int64_t v) {
    return low(static_cast<uint64_t>(std::max<int64_t>(INT32_MIN, std::min<int64_t>(INT32_MAX, v))), 32);
  };
  expect_value("add.sat.s32 d, a, b;", "b32 a, b32 b", "b32 d", rows,
               [&](const Row& x) { return clamp(signed_of(x[0], 32) + signed_of(x[1], 32)); });
  expect_value("sub.sat.s32 d, a, b;", "b32 a, b32 b", "b32 d", rows,
               [&](const Row& x) { return clamp(signed_of(x[0], 32) - signed_of(x[1], 32)); });
}

TEST(Integer, Mad) {
  for (const Width& w : kWidths) {
    const std::string bits = std::to_string(w.bits), r = w.registers;
    Rows rows = triples(*w.values, *w.values, *w.values);
    for (const std::string& type : {"u" + bits, "s" + bits}) {
      const bool is_signed = type[0] == 's';
      expect_value("mad.lo." + type + " d, a, b, c;", r + " a, " + r + " b, " + r + " c", r + " d", rows,
                   [&](const Row& x) { return low(x[0] * x[1] + x[2], w.bits); });
      expect_value(
          "mad.hi." + type + " d, a, b, c;", r + " a, " + r + " b, " + r + " c", r + " d", rows, [&](const Row& x) {
            const u128 product =
                is_signed ? static_cast<u128>(static_cast<__int128>(signed_of(x[0], w.bits)) * signed_of(x[1], w.bits))
                          : static_cast<u128>(x[0]) * x[1];
            return low(static_cast<uint64_t>(product >> w.bits) + x[2], w.bits);
          });
    }
  }
}

TEST(Integer, TwentyFourBits) {
  const Rows rows = triples(k32, k32, {0, 5, 0xFFFF'FFFF});
  const auto factor = [](uint64_t v, bool is_signed) {
    return is_signed ? signed_of(low(v, 24), 24) : static_cast<int64_t>(low(v, 24));
  };
  for (const bool is_signed : {false, true}) {
    const std::string type = is_signed ? "s32" : "u32";
    for (const bool high : {false, true}) {
      const auto product = [&](const Row& x) {
        return low(static_cast<uint64_t>(factor(x[0], is_signed) * factor(x[1], is_signed)) >> (high ? 16 : 0), 32);
      };
      const std::string part = high ? ".hi." : ".lo.";
      expect_value("mul24" + part + type + " d, a, b;", "b32 a, b32 b, b32 c", "b32 d", rows, product);
      expect_value("mad24" + part + type + " d, a, b, c;", "b32 a, b32 b, b32 c", "b32 d", rows,
                   [&](const Row& x) { return low(product(x) + x[2], 32); });
    }
  }
}

TEST(Integer, DivRem) {
  for (const Width& w : kWidths) {
    const std::string bits = std::to_string(w.bits);
    Rows rows;
    for (const Row& row : pairs(*w.values, *w.values)) {
      if (row[1] != 0) rows.push_back(row);  // division by zero is unspecified
    }
    const uint64_t lowest = uint64_t{1} << (w.bits - 1);
    const auto overflows = [&](const Row& x) { return x[0] == lowest && x[1] == low(~uint64_t{0}, w.bits); };
    expect_value("div.u" + bits + " d, a, b;", two(w), result(w), rows, [](const Row& x) { return x[0] / x[1]; });
    expect_value("rem.u" + bits + " d, a, b;", two(w), result(w), rows, [](const Row& x) { return x[0] % x[1]; });
    expect_value("div.s" + bits + " d, a, b;", two(w), result(w), rows, [&](const Row& x) {
      return overflows(x) ? lowest
                          : low(static_cast<uint64_t>(signed_of(x[0], w.bits) / signed_of(x[1], w.bits)), w.bits);
    });
    expect_value("rem.s" + bits + " d, a, b;", two(w), result(w), rows, [&](const Row& x) {
      return overflows(x) ? 0 : low(static_cast<uint64_t>(signed_of(x[0], w.bits) % signed_of(x[1], w.bits)), w.bits);
    });
  }
}

TEST(Integer, MinMaxAbsNeg) {
  for (const Width& w : kWidths) {
    const std::string bits = std::to_string(w.bits), r = w.registers;
    const Rows rows = pairs(*w.values, *w.values);
    expect_value("min.u" + bits + " d, a, b;", two(w), result(w), rows,
                 [](const Row& x) { return std::min(x[0], x[1]); });
    expect_value("max.u" + bits + " d, a, b;", two(w), result(w), rows,
                 [](const Row& x) { return std::max(x[0], x[1]); });
    expect_value("min.s" + bits + " d, a, b;", two(w), result(w), rows, [&](const Row& x) {
      return low(static_cast<uint64_t>(std::min(signed_of(x[0], w.bits), signed_of(x[1], w.bits))), w.bits);
    });
    expect_value("max.s" + bits + " d, a, b;", two(w), result(w), rows, [&](const Row& x) {
      return low(static_cast<uint64_t>(std::max(signed_of(x[0], w.bits), signed_of(x[1], w.bits))), w.bits);
    });
    expect_value("abs.s" + bits + " d, a;", r + " a", result(w), singles(*w.values),
                 [&](const Row& x) { return low(signed_of(x[0], w.bits) < 0 ? 0 - x[0] : x[0], w.bits); });
    expect_value("neg.s" + bits + " d, a;", r + " a", result(w), singles(*w.values),
                 [&](const Row& x) { return low(0 - x[0], w.bits); });
  }
  const auto halves = [](uint64_t v, int i) { return signed_of(v >> (16 * i), 16); };
  expect_value("max.s16x2.relu d, a, b;", "b32 a, b32 b", "b32 d", pairs(k32, k32), [&](const Row& x) {
    uint64_t both = 0;
    for (int i = 0; i < 2; ++i)
      both |= low(static_cast<uint64_t>(std::max<int64_t>(0, std::max(halves(x[0], i), halves(x[1], i)))), 16)
              << (16 * i);
    return both;
  });
  expect_value("min.s32.relu d, a, b;", "b32 a, b32 b", "b32 d", pairs(k32, k32), [&](const Row& x) {
    return static_cast<uint64_t>(std::max<int64_t>(0, std::min(signed_of(x[0], 32), signed_of(x[1], 32))));
  });
}

TEST(Integer, CarryChains) {
  // 128-bit sums from four words, with the carry travelling through three instructions.
  Dice dice(3);
  Rows rows;
  for (int i = 0; i < 500; ++i) {
    Row row;
    for (int word = 0; word < 8; ++word) row.push_back(i % 3 == 0 ? (dice.word() & 1 ? 0xFFFF'FFFF : 0) : dice.word());
    rows.push_back(row);
  }
  const auto value = [](const Row& x, int at) {
    return static_cast<u128>(x[at]) | static_cast<u128>(x[at + 1]) << 32 | static_cast<u128>(x[at + 2]) << 64 |
           static_cast<u128>(x[at + 3]) << 96;
  };
  const auto words = [](u128 v, int carry) {
    return Row{static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32), static_cast<uint32_t>(v >> 64),
               static_cast<uint32_t>(v >> 96), static_cast<uint64_t>(carry)};
  };
  const std::string in = "b32 a0, b32 a1, b32 a2, b32 a3, b32 b0, b32 b1, b32 b2, b32 b3",
                    out = "b32 d0, b32 d1, b32 d2, b32 d3, b32 d4";
  expect_model(
      "add.cc.u32 d0, a0, b0; addc.cc.u32 d1, a1, b1; addc.cc.u32 d2, a2, b2; addc.cc.u32 d3, a3, b3; addc.u32 d4, 0, "
      "0;",
      in, out, rows, [&](const Row& x) {
        const u128 a = value(x, 0), b = value(x, 4), sum = a + b;
        return words(sum, sum < a);
      });
  expect_model(
      "sub.cc.u32 d0, a0, b0; subc.cc.u32 d1, a1, b1; subc.cc.u32 d2, a2, b2; subc.cc.u32 d3, a3, b3; subc.u32 d4, 0, "
      "0;",
      in, out, rows, [&](const Row& x) {
        const u128 a = value(x, 0), b = value(x, 4);
        Row row = words(a - b, 0);
        row[4] = a < b ? 0xFFFF'FFFF : 0;
        return row;
      });
  expect_model(
      "add.cc.u64 d0, a, c; addc.u64 d1, b, e;", "b64 a, b64 b, b64 c, b64 e", "b64 d0, b64 d1",
      [] {
        Rows four;
        for (size_t i = 0; i + 3 < k64.size(); ++i) four.push_back({k64[i], k64[i + 1], k64[i + 2], k64[i + 3]});
        return four;
      }(),
      [&](const Row& x) {
        const u128 sum = (static_cast<u128>(x[1]) << 64 | x[0]) + (static_cast<u128>(x[3]) << 64 | x[2]);
        return Row{static_cast<uint64_t>(sum), static_cast<uint64_t>(sum >> 64)};
      });
  // 64 x 64 -> 128 bits by mad.cc and madc, as compilers write it.
  expect_model(
      "mul.lo.u32 d0, a0, b0; mul.hi.u32 d1, a0, b0; mad.lo.cc.u32 d1, a0, b1, d1; madc.hi.u32 d2, a0, b1, 0;"
      "mad.lo.cc.u32 d1, a1, b0, d1; madc.hi.cc.u32 d2, a1, b0, d2; addc.u32 d3, 0, 0; mad.lo.cc.u32 d2, a1, b1, d2; "
      "madc.hi.u32 d3, a1, b1, d3;",
      "b32 a0, b32 a1, b32 b0, b32 b1", "b32 d0, b32 d1, b32 d2, b32 d3",
      [&] {
        Rows four;
        for (const Row& row : rows) four.push_back({row[0], row[1], row[2], row[3]});
        return four;
      }(),
      [&](const Row& x) {
        Row all = words(static_cast<u128>(x[0] | x[1] << 32) * (x[2] | x[3] << 32), 0);
        all.pop_back();
        return all;
      });
  expect_model("add.cc.u32 d0, a, a; madc.hi.cc.s32 d1, a, b, c; addc.u32 d2, 0, 0;", "b32 a, b32 b, b32 c",
               "b32 d0, b32 d1, b32 d2", triples(k32, k32, {0, 0xFFFF'FFFF, 17}), [&](const Row& x) {
                 const uint64_t carry = (x[0] + x[0]) >> 32,
                                high = low(static_cast<uint64_t>(signed_of(x[0], 32) * signed_of(x[1], 32)) >> 32, 32),
                                sum = high + x[2] + carry;
                 return Row{low(x[0] + x[0], 32), low(sum, 32), sum >> 32};
               });
}

TEST(Integer, DotProducts) {
  Dice dice(9);
  Rows rows;
  for (int i = 0; i < 500; ++i) rows.push_back({dice.word(), dice.word(), dice.word()});
  for (const bool sa : {false, true}) {
    for (const bool sb : {false, true}) {
      const std::string types = std::string(sa ? "s32" : "u32") + (sb ? ".s32" : ".u32");
      const auto field = [](uint64_t v, int bits, int at, bool is_signed) {
        return is_signed ? signed_of(v >> (bits * at), bits) : static_cast<int64_t>(low(v >> (bits * at), bits));
      };
      expect_value("dp4a." + types + " d, a, b, c;", "b32 a, b32 b, b32 c", "b32 d", rows, [&](const Row& x) {
        int64_t sum = static_cast<int64_t>(x[2]);
        for (int i = 0; i < 4; ++i) sum += field(x[0], 8, i, sa) * field(x[1], 8, i, sb);
        return low(static_cast<uint64_t>(sum), 32);
      });
      for (const int half : {0, 1}) {
        expect_value("dp2a." + std::string(half ? "hi." : "lo.") + types + " d, a, b, c;", "b32 a, b32 b, b32 c",
                     "b32 d", rows, [&](const Row& x) {
                       int64_t sum = static_cast<int64_t>(x[2]);
                       for (int i = 0; i < 2; ++i) sum += field(x[0], 16, i, sa) * field(x[1], 8, i + 2 * half, sb);
                       return low(static_cast<uint64_t>(sum), 32);
                     });
      }
    }
  }
}

// ---- bits

TEST(Bits, Logic) {
  for (const Width& w : kWidths) {
    const std::string type = "b" + std::to_string(w.bits), r = w.registers;
    const Rows rows = pairs(*w.values, *w.values);
    expect_value("and." + type + " d, a, b;", two(w), result(w), rows, [](const Row& x) { return x[0] & x[1]; });
    expect_value("or." + type + " d, a, b;", two(w), result(w), rows, [](const Row& x) { return x[0] | x[1]; });
    expect_value("xor." + type + " d, a, b;", two(w), result(w), rows, [](const Row& x) { return x[0] ^ x[1]; });
    expect_value("not." + type + " d, a;", r + " a", result(w), singles(*w.values),
                 [&](const Row& x) { return low(~x[0], w.bits); });
    expect_value("cnot." + type + " d, a;", r + " a", result(w), singles(*w.values),
                 [](const Row& x) { return x[0] == 0; });
  }
  const Rows truth{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  expect_model("and.pred p, a, b; or.pred q, a, !b; xor.pred r, a, b; not.pred s, a; mov.pred t, b;", "pred a, pred b",
               "pred p, pred q, pred r, pred s, pred t", truth, [](const Row& x) {
                 return Row{x[0] & x[1], x[0] | (1 - x[1]), x[0] ^ x[1], 1 - x[0], x[1]};
               });
}

TEST(Bits, Shifts) {
  const std::vector<uint64_t> amounts{0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x8000'0000, 0xFFFF'FFFF};
  for (const Width& w : kWidths) {
    const std::string bits = std::to_string(w.bits), in = std::string(w.registers) + " a, b32 b";
    const Rows rows = pairs(*w.values, amounts);
    expect_value("shl.b" + bits + " d, a, b;", in, result(w), rows,
                 [&](const Row& x) { return x[1] >= static_cast<uint64_t>(w.bits) ? 0 : low(x[0] << x[1], w.bits); });
    expect_value("shr.u" + bits + " d, a, b;", in, result(w), rows,
                 [&](const Row& x) { return x[1] >= static_cast<uint64_t>(w.bits) ? 0 : x[0] >> x[1]; });
    expect_value("shr.b" + bits + " d, a, b;", in, result(w), rows,
                 [&](const Row& x) { return x[1] >= static_cast<uint64_t>(w.bits) ? 0 : x[0] >> x[1]; });
    expect_value("shr.s" + bits + " d, a, b;", in, result(w), rows, [&](const Row& x) {
      return low(
          static_cast<uint64_t>(signed_of(x[0], w.bits) >> std::min<uint64_t>(x[1], static_cast<uint64_t>(w.bits) - 1)),
          w.bits);
    });
  }
  const Rows rows = triples(k32, {0x1234'5678, 0x8000'0001}, {0, 1, 8, 31, 32, 33, 40, 64, 0xFFFF'FFFF});
  for (const bool wrap : {false, true}) {
    const auto amount = [&](uint64_t c) { return wrap ? c & 31 : std::min<uint64_t>(c, 32); };
    const std::string mode = wrap ? "wrap" : "clamp";
    expect_value("shf.l." + mode + ".b32 d, a, b, c;", "b32 a, b32 b, b32 c", "b32 d", rows, [&](const Row& x) {
      return low(static_cast<uint64_t>((static_cast<u128>(x[1] << 32 | x[0]) << amount(x[2])) >> 32), 32);
    });
    expect_value("shf.r." + mode + ".b32 d, a, b, c;", "b32 a, b32 b, b32 c", "b32 d", rows,
                 [&](const Row& x) { return low(amount(x[2]) == 64 ? 0 : (x[1] << 32 | x[0]) >> amount(x[2]), 32); });
  }
}

TEST(Bits, Fields) {
  const std::vector<uint64_t> positions{0, 1, 4, 16, 30, 31, 32, 33, 62, 63, 64, 200, 255, 256, 259},
      lengths{0, 1, 2, 8, 31, 32, 33, 63, 64, 100, 255, 256, 260};
  for (const int bits : {32, 64}) {
    const std::string r = "b" + std::to_string(bits);
    const std::vector<uint64_t> values =
        bits == 32 ? std::vector<uint64_t>{0, 0xFFFF'FFFF, 0x8000'0000, 0x7FFF'FFFF, 0xDEAD'BEEF, 0x0000'8001}
                   : std::vector<uint64_t>{0, ~0ull, 1ull << 63, 0xDEAD'BEEF'0123'4567, 0x0000'8000'0000'8001};
    const Rows rows = triples(values, positions, lengths);
    // The loops of the ISA's own pseudocode.
    for (const bool is_signed : {false, true}) {
      expect_value(std::string("bfe.") + (is_signed ? "s" : "u") + std::to_string(bits) + " d, a, b, c;",
                   r + " a, b32 b, b32 c", r + " d", rows, [&](const Row& x) {
                     const int msb = bits - 1, pos = static_cast<int>(x[1] & 0xFF),
                               length = static_cast<int>(x[2] & 0xFF);
                     const uint64_t sign = !is_signed || length == 0 ? 0 : x[0] >> std::min(pos + length - 1, msb) & 1;
                     uint64_t d = 0;
                     for (int i = 0; i <= msb; ++i)
                       d |= (i < length && pos + i <= msb ? x[0] >> (pos + i) & 1 : sign) << i;
                     return d;
                   });
    }
    const uint64_t base = bits == 32 ? 0x5555'AAAA : 0x5555'AAAA'3333'CCCC;
    expect_value("bfi." + r + " d, a, " + std::to_string(base) + ", b, c;", r + " a, b32 b, b32 c", r + " d", rows,
                 [&](const Row& x) {
                   const int msb = bits - 1, pos = static_cast<int>(x[1] & 0xFF),
                             length = static_cast<int>(x[2] & 0xFF);
                   uint64_t d = base;
                   for (int i = 0; i < length && pos + i <= msb; ++i)
                     d = (d & ~(1ull << (pos + i))) | (x[0] >> i & 1) << (pos + i);
                   return d;
                 });
  }
}

TEST(Bits, CountAndFind) {
  for (const int bits : {32, 64}) {
    const std::string width = std::to_string(bits), r = "b" + width;
    const Rows rows = singles(bits == 32 ? k32 : k64);
    expect_value("popc.b" + width + " d, a;", r + " a", "b32 d", rows,
                 [](const Row& x) { return std::bitset<64>(x[0]).count(); });
    expect_value("clz.b" + width + " d, a;", r + " a", "b32 d", rows, [&](const Row& x) {
      int n = 0;
      while (n < bits && !(x[0] >> (bits - 1 - n) & 1)) ++n;
      return static_cast<uint64_t>(n);
    });
    expect_value("brev.b" + width + " d, a;", r + " a", r + " d", rows, [&](const Row& x) {
      uint64_t d = 0;
      for (int i = 0; i < bits; ++i) d |= (x[0] >> i & 1) << (bits - 1 - i);
      return d;
    });
    for (const bool is_signed : {false, true}) {
      for (const bool shift : {false, true}) {
        expect_value(std::string("bfind") + (shift ? ".shiftamt" : "") + (is_signed ? ".s" : ".u") + width + " d, a;",
                     r + " a", "b32 d", rows, [&](const Row& x) {
                       const uint64_t v = is_signed && (x[0] >> (bits - 1) & 1) ? low(~x[0], bits) : x[0];
                       for (int i = bits - 1; i >= 0; --i) {
                         if (v >> i & 1) return static_cast<uint64_t>(shift ? bits - 1 - i : i);
                       }
                       return uint64_t{0xFFFF'FFFF};
                     });
      }
    }
  }
}

TEST(Bits, MasksAndExtensions) {
  // By the formulas of the ISA, a bit at a time.
  std::vector<uint64_t> positions;
  for (uint64_t i = 0; i <= 33; ++i) positions.push_back(i);
  positions.insert(positions.end(), {63, 64, 255, 0x8000'0000, 0xFFFF'FFFF});
  for (const bool clamps : {false, true}) {
    const std::string mode = clamps ? "clamp" : "wrap";
    expect_value("bmsk." + mode + ".b32 d, a, b;", "b32 a, b32 b", "b32 d", pairs(positions, positions),
                 [clamps](const Row& x) -> uint64_t {
                   const uint64_t first = clamps ? x[0] : x[0] & 31, width = clamps ? x[1] : x[1] & 31;
                   uint64_t mask = 0;
                   for (uint64_t bit = 0; bit < 32; ++bit) mask |= uint64_t{bit >= first && bit - first < width} << bit;
                   return mask;
                 });
    for (const bool is_signed : {false, true}) {
      expect_value("szext." + mode + (is_signed ? ".s32" : ".u32") + " d, a, b;", "b32 a, b32 b", "b32 d",
                   pairs(edge_integers(32), positions), [clamps, is_signed](const Row& x) -> uint64_t {
                     const uint64_t width = clamps ? x[1] : x[1] & 31;
                     if (width == 0) return 0;
                     if (width >= 32) return x[0];
                     const bool negative = is_signed && (x[0] >> (width - 1) & 1);
                     uint64_t value = 0;
                     for (uint64_t bit = 0; bit < 32; ++bit)
                       value |= (bit < width ? x[0] >> bit & 1 : uint64_t{negative}) << bit;
                     return value;
                   });
    }
  }
}

TEST(Bits, TheNthThatIsSet) {
  std::vector<uint64_t> offsets, bases;
  for (int64_t i = -33; i <= 33; ++i) offsets.push_back(static_cast<uint32_t>(i));
  for (uint64_t i = 0; i < 32; ++i) bases.push_back(i);
  expect_value("fns.b32 d, a, b, c;", "b32 a, b32 b, s32 c", "b32 d",
               triples({0, 1, 0x8000'0000, 0xFFFF'FFFF, 0x5A5A'0F01, 0x0001'0000}, bases, offsets),
               [](const Row& x) -> uint64_t {
                 const auto offset = static_cast<int32_t>(x[2]);
                 if (offset == 0) return x[0] >> x[1] & 1 ? x[1] : 0xFFFF'FFFF;
                 std::vector<uint64_t> set;
                 for (auto at = static_cast<int>(x[1]); at >= 0 && at<32; at += offset> 0 ? 1 : -1)
                   if (x[0] >> at & 1) set.push_back(static_cast<uint64_t>(at));
                 const auto which = static_cast<size_t>(std::abs(offset)) - 1;
                 return which < set.size() ? set[which] : 0xFFFF'FFFF;
               });
}

TEST(Integer, SumsOfDifferences) {
  const auto run = [](const std::string& type, int bits, auto wide) {
    const std::string inputs =
        "b" + std::to_string(bits) + " a, b" + std::to_string(bits) + " b, b" + std::to_string(bits) + " c";
    const uint64_t ones = bits == 64 ? ~0ull : (1ull << bits) - 1;
    const std::vector<uint64_t> values = edge_integers(bits);
    expect_value("sad." + type + " d, a, b, c;", inputs, "b" + std::to_string(bits) + " d",
                 triples(values, values, {values.begin(), values.begin() + 3}), [&](const Row& x) {
                   const bool less = wide(x[0]) < wide(x[1]);
                   return (x[2] + (less ? x[1] - x[0] : x[0] - x[1])) & ones;
                 });
  };
  run("u16", 16, [](uint64_t v) { return static_cast<uint16_t>(v); });
  run("s16", 16, [](uint64_t v) { return static_cast<int16_t>(v); });
  run("u32", 32, [](uint64_t v) { return static_cast<uint32_t>(v); });
  run("s32", 32, [](uint64_t v) { return static_cast<int32_t>(v); });
  run("u64", 64, [](uint64_t v) { return v; });
  run("s64", 64, [](uint64_t v) { return static_cast<int64_t>(v); });
}

TEST(Integer, TwentyFourBitsSaturated) {
  expect_value("mad24.hi.sat.s32 d, a, b, c;", "b32 a, b32 b, b32 c", "b32 d",
               triples(edge_integers(32), {0, 1, 0x7F'FFFF, 0x80'0000, 0xFF'FFFF}, edge_integers(32)),
               [](const Row& x) {
                 const auto factor = [](uint64_t v) { return static_cast<int64_t>(static_cast<int32_t>(v << 8) >> 8); };
                 const int64_t product = (factor(x[0]) * factor(x[1])) >> 16;
                 const int64_t sum = static_cast<int32_t>(product) + int64_t{static_cast<int32_t>(x[2])};
                 return static_cast<uint64_t>(static_cast<uint32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)));
               });
}

TEST(Compare, HalvesWithoutSubnormalNumbers) {
  const Row smallest{0x0001, 0x0000}, negative{0x8001, 0x0000}, normal{0x0400, 0x03FF};
  const Rows rows{smallest, negative, normal};
  expect_value("setp.eq.f16 d, a, b;", "b16 a, b16 b", "pred d", rows, [](const Row&) { return 0u; });
  expect_value("setp.eq.ftz.f16 d, a, b;", "b16 a, b16 b", "pred d", rows, [&](const Row& x) { return x != normal; });
  expect_value("set.eq.ftz.u32.f16 d, a, b;", "b16 a, b16 b", "b32 d", rows,
               [&](const Row& x) { return x != normal ? 0xFFFF'FFFFu : 0u; });
  expect_value("set.gt.ftz.f16x2.f16x2 d, a, b;", "b32 a, b32 b", "b32 d", {{0x3C00'0001, 0}, {0x0001'3C00, 0}},
               [](const Row& x) { return x[0] & 0x3C00'3C00; });
  expect_value("abs.ftz.f16 d, a;", "b16 a", "b16 d", singles({0x8001, 0x83FF, 0x8400, 0xBC00, 0xFC00}),
               [](const Row& x) { return (x[0] & 0x7C00) == 0 ? 0 : x[0] & 0x7FFF; });
  expect_value("neg.ftz.f16x2 d, a;", "b32 a", "b32 d", singles({0x0001'8001, 0x3C00'0001, 0x83FF'BC00}),
               [](const Row& x) {
                 const auto half = [](uint64_t v) { return ((v & 0x7C00) == 0 ? v & 0x8000 : v & 0xFFFF) ^ 0x8000; };
                 return half(x[0] >> 16) << 16 | half(x[0] & 0xFFFF);
               });
}

TEST(Bits, Permute) {
  Dice dice(17);
  Rows rows;
  for (int i = 0; i < 3000; ++i) rows.push_back({dice.word(), dice.word(), dice.word() & 0xFFFF});
  const auto bytes = [](const Row& x) {
    std::array<uint64_t, 8> b{};
    for (int i = 0; i < 4; ++i) b[i] = x[0] >> (8 * i) & 0xFF, b[4 + i] = x[1] >> (8 * i) & 0xFF;
    return b;
  };
  expect_value("prmt.b32 d, a, b, c;", "b32 a, b32 b, b32 c", "b32 d", rows, [&](const Row& x) {
    uint64_t d = 0;
    for (int i = 0; i < 4; ++i) {
      const uint64_t pick = x[2] >> (4 * i) & 15, byte = bytes(x)[pick & 7];
      d |= (pick & 8 ? (byte & 0x80 ? 0xFF : 0) : byte) << (8 * i);
    }
    return d;
  });
  // The table of the ISA, d3 d2 d1 d0 for c mod 4 = 0, 1, 2, 3.
  const std::vector<std::pair<std::string, std::array<std::array<int, 4>, 4>>> modes{
      {"f4e", {{{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}}},
      {"b4e", {{{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}}},
      {"rc8", {{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}}},
      {"ecl", {{{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}}},
      {"ecr", {{{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}}},
      {"rc16", {{{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}}}};
  for (const auto& [mode, table] : modes) {
    expect_value("prmt.b32." + mode + " d, a, b, c;", "b32 a, b32 b, b32 c", "b32 d", rows, [&](const Row& x) {
      uint64_t d = 0;
      for (int i = 0; i < 4; ++i) d = d << 8 | bytes(x)[static_cast<size_t>(table[x[2] & 3][i])];
      return d;
    });
  }
}

TEST(Bits, Lop3) {
  for (const int table : {0x00, 0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x3C, 0x01, 0xFF, 0x5D}) {
    expect_value(
        "lop3.b32 d, a, b, c, " + std::to_string(table) + ";", "b32 a, b32 b, b32 c", "b32 d",
        triples(k32, {0xF0F0'F0F0, 0x1234'5678}, {0xCCCC'CCCC, 0xAAAA'AAAA}), [&](const Row& x) {
          uint64_t d = 0;
          for (int i = 0; i < 32; ++i)
            d |= static_cast<uint64_t>(table >> ((x[0] >> i & 1) << 2 | (x[1] >> i & 1) << 1 | (x[2] >> i & 1)) & 1)
                 << i;
          return d;
        });
  }
}

// ---- comparisons and selections

TEST(Compare, Integers) {
  const char* const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  const auto truth = [](int how, auto a, auto b) {
    return how == 0 ? a == b : how == 1 ? a != b : how == 2 ? a < b : how == 3 ? a <= b : how == 4 ? a > b : a >= b;
  };
  for (const Width& w : kWidths) {
    const std::string bits = std::to_string(w.bits);
    const Rows rows = pairs(*w.values, *w.values);
    for (int how = 0; how < 6; ++how) {
      expect_value("setp." + std::string(names[how]) + ".u" + bits + " d, a, b;", two(w), "pred d", rows,
                   [&](const Row& x) { return truth(how, x[0], x[1]); });
      expect_value("setp." + std::string(names[how]) + ".s" + bits + " d, a, b;", two(w), "pred d", rows,
                   [&](const Row& x) { return truth(how, signed_of(x[0], w.bits), signed_of(x[1], w.bits)); });
    }
    expect_value("setp.eq.b" + bits + " d, a, b;", two(w), "pred d", rows, [](const Row& x) { return x[0] == x[1]; });
    expect_value("setp.lo.u" + bits + " d, a, b;", two(w), "pred d", rows, [](const Row& x) { return x[0] < x[1]; });
    expect_value("setp.hs.u" + bits + " d, a, b;", two(w), "pred d", rows, [](const Row& x) { return x[0] >= x[1]; });
  }
}

TEST(Compare, CombinedAndTwoResults) {
  Rows rows;
  for (const uint64_t a : {1, 2}) {
    for (const uint64_t b : {1, 2}) {
      for (const uint64_t c : {0, 1}) rows.push_back({a, b, c});
    }
  }
  const auto both = [](auto f) {
    return [f](const Row& x) {
      return Row{static_cast<uint64_t>(f(x[0] < x[1], x[2] != 0)), static_cast<uint64_t>(f(!(x[0] < x[1]), x[2] != 0))};
    };
  };
  const std::string in = "b32 a, b32 b, pred c", out = "pred d, pred e";
  expect_model("setp.lt.and.s32 d|e, a, b, c;", in, out, rows, both([](bool t, bool c) { return t && c; }));
  expect_model("setp.lt.or.s32 d|e, a, b, c;", in, out, rows, both([](bool t, bool c) { return t || c; }));
  expect_model("setp.lt.xor.s32 d|e, a, b, !c;", in, out, rows, both([](bool t, bool c) { return t != !c; }));
  expect_model("setp.lt.s32 d|e, a, b;", in, out, rows, both([](bool t, bool) { return t; }));
  expect_model("setp.lt.s32 _|e, a, b; not.pred d, e;", in, out, rows, both([](bool t, bool) { return t; }));
}

TEST(Compare, Floats) {
  const char* const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  const auto truth = [](int how, auto a, auto b) {
    return how == 0   ? a == b
           : how == 1 ? a < b || a > b
           : how == 2 ? a < b
           : how == 3 ? a <= b
           : how == 4 ? a > b
                      : a >= b;
  };
  const Rows floats = pairs(edge_floats(), edge_floats()), doubles = pairs(edge_doubles(), edge_doubles());
  for (int how = 0; how < 6; ++how) {
    const std::string name = names[how];
    for (const bool unordered : {false, true}) {
      const std::string u = unordered ? "u" : "";
      expect_value("setp." + name + u + ".f32 d, a, b;", "f32 a, f32 b", "pred d", floats, [&](const Row& x) {
        const float a = float_of(x[0]), b = float_of(x[1]);
        return std::isnan(a) || std::isnan(b) ? unordered : truth(how, a, b);
      });
      expect_value("setp." + name + u + ".f64 d, a, b;", "f64 a, f64 b", "pred d", doubles, [&](const Row& x) {
        const double a = double_of(x[0]), b = double_of(x[1]);
        return std::isnan(a) || std::isnan(b) ? unordered : truth(how, a, b);
      });
    }
  }
  expect_value("setp.num.f32 d, a, b;", "f32 a, f32 b", "pred d", floats,
               [](const Row& x) { return !std::isnan(float_of(x[0])) && !std::isnan(float_of(x[1])); });
  expect_value("setp.nan.f32 d, a, b;", "f32 a, f32 b", "pred d", floats,
               [](const Row& x) { return std::isnan(float_of(x[0])) || std::isnan(float_of(x[1])); });
  expect_value("setp.eq.ftz.f32 d, a, b;", "f32 a, f32 b", "pred d",
               Rows{{1, 0x8000'0002}, {0x0080'0000, 1}, {0, 0x807F'FFFF}},
               [](const Row& x) { return x[0] != 0x0080'0000; });
  expect_value("setp.lt.f16 d, a, b;", "b16 a, b16 b", "pred d",
               Rows{{0x3C00, 0x4000}, {0xBC00, 0x3C00}, {0x7E00, 0x3C00}, {0x0001, 0x0002}, {0x4000, 0x3C00}},
               [](const Row& x) { return x[0] != 0x7E00 && x[0] != 0x4000; });
  expect_value("setp.gtu.bf16 d, a, b;", "b16 a, b16 b", "pred d",
               Rows{{0x3F80, 0x4000}, {0x4000, 0x3F80}, {0x7FC0, 0x3C00}}, [](const Row& x) { return x[0] != 0x3F80; });
}

TEST(Compare, Set) {
  const Rows rows = pairs(edge_floats(), edge_floats());
  const auto less = [](const Row& x) { return float_of(x[0]) < float_of(x[1]); };
  expect_value("set.lt.u32.f32 d, a, b;", "f32 a, f32 b", "b32 d", rows,
               [&](const Row& x) { return less(x) ? 0xFFFF'FFFFu : 0u; });
  expect_value("set.lt.f32.f32 d, a, b;", "f32 a, f32 b", "b32 d", rows,
               [&](const Row& x) { return less(x) ? 0x3F80'0000u : 0u; });
  expect_value("set.ge.s32.u32 d, a, b;", "b32 a, b32 b", "b32 d", pairs(k32, k32),
               [](const Row& x) { return x[0] >= x[1] ? 0xFFFF'FFFFu : 0u; });
  expect_value("set.gt.and.u32.s32 d, a, b, c;", "b32 a, b32 b, pred c", "b32 d", triples(k32, k32, {0, 1}),
               [](const Row& x) { return signed_of(x[0], 32) > signed_of(x[1], 32) && x[2] ? 0xFFFF'FFFFu : 0u; });
  expect_value("set.gt.f16x2.f16x2 d, a, b;", "b32 a, b32 b", "b32 d",
               Rows{{0x4000'3C00, 0x3C00'3C00}, {0x7E00'4000, 0x0000'0000}},
               [](const Row& x) { return x[0] == 0x4000'3C00 ? 0x3C00'0000u : 0x0000'3C00u; });
  expect_value("set.eq.bf16.bf16 d, a, b;", "b16 a, b16 b", "b16 d", Rows{{0x4000, 0x4000}, {0x4000, 0x4001}},
               [](const Row& x) { return x[0] == x[1] ? 0x3F80u : 0u; });
}

TEST(Compare, Select) {
  for (const Width& w : kWidths) {
    Rows rows = triples({0x1111, 0xFFFF}, {0x2222, 0}, {0, 1});
    expect_value("selp.b" + std::to_string(w.bits) + " d, a, b, c;", two(w) + ", pred c", result(w), rows,
                 [](const Row& x) { return x[2] ? x[0] : x[1]; });
    expect_value("selp.b" + std::to_string(w.bits) + " d, a, b, !c;", two(w) + ", pred c", result(w), rows,
                 [](const Row& x) { return x[2] ? x[1] : x[0]; });
  }
  expect_value("slct.u32.s32 d, a, b, c;", "b32 a, b32 b, b32 c", "b32 d", triples({1}, {2}, k32),
               [](const Row& x) { return signed_of(x[2], 32) >= 0 ? x[0] : x[1]; });
  expect_value("slct.u64.f32 d, a, b, c;", "b64 a, b64 b, f32 c", "b64 d", triples({1}, {2}, edge_floats()),
               [](const Row& x) { return float_of(x[2]) >= 0 ? x[0] : x[1]; });
  expect_value("slct.f32.f32 d, a, b, c;", "f32 a, f32 b, f32 c", "f32 d", triples({1}, {2}, edge_floats()),
               [](const Row& x) { return float_of(x[2]) >= 0 ? x[0] : x[1]; });
  expect_value("slct.ftz.u32.f32 d, a, b, c;", "b32 a, b32 b, f32 c", "b32 d",
               Rows{{1, 2, 0x8000'0001}, {1, 2, 0x8080'0000}},
               [](const Row& x) { return x[2] == 0x8000'0001 ? x[0] : x[1]; });
}

// ---- floats, against exact sums rounded by definition

enum class Mode { Nearest, Zero, Down, Up };
const std::pair<const char*, Mode> kModes[] = {
    {"rn", Mode::Nearest}, {"rz", Mode::Zero}, {"rm", Mode::Down}, {"rp", Mode::Up}};

/// A finite number other than zero, rounded to `digits` significant bits with exponents from `lowest` to `highest`.
/// Returns the sign, and the magnitude as an integer in units of 2^*unit; too large ones get infinity's or the
/// largest's.
double round_exact(__float128 x, Mode mode, int digits, int lowest, int highest) {
  const bool negative = x < 0;
  __float128 magnitude = negative ? -x : x;
  int exponent = 0;
  __float128 scaled = magnitude;
  while (scaled >= 2) scaled /= 2, ++exponent;
  while (scaled < 1) scaled *= 2, --exponent;
  const int unit = std::max(exponent, lowest) - digits + 1;
  __float128 count = magnitude;
  for (int i = 0; i < unit; ++i) count /= 2;
  for (int i = 0; i > unit; --i) count *= 2;
  auto whole = static_cast<uint64_t>(count);
  const __float128 rest = count - static_cast<__float128>(whole);
  bool away = false;
  switch (mode) {
    case Mode::Nearest: away = rest > 0.5 || (rest == 0.5 && (whole & 1)); break;
    case Mode::Zero: break;
    case Mode::Down: away = negative && rest > 0; break;
    case Mode::Up: away = !negative && rest > 0; break;
  }
  whole += away;
  double result = std::ldexp(static_cast<double>(whole), unit);
  const double largest = std::ldexp(2 - std::ldexp(1.0, 1 - digits), highest);
  if (result > largest) {
    const bool infinite = mode == Mode::Nearest || mode == (negative ? Mode::Down : Mode::Up);
    result = infinite ? INFINITY : largest;
  }
  return negative ? -result : result;
}

/// a * b + c of floats, exact but for a part so far below the rest that only its sign matters.
double fma_exact(double a, double b, double c, Mode mode, int digits, int lowest, int highest) {
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return a * b + c;
  __float128 product = static_cast<__float128>(a) * b, addend = c;
  if (product == 0 && addend == 0) {
    const bool product_negative = std::signbit(a) != std::signbit(b), addend_negative = std::signbit(c);
    if (product_negative == addend_negative) return product_negative ? -0.0 : 0.0;
    return mode == Mode::Down ? -0.0 : 0.0;
  }
  const auto limit = [](__float128 small, __float128 big) -> __float128 {
    if (small == 0 || big == 0) return small;
    const __float128 least = (big < 0 ? -big : big) * static_cast<__float128>(0x1p-90);
    if ((small < 0 ? -small : small) >= least) return small;
    __float128 unit = 1;
    const __float128 size = big < 0 ? -big : big;
    while (unit > size * static_cast<__float128>(0x1p-85)) unit /= 2;
    while (unit < size * static_cast<__float128>(0x1p-87)) unit *= 2;
    return small < 0 ? -unit : unit;
  };
  product = limit(product, addend);
  addend = limit(addend, product);
  const __float128 sum = product + addend;
  if (sum == 0) return mode == Mode::Down ? -0.0 : 0.0;
  return round_exact(sum, mode, digits, lowest, highest);
}

uint64_t f32_result(double value) { return std::isnan(value) ? 0x7FFF'FFFFu : bits_of(static_cast<float>(value)); }
float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

TEST(Float, AddSubMulFmaInEveryRounding) {
  const Rows two = pairs(edge_floats(), edge_floats());
  Rows three = triples(edge_floats(), edge_floats(), edge_floats());
  Dice dice(31);
  for (int i = 0; i < 1500; ++i) {  // sums that cancel, and ties
    const float a = dice.real(-3, 3), b = dice.real(-3, 3);
    three.push_back({bits_of(a), bits_of(b), bits_of(-(a * b))});
    three.push_back({bits_of(a) & 0xFFFF'F000, bits_of(b) & 0xFFFF'F000, bits_of(dice.real(-30, 20))});
  }
  for (const auto& [name, mode] : kModes) {
    const std::string r = std::string(".") + name + ".f32 d, a, b";
    const auto exact = [mode = mode](double a, double b, double c) {
      return f32_result(fma_exact(a, b, c, mode, 24, -126, 127));
    };
    expect_value("add" + r + ";", "f32 a, f32 b", "f32 d", two,
                 [&](const Row& x) { return exact(float_of(x[0]), 1, float_of(x[1])); });
    expect_value("sub" + r + ";", "f32 a, f32 b", "f32 d", two,
                 [&](const Row& x) { return exact(float_of(x[0]), 1, -float_of(x[1])); });
    expect_value("mul" + r + ";", "f32 a, f32 b", "f32 d", two, [&](const Row& x) {
      const float a = float_of(x[0]), b = float_of(x[1]);
      return exact(a, b, std::signbit(a) != std::signbit(b) ? -0.0 : 0.0);
    });
    expect_value("fma" + r + ", c;", "f32 a, f32 b, f32 c", "f32 d", three,
                 [&](const Row& x) { return exact(float_of(x[0]), float_of(x[1]), float_of(x[2])); });
  }
}

TEST(Float, FlushAndSaturate) {
  const Rows rows =
      triples(edge_floats(), edge_floats(), {0, 0x8000'0000, 0x3F80'0000, 0xBF00'0000, 1, 0x0080'0000, 0x7FC0'0000});
  const auto clamp = [](uint64_t bits) {
    const float x = float_of(bits);
    return bits_of(x > 0 ? std::min(x, 1.0f) : 0.0f);
  };
  const auto ftz = [](uint64_t bits) -> uint64_t { return bits_of(flush(float_of(bits))); };
  for (const auto& [name, mode] : kModes) {
    const auto exact = [mode = mode](float a, float b, float c) {
      return f32_result(
          fma_exact(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c), mode, 24, -126, 127));
    };
    const std::string r = std::string("fma.") + name;
    expect_value(r + ".ftz.f32 d, a, b, c;", "f32 a, f32 b, f32 c", "f32 d", rows, [&](const Row& x) {
      return ftz(exact(flush(float_of(x[0])), flush(float_of(x[1])), flush(float_of(x[2]))));
    });
    expect_value(r + ".sat.f32 d, a, b, c;", "f32 a, f32 b, f32 c", "f32 d", rows,
                 [&](const Row& x) { return clamp(exact(float_of(x[0]), float_of(x[1]), float_of(x[2]))); });
    expect_value(r + ".ftz.sat.f32 d, a, b, c;", "f32 a, f32 b, f32 c", "f32 d", rows, [&](const Row& x) {
      return clamp(ftz(exact(flush(float_of(x[0])), flush(float_of(x[1])), flush(float_of(x[2])))));
    });
    expect_value(std::string("add.") + name + ".ftz.f32 d, a, b;", "f32 a, f32 b, f32 c", "f32 d", rows,
                 [&](const Row& x) { return ftz(exact(flush(float_of(x[0])), 1, flush(float_of(x[1])))); });
  }
}

TEST(Float, Doubles) {
  // Sums of doubles whose exponents lie close together are exact in 113 bits.
  Dice dice(77);
  Rows rows;
  for (int i = 0; i < 2000; ++i) {
    Row row;
    for (int j = 0; j < 3; ++j)
      row.push_back((dice.next() & 0x800F'FFFF'FFFF'FFFF) | static_cast<uint64_t>(1023 + dice.between(-2, 2)) << 52);
    row[2] = (row[2] & ~uint64_t{0x1FF'FFFF});
    rows.push_back(row);
  }
  for (const auto& [name, mode] : kModes) {
    const auto exact = [mode = mode](double a, double b, double c) {
      return std::bit_cast<uint64_t>(fma_exact(a, b, c, mode, 53, -1022, 1023));
    };
    expect_value(std::string("add.") + name + ".f64 d, a, b;", "f64 a, f64 b, f64 c", "f64 d", rows,
                 [&](const Row& x) { return exact(double_of(x[0]), 1, double_of(x[1])); });
    expect_value(std::string("mul.") + name + ".f64 d, a, b;", "f64 a, f64 b, f64 c", "f64 d", rows,
                 [&](const Row& x) { return exact(double_of(x[0]), double_of(x[1]), 0); });
    expect_value(std::string("fma.") + name + ".f64 d, a, b, c;", "f64 a, f64 b, f64 c", "f64 d", rows,
                 [&](const Row& x) { return exact(double_of(x[0]), double_of(x[1]), double_of(x[2])); });
  }
}

TEST(Float, Halves) {
  // F16: 11 significant bits, exponents -14..15; BF16: 8, -126..127. NaN results are 0x7FFF.
  struct Format {
    const char* name;
    int digits, lowest, highest;
    std::vector<uint64_t> values;
  };
  std::vector<Format> formats{{"f16", 11, -14, 15, {}}, {"bf16", 8, -126, 127, {}}};
  Dice dice(8);
  for (Format& f : formats) {
    const bool brain = f.digits == 8;
    for (const uint64_t v :
         {0x0000u, 0x0001u, 0x0002u, 0x03FFu, 0x0400u, 0x007Fu, 0x0080u, 0x3C00u, 0x3C01u, 0x3F80u,
          0x3F81u, 0x4000u, 0x4100u, 0x7BFFu, 0x7C00u, 0x7F7Fu, 0x7F80u, 0x7FC0u, 0x7E00u, 0x3555u}) {
      f.values.push_back(v), f.values.push_back(v | 0x8000);
    }
    for (int i = 0; i < 30; ++i) f.values.push_back(dice.word() & (brain ? 0xFFFF : 0xFFFF));
    const auto widen = [brain](uint64_t v) -> double {
      if (brain) return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(v) << 16));
      const int e = static_cast<int>(v >> 10 & 31), m = static_cast<int>(v & 1023);
      const double x = e == 31 ? (m ? NAN : INFINITY) : e == 0 ? std::ldexp(m, -24) : std::ldexp(1024 + m, e - 25);
      return v & 0x8000 ? -x : x;
    };
    const auto narrow = [brain](double x) -> uint64_t {  // of values that the format holds
      if (std::isnan(x)) return 0x7FFF;
      if (brain) return bits_of(static_cast<float>(x)) >> 16;
      const uint64_t sign = std::signbit(x) ? 0x8000 : 0;
      const double a = std::fabs(x);
      if (std::isinf(a)) return sign | 0x7C00;
      if (a < 0x1p-14) return sign | static_cast<uint64_t>(std::ldexp(a, 24));
      const int e = std::ilogb(a);
      return sign | static_cast<uint64_t>(e + 15) << 10 | (static_cast<uint64_t>(std::ldexp(a, 10 - e)) & 1023);
    };
    const auto exact = [&](double a, double b, double c) {
      return narrow(fma_exact(a, b, c, Mode::Nearest, f.digits, f.lowest, f.highest));
    };
    const Rows two = pairs(f.values, f.values), three = triples(f.values, f.values, f.values);
    const std::string t = f.name;
    expect_value("add." + t + " d, a, b;", "b16 a, b16 b", "b16 d", two,
                 [&](const Row& x) { return exact(widen(x[0]), 1, widen(x[1])); });
    expect_value("sub.rn." + t + " d, a, b;", "b16 a, b16 b", "b16 d", two,
                 [&](const Row& x) { return exact(widen(x[0]), 1, -widen(x[1])); });
    expect_value("mul." + t + " d, a, b;", "b16 a, b16 b", "b16 d", two, [&](const Row& x) {
      const double a = widen(x[0]), b = widen(x[1]);
      return exact(a, b, std::signbit(a) != std::signbit(b) ? -0.0 : 0.0);
    });
    expect_value("fma.rn." + t + " d, a, b, c;", "b16 a, b16 b, b16 c", "b16 d", three,
                 [&](const Row& x) { return exact(widen(x[0]), widen(x[1]), widen(x[2])); });
    expect_value("fma.rn.relu." + t + " d, a, b, c;", "b16 a, b16 b, b16 c", "b16 d", three, [&](const Row& x) {
      const uint64_t plain = exact(widen(x[0]), widen(x[1]), widen(x[2]));
      return plain == 0x7FFF ? plain : plain & 0x8000 ? 0 : plain;
    });
    Rows packed;
    for (size_t i = 0; i + 1 < three.size(); ++i)
      packed.push_back({three[i][0] | three[i + 1][0] << 16, three[i][1] | three[i + 1][1] << 16,
                        three[i][2] | three[i + 1][2] << 16});
    expect_value("fma.rn." + t + "x2 d, a, b, c;", "b32 a, b32 b, b32 c", "b32 d", packed, [&](const Row& x) {
      return exact(widen(x[0] & 0xFFFF), widen(x[1] & 0xFFFF), widen(x[2] & 0xFFFF)) |
             exact(widen(x[0] >> 16), widen(x[1] >> 16), widen(x[2] >> 16)) << 16;
    });
    const auto least = [&](const Row& x, bool greatest) -> uint64_t {
      const double a = widen(x[0]), b = widen(x[1]);
      if (std::isnan(a) && std::isnan(b)) return 0x7FFF;
      if (std::isnan(a)) return narrow(b);
      if (std::isnan(b)) return narrow(a);
      if (a == b) return narrow(std::signbit(a) != greatest ? a : b);
      return narrow((a < b) != greatest ? a : b);
    };
    expect_value("min." + t + " d, a, b;", "b16 a, b16 b", "b16 d", two, [&](const Row& x) { return least(x, false); });
    expect_value("max." + t + " d, a, b;", "b16 a, b16 b", "b16 d", two, [&](const Row& x) { return least(x, true); });
    expect_value("max.NaN." + t + " d, a, b;", "b16 a, b16 b", "b16 d", two, [&](const Row& x) {
      return std::isnan(widen(x[0])) || std::isnan(widen(x[1])) ? 0x7FFF : least(x, true);
    });
    expect_value("neg." + t + " d, a;", "b16 a", "b16 d", singles(f.values),
                 [&](const Row& x) { return narrow(-widen(x[0])); });
    expect_value("abs." + t + " d, a;", "b16 a", "b16 d", singles(f.values),
                 [&](const Row& x) { return narrow(std::fabs(widen(x[0]))); });
  }
  expect_value("add.sat.f16 d, a, b;", "b16 a, b16 b", "b16 d",
               Rows{{0x3C00, 0x3C00}, {0xBC00, 0x0000}, {0x3800, 0x3400}, {0x7E00, 0}}, [](const Row& x) {
                 return x[0] == 0x3C00 ? 0x3C00 : x[0] == 0x3800 ? 0x3A00 : 0;
               });
  expect_value("add.ftz.f16 d, a, b;", "b16 a, b16 b", "b16 d",
               Rows{{0x0001, 0x8002}, {0x0400, 0x8001}, {0x0401, 0x8400}},
               [](const Row& x) { return x[0] == 0x0400 ? 0x0400 : 0; });
}

TEST(Float, PackedPairs) {
  const std::vector<uint64_t> values = edge_floats();
  Rows rows;
  Dice dice(4);
  for (int i = 0; i < 2000; ++i) {
    Row row;
    for (int j = 0; j < 3; ++j)
      row.push_back(values[dice.next() % values.size()] | values[dice.next() % values.size()] << 32);
    rows.push_back(row);
  }
  for (const auto& [name, mode] : kModes) {
    const auto each = [mode = mode](const Row& x, auto f) { return f(x, 0) | f(x, 32) << 32; };
    const auto part = [](uint64_t v, int at) { return static_cast<double>(float_of(v >> at)); };
    const auto exact = [mode = mode](double a, double b, double c) {
      return f32_result(fma_exact(a, b, c, mode, 24, -126, 127));
    };
    expect_value(std::string("add.") + name + ".f32x2 d, a, b;", "b64 a, b64 b, b64 c", "b64 d", rows,
                 [&](const Row& x) {
                   return each(x, [&](const Row& v, int at) { return exact(part(v[0], at), 1, part(v[1], at)); });
                 });
    expect_value(
        std::string("fma.") + name + ".f32x2 d, a, b, c;", "b64 a, b64 b, b64 c", "b64 d", rows, [&](const Row& x) {
          return each(x, [&](const Row& v, int at) { return exact(part(v[0], at), part(v[1], at), part(v[2], at)); });
        });
  }
}

TEST(Float, MinMax) {
  const Rows rows = pairs(edge_floats(), edge_floats());
  const auto pick = [](float a, float b, bool greatest, bool nan) -> float {
    if (std::isnan(a) || std::isnan(b)) {
      if (nan || (std::isnan(a) && std::isnan(b))) return NAN;
      return std::isnan(a) ? b : a;
    }
    if (a == b) return std::signbit(a) != greatest ? a : b;
    return (a < b) != greatest ? a : b;
  };
  for (const bool greatest : {false, true}) {
    const std::string op = greatest ? "max" : "min";
    const auto both = [&](const Row& x, bool nan) {
      return f32_result(static_cast<double>(pick(float_of(x[0]), float_of(x[1]), greatest, nan)));
    };
    expect_value(op + ".f32 d, a, b;", "f32 a, f32 b", "f32 d", rows, [&](const Row& x) { return both(x, false); });
    expect_value(op + ".NaN.f32 d, a, b;", "f32 a, f32 b", "f32 d", rows, [&](const Row& x) { return both(x, true); });
    expect_value(op + ".ftz.f32 d, a, b;", "f32 a, f32 b", "f32 d", rows, [&](const Row& x) {
      return f32_result(static_cast<double>(pick(flush(float_of(x[0])), flush(float_of(x[1])), greatest, false)));
    });
    expect_value(op + ".xorsign.abs.f32 d, a, b;", "f32 a, f32 b", "f32 d", rows, [&](const Row& x) {
      const float a = float_of(x[0]), b = float_of(x[1]), m = pick(std::fabs(a), std::fabs(b), greatest, false);
      return f32_result(static_cast<double>(std::copysign(m, std::signbit(a) != std::signbit(b) ? -1.0f : 1.0f)));
    });
    expect_value(op + ".f32 d, a, b, c;", "f32 a, f32 b, f32 c", "f32 d",
                 triples(edge_floats(), edge_floats(), edge_floats()), [&](const Row& x) {
                   return f32_result(static_cast<double>(
                       pick(pick(float_of(x[0]), float_of(x[1]), greatest, false), float_of(x[2]), greatest, false)));
                 });
    expect_value(op + ".f64 d, a, b;", "f64 a, f64 b", "f64 d",
                 Rows{{std::bit_cast<uint64_t>(1.0), std::bit_cast<uint64_t>(-2.0)},
                      {0x7FF8'0000'0000'0000, std::bit_cast<uint64_t>(3.0)}},
                 [&](const Row& x) { return std::isnan(double_of(x[0])) ? x[1]
                                            : greatest                  ? x[0]
                                                                        : x[1]; });
  }
}

TEST(Float, SignsAndTests) {
  // The ISA leaves open which NaN comes of one; an H200 makes the usual one.
  const Rows rows = singles(edge_floats());
  const auto number = [](float v) { return std::isnan(v) ? 0x7FFF'FFFF : bits_of(v); };
  expect_value("abs.f32 d, a;", "f32 a", "f32 d", rows,
               [&](const Row& x) { return number(std::fabs(float_of(x[0]))); });
  expect_value("neg.f32 d, a;", "f32 a", "f32 d", rows, [&](const Row& x) { return number(-float_of(x[0])); });
  expect_value("neg.ftz.f32 d, a;", "f32 a", "f32 d", rows,
               [&](const Row& x) { return number(-flush(float_of(x[0]))); });
  expect_value("copysign.f32 d, a, b;", "f32 a, f32 b", "f32 d",
               pairs(edge_floats(), {0x3F80'0000, 0xBF80'0000, 0x7FC0'0000}),
               [](const Row& x) { return (x[0] & 0x8000'0000) | (x[1] & 0x7FFF'FFFF); });
  const std::pair<const char*, std::function<bool(float)>> kinds[] = {
      {"finite", [](float v) { return std::isfinite(v); }},
      {"infinite", [](float v) { return std::isinf(v); }},
      {"number", [](float v) { return !std::isnan(v); }},
      {"notanumber", [](float v) { return std::isnan(v); }},
      {"normal", [](float v) { return std::isnormal(v) || v == 0; }},
      {"subnormal", [](float v) { return std::fpclassify(v) == FP_SUBNORMAL; }}};
  for (const auto& [name, model] : kinds) {
    expect_value("testp." + std::string(name) + ".f32 d, a;", "f32 a", "pred d", rows,
                 [model = model](const Row& x) { return model(float_of(x[0])); });
  }
}

TEST(Float, DivisionAndRoots) {
  // Correctly rounded in the mode that the instruction names; approximations are at least as good as the hardware's.
  const Rows two = pairs(edge_floats(), edge_floats()), one = singles(edge_floats());
  expect_value("div.rn.f32 d, a, b;", "f32 a, f32 b", "f32 d", two,
               [](const Row& x) { return f32_result(static_cast<double>(float_of(x[0]) / float_of(x[1]))); });
  expect_value("div.full.f32 d, a, b;", "f32 a, f32 b", "f32 d", two,
               [](const Row& x) { return f32_result(static_cast<double>(float_of(x[0]) / float_of(x[1]))); });
  expect_value("div.rz.f32 d, a, b;", "f32 a, f32 b", "f32 d", two, [](const Row& x) {
    const double q = static_cast<double>(float_of(x[0])) / static_cast<double>(float_of(x[1]));
    if (!std::isfinite(q) || q == 0) return f32_result(q);
    return f32_result(round_exact(static_cast<__float128>(float_of(x[0])) / static_cast<__float128>(float_of(x[1])),
                                  Mode::Zero, 24, -126, 127));
  });
  expect_value("rcp.rn.f32 d, a;", "f32 a", "f32 d", one,
               [](const Row& x) { return f32_result(static_cast<double>(1.0f / float_of(x[0]))); });
  expect_value("sqrt.rn.f32 d, a;", "f32 a", "f32 d", one,
               [](const Row& x) { return f32_result(static_cast<double>(std::sqrt(float_of(x[0])))); });
  expect_value(
      "sqrt.rp.f32 d, a;", "f32 a", "f32 d", Rows{{bits_of(2.0f)}, {bits_of(4.0f)}, {bits_of(3.0f)}}, [](const Row& x) {
        const float root = std::sqrt(float_of(x[0]));
        return bits_of(static_cast<double>(root) * static_cast<double>(root) < static_cast<double>(float_of(x[0]))
                           ? std::nextafter(root, INFINITY)
                           : root);
      });
  const auto close = [](const std::string& name, std::function<double(double)> f, double low_value, double high_value) {
    Rows rows;
    for (int i = 0; i <= 200; ++i)
      rows.push_back({bits_of(static_cast<float>(low_value + (high_value - low_value) * i / 200))});
    const Rows got = evaluate(name + " d, a;", "f32 a", "f32 d", rows);
    for (size_t i = 0; i < got.size(); ++i) {
      const double expected = f(static_cast<double>(float_of(rows[i][0])));
      EXPECT_NEAR(static_cast<double>(float_of(got[i][0])), expected, 2e-7 * std::max(1.0, std::fabs(expected)))
          << name;
    }
  };
  close(
      "rcp.approx.ftz.f32", [](double x) { return 1 / x; }, 0.1, 9);
  close(
      "rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }, 0.1, 9);
  close(
      "sqrt.approx.f32", [](double x) { return std::sqrt(x); }, 0, 9);
  close(
      "ex2.approx.ftz.f32", [](double x) { return std::exp2(x); }, -8, 8);
  close(
      "lg2.approx.f32", [](double x) { return std::log2(x); }, 0.01, 100);
  close(
      "sin.approx.f32", [](double x) { return std::sin(x); }, -4, 4);
  close(
      "cos.approx.f32", [](double x) { return std::cos(x); }, -4, 4);
  close(
      "tanh.approx.f32", [](double x) { return std::tanh(x); }, -4, 4);
  EXPECT_EQ(evaluate("ex2.approx.f16 d, a;", "b16 a", "b16 d", {{0x4000}}), (Rows{{0x4400}}));
  EXPECT_EQ(evaluate("tanh.approx.bf16x2 d, a;", "b32 a", "b32 d", {{0x0000'7F80}}), (Rows{{0x0000'3F80}}));
}

TEST(Guards, LanesWhoseGuardIsFalseKeepTheirValue) {
  expect_value("mov.b32 d, 7; @a add.u32 d, d, 1; @!a add.u32 d, d, 2;", "pred a", "b32 d",
               Rows{{0}, {1}, {0}, {1}, {1}}, [](const Row& x) { return x[0] ? 8 : 9; });
  expect_value("mov.b32 d, b; @a mul.lo.u32 d, d, d;", "pred a, b32 b", "b32 d", pairs({0, 1}, {3, 5}),
               [](const Row& x) { return x[0] ? x[1] * x[1] : x[1]; });
}

TEST(Literals, InEveryPosition) {
  EXPECT_EQ(
      evaluate("add.s32 d, a, -5; add.s32 e, 0x10, a; add.u32 f, a, 0b101; add.s32 g, 010, a; sub.s32 h, 1000000U, a;",
               "b32 a", "b32 d, b32 e, b32 f, b32 g, b32 h", {{100}}),
      (Rows{{95, 116, 105, 108, 999'900}}));
  EXPECT_EQ(
      evaluate("add.f32 d, a, 0f3FC00000; add.f32 e, a, 1.5; fma.rn.f32 f, a, -2.0, 0fBF800000; mov.f32 g, 0F7F800000;",
               "f32 a", "f32 d, f32 e, f32 f, f32 g", {{bits_of(1.0f)}}),
      (Rows{{bits_of(2.5f), bits_of(2.5f), bits_of(-3.0f), 0x7F80'0000}}));
  EXPECT_EQ(evaluate("mov.f64 d, 0d3FF8000000000000; mov.f64 e, 2.5e0; mov.b64 f, -1; add.s64 g, a, -4294967296;",
                     "b64 a", "f64 d, f64 e, b64 f, b64 g", {{1}}),
            (Rows{{std::bit_cast<uint64_t>(1.5), std::bit_cast<uint64_t>(2.5), ~uint64_t{0}, 0xFFFF'FFFF'0000'0001}}));
}

TEST(Float, CoarseReciprocalsOfDoubles) {
  // Division and the mathematical functions start from these: 20 bits, the lower word 0, no subnormals.
  const auto upper = [](double x) { return std::bit_cast<uint64_t>(x) & ~uint64_t{0xFFFF'FFFF}; };
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  EXPECT_EQ(evaluate("rcp.approx.ftz.f64 d, a; rsqrt.approx.ftz.f64 e, a;", "f64 a", "f64 d, f64 e",
                     {{bits(3.0)}, {bits(0.25)}, {bits(0.0)}, {bits(0x1p-1070)}, {bits(INFINITY)}}),
            (Rows{{upper(1.0 / 3), upper(1 / std::sqrt(3.0))},
                  {bits(4.0), bits(2.0)},
                  {bits(INFINITY), bits(INFINITY)},
                  {bits(INFINITY), bits(INFINITY)},
                  {0, 0}}));
}

}  // namespace
}  // namespace sim::test
