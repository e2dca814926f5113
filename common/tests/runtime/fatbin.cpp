// Fat binaries: right ones, and every way in which a corrupt one must become a sentence.
#include "runtime/fatbin.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>

#include "support.h"

namespace sim::runtime {
namespace {

using test::container;
using test::entry;

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string problem_of(const std::string& bytes) {
  try {
    for (const Image& image : read_container(bytes_of(bytes))) image.text();
  } catch (const FatbinError& error) { return error.what(); }
  return "";
}

const Gpu B200 = *find_gpu("b200"), H200 = *find_gpu("h200");

TEST(Lz4, LiteralsAndMatches) {
  // "abcd" as literals, then a match of 8 bytes at distance 4, which overlaps what it writes, then "!" alone.
  const std::string block{
      "\x44"
      "abcd"
      "\x04\x00"
      "\x10"
      "!",
      9};
  EXPECT_EQ(decompress_lz4(bytes_of(block), 13), "abcdabcdabcd!");
}

TEST(Lz4, LongLengths) {
  // 15 + 255 + 10 literals, then a match of 4 + 15 + 0.
  std::string block = "\xFF\xFF\x0A";
  block.append(280, 'x');
  block += std::string("\x01\x00\x00", 3);
  EXPECT_EQ(decompress_lz4(bytes_of(block), 299), std::string(299, 'x'));
}

TEST(Lz4, CorruptBlocks) {
  const auto fails = [](std::string block, std::size_t size) {
    EXPECT_THROW(decompress_lz4(bytes_of(block), size), FatbinError);
  };
  fails(
      "\x50"
      "abcd",
      5);  // literals run past the end
  fails(std::string("\x14"
                    "a"
                    "\x02\x00",
                    4),
        9);  // the match starts before the text
  fails(std::string("\x14"
                    "a"
                    "\x00\x00",
                    4),
        9);  // distance 0
  fails(
      "\x14"
      "a"
      "\x01",
      9);  // ends inside the distance
  fails(std::string("\x14"
                    "a"
                    "\x01\x00",
                    4),
        5);  // holds more than the header says
  fails(std::string("\x14"
                    "a"
                    "\x01\x00",
                    4),
        100);                   // holds less
  fails("\xF0\xFF\xFF", 1000);  // ends inside a length
}

TEST(Zstd, FrameAndCorruptFrame) {
  if (dlopen("libzstd.so.1", RTLD_NOW) == nullptr) {
    EXPECT_THROW(decompress_zstd({}, 4), FatbinError);
    GTEST_SKIP() << "libzstd.so.1 is not installed";
  }
  // A frame with one raw block: magic, descriptor (single segment, 1-byte size), size, block header, content.
  const std::string frame{"\x28\xB5\x2F\xFD\x20\x05\x29\x00\x00hello", 14};
  EXPECT_EQ(decompress_zstd(bytes_of(frame), 5), "hello");
  EXPECT_THROW(decompress_zstd(bytes_of(frame.substr(0, 10)), 5), FatbinError);
  EXPECT_THROW(decompress_zstd(bytes_of(frame), 4), FatbinError);
  EXPECT_THROW(decompress_zstd(bytes_of(frame), 6), FatbinError);
  EXPECT_THROW(decompress_zstd(bytes_of("garbage"), 5), FatbinError);
}

TEST(Container, ReadsItsEntries) {
  const std::string bytes = container({entry({.kind = 2, .payload = "machine code"}), entry({.payload = test::ptx()}),
                                       entry({.arch = 90, .flags = 0, .payload = "text"})});
  const auto images = read_container(bytes_of(bytes));
  ASSERT_EQ(images.size(), 3u);
  EXPECT_EQ(images[0].kind, Image::Kind::Machine);
  EXPECT_EQ(images[1].target(), "sm_100a");
  EXPECT_EQ(images[1].text(), test::ptx());  // without the padding
  EXPECT_EQ(images[2].target(), "sm_90");
  EXPECT_TRUE(read_container(bytes_of(container({}))).empty());
}

TEST(Container, IgnoresWhatFollowsIt) {
  EXPECT_EQ(read_container(bytes_of(container({entry({.payload = "text"})}) + "next")).size(), 1u);
}

TEST(Container, CorruptFieldsAreSentences) {
  const std::string good = container({entry({.payload = "some text"})});
  EXPECT_EQ(problem_of(good), "");
  const auto with = [&](std::size_t at, auto value) {
    std::string bad = good;
    test::put(bad, at, value);
    return problem_of(bad);
  };
  const std::size_t first = 16;
  EXPECT_NE(with(0, uint32_t{1}), "");           // magic
  EXPECT_NE(with(4, uint16_t{2}), "");           // version
  EXPECT_NE(with(6, uint16_t{4}), "");           // header too short
  EXPECT_NE(with(6, uint16_t{0xFFFF}), "");      // header too long
  EXPECT_NE(with(8, ~uint64_t{0}), "");          // entries longer than the memory
  EXPECT_NE(with(8, uint64_t{8}), "");           // entries end inside a header
  EXPECT_NE(with(first + 4, uint32_t{0}), "");   // entry header of no length: would never end
  EXPECT_NE(with(first + 4, ~uint32_t{0}), "");  // entry header too long
  EXPECT_NE(with(first + 8, ~uint64_t{0}), "");  // payload too long
  EXPECT_NE(with(first + 40, test::LZ4), "");    // compressed, but of no length
  EXPECT_NE(with(first + 40, test::ZSTD), "");
  EXPECT_NE(problem_of(container({entry({.flags = test::LZ4, .payload = "x", .compressed_bytes = 1000})})), "");
  EXPECT_NE(problem_of(""), "");
  EXPECT_NE(problem_of(good.substr(0, 12)), "");
  EXPECT_NE(problem_of(good.substr(0, good.size() - 1)), "");
}

TEST(Container, AnyTruncationOrFlippedByteIsHarmless) {
  const std::string good = container({entry({.flags = test::LZ4,
                                             .payload = std::string("\x44"
                                                                    "abcd"
                                                                    "\x04\x00"
                                                                    "\x10"
                                                                    "!",
                                                                    9),
                                             .compressed_bytes = 9,
                                             .uncompressed_bytes = 13}),
                                      entry({.payload = "text"})});
  ASSERT_EQ(problem_of(good), "");
  for (std::size_t size = 0; size < good.size(); ++size) problem_of(good.substr(0, size));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char bits : {'\x01', '\x80', '\xFF'}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ bits);
      problem_of(bad);
    }
  }
}

