// The power limit that a prediction assumes.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text.h"

namespace sim::timing {

struct PowerSetting {
  enum class Kind {
    Sustained,  ///< the GPU's limit, under constant load
    Burst,      ///< the higher limit of a short burst
    None,       ///< nothing: the highest clock
    Clock,      ///< `ghz`
  };
  Kind kind = Kind::Sustained;
  double ghz = 0;

  /// The setting as text, as on the command line.
  std::string text() const {
    switch (kind) {
      case Kind::Sustained: return "cap";
      case Kind::Burst: return "burst";
      case Kind::None: return "none";
      case Kind::Clock: break;
    }
    return base::format("%g", ghz);
  }
};

/// Parses "cap", "burst", "none", or a clock from 0.3 to 3 GHz; several are separated by commas; an empty text is
/// "cap". Returns whether the text is valid.
inline bool parse_powers(std::string_view text, std::vector<PowerSetting>* settings) {
  using Kind = PowerSetting::Kind;
  settings->clear();
  if (text.empty()) text = "cap";
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    PowerSetting& setting = settings->emplace_back();
    if (word == "burst") {
      setting.kind = Kind::Burst;
    } else if (word == "none") {
      setting.kind = Kind::None;
    } else if (word != "cap") {
      setting.kind = Kind::Clock;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), setting.ghz);
      if (error != std::errc() || end != word.data() + word.size() || !(setting.ghz >= 0.3 && setting.ghz <= 3))
        return false;
    }
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return true;
}

}  // namespace sim::timing
