// Many loads at a time: bandwidth and latency against bytes in flight, SMs, shape and sharing; what L2 keeps; how far
// CTAs that share what they load come apart.
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

/// 32 KiB stages, two boxes of 128 rows of 128 bytes, as in levels 01 to 06; `boxes` makes them smaller and more.
Walk wide_walk(int k_blocks) { return {.k_blocks = k_blocks, .x_step = 64}; }
/// Stages of `bytes` from memory without gaps, two boxes each.
Walk flat_walk(int k_blocks, int bytes = 32768) {
  const int rows = bytes / 2 / 128;
  return {.k_blocks = k_blocks, .row_step = rows * 2, .box_rows = std::min(rows, 256), .stacks = (rows + 255) / 256};
}

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

  void report(const std::string& setting, const Work& work, const CUtensorMap& map, bool each_sm = false) {
    std::vector<double> rates, latencies, clocks;
    WorkResult result;
    for (int i = 0; i < context_.scaled(3, 1); ++i) {
      result = do_work(context_, work, map, field_);
      rates.push_back(result.bytes_per_cycle(work.walk));
      latencies.push_back(result.mean_latency());
      clocks.push_back(result.mhz());
    }
    Results& out = context_.results;
    out.add(setting, "bytes per SM", "bytes/cycle", Summary(rates));
    out.add(setting, "mean latency", "cycles", Summary(latencies));
    Summary spread(result.latency_quantile(0.5));
    spread.low = result.latency_quantile(0.1), spread.high = result.latency_quantile(0.9);
    out.add(setting, "latency", "cycles", spread);
    out.add(setting, "clock", "MHz", Summary(clocks));
    std::vector<double> of_sms;
    for (const CtaRecord& r : result.ctas) {
      if (r.blocks == 0) continue;
      of_sms.push_back(static_cast<double>(r.blocks) * work.walk.stage_bytes() /
                       static_cast<double>(r.end_cycle - r.begin_cycle));
      if (each_sm) out.add(setting + format(" sm=%u", r.sm), "bytes of one SM", "bytes/cycle", of_sms.back());
    }
    out.add(setting, "spread over SMs", "bytes/cycle", Summary(of_sms));
  }

 private:
  Context& context_;
  Field field_;
};

/// Closed loops: always so many bytes in flight per SM.
void windows(Context& context, Curves& curves) {
  const int ctas = context.sms(), repeat = context.scaled(400, 1);
  for (const int box_bytes : {4096, 8192, 16384, 32768}) {
    const Walk walk = flat_walk(context.scaled(131072 / (2 * box_bytes), 2), 2 * box_bytes);
    const CUtensorMap map = curves.field().map(Field::FLAT, walk.box_rows, 64, mma::Swizzle::B128);
    for (const int kib : {8, 16, 32, 64, 96, 128, 192}) {
      const int stages = kib * 1024 / (2 * box_bytes);
      if (stages < 1 || stages > 24 || (context.quick && (kib != 64 || box_bytes != 16384))) continue;
      curves.report(format("source=l2 sms=%d flight=%d box=%d", ctas, kib * 1024, box_bytes),
                    {.walk = walk, .tiles = private_tiles(ctas, walk), .repeat = repeat, .stages = stages}, map,
                    kib == 128 && box_bytes == 16384);
    }
  }
  // From DRAM: every CTA goes through rows of its own.
  const Walk walk = wide_walk(context.scaled(128, 2));
  const CUtensorMap map = curves.field().map(Field::WIDE, 128, 64, mma::Swizzle::B128);
  const int tiles_each = std::max(1, curves.field().rows(Field::WIDE) / 256 / ctas);
  std::vector<int2> tiles;
  for (int i = 0; i < tiles_each * ctas; ++i) {
    const int row = i * 256 % std::max(1, curves.field().rows(Field::WIDE) - 255);
    tiles.push_back({row, row + 128});
  }
  for (const int stages : {1, 2, 3, 4, 6}) {
    if (context.quick && stages != 2) continue;
    curves.report(format("source=dram sms=%d flight=%d box=16384", ctas, stages * 32768),
                  {.walk = walk, .tiles = tiles, .repeat = context.scaled(2, 1), .stages = stages}, map, stages == 4);
  }
}

