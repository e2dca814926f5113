#include "explain.h"

#include "common/base/json.h"
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
  for (const SmemRegion& region : d.smem) {
    out += format("  %9s  %9s  %s\n", grouped(region.offset).c_str(), grouped(region.bytes).c_str(),
                  text(region.name).c_str());
  }
  out += format("  %9s  %9s  bytes in all", "", grouped(d.smem_bytes).c_str());
  if (d.request_bytes > d.smem_bytes) {
    out += format("; %s requested, so that one CTA runs per SM", grouped(d.request_bytes).c_str());
  }
  out += "\n\nBarriers\n";
  for (const BarrierInfo& barrier : d.barriers) {
    out += format("  %s%s  %s", text(barrier.name).c_str(),
                  barrier.copies > 1 ? format("[%d]", barrier.copies).c_str() : "",
                  plural(barrier.arrivals, "arrival").c_str());
    if (barrier.bytes > 0) out += format(" and %s bytes", grouped(barrier.bytes).c_str());
    out += format(" per phase\n      arrives: %s\n      waits:   %s, first for parity %d\n",
                  text(barrier.who_arrives).c_str(), text(barrier.who_waits).c_str(), barrier.first_parity);
  }
  out += "\nRoles\n";
  for (const Role& role : d.roles) out += format("  %s: %s\n", text(role.threads).c_str(), text(role.work).c_str());
  return out;
}

std::string explain_json(const Level& level, const Config& config) {
  const Description d = config.describe();
  std::string text;
  base::JsonWriter json(text);
  const auto list = [&](const char* name, const auto& items, const auto& members) {
    json.array(name, [&] {
      for (const auto& item : items) json.object([&] { members(item); });
    });
  };
  json.object([&] {
    json.member("level", level.name);
    json.member("arch", level.arch);
    json.member("idea", level.idea);
    json.member("config", config.name);
    json.member("cluster", d.cluster);
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
    list("smem", d.smem, [&](const SmemRegion& region) {
      json.member("name", region.name);
      json.member("offset", region.offset);
      json.member("bytes", region.bytes);
    });
    list("barriers", d.barriers, [&](const BarrierInfo& barrier) {
      json.member("name", barrier.name);
      json.member("copies", barrier.copies);
      json.member("arrivals", barrier.arrivals);
      json.member("bytes", barrier.bytes);
      json.member("who_arrives", barrier.who_arrives);
      json.member("who_waits", barrier.who_waits);
      json.member("first_parity", barrier.first_parity);
    });
    list("roles", d.roles, [&](const Role& role) {
      json.member("threads", role.threads);
      json.member("work", role.work);
    });
  });
  return text;
}

}  // namespace harness