TEST(Container, ClaimOfTerabytesIsRefused) {
  EXPECT_NE(
      problem_of(container({entry(
          {.flags = test::LZ4, .payload = "x", .compressed_bytes = 1, .uncompressed_bytes = uint64_t{1} << 40})})),
      "");
}

TEST(Wrapper, Versions) {
  const std::string one = container({entry({.payload = "one"})}), two = container({entry({.payload = "two"})});
  const test::Wrapper plain{.data = one.data()};
  ASSERT_EQ(read_wrapper(&plain).size(), 1u);

  const void* const prelinked[] = {one.data(), two.data(), nullptr};
  const test::Wrapper linked{.version = 2, .prelinked = prelinked};
  const auto containers = read_wrapper(&linked);
  ASSERT_EQ(containers.size(), 2u);
  EXPECT_EQ(containers[1][0].text(), "two");
}

TEST(Wrapper, CorruptOnesAreRefused) {
  const std::string good = container({entry({.payload = "one"})});
  const test::Wrapper magic{.magic = 7, .data = good.data()}, version{.version = 3, .data = good.data()};
  const test::Wrapper null{}, wild{.data = reinterpret_cast<const void*>(0x10)};
  const test::Wrapper no_list{.version = 2}, wild_list{.version = 2, .prelinked = reinterpret_cast<const void*>(0x10)};
  std::string further = good;  // into whatever follows in memory, which holds no entry
  test::put(further, 8, uint64_t{further.size() - 16 + 64});
  const auto heap = std::make_unique<char[]>(further.size() + 8);
  std::copy(further.begin(), further.end(), heap.get());
  const test::Wrapper wide{.data = heap.get()};
  for (const auto& wrapper : {magic, version, null, wild, no_list, wild_list, wide}) {
    EXPECT_THROW(read_wrapper(&wrapper), FatbinError);
  }
  EXPECT_THROW(read_wrapper(nullptr), FatbinError);
}

