// The order checker, driven directly: for each rule the shortest story that breaks it, beside its right twin, in
// data/order_stories.txt; and what is between launches.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check/order/launches.h"
#include "check/order/race_detector.h"
#include "report/text.h"

namespace sim::order {
namespace {

class NumberedLines final : public ProgramNames {
 public:
  std::string kernel() const override { return "k"; }
  std::string cta(const CtaKnowledge& cta) const override { return "CTA " + std::to_string(cta.place.cta); }
  Location locate(uint32_t pc) const override { return {"instruction " + std::to_string(pc), 0, {{"", pc}}}; }
  uint32_t first_of_line(uint32_t pc) const override { return pc; }
  std::string shared(uint64_t offset) const override { return "shared memory +" + std::to_string(offset); }
  std::string global(uint64_t address) const override { return "global memory " + std::to_string(address); }
  const uint8_t* bytes(const CtaKnowledge*, uint64_t address) const override {
    return memory.data() + address % memory.size();
  }
  std::array<uint8_t, 4096> memory{};
};

using Words = std::vector<std::string>;

Words split(const std::string& text, char separator) {
  Words words;
  for (size_t begin = text.find_first_not_of(separator); begin != std::string::npos;) {
    const size_t end = text.find(separator, begin);
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(separator, end);
  }
  return words;
}
uint32_t number(const std::string& word) { return static_cast<uint32_t>(std::stoul(word)); }
std::pair<uint32_t, uint32_t> range(const std::string& word) {
  const Words ends = split(word, '-');
  return {number(ends.front()), number(ends.back())};
}

/// An instruction of a story: its name, and what stands behind it.
struct Event {
  std::string name;
  Words words;
  bool says(const char* word) const { return std::ranges::find(words, word) != words.end(); }
  bool is(const char* part) const { return std::ranges::count(split(name, '.'), part) != 0; }
  uint32_t number(size_t i) const { return order::number(words.at(i)); }
  uint32_t value(const std::string& name, uint32_t otherwise) const {
    for (const std::string& word : words) {
      if (word.starts_with(name + "=")) return order::number(word.substr(name.size() + 1));
    }
    return otherwise;
  }
  Scope scope() const {
    return says("gpu") ? Scope::Gpu : says("cluster") || is("cluster") ? Scope::Cluster : Scope::Cta;
  }
};

/// Clusters of two CTAs with four warps each.
class Story {
 public:
  Story(const Habits& tolerated, bool strict) : findings_(tolerated, strict), detector_(findings_, names_, Clock()) {
    for (uint32_t i = 0; i < 4; ++i) cta_.push_back(&detector_.begin({i, i / 2}, i % 2, 128));
  }

  void tell(const Words& line) {
    if (line[0] == "mbarrier") return known_mbarrier(place(line[1]));
    if (line[0] == "land") return land(line[1], place(line[2]));
    const uint32_t pc = number(line[0]);
    const Event event{line[2], {line.begin() + 3, line.end()}};
    if (line[1] == "*") return sync_cluster(pc, !event.says("relaxed"));
    const Words who = split(line[1], '.');
    CtaKnowledge& cta = *cta_[number(who[0])];
    const auto [first, last] = range(who.size() > 1 ? who[1] : "0-3");
    if (event.name == "bar.done") return detector_.barrier_complete(cta, event.number(0));
    if (event.name == "bar.sync") return sync(cta, first, last, pc, event.words.empty() ? 0 : event.number(0));
    Mask lanes = kAll;
    if (who.size() > 2) {
      const auto [low, high] = range(who[2]);
      lanes = kAll >> (31 - high) & kAll << low;
    }
    for (uint32_t warp = first; warp <= last; ++warp) happen({cta, static_cast<uint16_t>(warp), lanes, pc}, event);
    if (event.name == "exit") detector_.end(cta);
  }
  std::vector<Finding> found() const { return findings_.all(); }

 private:
  struct Place {
    CtaKnowledge& cta;
    uint32_t offset;
  };
  Place place(const std::string& word) {
    const Words parts = split(word, ':');
    return {*cta_[number(parts[0])], number(parts[1])};
  }

