// What a run has found: a record. Of it report/ alone makes sentences, and lines of JSON.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sim {

enum class Wait : uint8_t;       // machine/warp.h
enum class Violation : uint8_t;  // machine/violation.h
struct FaultText;                // machine/fault.h

/// A line of the source.
struct SourceLine {
  std::string file;  ///< the last two parts of its path
  uint32_t line = 0;
  auto operator<=>(const SourceLine&) const = default;
};

/// An instruction of a kernel, and its place in the source.
struct Location {
  std::string instruction = {};         ///< in full; or words such as "its end", which have no place
  uint32_t ptx_line = 0;                ///< 0: it has no place
  std::vector<SourceLine> frames = {};  ///< the innermost first, then the lines that call it; may be empty
  std::size_t body = 0;                 ///< the frame in the kernel's own body
  bool operator==(const Location&) const = default;
};

/// A warp at an instruction, at a time.
struct Spot {
  uint32_t cta = 0;  ///< in the grid
  uint16_t warp = 0;
  uint32_t pc = 0;  ///< the instruction
  uint64_t time = 0;
};

/// One of the instructions that a finding is about.
struct Side {
  std::string noun = {};  ///< "bulk load"; empty: the instruction says enough
  std::string who = {};   ///< "CTA (3, 1), rank 1 of its cluster, warp 0, lane 5"
  Location at = {};
  std::optional<Spot> spot = {};
};

/// What is missing, in all parts of its sentence.
struct MissingLink {
  enum class What : uint8_t;  ///< machine/missing.h
  /// How far a signal has to reach.
  enum class Reach : uint8_t { Warp, Cta, Cluster, Grid };

  What what{};
  std::string instruction = {};                ///< the one that would do, if it is always the same
  std::optional<Location> from = {}, to = {};  ///< it is missing between these, after the first, or before the second
  std::optional<Location> also = {};           ///< another instruction that the sentence names
  Reach reach = Reach::Warp;
  std::vector<std::string> names = {};  ///< warps, phases, barriers that the sentence names
};

/// A number or a name in a sentence.
struct Detail {
  template <std::integral T>
  Detail(T value) : number(static_cast<int64_t>(value)), is_number(true) {}
  Detail(std::string value) : name(std::move(value)) {}
  Detail(const char* value) : name(value) {}

  std::string name = {};
  int64_t number = 0;
  bool is_number = false;
  auto operator<=>(const Detail&) const = default;
};

/// A contribution to a phase of an mbarrier.
struct Contribution {
  enum class Kind : uint8_t { Arrive, ExpectTx, CompleteTx } kind;
  uint32_t amount;  ///< arrivals or bytes
  uint32_t rank;    ///< of the CTA
  int32_t warp;     ///< -1: an asynchronous operation
  Location at;      ///< the arriving instruction, or the one that started the operation
};

/// What a phase of an mbarrier waits for, and what has happened in it.
struct PhaseState {
  uint32_t phase = 0;
  int32_t expected = 0, pending = 0;                ///< arrivals in all, and still to come
  int32_t bytes = 0;                                ///< expected minus delivered
  std::vector<Contribution> now = {}, before = {};  ///< in this phase and in the previous one; the first few
};

/// An instruction at which warps wait, and for what.
struct Waiting {
  Side side = {};          ///< `who` is the CTA
  std::string warps = {};  ///< "0, 1 (lane 3)"
  bool is_several = false;
  Wait wait = {};
  std::vector<Detail> details = {};  ///< of its sentence; an mbarrier's name and the parity
  std::optional<PhaseState> phase = {};
};

/// What a CTA does in a deadlock.
struct CtaState {
  std::string name = {};
  bool exited = false;
  uint32_t exited_warps = 0;
  std::vector<Waiting> waits = {};
};

/// A call that is not inlined.
struct CallSite {
  std::string function = {};
  Location at = {};
};

struct Finding {
  /// The words for what a run may come to, from the worst to none; all programs of this project use them.
  enum class Kind : uint8_t { Race, Convergence, Deadlock, Fault, Refused, Wrong, Habit, Right };
  /// Of a deadlock: how it is known.
  enum class Hang : uint8_t {
    NothingCanRun,  ///< no warp can go on
    Repeats,        ///< a warp's registers repeat exactly, and no other warp can run
    Idles,          ///< a warp has long had no new effect
    Meets,          ///< all warps have long done nothing but meet at barriers
  };
  /// Of a violation.
  enum class Circumstance : uint8_t {
    None,
    ExecutedBefore,  ///< the second was executed before the first
    OtherLane,       ///< another lane of the first instruction executes the second
    EitherOrder,     ///< nothing says which of the two comes first
  };

  Kind kind = Kind::Race;
  std::string rule = {};      ///< its name, or the habit's
  bool is_strict = false;     ///< only --check=strict requires it
  bool is_tolerated = false;  ///< a warning: the kernel goes on, and the exit code is the program's
  std::string kernel = {};    ///< readable
  uint64_t launch = 0;        ///< its number in the process, from 0
  uint64_t stream = 0;        ///< 0: the default stream
  std::optional<SourceLine> launched_at = {};
  Side first = {}, second = {};  ///< the earlier access first; empty: it concerns no, or only one, instruction
  std::string what = {};         ///< of a refusal: a sentence
  Violation violation{};         ///< of a rule of order, or a habit that only the checker sees
  Circumstance circumstance = Circumstance::None;
  std::string where = {};  ///< the memory
  MissingLink missing = {};
  uint64_t bytes = 0, count = 0;
  uint64_t followers = 0;  ///< later findings that may be its consequences
  // Of faults and deadlocks.
  const FaultText* fault = nullptr;
  std::vector<Detail> details = {};      ///< of the fault's or the violation's sentence
  std::optional<PhaseState> phase = {};  ///< of the mbarrier that the fault concerns
  bool is_asynchronous = false;          ///< the first side has issued the operation that failed
  Hang hang = Hang::NothingCanRun;
  uint64_t instructions = 0;  ///< without progress
  std::vector<CtaState> ctas = {};
  std::vector<CallSite> calls = {};  ///< the innermost first; of many the outermost follows `calls_left_out` others
  std::size_t calls_left_out = 0;

  bool is_of_check() const { return missing.what != MissingLink::What{}; }
};

}  // namespace sim
