#include "common/mma/swizzle.h"

#include <gtest/gtest.h>

#include <set>

#include "support.h"

namespace mma {
namespace {

TEST(Swizzle, Spans) {
  EXPECT_EQ(swizzle_span_bytes(Swizzle::None), 16);
  EXPECT_EQ(swizzle_span_bytes(Swizzle::B32), 32);
  EXPECT_EQ(swizzle_span_bytes(Swizzle::B64), 64);
  EXPECT_EQ(swizzle_span_bytes(Swizzle::B128), 128);
  for (const Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    EXPECT_EQ(swizzle_of_span(swizzle_span_bytes(swizzle)), swizzle);
}

/// Single bytes, by hand: bits 4-6 are the chunk, bits 7-9 the line.
TEST(Swizzle, SomeAddresses) {
  EXPECT_EQ(swizzle_address(Swizzle::None, 0x3FF), 0x3FFu);
  EXPECT_EQ(swizzle_address(Swizzle::B32, 0x080), 0x090u);   // line 1 swaps the chunks of each pair
  EXPECT_EQ(swizzle_address(Swizzle::B32, 0x0F5), 0x0E5u);   // the byte inside the chunk stays
  EXPECT_EQ(swizzle_address(Swizzle::B32, 0x100), 0x100u);   // line 2 is line 0 again
  EXPECT_EQ(swizzle_address(Swizzle::B64, 0x180), 0x1B0u);   // line 3: 0 -> 3
  EXPECT_EQ(swizzle_address(Swizzle::B64, 0x200), 0x200u);   // line 4 is line 0 again
  EXPECT_EQ(swizzle_address(Swizzle::B128, 0x380), 0x3F0u);  // line 7: 0 -> 7
  EXPECT_EQ(swizzle_address(Swizzle::B128, 0x2C0), 0x290u);  // line 5: 4 -> 1
  EXPECT_EQ(swizzle_address(Swizzle::B128, 0x400), 0x400u);  // line 8 is line 0 again
}

/// Every byte of three periods of the longest pattern, also far up and in the window of the pair's other CTA.
TEST(Swizzle, AsDrawn) {
  for (const Swizzle swizzle : SWIZZLES) {
    for (const uint32_t base : {0x00000000u, 0x00000400u, 0x00038C00u, 0x01000400u}) {
      for (uint32_t byte = 0; byte < 3 * 1024; ++byte) {
        ASSERT_EQ(swizzle_address(swizzle, base + byte), drawn_address(swizzle, base + byte))
            << "span " << swizzle_span_bytes(swizzle) << ", address " << base + byte;
      }
    }
  }
}

/// A swizzle only moves chunks about inside their span, and twice the same swizzle is none.
TEST(Swizzle, PermutesInsideTheSpan) {
  for (const Swizzle swizzle : SWIZZLES) {
    const uint32_t span = static_cast<uint32_t>(swizzle_span_bytes(swizzle));
    std::set<uint32_t> seen;
    for (uint32_t address = 0; address < 4096; ++address) {
      const uint32_t moved = swizzle_address(swizzle, address);
      EXPECT_EQ(moved / span, address / span);
      EXPECT_EQ(swizzle_address(swizzle, moved), address);
      seen.insert(moved);
    }
    EXPECT_EQ(seen.size(), 4096u);
  }
}

/// What it is for: the same 16 bytes of eight rows, one span each, fall into different chunks of a line.
TEST(Swizzle, SpreadsAColumnOverTheBanks) {
  for (uint32_t chunk = 0; chunk < 8; ++chunk) {
    std::set<uint32_t> places;
    for (uint32_t row = 0; row < 8; ++row) {
      places.insert(swizzle_address(Swizzle::B128, row * 128 + chunk * 16) % 128);
    }
    EXPECT_EQ(places.size(), 8u);
  }
}

}  // namespace
}  // namespace mma
