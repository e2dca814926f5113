// Cache hints, which have no effect here.
#include "exec/core/families.h"

namespace sim {
namespace {

void decode_hint(Decoder& d) { d.emit<no_effect>({}); }

/// createpolicy
struct Policy {
  int32_t d;
};
Flow create_policy(Warp& w, const Policy& o, Mask m) {
  for_lanes(m, [&](int i) { lanes<uint64_t>(w, o.d)[i] = 0x1000'0000'0000'0000; });
  return Flow::Next;
}

constexpr Mnemonic kMnemonics[] = {
    {"prefetch", decode_hint},
    {"prefetchu", decode_hint},
    {"applypriority", decode_hint},
    {"discard", decode_hint},
    {"createpolicy", [](Decoder& d) { d.emit<create_policy>({d.destination(0, 8)}); }},
};
constexpr std::string_view kIgnored[] = {"*"};

}  // namespace

constinit const Family families::cache{kMnemonics, kIgnored};

}  // namespace sim
