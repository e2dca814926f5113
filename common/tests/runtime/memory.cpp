// Device memory: its limits, its poison, and what reports say about a pointer.
#include "machine/global_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "report/text.h"

namespace sim {
namespace {

constexpr std::size_t MiB = std::size_t{1} << 20, GiB = std::size_t{1} << 30;

uintptr_t address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

bool poisoned(const void* memory, std::size_t bytes) {
  const auto* begin = static_cast<const unsigned char*>(memory);
  return std::all_of(begin, begin + bytes, [](unsigned char byte) { return byte == 0xFF; });
}

TEST(GlobalMemory, FreshMemoryIsPoison) {
  GlobalMemory memory(GiB);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, 5 * MiB + 3, 300 * MiB}) {
    auto* const pointer = static_cast<unsigned char*>(memory.allocate(bytes, "a"));
    ASSERT_NE(pointer, nullptr);
    EXPECT_EQ(address(pointer) % 512, 0u);
    EXPECT_TRUE(poisoned(pointer, bytes));
    std::memset(pointer, 0, bytes);
    EXPECT_TRUE(memory.release(pointer));
  }
}

TEST(GlobalMemory, PoisonIsNotSharedBetweenAllocations) {
  GlobalMemory memory(4 * GiB);
  auto* const first = static_cast<unsigned char*>(memory.allocate(GiB, "a"));
  auto* const second = static_cast<unsigned char*>(memory.allocate(GiB, "b"));
  std::memset(first, 0, 1 * MiB);
  EXPECT_TRUE(poisoned(second, 1 * MiB));
  EXPECT_TRUE(poisoned(first + 64 * MiB, 1 * MiB));  // the same poison, mapped again
}

TEST(GlobalMemory, MostOfAGpuFitsOnAnyMachine) {
  GlobalMemory memory(180 * GiB);
  auto* const pointer = static_cast<unsigned char*>(memory.allocate(170 * GiB, "huge"));
  ASSERT_NE(pointer, nullptr);
  EXPECT_TRUE(poisoned(pointer + 169 * GiB, 4096));
  pointer[100 * GiB] = 7;
  EXPECT_EQ(pointer[100 * GiB], 7);
  EXPECT_EQ(memory.allocate(11 * GiB, "too much"), nullptr);
  EXPECT_TRUE(memory.release(pointer));
  EXPECT_EQ(memory.used(), 0u);
}

TEST(GlobalMemory, CapacityCountsDeviceMemoryOnly) {
  GlobalMemory memory(1000);
  void* const all = memory.allocate(1000, "all");
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(memory.allocate(1, "one more"), nullptr);
  void* const host = memory.allocate(5000, "pinned", false, GlobalMemory::Kind::Host);
  EXPECT_NE(host, nullptr);
  EXPECT_EQ(memory.used(), 1000u);
  EXPECT_TRUE(memory.release(host));
  EXPECT_TRUE(memory.release(all));
  EXPECT_EQ(memory.used(), 0u);
  EXPECT_NE(memory.allocate(1000, "again"), nullptr);
}

TEST(GlobalMemory, WhatWasIndexedIsLikelierThanTheNeighbour) {
  GlobalMemory memory(GiB);
  auto* const indexed = static_cast<char*>(memory.allocate(64 * 1024, "cudaMalloc #1"));
  memory.allocate(10, "variable $str$3", true);
  const uintptr_t bad = address(indexed) + 80 * 1024;
  EXPECT_NE(report::place(memory.place_of(bad)).find("$str$3"), std::string::npos)
      << report::place(memory.place_of(bad));
  const uintptr_t given[] = {7, address(indexed) + 16};
  EXPECT_EQ(report::place(memory.place_of(bad, given)).find("16,384 bytes past the end of cudaMalloc #1"), 0u)
      << report::place(memory.place_of(bad, given));
  EXPECT_NE(report::place(memory.place_of(bad, std::span(given, 1))).find("$str$3"), std::string::npos);
}

TEST(GlobalMemory, FindWantsTheWholeRange) {
  GlobalMemory memory(GiB);
  auto* const pointer = static_cast<char*>(memory.allocate(100, "a", true));
  EXPECT_EQ(memory.find(address(pointer), 100)->label, "a");
  EXPECT_TRUE(memory.find(address(pointer) + 99, 1)->constant);
  EXPECT_EQ(memory.find(address(pointer), 101), nullptr);
  EXPECT_EQ(memory.find(address(pointer) + 100, 1), nullptr);
  EXPECT_NE(memory.find(address(pointer) + 100, 0), nullptr);
  EXPECT_EQ(memory.find(address(pointer) - 1, 1), nullptr);
  EXPECT_EQ(memory.find(address(pointer), ~std::size_t{0}), nullptr);
  EXPECT_EQ(memory.find(~uintptr_t{0}, 1), nullptr);
  EXPECT_EQ(memory.find(0, 0), nullptr);
  EXPECT_TRUE(memory.in_range(address(pointer)));
  EXPECT_FALSE(memory.in_range(address(&memory)));
}

