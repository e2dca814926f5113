// Vector clocks: what somebody knows of what others have done. A clock is never changed once it exists, so threads,
// messages and operations in flight share it. It is sparse over CTAs and dense within one.
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

/// In which sense something is known.
enum Field : uint8_t {
  kHappened,       ///< it is over: what it read may be overwritten
  kVisible,        ///< its effects may be read as well
  kCarried,        ///< tcgen05: somebody's before_thread_sync lets synchronisation carry it
  kAsyncShared,    ///< generic proxy: its own thread's proxy fence shows it to asynchronous operations; shared memory
  kAsyncGlobal,    ///< the same, global memory
  kGroupHappened,  ///< kHappened, if the four warps of a warpgroup complete a wgmma group as one
  kReaderShared,   ///< kAsyncShared, if any thread's proxy fence on the way will do
  kReaderGlobal,   ///< the same of kAsyncGlobal
  kPassed,         ///< its waits are over, whatever became of its accesses: asynchronous completion tells that much
  kPerformed,      ///< its own thread has fenced it at .gpu scope: hardware has performed it, whatever passes it on
  kFollowed,       ///< it was known to be over when an asynchronous operation was issued that has completed
  kFields
};
using Fields = uint32_t;  ///< a bit per Field
inline constexpr Fields kAllFields = (1u << kFields) - 1;
inline constexpr Fields kAllButVisible = kAllFields & ~(1u << kVisible);
/// Of what is over: an operation that has been waited for, or whatever a thread has done when it tells others.
inline constexpr Fields kDone =
    1u << kHappened | 1u << kVisible | 1u << kGroupHappened | 1u << kPassed | 1u << kFollowed;

/// How far somebody is known, in each sense. Positions count from 1; 0 is: not at all.
struct Entry {
  static constexpr size_t kTicks = (kFields + 3) / 4 * 4;  ///< of which the last may be no field: whole vectors
  std::array<Tick, kTicks> at{};
  bool operator==(const Entry&) const = default;
};
/// Everything up to `position`, in these senses.
Entry entry(Tick position, Fields fields);
/// Of both, whichever is further. Of `b` only these fields.
Entry later(const Entry& a, const Entry& b, Fields fields = kAllFields);

/// A shared, immutable object. The checker of one world runs on one thread, so counting needs no atomics.
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

/// What is known of one CTA. Its rows are its warps, by their index, and behind them its channels: queues and barriers in
/// which asynchronous operations complete.
struct Block {
  struct Lanes {
    uint16_t row;
    Mask lanes;
    Entry entry;
    bool operator==(const Lanes&) const = default;
  };
  std::vector<Entry> rows;   ///< of all lanes at least
  std::vector<Lanes> lanes;  ///< that are known further than their row, by row, each lane once
  uint16_t warps = 0;        ///< so many rows are threads
  mutable uint32_t references = 0;

  bool operator==(const Block& other) const { return rows == other.rows && lanes == other.lanes; }
};

/// Which launches and host operations are known to have ended, by their number in the process: 1, 2, ...
struct Ended {
  uint64_t below = 1;            ///< all that came before this one
  std::vector<uint64_t> others;  ///< and these, ascending
  mutable uint32_t references = 0;

  bool contains(uint64_t number) const;
  void add(uint64_t number);
  void add(const Ended& other);
};

class Clock {
 public:
  Clock() = default;

  /// One thing more that is known: lanes of a row. All of them if `lanes` is kAll.
  struct Update {
    uint16_t row;
    Mask lanes;
    Entry entry;
  };
  [[nodiscard]] Clock with(uint32_t cta, uint16_t warps, const std::vector<Update>& updates) const;
  /// What both know; of `other` only these fields.
  [[nodiscard]] Clock join(const Clock& other, Fields fields = kAllFields) const;
  /// What the completion of an operation tells, if its thread knew this: all of channels. Of threads it tells that they
  /// have passed their waits, and that the operation followed what they had done.
  [[nodiscard]] Clock channels() const;
  /// After a proxy fence of a thread that knows this: what is visible to it is fenced, if readers may fence
  /// (kReader..).
  [[nodiscard]] Clock fenced(Fields readers) const;
  /// Is anything known to have happened in this CTA?
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
