#include "timing/memory_model.h"

#include <algorithm>
#include <utility>

#include "timing/power_model.h"

namespace sim::timing {
namespace {

constexpr Tick kNever = INT64_MIN / 2;
constexpr uint32_t kLine = 128;
constexpr uint32_t kPiece = 16'384;  // bytes of D that enter and leave L2 together

/// A hash that is the same on every host.
uint64_t scrambled(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EB;
  return x ^ x >> 31;
}

}  // namespace

MemoryModel::MemoryModel(const Constants& constants, std::vector<Chunk> chunks, std::vector<uint32_t> half_of_gpc,
                         double ghz)
    : MemoryModel(constants, std::move(chunks), std::move(half_of_gpc), ghz,
                  power(ghz / constants.clock_max, constants.l2_clock_exponent),
                  power(ghz / constants.clock_max, constants.dram_clock_exponent)) {}

MemoryModel::MemoryModel(const Constants& constants, std::vector<Chunk> chunks, std::vector<uint32_t> half_of_gpc,
                         double ghz, double l2, double dram)
    : latency_(ticks(constants.l2_latency * ghz / l2)),
      far_latency_(ticks(constants.l2_far_latency * ghz / l2)),
      dram_latency_(ticks(constants.dram_latency * ghz)),
      merge_(ticks(constants.l2_merge * ghz / l2)),
      spread_(ticks(constants.spread)),
      request_bytes_(constants.l2_request_bytes),
      half_of_gpc_(std::move(half_of_gpc)),
      gpcs_(static_cast<uint32_t>(half_of_gpc_.size())),
      half_count_(1 + *std::max_element(half_of_gpc_.begin(), half_of_gpc_.end())),
      chunks_(std::move(chunks)),
      first_piece_(static_cast<uint32_t>(chunks_.size())),
      capacity_(static_cast<int64_t>(constants.l2_useful_bytes)),
      halves_{half(constants, ghz, l2), half(constants, ghz, l2)},
      dram_(constants.dram_bytes_per_second * dram / (ghz * 1e9)),
      gpc_(gpcs_, Queue(constants.gpc_bytes_per_second * l2 / (ghz * 1e9))),
      gpc_out_(gpcs_, Queue(constants.gpc_store_bytes_per_second * l2 / (ghz * 1e9))),
      asked_(first_piece_ * size_t{gpcs_}, kNever),
      arrives_(first_piece_ * size_t{gpcs_}, kNever),
      askers_(first_piece_ * size_t{gpcs_}, 0),
      stood_(first_piece_ * size_t{gpcs_}) {
  const auto pieces = static_cast<uint32_t>(capacity_ / (kPiece / half_count_) + 2);
  for (uint32_t i = 0; i < pieces; ++i) chunks_.push_back({kPiece, first_piece_ + i, kLine});
  const auto head = static_cast<uint32_t>(chunks_.size());
  for (Half& half : halves_) {
    half.order.resize(chunks_.size() + 1);
    half.order[head] = {head, head};
    half.held.resize(chunks_.size(), Held::Nothing);
    half.ready.resize(chunks_.size(), kNever);
    half.home_ready.resize(chunks_.size(), kNever);
    half.in_dram.resize(chunks_.size());
  }
}

MemoryModel::Half MemoryModel::half(const Constants& constants, double ghz, double l2) const {
  const double cycles = ghz * 1e9;
  return {.l2 = Queue(constants.l2_bytes_per_second * l2 / half_count_ / cycles),
          .link = Queue(constants.l2_link_bytes_per_second *
                        power(ghz / constants.clock_max, constants.l2_link_clock_exponent) / cycles)};
}

int64_t MemoryModel::bytes_of(uint32_t chunk, Held held) const {
  const int64_t all = chunks_[chunk].bytes;
  return held == Held::All ? all : held == Held::Homes ? all / half_count_ : 0;
}

void MemoryModel::unlink(Half& half, uint32_t chunk) {
  const Link link = half.order[chunk];
  half.order[link.before].after = link.after;
  half.order[link.after].before = link.before;
}

void MemoryModel::keep(Half& half, uint32_t chunk, Held held) {
  const auto head = static_cast<uint32_t>(chunks_.size());
  const Held before = half.held[chunk];
  if (before != Held::Nothing) unlink(half, chunk);
  half.order[chunk] = {head, half.order[head].after};
  half.order[half.order[head].after].before = chunk;
  half.order[head].after = chunk;
  if (held > before) {
    half.bytes += bytes_of(chunk, held) - bytes_of(chunk, before);
    half.held[chunk] = held;
  }
  while (half.bytes > capacity_ && half.order[head].before != chunk) {
    const uint32_t last = half.order[head].before;
    unlink(half, last);
    half.bytes -= bytes_of(last, half.held[last]);
    half.held[last] = Held::Nothing;
  }
}

Tick MemoryModel::fetch(uint32_t chunk, Tick now, uint32_t client) {
  Tick there = now;
  for (uint32_t i = 0; i < half_count_; ++i) {
    Half& half = halves_[i];
    if (half.held[chunk] == Held::Nothing) {
      const int64_t bytes = bytes_of(chunk, Held::Homes);
      dram_read_ += bytes;
      half.in_dram[chunk] = Queued::cycles(dram_.ahead(now, client));
      half.home_ready[chunk] = dram_.serve(now, bytes, client) + dram_latency_;
    }
    there = std::max(there, half.home_ready[chunk]);
    keep(half, chunk, Held::Homes);
  }
  return there;
}

int64_t MemoryModel::as_lines(const Chunk& chunk) const {
  if (chunk.row_bytes >= kLine) return chunk.bytes;
  const double requests = static_cast<double>(chunk.bytes) / chunk.row_bytes;
  return static_cast<int64_t>(requests * (chunk.row_bytes + request_bytes_) * kLine / (kLine + request_bytes_) + 0.5);
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
    queued_ = stood_[mine];
    return std::max(arrives_[mine], last + latency_);
  }
  asked_[mine] = now;
  askers_[mine] = asker;
  l2_bytes_ += bytes;
  const int64_t lines = as_lines(chunks_[chunk]);
  const uint32_t side = half_of_gpc_[gpc];
  Half& half = halves_[side];
  queued_ = {};
  const Tick in_port = gpc_[gpc].ahead(now), in_l2 = half.l2.ahead(now);
  const Tick through_port = gpc_[gpc].serve(now, lines), through_l2 = half.l2.serve(now, lines);
  if (through_port >= through_l2)
    queued_.port = Queued::cycles(in_port);
  else
    queued_.l2 = Queued::cycles(in_l2);
  Tick there = std::max({last, through_port, through_l2});
  const bool is_first = half.held[chunk] != Held::All;
  if (!is_first && half.ready[chunk] > there && arrives_[mine] > now) {  // it is on its way to this GPC
    queued_.link = stood_[mine].link, queued_.dram = stood_[mine].dram;
    there = std::max(there, arrives_[mine] - latency_);
  } else if (is_first || half.ready[chunk] > there) {
    const uint32_t partner = chunks_[chunk].partner;
    if (partner != chunk) fetch(partner, there, side);
    Tick filled = fetch(chunk, there, side);
    if (filled > there) queued_.dram = half.in_dram[chunk];
    if (const int64_t far = bytes - bytes_of(chunk, Held::Homes); far > 0) {
      link_bytes_ += far;
      queued_.link = Queued::cycles(half.link.ahead(there));
      filled = std::max({filled, half.link.serve(there, far), there + far_latency_});
    }
    half.ready[chunk] = is_first ? filled : std::min(half.ready[chunk], filled);
    there = filled;
  }
  keep(half, chunk, Held::All);
  stood_[mine] = queued_;
  return arrives_[mine] = there + latency_;
}

