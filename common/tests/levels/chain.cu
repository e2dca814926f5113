// A product that reads what the product before has written, directly behind it on one stream: a launch that starts
// early waits before its first byte. Shapes of the production kernel on Hopper of each kind, each after each other one.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "common/harness/device.h"
#include "common/harness/inputs.h"
#include "level08_deep_pipeline/production/kernel_sm90.cuh"

namespace {

using harness::Bf16;
using harness::check;
using harness::DeviceMemory;
using LaunchProduct = cudaError_t(const harness::Problem&, cudaStream_t);

struct Shape {
  LaunchProduct* launch;
  int least_sms;  ///< of a GPU that runs it
};
template <production::TileShape SHAPE>
constexpr Shape OF = {production::launch<SHAPE>, SHAPE.whole_clusters ? SHAPE.cluster() : 1};

/// Whether a tile is the first one of its mechanism: of its form of cluster, and of what is swapped or split.
constexpr bool is_first_of_its_kind(size_t i) {
  const auto kind = [](const production::TileShape& s) {
    return std::tuple(s.cluster_m, s.cluster_n, s.whole_clusters, s.split_k, s.swap_ab);
  };
  for (size_t j = 0; j < i; ++j)
    if (kind(production::TILES[j].shape) == kind(production::TILES[i].shape)) return false;
  return true;
}
template <size_t... I>
std::vector<Shape> first_of_each_kind(std::index_sequence<I...>) {
  std::vector<Shape> found;
  const auto add = [&]<size_t INDEX>() {
    if constexpr (is_first_of_its_kind(INDEX)) found.push_back(OF<production::TILES[INDEX].shape>);
  };
  (add.template operator()<I>(), ...);
  return found;
}
const std::vector<Shape> SHAPES = first_of_each_kind(std::make_index_sequence<std::size(production::TILES)>());
constexpr int SIZE = 264, LENGTH = 3;  // square matrices, and how many products follow one another
constexpr size_t BYTES = size_t{SIZE} * SIZE * sizeof(Bf16);

/// The matrices X_i = X_(i-1) * B^T, from X_0 = B on, one directly after the other.
class Chain {
 public:
  explicit Chain(const Bf16* b) : x_(BYTES * LENGTH, "the products") {
    check(cudaMemset(x_.data(), 0xFF, BYTES * LENGTH), "poisoning the products");
    for (int i = 0; i < LENGTH; ++i) {
      problems_.push_back({.m = SIZE,
                           .n = SIZE,
                           .k = SIZE,
                           .a = i == 0 ? reinterpret_cast<const __nv_bfloat16*>(b) : problems_.back().d,
                           .b = reinterpret_cast<const __nv_bfloat16*>(b),
                           .d = reinterpret_cast<__nv_bfloat16*>(x_.data() + i * BYTES),
                           .ldd = SIZE});
    }
  }
  const harness::Problem& operator[](int i) const { return problems_[i]; }
  std::vector<std::byte> products() const {
    std::vector<std::byte> host(BYTES * LENGTH);
    check(cudaMemcpy(host.data(), x_.data(), host.size(), cudaMemcpyDeviceToHost), "copying the products");
    return host;
  }

 private:
  DeviceMemory x_;
  std::vector<harness::Problem> problems_;
};

/// The shapes of a chain, in order: of each two of them, the one after the other and back; or, in less time, each one
/// twice and then the next.
enum class Turns { ALL, FEW };

void run_chains(Turns turns) {
  const auto device = harness::select_device(90, "levels_chain", "levels_chain");
  const harness::Stream stream;
  std::vector<Bf16> values(size_t{SIZE} * SIZE);
  // Mostly zeros: that no sum of a product of products leaves the range of BF16 or is rounded to nothing.
  harness::fill_input(harness::Init::integer, 1, harness::Operand::b, values);
  for (size_t i = 0; i < values.size(); ++i) {
    if (harness::mix(i) % 16 != 0) values[i] = {};
  }
  const harness::DeviceInput b(values.data(), static_cast<std::int64_t>(values.size()), "B");

  // As it should be: everybody waits for the one before.
  Chain apart(b.data());
  for (int i = 0; i < LENGTH; ++i) {
    check(SHAPES[0].launch(apart[i], stream), "launching a product");
    stream.synchronize("one product");
  }
  const std::vector<std::byte> expected = apart.products();

  // On a GPU a race may be won for a while.
  const int chains = device.simulated ? 1 : 200;
  std::vector<Shape> shapes;
  std::copy_if(SHAPES.begin(), SHAPES.end(), std::back_inserter(shapes),
               [](const Shape& shape) { return shape.least_sms <= production::count_sms(); });
  for (size_t first = 0; first < shapes.size(); ++first) {
    // A chain has both successions of a pair; which comes first can matter to a race only.
    for (size_t second = device.simulated && turns == Turns::ALL ? first : 0; second < shapes.size(); ++second) {
      if (turns == Turns::FEW && second != (first + 1) % shapes.size()) continue;
      const size_t order[LENGTH] = {first, turns == Turns::FEW ? first : second, turns == Turns::FEW ? second : first};
      std::vector<Chain> at_once;
      for (int i = 0; i < chains; ++i) at_once.emplace_back(b.data());
      check(cudaDeviceSynchronize(), "poisoning");
      for (const Chain& chain : at_once) {
        for (int i = 0; i < LENGTH; ++i) check(shapes[order[i]].launch(chain[i], stream), "launching");
      }
      stream.synchronize("the products");
      const auto wrong = std::count_if(at_once.begin(), at_once.end(),
                                       [&](const Chain& chain) { return chain.products() != expected; });
      EXPECT_EQ(wrong, 0) << "shapes " << first << " and " << second << " in turn, of " << chains;
    }
  }
}

TEST(Chain, EveryProductFindsTheOneBefore) { run_chains(Turns::ALL); }
TEST(FewTurns, EveryProductFindsTheOneBefore) { run_chains(Turns::FEW); }

}  // namespace