/// Loads that come at a given rate: how does latency grow with it?
void rates(Context& context, Curves& curves) {
  const int ctas = context.sms();
  const Walk walk = flat_walk(context.scaled(4, 2));
  const CUtensorMap map = curves.field().map(Field::FLAT, 128, 64, mma::Swizzle::B128);
  for (const int stages : {1, 2, 3, 4, 6}) {
    for (const int pace : {400, 500, 550, 600, 700, 900, 1200, 2000}) {
      if (context.quick && (stages != 3 || pace != 600)) continue;
      curves.report(format("source=l2 sms=%d stages=%d pace=%d", ctas, stages, pace),
                    {.walk = walk,
                     .tiles = private_tiles(ctas, walk),
                     .repeat = context.scaled(400, 1),
                     .stages = stages,
                     .pace = pace},
                    map);
    }
  }
}

/// How many SMs, and which: what does one GPC get, and what all of them together?
void subsets(Context& context, Curves& curves) {
  const int ctas = context.sms();
  const auto gpcs = find_gpcs(context);
  const Walk walk = flat_walk(context.scaled(4, 2));
  const CUtensorMap map = curves.field().map(Field::FLAT, 128, 64, mma::Swizzle::B128);
  const auto measure = [&](const std::string& setting, const std::vector<int>& sms) {
    Work work{.walk = walk, .tiles = private_tiles(ctas, walk), .repeat = context.scaled(400, 1), .stages = 6};
    work.roles.assign(static_cast<size_t>(ctas), 0);
    for (const int sm : sms) work.roles[static_cast<size_t>(sm)] = STREAMS;
    curves.report(format("source=l2 subset=%s sms=%zu", setting.c_str(), sms.size()), work, map);
  };
  const size_t largest = static_cast<size_t>(
      std::max_element(gpcs.begin(), gpcs.end(), [](auto& a, auto& b) { return a.size() < b.size(); }) - gpcs.begin());
  for (size_t count = 1; count <= gpcs[largest].size(); count += context.quick ? 100 : 1)
    measure("one_gpc", {gpcs[largest].begin(), gpcs[largest].begin() + static_cast<ptrdiff_t>(count)});
  if (context.quick) return;
  for (size_t gpc = 0; gpc < gpcs.size(); ++gpc) measure(format("gpc%zu", gpc), gpcs[gpc]);
  for (size_t each = 1; each <= gpcs[largest].size(); each += each < 4 ? 1 : 2) {  // so many of each GPC
    std::vector<int> sms;
    for (const auto& gpc : gpcs)
      sms.insert(sms.end(), gpc.begin(), gpc.begin() + static_cast<ptrdiff_t>(std::min(each, gpc.size())));
    measure("of_each_gpc", sms);
  }
}

/// CTAs that load the same at the same time: in groups of neighbours, or of those that stand far apart.
void sharing(Context& context, Curves& curves) {
  const int ctas = context.sms();
  const Walk walk = flat_walk(context.scaled(4, 2));
  const CUtensorMap map = curves.field().map(Field::FLAT, 128, 64, mma::Swizzle::B128);
  const int rows = walk.k_blocks * walk.row_step;
  for (const int sharers : {1, 2, 4, 8, 16, 44, 132}) {
    for (const bool neighbours : {true, false}) {
      if (sharers > ctas || (context.quick && sharers != 2)) continue;
      const int groups = (ctas + sharers - 1) / sharers;
      std::vector<int2> tiles;
      for (int cta = 0; cta < ctas; ++cta) {
        const int group = neighbours ? cta / sharers : cta % groups;
        tiles.push_back({group * rows, group * rows + walk.row_step / 2});
      }
      for (const int stages : {2, 4, 6}) {
        if (context.quick && stages != 2) continue;
        curves.report(format("source=l2 sharers=%d neighbours=%d stages=%d", sharers, neighbours, stages),
                      {.walk = walk, .tiles = tiles, .repeat = context.scaled(400, 1), .stages = stages}, map);
      }
    }
  }
  // The same by multicast.
  for (const int cluster : {2, 4}) {
    const int used = ctas / cluster * cluster;
    Walk shared = walk;
    if (cluster == 4) shared.box_rows = 64, shared.stacks = 2;
    const CUtensorMap shared_map = curves.field().map(Field::FLAT, shared.box_rows, 64, mma::Swizzle::B128);
    std::vector<int2> tiles;
    for (int cta = 0; cta < used; ++cta)
      tiles.push_back({cta / cluster * rows, cta / cluster * rows + walk.row_step / 2});
    for (const int stages : {2, 4, 6}) {
      if (context.quick && stages != 2) continue;
      curves.report(
          format("source=l2 multicast=%d stages=%d", cluster, stages),
          {.walk = shared, .tiles = tiles, .repeat = context.scaled(400, 1), .stages = stages, .cluster = cluster},
          shared_map);
    }
  }
}

