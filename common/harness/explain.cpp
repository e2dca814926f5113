#include "explain.h"

#include "text.h"

namespace harness {
namespace {

std::string owner(const Description& d) {
  std::string text(d.tile_owner);
  if (d.cluster > 1 && d.tile_owner == "cluster") text += format(" of %d CTAs", d.cluster);
  return text;
}

std::string plural(int count, const char* word) { return format("%d %s%s", count, word, count == 1 ? "" : "s"); }

std::string json_text(std::string_view text) { return json_string(std::string(text)); }

}  // namespace

std::string summarise(const Description& d) {
  return format("%dx%d tile per %s, %s of %s bytes, %d threads, %s bytes of shared memory", d.tile_m, d.tile_n,
                owner(d).c_str(), plural(d.stages, "stage").c_str(), count_text(d.stage_bytes).c_str(), d.threads,
                count_text(d.smem_bytes).c_str());
}

std::string explain(const Level& level, const Config& config) {
  const Description d = config.describe();
  const auto text = [](std::string_view view) { return std::string(view); };
  std::string out = format("%s on %s: %s\n\n", text(level.name).c_str(),
                           level.arch == 90 ? "Hopper (sm_90a)" : "Blackwell (sm_100a)", text(level.idea).c_str());
  out += format("  configuration   %s\n", text(config.name).c_str());
  out +=
      format("  tile of D       %d x %d per %s, K in blocks of %d\n", d.tile_m, d.tile_n, owner(d).c_str(), d.tile_k);
  out += format("  stages          %d of %s bytes per CTA\n", d.stages, count_text(d.stage_bytes).c_str());
  out += format("  threads         %d per CTA, %s\n", d.threads,
                d.cluster == 1 ? "no cluster" : format("clusters of %d CTAs", d.cluster).c_str());
  if (d.tmem_columns > 0) out += format("  tensor memory   %d of 512 columns\n", d.tmem_columns);
  if (d.accumulators > 0) out += format("  accumulators    %d registers per thread\n", d.accumulators);

  out += "\nShared memory\n";
  for (const SmemRegion& region : d.smem) {
    out += format("  %9s  %9s  %s\n", count_text(region.offset).c_str(), count_text(region.bytes).c_str(),
                  text(region.name).c_str());
  }
  out += format("  %9s  %9s  bytes in all", "", count_text(d.smem_bytes).c_str());
  if (d.request_bytes > d.smem_bytes) {
    out += format("; %s requested, so that one CTA runs per SM", count_text(d.request_bytes).c_str());
  }
  out += "\n\nBarriers\n";
  for (const BarrierInfo& barrier : d.barriers) {
    out += format("  %s%s  %s", text(barrier.name).c_str(),
                  barrier.copies > 1 ? format("[%d]", barrier.copies).c_str() : "",
                  plural(barrier.arrivals, "arrival").c_str());
    if (barrier.bytes > 0) out += format(" and %s bytes", count_text(barrier.bytes).c_str());
    out += format(" per phase\n      arrives: %s\n      waits:   %s, first for parity %d\n",
                  text(barrier.who_arrives).c_str(), text(barrier.who_waits).c_str(), barrier.first_parity);
  }
  out += "\nRoles\n";
  for (const Role& role : d.roles) out += format("  %s: %s\n", text(role.threads).c_str(), text(role.work).c_str());
  return out;
}

std::string explain_json(const Level& level, const Config& config) {
  const Description d = config.describe();
  std::string out = format(
      "{\"level\":%s,\"arch\":%d,\"idea\":%s,\"config\":%s,\"cluster\":%d,\"tile_m\":%d,\"tile_n\":%d,\"tile_k\":%d,"
      "\"tile_owner\":%s,\"stages\":%d,\"stage_bytes\":%d,\"threads\":%d,\"smem_bytes\":%d,\"request_bytes\":%d,"
      "\"tmem_columns\":%d,\"accumulators\":%d",
      json_text(level.name).c_str(), level.arch, json_text(level.idea).c_str(), json_text(config.name).c_str(),
      d.cluster, d.tile_m, d.tile_n, d.tile_k, json_text(d.tile_owner).c_str(), d.stages, d.stage_bytes, d.threads,
      d.smem_bytes, d.request_bytes, d.tmem_columns, d.accumulators);
  const auto list = [&](const char* name, const auto& items, const auto& object) {
    out += format(",\"%s\":[", name);
    bool first = true;
    for (const auto& item : items) {
      if (!first) out += ',';
      first = false;
      out += object(item);
    }
    out += ']';
  };
  list("smem", d.smem, [](const SmemRegion& r) {
    return format("{\"name\":%s,\"offset\":%d,\"bytes\":%d}", json_text(r.name).c_str(), r.offset, r.bytes);
  });
  list("barriers", d.barriers, [](const BarrierInfo& b) {
    return format(
        "{\"name\":%s,\"copies\":%d,\"arrivals\":%d,\"bytes\":%d,\"who_arrives\":%s,\"who_waits\":%s,\"first_parity\":%"
        "d}",
        json_text(b.name).c_str(), b.copies, b.arrivals, b.bytes, json_text(b.who_arrives).c_str(),
        json_text(b.who_waits).c_str(), b.first_parity);
  });
  list("roles", d.roles, [](const Role& r) {
    return format("{\"threads\":%s,\"work\":%s}", json_text(r.threads).c_str(), json_text(r.work).c_str());
  });
  return out + "}";
}

}  // namespace harness