TEST(ReadableBytes, StopsAtTheEndOfTheMapping) {
  constexpr std::size_t PAGE = 4096;
  auto* const memory =
      static_cast<char*>(mmap(nullptr, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  mprotect(memory + 2 * PAGE, PAGE, PROT_NONE);
  EXPECT_EQ(readable_bytes(memory + 100), 2 * PAGE - 100);
  mprotect(memory + PAGE, PAGE, PROT_READ);  // two mappings now, both readable
  EXPECT_EQ(readable_bytes(memory + 100), 2 * PAGE - 100);
  EXPECT_EQ(readable_bytes(memory + 2 * PAGE), 0u);
  EXPECT_EQ(readable_bytes(nullptr), 0u);
  munmap(memory, 3 * PAGE);
}

TEST(Choice, MostSpecificFirst) {
  const auto image = [](int arch, Image::Variant variant, Image::Kind kind = Image::Kind::Ptx) {
    Image image;
    image.kind = kind;
    image.arch = arch;
    image.variant = variant;
    return image;
  };
  using V = Image::Variant;
  const std::vector<Image> all = {
      image(80, V::None), image(100, V::None), image(100, V::F), image(100, V::A),
      image(90, V::A),    image(90, V::None),  image(103, V::A), image(100, V::A, Image::Kind::Machine)};
  EXPECT_EQ(choose(all, B200), &all[3]);
  EXPECT_EQ(choose(all, H200), &all[4]);
  EXPECT_EQ(choose({image(103, V::A), image(120, V::None), image(90, V::A)}, B200), nullptr);
  EXPECT_EQ(choose({image(103, V::F)}, B200), nullptr);  // a family starts at its own member
  EXPECT_EQ(choose({image(100, V::A, Image::Kind::Machine)}, B200), nullptr);
  const std::vector<Image> plain = {image(52, V::None), image(90, V::None)};
  EXPECT_EQ(choose(plain, B200), &plain[1]);
  EXPECT_EQ(choose({image(100, V::None)}, H200), nullptr);
}

TEST(Choice, ExplainsWithTheRemedy) {
  Image image;
  image.kind = Image::Kind::Machine;
  image.arch = 90;
  image.variant = Image::Variant::A;
  EXPECT_EQ(
      explain_no_choice({image}, H200, "a.out"),
      "a.out holds machine code for sm_90a but no PTX, and PTX is what the simulated device runs. Compile it with "
      "nvcc -gencode arch=compute_90a,code=[sm_90a,compute_90a].");
  image.kind = Image::Kind::Ptx;
  EXPECT_EQ(explain_no_choice({image, image}, B200, "a.out"),
            "a.out holds PTX for sm_90a, which the Simulated B200 does not run. Compile it with nvcc -gencode "
            "arch=compute_100a,code=[sm_100a,compute_100a], or run it with scripts/sim.sh --gpu h100 or --gpu h200.");
}

TEST(PtxText, TargetAndKernels) {
  EXPECT_EQ(ptx_target(test::ptx("sm_90a")), "sm_90a");
  EXPECT_EQ(ptx_target("nothing"), "");
  const auto kernels = ptx_kernels(test::ptx());
  ASSERT_EQ(kernels.size(), 8u);
  EXPECT_EQ(kernels[0], "plain");
  EXPECT_EQ(ptx_kernels("/* .entry a() */ .entry\n b$_2(\n.param"), std::vector<std::string>{"b$_2"});
  EXPECT_TRUE(ptx_kernels(".entry").empty());
  EXPECT_TRUE(ptx_kernels("/*").empty());
  EXPECT_EQ(parse_target("sm_100f").variant, Image::Variant::F);
  EXPECT_EQ(parse_target("compute_90").arch, 0);
}

}  // namespace
}  // namespace sim::runtime
