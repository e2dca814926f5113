// Clocks of the order checker beside a plain model of one: a number for each CTA, row, lane and sense. A clock shares
// what it can with those that it was made of, and says so by being the same object; none of that may be seen in what it
// knows.
#include "check/order/clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

namespace sim::order {
namespace {

constexpr uint32_t kCtas = 3;
constexpr uint16_t kRows = 4, kWarps = 3;  // the last row is a channel
constexpr int kLanes = 32;
constexpr uint64_t kLaunches = 12;

struct Model {
  std::map<std::tuple<uint32_t, uint16_t, int>, Entry> known;
  std::set<uint64_t> ended;

  template <class Change>
  Model changed(Change change) const {
    Model result = *this;
    for (auto& [where, entry] : result.known) change(std::get<1>(where), entry);
    return result;
  }
};

struct Pair {
  Clock clock;
  Model model;
};

class Clocks : public ::testing::Test {
 protected:
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }
  /// Few values, so that they often are the same.
  Mask some_lanes() { return below(3) == 0 ? kAll : below(2) == 0 ? 0xFFu << 8 * below(4) : 1u << below(32); }
  Fields some_fields() { return below(2) == 0 ? kAllFields : 1 + below(kAllFields); }

  Pair with_more(const Pair& before) {
    const uint32_t cta = below(kCtas);
    std::vector<Clock::Update> updates(1 + below(3));
    Pair after = before;
    for (Clock::Update& update : updates) {
      update = {static_cast<uint16_t>(below(kRows)), some_lanes(), entry(1 + below(4), some_fields())};
      for (int lane = 0; lane < kLanes; ++lane) {
        if (update.lanes >> lane & 1) {
          Entry& known = after.model.known[{cta, update.row, lane}];
          known = later(known, update.entry);
        }
      }
    }
    after.clock = before.clock.with(cta, kWarps, updates);
    return after;
  }

  Pair with_an_end(const Pair& before) {
    auto* ended = before.clock.ended() != nullptr ? new Ended(*before.clock.ended()) : new Ended;
    ended->references = 0;
    Pair after = before;
    const uint64_t launch = 1 + below(kLaunches);
    ended->add(launch);
    after.model.ended.insert(launch);
    after.clock = before.clock.with_ended(Ref<const Ended>(ended));
    return after;
  }

  static Pair joined(const Pair& a, const Pair& b, Fields fields) {
    Pair both = a;
    both.clock = a.clock.join(b.clock, fields);
    for (const auto& [where, entry] : b.model.known)
      both.model.known[where] = later(both.model.known[where], entry, fields);
    both.model.ended.insert(b.model.ended.begin(), b.model.ended.end());
    return both;
  }

  static void expect_equal(const Pair& pair) {
    for (uint32_t cta = 0; cta < kCtas; ++cta) {
      for (uint16_t row = 0; row < kRows; ++row) {
        for (int lane = 0; lane < kLanes; ++lane) {
          const auto found = pair.model.known.find({cta, row, lane});
          const Entry expected = found == pair.model.known.end() ? Entry{} : found->second;
          ASSERT_EQ(pair.clock.of(cta, row, lane).at, expected.at)
              << "CTA " << cta << ", row " << row << ", lane " << lane;
        }
        for (Tick position = 1; position <= 4; ++position) {
          Mask expected = 0;
          for (const auto& [where, entry] : pair.model.known) {
            if (std::get<0>(where) == cta && std::get<1>(where) == row && entry.at[kVisible] >= position)
              expected |= 1u << std::get<2>(where);
          }
          ASSERT_EQ(pair.clock.known(cta, row, 0x0FFF'FFF0, position, kVisible), expected & 0x0FFF'FFF0);
        }
      }
    }
    for (uint64_t launch = 1; launch <= kLaunches; ++launch)
      ASSERT_EQ(pair.clock.ended(launch), pair.model.ended.count(launch) != 0) << launch;
  }

 private:
  std::mt19937 random_{1};
};

TEST_F(Clocks, KnowWhatTheyWereMadeOf) {
  std::vector<Pair> all(6);
  for (int step = 0; step < 3000; ++step) {
    const Pair &a = all[below(6)], &b = all[below(6)];
    Pair next;
    switch (below(7)) {
      case 0: next = with_more(below(8) == 0 ? Pair{} : a); break;
      case 1: next = with_an_end(a); break;
      case 2:
        next = {a.clock.channels(), a.model.changed([](uint16_t row, Entry& entry) {
                  if (row >= kWarps) return;
                  Entry told;
                  for (const Field field : {kPassed, kFollowed})
                    told.at[field] = std::max(entry.at[field], entry.at[kHappened]);
                  entry = told;
                })};
        break;
      case 3: {
        const Fields readers = some_fields() & (1u << kReaderShared | 1u << kReaderGlobal);
        next = {a.clock.fenced(readers), a.model.changed([readers](uint16_t, Entry& entry) {
                  for (const Field field : {kReaderShared, kReaderGlobal})
                    if (readers >> field & 1) entry.at[field] = std::max(entry.at[field], entry.at[kVisible]);
                })};
        break;
      }
      default: next = joined(a, b, below(3) == 0 ? some_fields() : kAllFields); break;
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal(next)) << "step " << step;
    all[below(6)] = next;
  }
}

TEST_F(Clocks, AreTheSameObjectWhereNothingIsNew) {
  Pair a = with_an_end(with_more({})), b = a;
  for (int step = 0; step < 5; ++step) b = with_an_end(with_more(b));
  EXPECT_TRUE(a.clock.join(b.clock) == b.clock);
  EXPECT_TRUE(b.clock.join(a.clock) == b.clock);
  EXPECT_TRUE(b.clock.join(b.clock) == b.clock);
  EXPECT_TRUE(b.clock.join(Clock()) == b.clock);
  EXPECT_TRUE(Clock().join(b.clock) == b.clock);
  EXPECT_FALSE(Clock());
}

}  // namespace
}  // namespace sim::order
