// Many loads at a time: bandwidth from DRAM and from L2, by one GPC and by all, with boxes of several shapes; what L2
// keeps.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "common/harness/text.h"
#include "load.h"
#include "timers.cuh"

namespace calibrate {
namespace {

using harness::format;

constexpr std::size_t MiB = std::size_t{1} << 20;

/// 32 KiB stages, two boxes of 128 rows of 128 bytes, as in levels 01 to 06.
Walk wide_walk(int k_blocks) { return {.k_blocks = k_blocks, .x_step = 64}; }
/// 32 KiB stages from memory without gaps, two boxes each.
Walk flat_walk(int k_blocks) { return {.k_blocks = k_blocks, .row_step = 256}; }

/// Every CTA has its own part of flat memory, so small that all of them together stay in L2.
std::vector<int2> private_tiles(int ctas, const Walk& walk) {
  std::vector<int2> tiles;
  const int rows = walk.k_blocks * walk.row_step;
  for (int cta = 0; cta < ctas; ++cta) tiles.push_back({cta * rows, cta * rows + walk.row_step / 2});
  return tiles;
}

class Curves {
 public:
  explicit Curves(Context& context)
      : context_(context), field_(context, context.scaled(std::size_t{2048} * MiB, 16 * MiB)) {}

  const Field& field() const { return field_; }

  void report(const std::string& setting, const Work& work, const CUtensorMap& map) {
    std::vector<double> rates, clocks;
    for (int i = 0; i < context_.scaled(3, 1); ++i) {
      const WorkResult result = do_work(context_, work, map, field_);
      rates.push_back(result.bytes_per_cycle(work.walk));
      clocks.push_back(result.mhz());
    }
    context_.results.add(setting, "bytes per SM", "bytes/cycle", Summary(rates));
    context_.results.add(setting, "clock", "MHz", Summary(clocks));
  }

