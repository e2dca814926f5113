#include "common/base/text.h"

#include <gtest/gtest.h>

#include <limits>

#include "common/base/align.h"

namespace base {
namespace {

TEST(Text, Format) {
  EXPECT_EQ(format("%d of %s", 3, "four"), "3 of four");
  EXPECT_EQ(format("%s", ""), "");
  EXPECT_EQ(format("%1000d", 7).size(), 1000u);
}

TEST(Text, Grouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, Bytes) {
  EXPECT_EQ(in_bytes(1), "1 byte");
  EXPECT_EQ(in_bytes(24576), "24,576 bytes");
  EXPECT_EQ(short_bytes(0), "0 B");
  EXPECT_EQ(short_bytes(999), "999 B");
  EXPECT_EQ(short_bytes(25600), "25.6 KB");
  EXPECT_EQ(short_bytes(999'999), "1 MB");
  EXPECT_EQ(short_bytes(1.21e9), "1.21 GB");
}

TEST(Text, Hex) {
  EXPECT_EQ(hex(0), "0x0");
  EXPECT_EQ(hex(0x1a0), "0x1a0");
  EXPECT_EQ(hex(~std::uint64_t{0}), "0xffffffffffffffff");
}

TEST(Align, RoundUp) {
  static_assert(round_up(0u, 16) == 0 && round_up(1u, 16) == 16 && round_up(16u, 16) == 16 && round_up(17u, 16) == 32);
  static_assert(round_up(100u, 24) == 120);  // not only powers of two
  static_assert(round_up(std::uint64_t{1} << 40, 3) == (std::uint64_t{1} << 40) + 2);
}

}  // namespace
}  // namespace base
