// Vector clocks: what a thread knows of the actions of other threads. A clock is immutable, so threads, messages and
// operations in flight can share it. It is sparse over CTAs and dense within one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sim::order {

using Mask = uint32_t;
using Tick = uint32_t;
inline constexpr Mask kAll = 0xFFFF'FFFFu;

/// The sense in which an action is known.
enum Field : uint8_t {
  kHappened,       ///< it has finished: what it read may be overwritten
  kVisible,        ///< its effects may be read as well
  kCarried,        ///< tcgen05: after some before_thread_sync, synchronisation carries it
  kAsyncShared,    ///< generic proxy: its own thread's proxy fence made it visible to the async proxy; shared memory
  kAsyncPeers,     ///< the same, shared memory of other CTAs
  kAsyncGlobal,    ///< the same, global memory
  kGroupHappened,  ///< kHappened, if the four warps of a warpgroup complete a wgmma group as one
  kReaderShared,   ///< what kAsyncShared would be if a proxy fence by any thread on the way sufficed
  kReaderGlobal,   ///< the same for kAsyncGlobal
  kPassed,         ///< its waits have ended, its accesses perhaps not: this much asynchronous completion implies
  kPerformed,      ///< its own thread has fenced it at .gpu scope: hardware has performed it
  kFollowed,       ///< it was known to have finished when an asynchronous operation, now complete, was issued
  kFields
};
using Fields = uint32_t;  ///< a bit per Field
inline constexpr Fields kAllFields = (1u << kFields) - 1;
inline constexpr Fields kAllButVisible = kAllFields & ~(1u << kVisible);
/// The senses of finished actions: operations that were waited for, and a thread's own actions when it signals.
inline constexpr Fields kDone =
    1u << kHappened | 1u << kVisible | 1u << kGroupHappened | 1u << kPassed | 1u << kFollowed;

/// The position up to which a row is known, in each sense. Positions count from 1; 0 means not at all.
struct Entry {
  static constexpr size_t kTicks = (kFields + 3) / 4 * 4;  ///< padded to whole vectors
  std::array<Tick, kTicks> at{};
  bool operator==(const Entry&) const = default;
};
/// Everything up to `position`, in these senses.
Entry entry(Tick position, Fields fields);
/// The maximum of both in each sense; of `b` only these fields.
Entry later(const Entry& a, const Entry& b, Fields fields = kAllFields);

/// A reference to a shared, immutable object. Each RaceDetector runs on one thread, so the count needs no atomics.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { ++object_->references; }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) ++object_->references;
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && --object_->references == 0) delete object_;
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref& other) const { return object_ == other.object_; }

 private:
  T* object_ = nullptr;
};

/// Knowledge of one CTA. Its rows are its warps, by their index, followed by its channels: queues and barriers in which
/// asynchronous operations complete.
struct Block {
  struct Lanes {
    uint16_t row;
    Mask lanes;
    Entry entry;
    bool operator==(const Lanes&) const = default;
  };
  std::vector<Entry> rows;   ///< known of all lanes
  std::vector<Lanes> lanes;  ///< lanes known further than their row, sorted by row; each lane occurs once
  uint16_t warps = 0;        ///< the first rows, which are threads
  mutable uint32_t references = 0;

  bool operator==(const Block& other) const { return rows == other.rows && lanes == other.lanes; }
};

/// The launches and host operations that are known to have ended, by their number in the process: 1, 2, ...
struct Ended {
  uint64_t below = 1;            ///< all with smaller numbers
  std::vector<uint64_t> others;  ///< further ones, ascending
  mutable uint32_t references = 0;

  bool contains(uint64_t number) const;
  void add(uint64_t number);
  void add(const Ended& other);
};

class Clock {
 public:
  Clock() = default;

  /// An addition to the knowledge: lanes of a row, all of them if `lanes` is kAll.
  struct Update {
    uint16_t row;
    Mask lanes;
    Entry entry;
  };
  [[nodiscard]] Clock with(uint32_t cta, uint16_t warps, const std::vector<Update>& updates) const;
  /// The union of both; of `other` only these fields.
  [[nodiscard]] Clock join(const Clock& other, Fields fields = kAllFields) const;
  /// What the completion of an operation implies if its thread knew this clock: all of the channels. Of threads it
  /// implies only that they have passed their waits, and that the operation came after their actions.
  [[nodiscard]] Clock channels() const;
  /// The clock after a proxy fence of a thread that knows this one: what is visible to the thread is fenced in the
  /// senses `readers` (kReader...).
  [[nodiscard]] Clock fenced(Fields readers) const;
  /// Whether anything is known to have happened in this CTA.
  bool knows(uint32_t cta) const;
  [[nodiscard]] Clock with_ended(Ref<const Ended> ended) const;

  /// Those of `lanes` that are known up to `position`.
  Mask known(uint32_t cta, uint16_t row, Mask lanes, Tick position, Field field) const;
  /// What is known of one lane.
  Entry of(uint32_t cta, uint16_t row, int lane) const;
  bool ended(uint64_t launch) const;
  const Ended* ended() const;

  bool operator==(const Clock& other) const { return data_ == other.data_; }  ///< the same object
  explicit operator bool() const { return static_cast<bool>(data_); }

 private:
  struct Data {
    std::vector<std::pair<uint32_t, Ref<const Block>>> blocks;  // ascending by CTA
    Ref<const Ended> ended;
    mutable uint32_t references = 0;
  };
  const Block* find(uint32_t cta) const;
  Ref<const Data> data_;
};

}  // namespace sim::order