  void sync(CtaKnowledge& cta, uint32_t first, uint32_t last, uint32_t pc, uint32_t id) {
    const auto by = [&](uint32_t warp) { return By{cta, static_cast<uint16_t>(warp), kAll, pc}; };
    for (uint32_t w = first; w <= last; ++w) detector_.barrier_arrive(by(w), id, last - first == 3);
    detector_.barrier_complete(cta, id);
    for (uint32_t w = first; w <= last; ++w) detector_.barrier_pass(by(w), id);
  }
  void sync_cluster(uint32_t pc, bool releases) {
    const auto for_all = [&](auto f) {
      for (uint32_t c = 0; c < 2; ++c) {
        for (uint16_t warp = 0; warp < 4; ++warp) f(By{*cta_[c], warp, kAll, pc});
      }
    };
    for_all([&](const By& by) { detector_.cluster_arrive(by, releases); });
    detector_.cluster_complete(0);
    for_all([&](const By& by) { detector_.cluster_pass(by, true); });
  }
  /// Initialised, fenced, and known to the whole cluster: lines 1 and 2.
  void known_mbarrier(const Place& at) {
    detector_.barrier_init({at.cta, 0, 1, 1}, at.offset);
    detector_.fence_barrier_init({at.cta, 0, 1, 1});
    sync_cluster(2, true);
  }
  void arrive(const Place& at, const Signal& signal, const Event& event) {
    detector_.arrived(at.cta, at.offset, signal);
    if (event.says("completes")) detector_.phase_complete(at.cta, at.offset);
  }
  void load_bulk(const By& by, const Event& event, Role role, uint32_t bytes) {
    std::vector<RaceDetector::Landing> landings;
    const uint64_t offset = event.number(0);
    for (size_t i = 1; i < event.words.size(); ++i) {
      const Place to = place(event.words[i]);
      landings.push_back({&to.cta, {{offset, offset + bytes}}, &to.cta, to.offset});
    }
    const bool has_source = role == Role::BulkLoad;
    operations_[std::to_string(by.pc)] = {
        detector_.bulk_load(by, role, landings, nullptr,
                            has_source ? std::vector<Range>{{4096, 4224}} : std::vector<Range>{}, event.is("red")),
        landings};
  }
  /// The bytes complete the phase.
  void land(const std::string& pc, const Place& at) {
    auto& [operation, landings] = operations_.at(pc);
    const auto landing =
        std::ranges::find_if(landings, [&](const RaceDetector::Landing& each) { return each.cta == &at.cta; });
    detector_.landed(*operation, static_cast<size_t>(landing - landings.begin()), at.cta, at.offset);
    detector_.phase_complete(at.cta, at.offset);
  }
  /// Of shared memory lanes access a word each, one behind the other; of global memory all access one.
  void access(const By& by, const Event& event) {
    const uint32_t bytes = event.value("bytes", event.is("map") ? 128 : 4);
    const bool reads_and_writes = event.is("atom") || event.is("add");
    WarpAccess access;
    access.space = event.is("global") || event.is("map") ? MemoryKind::Global : MemoryKind::Shared;
    const bool one_word = access.space == MemoryKind::Global || event.is("word") || event.is("atom");
    std::array<uint64_t, 32> address{};
    for (uint64_t lane = 0; lane < 32; ++lane)
      address[lane] = event.number(0) + (one_word ? 0 : bytes * (event.is("reversed") ? 31 - lane : lane));
    access.target = cta_[event.value("cta", by.cta.place.cta)];
    access.address = address.data();
    access.bytes = bytes;
    access.read_modify_write = reads_and_writes;
    access.reads = reads_and_writes || event.is("ld"), access.writes = !event.is("ld");
    access.role = event.is("allocation") ? Role::Allocation
                  : reads_and_writes     ? Role::Atomic
                  : access.writes        ? Role::Store
                                         : Role::Load;
    access.is_volatile = event.is("volatile");
    access.acquires = event.is("acquire"), access.releases = event.is("release");
    access.strong = reads_and_writes || access.is_volatile || access.acquires || access.releases || event.is("relaxed");
    access.scope = event.is("cluster") ? Scope::Cluster : Scope::Gpu;
    detector_.access(by, access);
    if (access.writes) detector_.stored(true);
  }
  void mma(const By& by, const Event& event) {
    CtaKnowledge& cta = *cta_[event.value("cta", by.cta.place.cta)];
    RaceDetector::Mma mma;
    mma.results = {{&cta, RaceDetector::tensor_range(0, 128, 0, 8)}};
    if (event.says("operands")) mma.operands = {{&cta, {{0, 128}}}};
    mma.accumulates = event.says("accumulates");
    mma.accumulator = event.value("d", 1);
    detector_.tensor_operation(by, mma);
  }
  void copy(const By& by) {
    std::array<uint64_t, 32> to{}, from{};
    for (uint64_t lane = 0; lane < 32; ++lane) to[lane] = 16 * lane, from[lane] = 4096 + 16 * lane;
    detector_.copy_async(by, to.data(), from.data(), 16, kAll);
  }
  void allocate(const By& by, const Event& event, Role role) {
    detector_.tensor_allocate(by, RaceDetector::tensor_range(0, 128, 0, 32), role,
                              event.says("pair") ? cta_[by.cta.place.cta ^ 1] : nullptr);
  }

