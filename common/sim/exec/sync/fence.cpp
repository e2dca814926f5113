// Fences. Memory is sequentially consistent here, so none of them has anything to do.
#include "exec/core/families.h"

namespace sim {
namespace {

void decode_fence(Decoder& d) { d.emit<no_effect>({}); }

constexpr Mnemonic kMnemonics[] = {{"fence", decode_fence}, {"membar", decode_fence}};
constexpr std::string_view kIgnored[] = {"*"};

}  // namespace

constinit const Family families::fence{kMnemonics, kIgnored};

}  // namespace sim
