#include "explain.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "failure.h"
#include "text.h"

namespace harness {
namespace {

std::string owner(const Description& d) {
  std::string text(d.tile_owner);
  if (d.cluster > 1 && d.tile_owner == "cluster") text += format(" of %d CTAs", d.cluster);
  return text;
}

std::string plural(int count, const char* word) { return format("%d %s%s", count, word, count == 1 ? "" : "s"); }

}  // namespace

std::string summarise(const Description& d) {
  return format("%dx%d tile per %s, %s of %s bytes, %d threads, %s bytes of shared memory", d.tile_m, d.tile_n,
                owner(d).c_str(), plural(d.stages, "stage").c_str(), grouped(d.stage_bytes).c_str(), d.threads,
                grouped(d.smem_bytes).c_str());
}

std::string explain(const Level& level, const Config& config) {
  const Description d = config.describe();
  const auto text = [](std::string_view view) { return std::string(view); };
  std::string out = format("%s on %s: %s\n\n", text(level.name).c_str(),
                           level.arch == 90 ? "Hopper (sm_90a)" : "Blackwell (sm_100a)", text(level.idea).c_str());
  out += format("  configuration   %s\n", text(config.name).c_str());
  out +=
      format("  tile of D       %d x %d per %s, K in blocks of %d\n", d.tile_m, d.tile_n, owner(d).c_str(), d.tile_k);
  out += format("  stages          %d of %s bytes per CTA\n", d.stages, grouped(d.stage_bytes).c_str());
  out += format("  threads         %d per CTA, %s\n", d.threads,
                d.cluster == 1 ? "no cluster" : format("clusters of %d CTAs", d.cluster).c_str());
  if (d.tmem_columns > 0) out += format("  tensor memory   %d of 512 columns\n", d.tmem_columns);
  if (d.accumulators > 0) out += format("  accumulators    %d registers per thread\n", d.accumulators);

  out += "\nShared memory\n";
  const auto line = [&](int offset, int bytes, std::string_view what) {
    out += format("  %9s  %9s  %s\n", grouped(offset).c_str(), grouped(bytes).c_str(), text(what).c_str());
  };
  if (!d.smem.empty()) line(0, d.smem.front().offset, "barriers");
  for (const SmemRegion& region : d.smem) line(region.offset, region.count * region.bytes, region.what);
  out += format("  %9s  %9s  bytes in all", "", grouped(d.smem_bytes).c_str());
  if (d.request_bytes > d.smem_bytes) {
    out += format("; %s requested, so that one CTA runs per SM", grouped(d.request_bytes).c_str());
  }
  out += "\n\nBarriers\n";
  for (const BarrierInfo& barrier : d.barriers) {
    out += format("  %s%s at %d  %s", text(barrier.name).c_str(),
                  barrier.copies > 1 ? format("[%d]", barrier.copies).c_str() : "", barrier.offset,
                  plural(barrier.arrivals, "arrival").c_str());
    if (barrier.bytes > 0) out += format(" and %s bytes", grouped(barrier.bytes).c_str());
    out += format(" per phase\n      arrives: %s\n      waits:   %s, first for parity %d\n",
                  text(barrier.who_arrives).c_str(), text(barrier.who_waits).c_str(), barrier.first_parity);
  }
  if (!d.named_barriers.empty()) out += "\nNamed barriers\n";
  for (const NamedBarrier& barrier : d.named_barriers) {
    out += format("  %d", barrier.number);
    if (barrier.copies > 1) out += format(" to %d", barrier.number + barrier.copies - 1);
    out += format(", %s: %d threads; %s\n", text(barrier.name).c_str(), barrier.threads, text(barrier.what).c_str());
  }
  out += "\nRoles\n";
  for (const Role& role : d.roles) out += format("  %s: %s\n", text(role.threads).c_str(), text(role.work).c_str());
  return out;
}

// --- JSON ------------------------------------------------------------------------------------------------------------

namespace {

using base::JsonWriter;

constexpr int BARRIER_BYTES = 8, TMEM_ADDRESS_BYTES = 4;
constexpr int SAMPLE_M_BLOCKS = 20, SAMPLE_N_BLOCKS = 6;  // the default grid of tiles
constexpr std::int64_t MOST_TILES = 1 << 20;
constexpr int CHUNK_BYTES = 16, PATTERN_BYTES = 1024;  // what a swizzle moves, and where its pattern begins again
constexpr const char* SWIZZLE_NAMES[] = {"None", "B32", "B64", "B128"};

/// A list of `items`, each an object with the members that `members` writes.
void write_list(JsonWriter& json, const char* name, const auto& items, auto&& members) {
  json.array(name, [&] {
    for (const auto& item : items) json.object([&] { members(item); });
  });
}

void write_constants(JsonWriter& json, const Description& d) {
  json.object("constants", [&] {
    for (const Constant& constant : d.constants) json.member(constant.name, constant.value);
  });
}

/// All of shared memory, barriers included, in the order of the offsets.
void write_smem(JsonWriter& json, const Description& d) {
  struct Piece {
    std::string_view kind;
    SmemRegion region;
  };
  std::vector<Piece> pieces;
  for (const BarrierInfo& barrier : d.barriers) {
    pieces.push_back({"barrier", {barrier.name, "mbarrier", barrier.offset, BARRIER_BYTES, barrier.copies}});
  }
  if (d.tmem_columns > 0) {
    pieces.push_back({"address", {"tmem_address", "address of tensor memory", d.tmem_address, TMEM_ADDRESS_BYTES}});
  }
  for (const SmemRegion& region : d.smem) pieces.push_back({"data", region});
  std::ranges::stable_sort(pieces, {}, [](const Piece& piece) { return piece.region.offset; });
  write_list(json, "smem", pieces, [&](const Piece& piece) {
    const SmemRegion& region = piece.region;
    json.member("name", region.name);
    json.member("kind", piece.kind);
    json.member("what", region.what);
    json.member("offset", region.offset);
    json.member("bytes", region.bytes);
    json.member("count", region.count);
    if (region.pitch > 0) {
      json.member("pitch", region.pitch);
      json.member("swizzle", SWIZZLE_NAMES[static_cast<int>(region.swizzle)]);
    }
    if (region.parts.empty()) return;
    int offset = 0;
    write_list(json, "parts", region.parts, [&](const auto& part) {
      json.member("name", part.first);
      json.member("offset", std::exchange(offset, offset + part.second));
      json.member("bytes", part.second);
    });
  });
}

void write_barriers(JsonWriter& json, const Description& d) {
  write_list(json, "barriers", d.barriers, [&](const BarrierInfo& barrier) {
    json.member("name", barrier.name);
    json.member("offset", barrier.offset);
    json.member("count", barrier.copies);
    json.member("arrivals", barrier.arrivals);
    json.member("bytes", barrier.bytes);
    json.member("who_arrives", barrier.who_arrives);
    json.member("who_waits", barrier.who_waits);
    json.member("first_parity", barrier.first_parity);
  });
  write_list(json, "named_barriers", d.named_barriers, [&](const NamedBarrier& barrier) {
    json.member("name", barrier.name);
    json.member("number", barrier.number);
    json.member("count", barrier.copies);
    json.member("threads", barrier.threads);
    json.member("what", barrier.what);
  });
}

/// How many tiles of `tile` elements cover `extent`, so that those of a cluster, `together` of them, are all there.
std::int64_t blocks(int extent, int tile, int together) {
  const std::int64_t covered = std::int64_t{tile} * together;
  return (extent + covered - 1) / covered * together;
}

void write_tile_order(JsonWriter& json, const Description& d, const std::optional<Shape>& shape) {
  const bool of_ctas = d.tile_owner == "CTA";
  const int down = of_ctas ? d.cluster / d.cluster_n : 1, across = of_ctas ? d.cluster_n : 1;
  std::int64_t m_blocks = blocks(SAMPLE_M_BLOCKS, 1, down), n_blocks = blocks(SAMPLE_N_BLOCKS, 1, across);
  if (shape) {
    m_blocks = blocks(shape->m, d.tile_m, down);
    n_blocks = blocks(shape->n, d.tile_n, across);
    if (m_blocks * n_blocks > MOST_TILES) {
      throw usage_error(format("D of %s has %s tiles, and no more than %s are listed.", to_string(*shape).c_str(),
                               grouped(m_blocks * n_blocks).c_str(), grouped(MOST_TILES).c_str()));
    }
  }
  json.object("tile_order", [&] {
    json.member("m_blocks", m_blocks);
    json.member("n_blocks", n_blocks);
    json.array("tiles", [&] {
      for (int index = 0; index < m_blocks * n_blocks; ++index) {
        const Tile tile = d.tile_at(index, static_cast<int>(m_blocks), static_cast<int>(n_blocks));
        json.array([&] {
          json.value(tile.m_block);
          json.value(tile.n_block);
        });
      }
    });
  });
}

void write_config(JsonWriter& json, const Config& config, const std::optional<Shape>& shape) {
  const Description d = config.describe();
  json.object([&] {
    json.member("config", config.name);
    json.member("cluster", d.cluster);
    json.member("cluster_n", d.cluster_n);
    json.member("tile_m", d.tile_m);
    json.member("tile_n", d.tile_n);
    json.member("tile_k", d.tile_k);
    json.member("tile_owner", d.tile_owner);
    json.member("stages", d.stages);
    json.member("stage_bytes", d.stage_bytes);
    json.member("threads", d.threads);
    json.member("smem_bytes", d.smem_bytes);
    json.member("request_bytes", d.request_bytes);
    json.member("tmem_columns", d.tmem_columns);
    json.member("accumulators", d.accumulators);
    write_constants(json, d);
    write_smem(json, d);
    write_barriers(json, d);
    write_list(json, "roles", d.roles, [&](const Role& role) {
      json.member("threads", role.threads);
      json.member("work", role.work);
    });
    if (d.tile_at != nullptr) write_tile_order(json, d, shape);
  });
}

/// For each swizzle: where it puts the 16-byte chunks of its pattern.
void write_swizzles(JsonWriter& json) {
  json.object("swizzles", [&] {
    for (const mma::Swizzle swizzle : {mma::Swizzle::None, mma::Swizzle::B32, mma::Swizzle::B64, mma::Swizzle::B128}) {
      json.array(SWIZZLE_NAMES[static_cast<int>(swizzle)], [&] {
        for (std::uint32_t at = 0; at < PATTERN_BYTES; at += CHUNK_BYTES) {
          json.value(mma::swizzle_address(swizzle, at) / CHUNK_BYTES);
        }
      });
    }
  });
}

}  // namespace

std::string explain_json(const Level& level, std::span<const Config> configs, const std::optional<Shape>& shape) {
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    json.member("level", level.name);
    json.member("arch", level.arch);
    json.member("idea", level.idea);
    json.array("configs", [&] {
      for (const Config& config : configs) write_config(json, config, shape);
    });
    write_swizzles(json);
  });
  return text;
}

std::vector<Constant> constants(std::string_view names, std::initializer_list<int> values) {
  std::vector<Constant> list;
  for (const int value : values) {
    std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    name.remove_prefix(name.find_last_of(": ") + 1);  // npos + 1 is 0
    list.push_back({name, value});
  }
  return list;
}

}  // namespace harness