Tick MemoryModel::read_ordinary(int64_t bytes, double from_dram, uint32_t gpc, Tick now) {
  l2_bytes_ += bytes;
  Half& half = halves_[half_of_gpc_[gpc]];
  Tick there = std::max(gpc_[gpc].serve(now, bytes), half.l2.serve(now, bytes));
  if (const auto missing = static_cast<int64_t>(static_cast<double>(bytes) * from_dram); missing > 0) {
    dram_read_ += missing;
    there = std::max(there, dram_.serve(now, missing, half_of_gpc_[gpc]));
  }
  return there;
}

Tick MemoryModel::write(int64_t bytes, int64_t sent, uint32_t gpc, Tick now) {
  dram_written_ += bytes;
  const Tick out = gpc_out_[gpc].serve(now, sent);
  dram_.serve(out, bytes, half_of_gpc_[gpc]);
  for (unplaced_ += bytes; unplaced_ >= kPiece; unplaced_ -= kPiece) {
    const uint32_t piece = first_piece_ + next_piece_;
    next_piece_ = (next_piece_ + 1) % (static_cast<uint32_t>(chunks_.size()) - first_piece_);
    for (uint32_t i = 0; i < half_count_; ++i) keep(halves_[i], piece, Held::Homes);
  }
  return out;
}

}  // namespace sim::timing
