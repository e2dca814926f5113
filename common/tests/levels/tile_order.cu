// The order in which persistent levels take their tiles, enumerated. Host code only: the functions are constexpr.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "level05_persistent/kernel_sm100.cuh"
#include "level07_dual_tile/kernel_sm100.cuh"
#include "level08_deep_pipeline/kernel_sm100.cuh"

namespace {

template <class Order>
void expect_every_tile_once(Order order, int m_blocks, int n_blocks) {
  std::set<std::pair<int, int>> seen;
  for (int tile = 0; tile < m_blocks * n_blocks; ++tile) {
    const auto [m_block, n_block] = order(tile, m_blocks, n_blocks);
    EXPECT_TRUE(m_block >= 0 && m_block < m_blocks && n_block >= 0 && n_block < n_blocks);
    EXPECT_TRUE(seen.emplace(m_block, n_block).second) << "tile " << tile << " again";
  }
}

TEST(TileOrder, TakesEveryTileOnce) {
  for (int m_blocks = 1; m_blocks <= 40; ++m_blocks) {
    for (int n_blocks = 1; n_blocks <= 12; ++n_blocks) {
      expect_every_tile_once(level05::tile_coordinates, m_blocks, n_blocks);
      expect_every_tile_once(level08::tile_coordinates, m_blocks, n_blocks);
    }
  }
}

// The author's table: eight m-blocks, then the next n.
TEST(TileOrder, GroupsEightRows) {
  const int expected[][2] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {0, 1}, {1, 1}};
  for (int tile = 0; tile < 10; ++tile) {
    const auto [m_block, n_block] = level05::tile_coordinates(tile, 16, 4);
    EXPECT_EQ(m_block, expected[tile][0]);
    EXPECT_EQ(n_block, expected[tile][1]);
  }
  EXPECT_EQ(level05::tile_coordinates(8 * 4, 16, 4).m_block, 8);  // the second group
}

// From level 07 on CTAs 2k and 2k + 1 hold tiles t and t + 1 with t even, as long as the grid is even.
template <class Order, class Padding>
void expect_pairs(Order order, Padding padded, int block_m) {
  for (int m_blocks = 1; m_blocks <= 40; ++m_blocks) {
    const int rows = padded(m_blocks * block_m);
    EXPECT_EQ(rows % 2, 0);
    EXPECT_TRUE(rows == m_blocks || rows == m_blocks + 1);
    for (int n_blocks = 1; n_blocks <= 12; ++n_blocks) {
      EXPECT_EQ(rows * n_blocks % 2, 0);  // so both CTAs of a pair make equally many turns
      for (int tile = 0; tile < rows * n_blocks; tile += 2) {
        const auto first = order(tile, rows, n_blocks), second = order(tile + 1, rows, n_blocks);
        EXPECT_EQ(first.n_block, second.n_block);
        EXPECT_EQ(first.m_block + 1, second.m_block);
      }
    }
  }
}
TEST(TileOrder, PairsShareTheirColumns) {
  expect_pairs(level07::tile_coordinates, level07::padded_m_blocks, level07::Config::BLOCK_M);
  expect_pairs(level08::tile_coordinates, level08::padded_m_blocks, level08::Config::BLOCK_M);
}

// The numbers in the READMEs' budgets.
TEST(Budgets, AreThoseOfTheDesign) {
  EXPECT_EQ(level05::Smem::BYTES, 230'400);
  EXPECT_EQ(level07::Smem::BYTES, 197'632);
  EXPECT_EQ(level07::Config::TMEM_COLUMNS, 512);
  EXPECT_EQ(level08::Smem::BYTES, 230'400);
  EXPECT_EQ(level08::Config::NUM_STAGES, 8);
  EXPECT_EQ(level08::Config::TMEM_COLUMNS, 256);
  EXPECT_EQ(level08::Config::TMEM_EMPTY_ARRIVALS, 8);
  EXPECT_EQ(level08::Config::IDLE_CYCLES, 0);
}

}  // namespace
