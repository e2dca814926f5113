// setmaxnreg: warps return registers to their CTA's pool and take registers from it.
#include "exec/core/families.h"
#include "exec/core/lifetime.h"

namespace sim {
namespace {

struct MaxRegisters {
  uint32_t count;  ///< per thread
};
Flow set_max_registers(Warp& w, const MaxRegisters& want, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  Cta& cta = *w.cta;
  cluster_of(w).watchers.tell(
      LaneEvent{.what = LaneEvent::What::Registers, .warp = w, .lanes = m, .target = want.count});
  if (w.max_registers == 0) return Flow::Next;  // no launch bounds: the instruction has no effect
  const auto difference = (static_cast<int32_t>(want.count) - static_cast<int32_t>(w.max_registers)) * 32;
  if (difference > cta.register_pool) return block(w, Wait::Registers, want.count, w.max_registers);
  cta.register_pool -= difference;
  w.max_registers = want.count;
  note_effect(w);
  if (difference < 0) check_register_pool(cta);
  return Flow::Next;
}

constexpr Mnemonic kMnemonics[] = {
    {"setmaxnreg", [](Decoder& d) { d.emit<set_max_registers>({static_cast<uint32_t>(d.immediate(0))}); }}};
constexpr std::string_view kIgnored[] = {"inc", "dec", "sync", "aligned", "u32"};

}  // namespace

/// Grants requests in order while the pool suffices.
void check_register_pool(Cta& cta) {
  for (Warp& warp : cta.warps) {
    for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
      const auto index = static_cast<uint8_t>(first_lane(rest));
      const Split& split = warp.splits[index];
      if (split.wait != Wait::Registers) continue;
      const auto difference =
          (static_cast<int32_t>(split.arguments[0]) - static_cast<int32_t>(warp.max_registers)) * 32;
      if (difference > cta.register_pool) return;
      cta.register_pool -= difference;
      warp.max_registers = split.arguments[0];
      resume(warp, index, 0);
    }
  }
}

constinit const Family families::setmaxnreg{kMnemonics, kIgnored};

}  // namespace sim