  void happen(const By& by, const Event& e) {
    using Does = void (*)(Story&, RaceDetector&, const By&, const Event&);
#define DOES(...) \
  [](Story& story, RaceDetector& d, const By& by, const Event& e) { (void)story, (void)d, (void)e, __VA_ARGS__; }
    static const std::map<std::string, Does> kEvents = {
        {"exit", DOES(d.exit(by))},
        {"fence", DOES(d.fence(by, e.scope(), true, true))},
        {"fence.proxy", DOES(d.fence_proxy_async(by, e.says("shared"), e.says("global")))},
        {"fence.init", DOES(d.fence_barrier_init(by))},
        {"fence.before", DOES(d.fence_before_thread_sync(by))},
        {"fence.after", DOES(d.fence_after_thread_sync(by))},
        {"sync.warp", DOES(d.sync_warp(by))},
        {"shuffle", DOES(d.meet(by))},
        {"aligned", DOES(d.aligned(by))},
        {"part", DOES(d.part(by, ~by.lanes))},
        {"part.maybe", DOES(d.may_part(by))},
        {"bar.arrive", DOES(d.barrier_arrive(by, e.number(0), false))},
        {"bar.pass", DOES(d.barrier_pass(by, e.number(0)))},
        {"init", DOES(d.barrier_init(by, e.number(0)))},
        {"inval", DOES(d.barrier_invalidate(by, e.number(0)))},
        {"arrive", DOES(story.arrive(story.place(e.words[0]), d.signal(by, !e.says("relaxed"), e.scope()), e))},
        {"commit", DOES(story.arrive(story.place(e.words[0]), d.tensor_commit(by, 1), e))},
        {"wait", DOES(d.waited(by, e.number(0), e.scope(), !e.says("relaxed")))},
        {"bulk.load", DOES(story.load_bulk(by, e, Role::BulkLoad, 128))},
        {"cancel", DOES(story.load_bulk(by, e, Role::Cancel, 16))},
        {"st.async", DOES(story.load_bulk(by, e, Role::RemoteStore, 4))},
        {"red.async", DOES(story.load_bulk(by, e, Role::RemoteStore, 4))},
        {"bulk.store", DOES(d.bulk_store(by, {{e.number(0), e.number(0) + 128}}, {{8192, 8320}}, false))},
        {"bulk.reduce", DOES(d.bulk_store(by, {{e.number(0), e.number(0) + 128}}, {{8192, 8320}}, true))},
        {"bulk.commit", DOES(d.bulk_commit(by))},
        {"bulk.wait.read", DOES(d.bulk_wait(by, e.number(0), true))},
        {"wgmma", DOES(d.wgmma(by, {{0, e.number(0)}}))},
        {"wgmma.commit", DOES(d.wgmma_commit(by))},
        {"wgmma.wait", DOES(d.wgmma_wait(by, e.number(0)))},
        {"cp.async", DOES(story.copy(by))},
        {"cp.commit", DOES(d.copy_commit(by))},
        {"cp.wait", DOES(d.copy_wait(by, e.number(0), false))},
        {"map.release", DOES(d.release_maps(by, e.scope()))},
        {"map.acquire", DOES(d.acquire_map(by, e.number(0), e.scope()))},
        {"map.use", DOES(d.use_map(by, e.number(0)))},
        {"mma", DOES(story.mma(by, e))},
        {"tmem.ld", DOES(d.tensor_transfer(by, RaceDetector::tensor_range(32, 32, 0, 8), false))},
        {"tmem.st", DOES(d.tensor_transfer(by, RaceDetector::tensor_range(32, 32, 0, 8), true))},
        {"tmem.wait.ld", DOES(d.tensor_wait(by, false))},
        {"tmem.wait.st", DOES(d.tensor_wait(by, true))},
        {"alloc", DOES(story.allocate(by, e, Role::Allocation))},
        {"dealloc", DOES(story.allocate(by, e, Role::Deallocation))},
    };
#undef DOES
    if (const auto found = kEvents.find(e.name); found != kEvents.end())
      found->second(*this, detector_, by, e);
    else
      access(by, e);
  }