/// Narrow boxes: what a row costs, on one SM and on all.
void shapes(Context& context, Curves& curves) {
  struct Shape {
    int cols, rows, slabs;
    mma::Swizzle swizzle;
  };
  const int ctas = context.sms();
  for (const Shape& shape : {Shape{64, 128, 1, mma::Swizzle::B128}, Shape{32, 128, 2, mma::Swizzle::B64},
                             Shape{16, 128, 4, mma::Swizzle::B32}, Shape{8, 128, 8, mma::Swizzle::None},
                             Shape{64, 88, 1, mma::Swizzle::B128}, Shape{64, 192, 1, mma::Swizzle::B128}}) {
    Walk walk = wide_walk(context.scaled(8, 2));
    walk.box_cols = shape.cols, walk.box_rows = shape.rows, walk.slabs = shape.slabs;
    const CUtensorMap map = curves.field().map(Field::WIDE, shape.rows, shape.cols, shape.swizzle);
    for (const bool all : {false, true}) {
      if (context.quick && all) continue;
      Work work{.walk = walk, .repeat = context.scaled(50, 1), .stages = 4};
      for (int cta = 0; cta < ctas; ++cta) {  // few rows, of which all CTAs read the same: the memory is not the limit
        const int row = all ? cta % 16 * 512 : 0;
        work.tiles.push_back({row, row + 256});
      }
      if (!all) {
        work.roles.assign(static_cast<size_t>(ctas), 0);
        work.roles[0] = STREAMS;
      }
      curves.report(
          format("sms=%d row=%d rows=%d boxes=%d stages=4", all ? ctas : 1, shape.cols * 2, shape.rows, walk.boxes()),
          work, map);
    }
  }
}

}  // namespace

void run_load(Context& context) {
  Curves curves(context);
  windows(context, curves);
  rates(context, curves);
  subsets(context, curves);
  sharing(context, curves);
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
  std::map<int, int> histogram;
  std::size_t elsewhere = region;  // memory that has not been used lately
  const auto clear = [&](std::size_t bytes) {
    if (elsewhere + bytes + region > field.bytes()) elsewhere = region;
    return std::exchange(elsewhere, elsewhere + bytes);
  };
  const auto flush = [&] {
    const std::size_t bytes = whole_parts(context, context.scaled(200 * MiB, MiB), 1);
    stream_through(context, field, clear(bytes), bytes, 1);
  };
  const auto probe = [&](const std::string& setting) {
    probe_lines<<<context.sms(), 32, 0, context.stream>>>(reinterpret_cast<const int*>(field.data()),
                                                          device_order.data(), lines, latencies.data());
    harness::check(cudaGetLastError(), "launching a probe");
    context.synchronize("probing L2");
    std::vector<double> values;
    for (const int latency : latencies.read()) values.push_back(latency);
    context.results.add(setting, "latency of a line", "cycles", Summary(values));
    std::map<int, int> bins;
    for (const double value : values) ++bins[static_cast<int>(value) / 50 * 50];
    for (const auto& [cycles, count] : bins)
      context.results.add(setting + format(" from=%d to=%d", cycles, cycles + 50), "share of lines", "",
                          static_cast<double>(count) / lines);
  };
  for (const int readers : {1, 2, 132}) {
    const int sharers = std::min(readers, context.sms());
    for (const int mib : {0, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80}) {
      if (context.quick && (mib != 4 || readers != 2)) continue;
      const std::size_t half = whole_parts(context, context.scaled(mib * MiB, MiB) / 2, sharers), bytes = 2 * half;
      flush();
      stream_through(context, field, 0, region, sharers);
      stream_through(context, field, clear(bytes), bytes, sharers);
      probe(format("readers=%d between=%zu touched=once", readers, bytes));
      // Used again half way: a cache that replaces the least recently used line counts from there.
      flush();
      stream_through(context, field, 0, region, sharers);
      stream_through(context, field, clear(half), half, sharers);
      stream_through(context, field, 0, region, sharers);
      stream_through(context, field, clear(half), half, sharers);
      probe(format("readers=%d between=%zu touched=twice", readers, bytes));
    }
  }
  // Written lines take room, too.
  for (const int mib : {8, 16, 24, 32, 48, 64}) {
    if (context.quick && mib != 8) continue;
    const std::size_t bytes = context.scaled(mib * MiB, MiB);
    flush();
    stream_through(context, field, 0, region, 1);
    harness::check(cudaMemsetAsync(reinterpret_cast<std::byte*>(field.data()) + clear(bytes), 1, bytes, context.stream),
                   "writing memory");
    probe(format("readers=1 written=%zu touched=once", bytes));
  }
}

}  // namespace calibrate
