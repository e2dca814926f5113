// The state of one mbarrier: its phase, and the arrivals and bytes that the phase still waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/finding.h"

namespace sim {

struct Warp;

struct Mbarrier {
  static constexpr int64_t kMaxCount = (1 << 20) - 1;

  uint32_t phase = 0;    ///< counts completed phases; only its lowest bit is architectural
  int32_t expected = 0;  ///< arrivals that each phase waits for
  int32_t pending = 0;   ///< arrivals that this phase still waits for
  int32_t tx = 0;        ///< bytes expected minus bytes delivered in this phase

  struct Waiter {
    Warp* warp;
    uint8_t split;  ///< index of the waiting split
  };
  std::vector<Waiter> waiters;

  /// Contributions to this phase and to the previous one, for reports. Only the first few are kept.
  struct Event {
    Contribution::Kind kind;
    uint8_t cta_rank;
    int16_t warp;     ///< -1: an asynchronous operation
    uint32_t amount;  ///< arrivals or bytes
    uint32_t pc;      ///< of the arriving instruction, or of the one that started the operation
  };
  static constexpr size_t kMaxHistory = 12;
  std::vector<Event> history, history_before;
  void record(const Event& event, bool completed_its_phase) {
    std::vector<Event>& phase = completed_its_phase ? history_before : history;
    if (phase.size() < kMaxHistory) phase.push_back(event);
  }

  bool complete(uint32_t parity) const { return (phase & 1) != (parity & 1); }

  /// Each of these returns whether it is possible, and sets `advance` to whether the phase is complete.
  bool arrive(uint32_t count, bool* advance);
  bool arrive_drop(uint32_t count, bool* advance);
  bool expect_tx(uint32_t bytes, bool* advance);
  bool complete_tx(uint32_t bytes, bool* advance);

  /// The 64-bit word that `mbarrier.inval` leaves in memory and that arrive returns (a debugging aid).
  uint64_t word() const;

 private:
  bool try_advance();
};

}  // namespace sim