TEST(GlobalMemory, ReleaseWantsTheStart) {
  GlobalMemory memory(GiB);
  auto* const pointer = static_cast<char*>(memory.allocate(100, "a"));
  EXPECT_FALSE(memory.release(pointer + 1));
  EXPECT_FALSE(memory.release(nullptr));
  EXPECT_TRUE(memory.release(pointer));
  EXPECT_FALSE(memory.release(pointer));
}

TEST(GlobalMemory, EmptyAllocationsDiffer) {
  GlobalMemory memory(1);
  void* const a = memory.allocate(0, "a");
  void* const b = memory.allocate(0, "b");
  EXPECT_NE(a, nullptr);
  EXPECT_NE(a, b);
}

TEST(GlobalMemory, AddressesAreReusedOnlyWhenAllAreUsed) {
  GlobalMemory memory(64 * MiB);
  void* const kept = memory.allocate(MiB, "kept");
  void* const first = memory.allocate(32 * MiB, "first");
  ASSERT_TRUE(memory.release(first));
  void* const second = memory.allocate(32 * MiB, "second");
  EXPECT_NE(first, second);
  ASSERT_TRUE(memory.release(second));
  for (int turn = 0; turn < 200; ++turn) {  // more than the reserved addresses hold
    void* const pointer = memory.allocate(32 * MiB, "turn");
    ASSERT_NE(pointer, nullptr) << turn;
    ASSERT_TRUE(poisoned(pointer, 4096)) << turn;
    ASSERT_TRUE(memory.release(pointer));
  }
  EXPECT_TRUE(memory.release(kept));
}

TEST(GlobalMemory, Adoption) {
  GlobalMemory memory(GiB);
  std::vector<char> host(1000);
  EXPECT_TRUE(memory.adopt(host.data(), 500, "registered"));
  EXPECT_FALSE(memory.adopt(host.data(), 500, "again"));
  EXPECT_FALSE(memory.adopt(host.data() + 499, 10, "overlaps"));
  EXPECT_TRUE(memory.adopt(host.data() + 500, 10, "next to it"));
  EXPECT_EQ(memory.find(address(host.data()) + 100, 10)->kind, GlobalMemory::Kind::Adopted);
  void* const device = memory.allocate(64, "device");
  EXPECT_NE(device, nullptr);
  EXPECT_TRUE(memory.release(host.data()));
  host[0] = 1;  // still ours
  EXPECT_EQ(memory.find(address(host.data()), 1), nullptr);
}

TEST(GlobalMemory, Descriptions) {
  GlobalMemory memory(GiB);
  auto* const a = static_cast<char*>(memory.allocate(1024, "cudaMalloc #3"));
  auto* const b = static_cast<char*>(memory.allocate(4096 * 5, "b"));
  const auto says = [&](const void* pointer) { return report::place(memory.place_of(address(pointer))); };
  EXPECT_EQ(says(nullptr).find("a null pointer;"), 0u);
  EXPECT_EQ(says(reinterpret_cast<const void*>(16)).find("a null pointer plus 16;"), 0u);
  EXPECT_EQ(says(a + 1028).substr(0, 56), "4 bytes past the end of cudaMalloc #3 (1,024 bytes at 0x");
  EXPECT_EQ(says(a + 1000).substr(0, 27), "at byte 1,000 of cudaMalloc");
  EXPECT_EQ(says(b - 1).substr(0, 18), "1 byte before b (2");
  EXPECT_NE(says(&memory).find("which is not device memory"), std::string::npos);
  ASSERT_TRUE(memory.release(a));
  EXPECT_NE(says(a + 1).find("which has been freed"), std::string::npos);
}

TEST(GlobalMemory, TheGapIsNotReadable) {
  GlobalMemory memory(GiB);
  volatile char* const pointer = static_cast<char*>(memory.allocate(4096, "a"));
  EXPECT_DEATH({ pointer[4096] = 1; }, "");
}

TEST(GlobalMemory, ThreadsAllocateAndFind) {
  GlobalMemory memory(GiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&memory] {
      for (int i = 0; i < 200; ++i) {
        void* const pointer = memory.allocate(100, "t");
        ASSERT_NE(memory.find(address(pointer), 100), nullptr);
        ASSERT_TRUE(memory.release(pointer));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.used(), 0u);
}

}  // namespace
}  // namespace sim
