#include "timing/memory_model.h"

#include <algorithm>
#include <utility>

#include "timing/power_model.h"

namespace sim::timing {
namespace {

constexpr Tick NEVER = INT64_MIN / 2;
constexpr uint32_t LINE = 128;
constexpr uint32_t PIECE = 16'384;  // bytes of D that come to L2, and leave it, together

/// A number that looks random, the same everywhere.
uint64_t scrambled(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EB;
  return x ^ x >> 31;
}

}  // namespace

MemoryModel::MemoryModel(const Constants& constants, std::vector<Chunk> chunks, uint32_t gpcs, double ghz)
    : MemoryModel(constants, std::move(chunks), gpcs, ghz,
                  power(ghz / constants.clock_max, constants.l2_clock_exponent),
                  power(ghz / constants.clock_max, constants.dram_clock_exponent)) {}

MemoryModel::MemoryModel(const Constants& constants, std::vector<Chunk> chunks, uint32_t gpcs, double ghz, double l2,
                         double dram)
    : latency_(ticks(constants.l2_latency * ghz / l2)),
      dram_latency_(ticks(constants.dram_latency * ghz)),
      merge_(ticks(constants.l2_merge * ghz / l2)),
      spread_(ticks(constants.spread)),
      request_bytes_(constants.l2_request_bytes),
      gpcs_(gpcs),
      chunks_(std::move(chunks)),
      first_piece_(static_cast<uint32_t>(chunks_.size())),
      capacity_(static_cast<int64_t>(constants.l2_useful_bytes)),
      l2_(constants.l2_bytes_per_second * l2 / (ghz * 1e9)),
      dram_(constants.dram_bytes_per_second * dram / (ghz * 1e9)),
      gpc_(gpcs, Queue(constants.gpc_bytes_per_second * l2 / (ghz * 1e9))),
      gpc_out_(gpcs, Queue(constants.gpc_store_bytes_per_second * l2 / (ghz * 1e9))),
      order_(chunks_.size() + 1),
      there_(chunks_.size(), 0),
      ready_(chunks_.size(), NEVER),
      asked_(first_piece_ * size_t{gpcs}, NEVER),
      arrives_(first_piece_ * size_t{gpcs}, NEVER),
      askers_(first_piece_ * size_t{gpcs}, 0) {
  const auto pieces = static_cast<uint32_t>(capacity_ / PIECE + 2);
  for (uint32_t i = 0; i < pieces; ++i) chunks_.push_back({PIECE, first_piece_ + i, LINE});
  order_.resize(chunks_.size() + 1);
  there_.resize(chunks_.size(), 0);
  const auto head = static_cast<uint32_t>(chunks_.size());
  order_[head] = {head, head};
}

void MemoryModel::remove(uint32_t chunk) {
  const Link link = order_[chunk];
  order_[link.before].after = link.after;
  order_[link.after].before = link.before;
}

void MemoryModel::touch(uint32_t chunk) {
  const auto head = static_cast<uint32_t>(chunks_.size());
  order_[chunk] = {head, order_[head].after};
  order_[order_[head].after].before = chunk;
  order_[head].after = chunk;
}

void MemoryModel::make_room() {
  const auto head = static_cast<uint32_t>(chunks_.size());
  while (held_ > capacity_ && order_[head].before != head) {
    const uint32_t last = order_[head].before;
    remove(last);
    there_[last] = 0;
    held_ -= chunks_[last].bytes;
  }
}

void MemoryModel::fetch(uint32_t chunk, Tick now) {
  const int64_t bytes = chunks_[chunk].bytes;
  dram_read_ += bytes;
  ready_[chunk] = dram_.serve(now, bytes) + dram_latency_;
  there_[chunk] = 1;
  held_ += bytes;
  touch(chunk);
}

int64_t MemoryModel::as_lines(const Chunk& chunk) const {
  if (chunk.row_bytes >= LINE) return chunk.bytes;
  const double requests = static_cast<double>(chunk.bytes) / chunk.row_bytes;
  return static_cast<int64_t>(requests * (chunk.row_bytes + request_bytes_) * LINE / (LINE + request_bytes_) + 0.5);
}

Tick MemoryModel::read(uint32_t chunk, uint32_t gpc, uint32_t tpc, Asked asked, bool is_multicast) {
  const int64_t bytes = chunks_[chunk].bytes;
  const size_t mine = size_t{chunk} * gpcs_ + gpc;
  const auto late = static_cast<Tick>(scrambled(++requests_) % static_cast<uint64_t>(spread_ + 1));
  const Tick now = asked.first + late, last = asked.last + late;
  const uint32_t asker = uint32_t{1} << tpc;
  if (!is_multicast && now < asked_[mine] + merge_) {
    if ((askers_[mine] & asker) == 0) l2_bytes_ += bytes;
    askers_[mine] |= asker;
    return std::max(arrives_[mine], last + latency_);
  }
  asked_[mine] = now;
  askers_[mine] = asker;
  l2_bytes_ += bytes;
  const int64_t lines = as_lines(chunks_[chunk]);
  Tick there = std::max({last, gpc_[gpc].serve(now, lines), l2_.serve(now, lines)});
  if (there_[chunk]) {
    remove(chunk);
    there = std::max(there, ready_[chunk]);
  } else {
    fetch(chunk, there);
    there = ready_[chunk];
    remove(chunk);
    const uint32_t partner = chunks_[chunk].partner;
    if (!there_[partner]) fetch(partner, there - dram_latency_);
  }
  touch(chunk);
  make_room();
  return arrives_[mine] = there + latency_;
}

Tick MemoryModel::write(int64_t bytes, int64_t sent, uint32_t gpc, Tick now) {
  dram_written_ += bytes;
  const Tick out = gpc_out_[gpc].serve(now, sent);
  dram_.serve(out, bytes);
  for (unplaced_ += bytes; unplaced_ >= PIECE; unplaced_ -= PIECE) {
    const uint32_t piece = first_piece_ + next_piece_;
    next_piece_ = (next_piece_ + 1) % (static_cast<uint32_t>(chunks_.size()) - first_piece_);
    if (there_[piece]) {
      remove(piece);
    } else {
      there_[piece] = 1;
      held_ += PIECE;
    }
    touch(piece);
    make_room();
  }
  return out;
}

}  // namespace sim::timing
