// A replay's outcome as JSON for a web page.
#include <algorithm>

#include "common/base/json.h"
#include "common/base/text.h"
#include "replay/replay.h"
#include "report/records.h"

namespace sim::recording {

using base::JsonWriter;

std::string to_json(const Replayed& replayed) {
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    const std::optional<bool> right = replayed.is_right();
    if (right)
      json.member("right", *right);
    else
      json.member("right", nullptr);
    json.member("status", static_cast<int>(replayed.status));
    std::string digests;
    json.array("results", [&] {
      for (const Compared& each : replayed.results) {
        json.object([&] {
          json.member("name", each.name);
          json.member("rows", each.rows);
          json.member("columns", each.columns);
          json.member("tile_rows", each.tile_rows);
          json.member("tile_columns", each.tile_columns);
          json.member("right", each.is_right());
          if (!each.elements.empty()) json.member("elements", base::in_hex(each.elements));
          const std::size_t across = (each.columns + each.tile_columns - 1) / each.tile_columns;
          json.array("wrong", [&] {
            for (std::size_t first = 0; !each.is_right() && first < each.wrong.size(); first += across) {
              json.array([&] {
                for (std::size_t i = first; i < std::min(first + across, each.wrong.size()); ++i)
                  json.value(int{each.wrong[i]});
              });
            }
          });
        });
        if (each.digest != 0) digests = base::format("%016llx", static_cast<unsigned long long>(each.digest));
      }
    });
    json.member("digest", digests);
    json.array("reports", [&] {
      for (const Finding& finding : replayed.findings) json.object([&] { report::write(json, finding); });
    });
  });
  return text;
}

}  // namespace sim::recording
