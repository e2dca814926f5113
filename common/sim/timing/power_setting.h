// What holds the clock of a prediction down.
#pragma once

#include <charconv>
#include <string_view>

namespace sim::timing {

struct PowerSetting {
  enum class Kind {
    Sustained,  ///< the GPU's limit, as it holds for whoever is always at work
    Burst,      ///< what it draws for a moment
    None,       ///< nothing: the highest clock
    Clock,      ///< `ghz`
  };
  Kind kind = Kind::Sustained;
  double ghz = 0;
};

/// "cap" (or nothing), "burst", "none", or a clock from 0.3 to 3 GHz. Returns whether it is one of them.
inline bool parse_power(std::string_view text, PowerSetting* setting) {
  using Kind = PowerSetting::Kind;
  if (text.empty() || text == "cap") return *setting = {Kind::Sustained, 0}, true;
  if (text == "burst") return *setting = {Kind::Burst, 0}, true;
  if (text == "none") return *setting = {Kind::None, 0}, true;
  *setting = {Kind::Clock, 0};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), setting->ghz);
  return error == std::errc() && end == text.data() + text.size() && setting->ghz >= 0.3 && setting->ghz <= 3;
}

}  // namespace sim::timing