  NumberedLines names_;
  Findings findings_;
  RaceDetector detector_;
  std::vector<CtaKnowledge*> cta_;
  std::map<std::string, std::pair<std::unique_ptr<OperationRecord>, std::vector<RaceDetector::Landing>>>
      operations_;  ///< by the line that has issued them
};

/// "read after write 10 12: link 10 12", as the file says it.
std::string in_short(const Finding& finding) {
  const auto place = [](const Location& at) {
    return ' ' + (!at.frames.empty()       ? std::to_string(at.frames[0].line)
                  : at.instruction.empty() ? "-"
                                           : at.instruction);
  };
  const MissingLink& missing = finding.missing;
  std::string text = finding.rule + place(finding.first.at) + place(finding.second.at) + ": " +
                     report::word_of(missing.what) + place(missing.from.value_or(Location{})) +
                     place(missing.to.value_or(Location{}));
  if (missing.also) text += place(*missing.also);
  std::string names = missing.names.empty() && !missing.instruction.empty() ? " (" + missing.instruction : "";
  for (const std::string& name : missing.names) names += (names.empty() ? " (" : "; ") + name;
  return text + names + (names.empty() ? "" : ")");
}

/// A story with its cases, each a letter: the lines, with the cases in which they happen, and what is found.
struct Told {
  std::string title;
  std::vector<std::pair<std::string, std::string>> lines, found;  ///< cases ("": all) and text
};

std::vector<Told> stories() {
  std::vector<Told> all;
  std::ifstream file(SIM_ORDER_STORIES);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (!line.starts_with(' ')) {
      all.push_back({line, {}, {}});
      continue;
    }
    if (const size_t arrow = line.find("=> "); arrow != std::string::npos) {
      const size_t colon = line.find(": ", arrow);
      const bool has_cases = colon != std::string::npos && colon < line.find(' ', arrow + 3);
      all.back().found.emplace_back(has_cases ? line.substr(arrow + 3, colon - arrow - 3) : "",
                                    line.substr(has_cases ? colon + 2 : arrow + 3));
      continue;
    }
    const size_t bar = line.find(" | ");
    all.back().lines.emplace_back(bar == std::string::npos ? "" : line.substr(bar + 3), line.substr(0, bar));
  }
  return all;
}

std::vector<std::string> found_in(const Told& told, char letter) {
  Habits tolerated;
  bool strict = false;
  std::vector<Words> events;
  for (const auto& [cases, line] : told.lines) {
    if (!cases.empty() && cases.find(letter) == std::string::npos) continue;
    Words words = split(line, ' ');
    if (words[0] == "strict")
      strict = true;
    else if (words[0] == "tolerate")
      EXPECT_EQ(tolerated.add(words[1]), "");
    else
      events.push_back(std::move(words));
  }
  Story story(tolerated, strict);
  for (const Words& words : events) story.tell(words);
  std::vector<std::string> found;
  for (const Finding& finding : story.found()) {
    found.push_back(in_short(finding));
    const std::string sentence = report::missing(finding);
    for (const char* twice : {",,", ", ,", ",.", "  ", "{"})
      EXPECT_EQ(sentence.find(twice), std::string::npos) << sentence;
  }
  return found;
}

TEST(Order, Stories) {
  const std::vector<Told> all = stories();
  EXPECT_FALSE(all.empty());
  for (const Told& told : all) {
    std::map<char, std::vector<std::string>> expected;
    for (const auto& [cases, text] : told.found) {
      for (const char letter : cases.empty() ? "a" : cases) {
        expected[letter];
        if (text != "nothing") expected[letter].push_back(text);
      }
    }
    EXPECT_FALSE(expected.empty()) << told.title;
    for (const auto& [letter, findings] : expected)
      EXPECT_EQ(found_in(told, letter), findings) << told.title << ", case " << letter;
  }
}

TEST(Order, ManyAccessesAreForgottenWithoutForgettingTheLast) {
  Story story({}, false);
  for (uint32_t round = 0; round < 20'000; ++round) {
    const std::string offset = std::to_string(128 * (round % 8));
    story.tell({"10", "0.0", "st", offset});
    story.tell({"11", "0.0-3", "bar.sync"});
    story.tell({"12", "0.1", "ld", offset});
    story.tell({"13", "0.0-3", "bar.sync"});
  }
  EXPECT_TRUE(story.found().empty());
  story.tell({"14", "0.0", "st", "0"});
  story.tell({"15", "0.1", "ld", "0"});
  ASSERT_EQ(story.found().size(), 1u);
  EXPECT_EQ(in_short(story.found()[0]), "read after write 14 15: link 14 15");
}

TEST(Order, HabitsAreKnownByName) {
  Habits habits;
  EXPECT_EQ(habits.add("warpgroup-release,tcgen05-fence"), "");
  EXPECT_TRUE(habits.contains(Habit::WarpgroupRelease));
  EXPECT_FALSE(habits.contains(Habit::InitFence));
  EXPECT_EQ(habits.add("init-fence,nonsense,more"), "nonsense");
}

// ---- launches, streams, the host

/// Launches of one CTA whose thread 0 stores or loads 4 bytes at 4096.
class Streams {
 public:
  enum Does { Stores, Loads };
  /// What is found. `waits`: griddepcontrol.wait comes first.
  std::string launch(Does does, StreamName stream, bool overlaps = false, bool waits = false,
                     const std::vector<uint32_t>& clusters = {0}) {
    const auto check = launches.begin(stream, overlaps, lets_start, std::make_unique<NumberedLines>(), {}, strict);
    for (const uint32_t cluster : clusters) {
      auto own = check->make_detector();
      RaceDetector& detector = *own;
      CtaKnowledge& cta = detector.begin({cluster, cluster}, 0, 32);
      const By by{cta, 0, 1, 10};
      if (waits) detector.grid_wait(by);
      std::array<uint64_t, 32> address{};
      address.fill(4096);
      WarpAccess access;
      access.space = MemoryKind::Global;
      access.address = address.data();
      access.bytes = 4;
      access.role = does == Stores ? Role::Store : Role::Load;
      access.reads = does == Loads, access.writes = does == Stores;
      detector.access(by, access);
      if (does == Stores) detector.stored(true);
      check->fold(detector);
    }
    launches.end(*check, stream);
    std::string text;
    for (const Finding& each : check->findings.all()) text += report::text(each);
    return text;
  }
  std::string copy_to_host(StreamName stream, bool host_waits) {
    const std::optional<Finding> found = launches.operation(stream, host_waits, "cudaMemcpyAsync", {{4096, 4100}}, {});
    return found ? report::text(*found) : "";
  }
  Launches launches;
  bool lets_start = true;  ///< the kernels from now on execute griddepcontrol.launch_dependents
  bool strict = false;
};
constexpr StreamName kDefault{0, true}, kFirst{1, true}, kSecond{2, true}, kFree{3, false}, kOther{4, false};

TEST(Order, LaunchesOfOneStreamFollowOneAnother) {
  Streams streams;
  EXPECT_EQ(streams.launch(Streams::Stores, kFirst), "");
  EXPECT_EQ(streams.launch(Streams::Loads, kFirst), "");
  EXPECT_EQ(streams.launch(Streams::Stores, kFirst), "");
}

TEST(Order, ALaunchThatMayOverlapWaitsBeforeItTouchesWhatTheOneBeforeWrites) {
  Streams streams;
  streams.launch(Streams::Stores, kFirst);
  const std::string bad = streams.launch(Streams::Loads, kFirst, true);
  EXPECT_NE(bad.find("griddepcontrol.wait before :10"), std::string::npos) << bad;
  Streams good;
  good.launch(Streams::Stores, kFirst);
  EXPECT_EQ(good.launch(Streams::Loads, kFirst, true, true), "");
}

TEST(Order, ALaunchFollowsTheEndOfAKernelThatLetsNoneStartEarly) {
  for (const bool strict : {false, true}) {
    for (const auto& [first, second] :
         {std::pair{Streams::Stores, Streams::Loads}, {Streams::Loads, Streams::Stores}}) {
      Streams streams;
      streams.strict = strict, streams.lets_start = false;
      streams.launch(first, kFirst);
      EXPECT_EQ(streams.launch(second, kFirst, true).empty(), !strict);
    }
  }
  // With one in between, which touches nothing and waits for nothing.
  for (const bool first_lets : {false, true}) {
    for (const bool middle_lets : {false, true}) {
      Streams streams;
      streams.lets_start = first_lets;
      streams.launch(Streams::Stores, kFirst);
      streams.lets_start = middle_lets;
      streams.launch(Streams::Loads, kFirst, true, false, {});
      EXPECT_EQ(streams.launch(Streams::Loads, kFirst, true).empty(), !first_lets);
    }
  }
}

TEST(Order, WhatTheDefaultStreamHasDoneInBetweenIsOverWhenALaunchThatMayOverlapStarts) {
  for (const StreamName stream : {kFirst, kFree, kDefault}) {
    const StreamName other = stream.id == 0 ? kFirst : kDefault;
    Streams streams;
    streams.launch(Streams::Stores, stream);
    streams.launch(Streams::Stores, other);
    const std::string said = streams.launch(Streams::Loads, stream, true);
    EXPECT_EQ(said.empty(), stream.blocking) << said;
    EXPECT_NE(streams.launch(Streams::Stores, stream, true), "");  // nothing has come in between since
  }
}

TEST(Order, TheSecondNextLaunchFollowsOnlyThroughAWait) {
  for (const bool waits : {true, false}) {
    Streams streams;
    streams.launch(Streams::Stores, kFirst);
    streams.launch(Streams::Stores, kFirst, true, true);  // its own access is in order
    Streams through;
    through.launch(Streams::Stores, kFirst);
    // A launch in between that touches nothing.
    const auto middle = through.launches.begin(kFirst, true, true, std::make_unique<NumberedLines>(), {}, false);
    {
      const auto detector = middle->make_detector();
      CtaKnowledge& cta = detector->begin({0, 0}, 0, 32);
      if (waits) detector->grid_wait({cta, 0, 1, 5});
      middle->fold(*detector);
    }
    through.launches.end(*middle, kFirst);
    const std::string said = through.launch(Streams::Loads, kFirst);
    EXPECT_EQ(said.empty(), waits) << said;
  }
}

TEST(Order, StreamsAreOrderedByEventsTheDefaultStreamAndTheHost) {
  {
    Streams streams;
    streams.launch(Streams::Stores, kFirst);
    EXPECT_NE(streams.launch(Streams::Loads, kSecond), "");
  }
  {
    Streams streams;
    streams.launch(Streams::Stores, kFirst);
    streams.launches.wait_for(kSecond, streams.launches.record(kFirst));
    EXPECT_EQ(streams.launch(Streams::Loads, kSecond), "");
  }
  {
    Streams streams;
    streams.launch(Streams::Stores, kFirst);
    EXPECT_EQ(streams.launch(Streams::Loads, kDefault), "");
    EXPECT_EQ(streams.launch(Streams::Stores, kSecond), "");
  }
  {
    Streams streams;
    streams.launch(Streams::Stores, kFree);
    EXPECT_NE(streams.launch(Streams::Loads, kDefault), "");
  }
  {
    Streams streams;
    streams.launch(Streams::Stores, kFree);
    streams.launches.wait_for(kFree);
    EXPECT_EQ(streams.launch(Streams::Loads, kSecond), "");
  }
  {
    Streams streams;
    streams.launch(Streams::Stores, kFree);
    streams.launches.wait_for_all();
    EXPECT_EQ(streams.launch(Streams::Loads, kSecond), "");
  }
}

TEST(Order, CopiesAreOrderedLikeLaunches) {
  Streams streams;
  streams.launch(Streams::Stores, kFirst);
  EXPECT_EQ(streams.copy_to_host(kFirst, false), "");
  EXPECT_NE(streams.launch(Streams::Stores, kSecond).find("overwrites what the first reads"), std::string::npos);
  Streams other;
  other.launch(Streams::Stores, kFirst);
  EXPECT_NE(other.copy_to_host(kSecond, true).find("reads what this wrote"), std::string::npos);
}

TEST(Order, ClustersOfALaunchAreNotOrdered) {
  Streams streams;
  EXPECT_NE(streams.launch(Streams::Stores, kFirst, false, false, {0, 1}).find("write after write"), std::string::npos);
  EXPECT_EQ(streams.launch(Streams::Loads, kFirst, false, false, {0, 1, 2, 3}), "");
}

TEST(Order, AWaitForAStreamIsOneForItsEvents) {
  for (const bool waits : {true, false}) {
    Streams streams;
    streams.launch(Streams::Stores, kFree);
    if (waits) streams.launches.wait_for(kOther, streams.launches.record(kFree));
    streams.launches.wait_for(kOther);
    EXPECT_EQ(streams.launch(Streams::Loads, kSecond).empty(), waits);
  }
}

}  // namespace
}  // namespace sim::order