 private:
  Context& context_;
  Field field_;
};

/// Every CTA goes through rows of its own, which come from DRAM; 128 KiB in flight per SM.
void from_dram(Context& context, Curves& curves) {
  const int ctas = context.sms(), rows = curves.field().rows(Field::WIDE);
  const Walk walk = wide_walk(context.scaled(128, 2));
  const CUtensorMap map = curves.field().map(Field::WIDE, 128, 64, mma::Swizzle::B128);
  std::vector<int2> tiles;
  for (int i = 0; i < std::max(1, rows / 256 / ctas) * ctas; ++i) {
    const int row = i * 256 % std::max(1, rows - 255);
    tiles.push_back({row, row + 128});
  }
  const int stages = context.scaled(4, 2);
  curves.report(format("source=dram sms=%d flight=%d box=16384", ctas, stages * 32768),
                {.walk = walk, .tiles = tiles, .repeat = context.scaled(2, 1), .stages = stages}, map);
}

/// What does one GPC get, and what all of them together?
void subsets(Context& context, Curves& curves) {
  const auto gpcs = find_gpcs(context);
  const Walk walk = flat_walk(context.scaled(4, 2));
  const CUtensorMap map = curves.field().map(Field::FLAT, 128, 64, mma::Swizzle::B128);
  const auto measure = [&](const char* subset, size_t sms, std::vector<uint8_t> roles) {
    curves.report(format("source=l2 subset=%s sms=%zu", subset, sms),
                  {.walk = walk,
                   .tiles = private_tiles(context.sms(), walk),
                   .repeat = context.scaled(400, 1),
                   .stages = 6,
                   .roles = std::move(roles)},
                  map);
  };
  const std::vector<int>& largest =
      *std::max_element(gpcs.begin(), gpcs.end(), [](auto& a, auto& b) { return a.size() < b.size(); });
  std::vector<uint8_t> roles(static_cast<size_t>(context.sms()), 0);
  for (const int sm : largest) roles[static_cast<size_t>(sm)] = STREAMS;
  measure("one_gpc", largest.size(), roles);
  if (!context.quick) measure("of_each_gpc", static_cast<size_t>(context.sms()), {});
}

/// Boxes with rows of several lengths: what a request costs beside its bytes.
void shapes(Context& context, Curves& curves) {
  struct Shape {
    int cols, rows, slabs;
    mma::Swizzle swizzle;
  };
  for (const Shape& shape : {Shape{64, 192, 1, mma::Swizzle::B128}, Shape{32, 128, 2, mma::Swizzle::B64},
                             Shape{16, 128, 4, mma::Swizzle::B32}, Shape{8, 128, 8, mma::Swizzle::None}}) {
    if (context.quick && shape.cols != 32) continue;
    Walk walk = wide_walk(context.scaled(8, 2));
    walk.box_cols = shape.cols, walk.box_rows = shape.rows, walk.slabs = shape.slabs;
    const CUtensorMap map = curves.field().map(Field::WIDE, shape.rows, shape.cols, shape.swizzle);
    Work work{.walk = walk, .repeat = context.scaled(50, 1), .stages = 4};
    for (int cta = 0; cta < context.sms(); ++cta) {  // few rows, which many CTAs read: the memory is not the limit
      const int row = cta % 16 * 512;
      work.tiles.push_back({row, row + 256});
    }
    curves.report(
        format("sms=%d row=%d rows=%d boxes=%d stages=4", context.sms(), shape.cols * 2, shape.rows, walk.boxes()),
        work, map);
  }
}

}  // namespace

void run_load(Context& context) {
  Curves curves(context);
  from_dram(context, curves);
  subsets(context, curves);
  shapes(context, curves);
}

// ---- what L2 keeps

namespace {

/// Each SM times lines of a region, `count` of them, in an order that nothing else follows.
__global__ void probe_lines(const int* memory, const int* lines, int count, int* latencies) {
  if (threadIdx.x != 0) return;
  for (int i = static_cast<int>(blockIdx.x); i < count; i += static_cast<int>(gridDim.x))
    latencies[i] = time_load(memory + static_cast<int64_t>(lines[i]) * 32, latencies);
}

constexpr int STAGE = 32768;

/// So many bytes can go through L2 in equal parts: at least `bytes`.
std::size_t whole_parts(const Context& context, std::size_t bytes, int readers) {
  const std::size_t part = static_cast<std::size_t>(STAGE) * (context.sms() / readers);
  return (bytes + part - 1) / part * part;
}

/// Bytes [first, first + bytes) of flat memory go through L2: each stage is loaded by `readers` CTAs, about at the same
/// time.
void stream_through(const Context& context, const Field& field, std::size_t first, std::size_t bytes, int readers) {
  if (bytes == 0) return;
  const int ctas = context.sms() / readers * readers, groups = ctas / readers;
  const int stages_each = static_cast<int>(whole_parts(context, bytes, readers) / STAGE) / groups;
  Walk walk = flat_walk(stages_each);
  walk.row_step = groups * STAGE / 128;  // neighbouring stages go to different groups
  Work work{.walk = walk, .stages = 4, .warm_blocks = 1};
  for (int cta = 0; cta < context.sms(); ++cta) {
    const int row = static_cast<int>(first / 128) + cta % groups * (STAGE / 128);
    work.tiles.push_back({row, row + STAGE / 256});
  }
  if (ctas < context.sms()) {
    work.roles.assign(static_cast<size_t>(context.sms()), STREAMS);  // a few SMs read what others read, too
  }
  do_work(context, work, field.map(Field::FLAT, walk.box_rows, 64, mma::Swizzle::B128), field);
}

}  // namespace

void run_residency(Context& context) {
  const Field field(context, context.scaled(512 * MiB, 16 * MiB));
  const std::size_t region = static_cast<std::size_t>(STAGE) * context.sms();
  const int lines = context.scaled(2048, 64);
  std::vector<int> order;
  for (std::size_t i = 0; i < region / 128; ++i) order.push_back(static_cast<int>(i));
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  order.resize(static_cast<size_t>(lines));
  const DeviceArray<int> device_order(order), latencies(static_cast<size_t>(lines));
  std::size_t elsewhere = region;  // memory that has not been used lately
  const auto clear = [&](std::size_t bytes) {
    if (elsewhere + bytes + region > field.bytes()) elsewhere = region;
    return std::exchange(elsewhere, elsewhere + bytes);
  };
  const auto read_again = [&](int readers, int mib) {
    const std::size_t flushed = whole_parts(context, context.scaled(200 * MiB, MiB), 1);
    stream_through(context, field, clear(flushed), flushed, 1);
    stream_through(context, field, 0, region, readers);
    const std::size_t between =
        2 * whole_parts(context, (context.quick ? MiB : static_cast<std::size_t>(mib) * MiB) / 2, readers);
    stream_through(context, field, clear(between), between, readers);
    probe_lines<<<context.sms(), 32, 0, context.stream>>>(reinterpret_cast<const int*>(field.data()),
                                                          device_order.data(), lines, latencies.data());
    harness::check(cudaGetLastError(), "launching a probe");
    context.synchronize("probing L2");
    const std::vector<int> measured = latencies.read();
    const std::string setting = format("readers=%d between=%zu touched=once", readers, between);
    context.results.add(setting, "latency of a line", "cycles", Summary({measured.begin(), measured.end()}));
    std::map<int, int> bins;
    for (const int latency : measured) ++bins[latency / 50 * 50];
    for (const auto& [cycles, count] : bins)
      context.results.add(setting + format(" from=%d to=%d", cycles, cycles + 50), "share of lines", "",
                          static_cast<double>(count) / lines);
  };
  read_again(1, 0);
  for (const int mib : {0, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80}) {
    if (!context.quick || mib == 4) read_again(context.sms(), mib);
  }
}

}  // namespace calibrate
