// The bits of shared-memory and instruction descriptors. The expected values were put together by hand from the tables
// of the PTX ISA, field by field; they are not computed here.
#include <gtest/gtest.h>

#include "common/mma/instruction_descriptor.h"
#include "common/mma/smem_descriptor.h"

namespace mma {
namespace {

/// Bits low..high of `value`, both included: how the ISA's tables name fields.
constexpr uint64_t field(uint64_t value, int low, int high) {
  return value >> low & ((uint64_t{2} << (high - low)) - 1);
}

// --- shared-memory descriptors ---------------------------------------------------------------------------------------

/// Start address 0x400, so that bits 0..13 hold 0x40; tiles of 128 rows.
TEST(SmemDescriptor, WorkedValues) {
  struct Row {
    Swizzle swizzle;
    uint32_t leading, stride;
    uint64_t sm100, sm90;
  };
  for (const Row& row : {
           Row{Swizzle::B128, 0, 1024, 0x4000'4040'0000'0040, 0x4000'0040'0000'0040},
           Row{Swizzle::B64, 0, 512, 0x8000'4020'0000'0040, 0x8000'0020'0000'0040},
           Row{Swizzle::B32, 0, 256, 0xC000'4010'0000'0040, 0xC000'0010'0000'0040},
           Row{Swizzle::None, 2048, 128, 0x0000'4008'0080'0040, 0x0000'0008'0080'0040},
           Row{Swizzle::B128, 8192, 1024, 0x4000'4040'0200'0040, 0x4000'0040'0200'0040},
       }) {
    EXPECT_EQ((SmemDescriptorSm100{0x400, row.leading, row.stride, row.swizzle}.encode()), row.sm100);
    EXPECT_EQ((SmemDescriptorSm90{0x400, row.leading, row.stride, row.swizzle}.encode()), row.sm90);
  }
}

/// The two architectures number the swizzles differently, and only Blackwell has the constant.
TEST(SmemDescriptor, Fields) {
  struct Row {
    Swizzle swizzle;
    uint64_t sm100, sm90;  // the layout's code
  };
  for (const Row& row :
       {Row{Swizzle::None, 0, 0}, Row{Swizzle::B32, 6, 3}, Row{Swizzle::B64, 4, 2}, Row{Swizzle::B128, 2, 1}}) {
    const uint64_t sm100 = SmemDescriptorSm100{0x12340, 0x2A0, 0x5550, row.swizzle}.encode();
    EXPECT_EQ(field(sm100, 0, 13), 0x1234u);
    EXPECT_EQ(field(sm100, 14, 15), 0u);
    EXPECT_EQ(field(sm100, 16, 29), 0x2Au);
    EXPECT_EQ(field(sm100, 30, 31), 0u);
    EXPECT_EQ(field(sm100, 32, 45), 0x555u);
    EXPECT_EQ(field(sm100, 46, 48), 1u);
    EXPECT_EQ(field(sm100, 49, 51), 0u);  // base offset
    EXPECT_EQ(field(sm100, 52, 52), 0u);  // LBO is relative
    EXPECT_EQ(field(sm100, 53, 60), 0u);
    EXPECT_EQ(field(sm100, 61, 63), row.sm100);

    const uint64_t sm90 = SmemDescriptorSm90{0x12340, 0x2A0, 0x5550, row.swizzle}.encode();
    EXPECT_EQ(field(sm90, 0, 13), 0x1234u);
    EXPECT_EQ(field(sm90, 14, 15), 0u);
    EXPECT_EQ(field(sm90, 16, 29), 0x2Au);
    EXPECT_EQ(field(sm90, 30, 31), 0u);
    EXPECT_EQ(field(sm90, 32, 45), 0x555u);
    EXPECT_EQ(field(sm90, 46, 61), 0u);
    EXPECT_EQ(field(sm90, 62, 63), row.sm90);
  }
}

/// Each bit of an address or offset has its place, 4 lower (units of 16 bytes); bits 18 and up name the CTA and are
/// dropped.
TEST(SmemDescriptor, EveryBitOfTheAddressFields) {
  const uint64_t empty100 = SmemDescriptorSm100{0, 0, 0, Swizzle::None}.encode();
  EXPECT_EQ(empty100, 0x0000'4000'0000'0000u);
  EXPECT_EQ((SmemDescriptorSm90{0, 0, 0, Swizzle::None}.encode()), 0u);
  for (int bit = 0; bit < 32; ++bit) {
    const uint32_t value = uint32_t{1} << bit;
    const uint64_t placed = bit >= 4 && bit <= 17 ? uint64_t{1} << (bit - 4) : 0;
    EXPECT_EQ((SmemDescriptorSm100{value, 0, 0, Swizzle::None}.encode() ^ empty100), placed) << bit;
    EXPECT_EQ((SmemDescriptorSm100{0, value, 0, Swizzle::None}.encode() ^ empty100), placed << 16) << bit;
    EXPECT_EQ((SmemDescriptorSm100{0, 0, value, Swizzle::None}.encode() ^ empty100), placed << 32) << bit;
    EXPECT_EQ((SmemDescriptorSm90{value, 0, 0, Swizzle::None}.encode()), placed) << bit;
    EXPECT_EQ((SmemDescriptorSm90{0, value, 0, Swizzle::None}.encode()), placed << 16) << bit;
    EXPECT_EQ((SmemDescriptorSm90{0, 0, value, Swizzle::None}.encode()), placed << 32) << bit;
  }
}

/// One descriptor serves both CTAs of a pair: the rank in the address' top byte leaves no trace.
TEST(SmemDescriptor, ForgetsTheRank) {
  EXPECT_EQ((SmemDescriptorSm100{0x0100'0400, 0, 1024, Swizzle::B128}.encode()), 0x4000'4040'0000'0040u);
}

TEST(SmemDescriptor, Advance) {
  const uint64_t sm100 = 0x4000'4040'0000'0040, sm90 = 0x4000'0040'0000'0040;
  EXPECT_EQ(advance(sm100, 0), sm100);
  EXPECT_EQ(advance(sm100, 16), 0x4000'4040'0000'0041u);
  EXPECT_EQ(advance(sm100, 32), 0x4000'4040'0000'0042u);  // the next 16 elements of K
  EXPECT_EQ(advance(sm100, 96), 0x4000'4040'0000'0046u);
  EXPECT_EQ(advance(sm90, 16'384), 0x4000'0040'0000'0440u);                 // the next 128 rows of 128 bytes
  EXPECT_EQ(advance(0x0000'4008'0080'0040, 4096), 0x0000'4008'0080'0140u);  // LBO stays
  // The last 16 bytes that a kernel can own, at 1 KiB + 227 KiB - 16: the field still has a bit to spare.
  EXPECT_EQ(advance(sm100, 232'448 - 16), 0x4000'4040'0000'38FFu);
}

// --- instruction descriptor ------------------------------------------------------------------------------------------

TEST(InstructionDescriptor, WorkedValues) {
  struct Row {
    int m, n;
    uint32_t expected;
  };
  for (const Row& row :
       {Row{64, 128, 0x0420'0490}, Row{128, 64, 0x0810'0490}, Row{128, 128, 0x0820'0490}, Row{128, 256, 0x0840'0490},
        Row{256, 128, 0x1020'0490}, Row{256, 224, 0x1038'0490}, Row{256, 256, 0x1040'0490}}) {
    EXPECT_EQ((InstructionDescriptor{.m = row.m, .n = row.n}.encode()), row.expected) << row.m << " x " << row.n;
  }
}

TEST(InstructionDescriptor, Types) {
  EXPECT_EQ((InstructionDescriptor{.m = 128, .n = 128, .a = F16Format::F16}.encode()), 0x0820'0410u);
  EXPECT_EQ((InstructionDescriptor{.m = 128, .n = 128, .b = F16Format::F16}.encode()), 0x0820'0090u);
  EXPECT_EQ(
      (InstructionDescriptor{.m = 128, .n = 128, .a = F16Format::F16, .b = F16Format::F16, .d = AccumulatorFormat::F16}
           .encode()),
      0x0820'0000u);
}

/// Every shape that cta_group::2 has, field by field; whatever the levels leave at its default is 0.
TEST(InstructionDescriptor, Fields) {
  for (const int m : {128, 256}) {
    for (int n = 16; n <= 256; n += 16) {
      const uint64_t bits = InstructionDescriptor{.m = m, .n = n}.encode();
      EXPECT_EQ(field(bits, 0, 3), 0u);  // dense, no saturation
      EXPECT_EQ(field(bits, 4, 5), 1u);  // D is F32
      EXPECT_EQ(field(bits, 6, 6), 0u);
      EXPECT_EQ(field(bits, 7, 9), 1u);    // A is BF16
      EXPECT_EQ(field(bits, 10, 12), 1u);  // B is BF16
      EXPECT_EQ(field(bits, 13, 16), 0u);  // not negated, K-major
      EXPECT_EQ(field(bits, 17, 22), static_cast<uint64_t>(n / 8));
      EXPECT_EQ(field(bits, 23, 23), 0u);
      EXPECT_EQ(field(bits, 24, 28), static_cast<uint64_t>(m / 16));
      EXPECT_EQ(field(bits, 29, 31), 0u);
    }
  }
}

}  // namespace
}  // namespace mma
