// The order checker, driven directly: for each rule the shortest story that breaks it, and its twin that does not.
#include <gtest/gtest.h>

#include <array>
#include <functional>
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
  Location locate(uint32_t site) const override { return {"instruction " + std::to_string(site), 0, {{"", site}}}; }
  uint32_t first_of_line(uint32_t site) const override { return site; }
  std::string shared(uint64_t offset) const override { return "shared memory +" + std::to_string(offset); }
  std::string global(uint64_t address) const override { return "global memory " + std::to_string(address); }
  const uint8_t* bytes(const CtaKnowledge*, uint64_t address) const override {
    return memory.data() + address % memory.size();
  }
  std::array<uint8_t, 4096> memory{};
};

/// Clusters of two CTAs with four warps each. A number behind an action is the line at which it happens.
class Story {
 public:
  explicit Story(const std::string& tolerated = "", bool strict = false)
      : findings(habits(tolerated), strict), detector(findings, names, Clock()) {
    for (uint32_t i = 0; i < 4; ++i) cta.push_back(&detector.begin({i, i / 2}, i % 2, 128));
  }
  static Habits habits(const std::string& names) {
    Habits result;
    EXPECT_EQ(result.add(names), "");
    return result;
  }

  By by(uint32_t c, uint16_t warp, Mask lanes, uint32_t line) { return {*cta[c], warp, lanes, line}; }
  By all(uint32_t c, uint16_t warp, uint32_t line) { return by(c, warp, kAll, line); }
  By lane0(uint32_t c, uint16_t warp, uint32_t line) { return by(c, warp, 1, line); }

  /// 4 bytes per lane, one lane behind the other, from `offset` of that CTA's shared memory on.
  void lanes(const By& by, uint64_t offset, bool writes, uint32_t target, uint32_t bytes = 4) {
    std::array<uint64_t, 32> address{};
    for (uint64_t lane = 0; lane < 32; ++lane) address[lane] = offset + bytes * lane;
    at(by, address, writes, target, bytes);
  }
  void at(const By& by, const std::array<uint64_t, 32>& address, bool writes, uint32_t target, uint32_t bytes = 4) {
    WarpAccess access;
    access.target = cta[target];
    access.address = address.data();
    access.bytes = bytes;
    access.role = writes ? Role::Store : Role::Load;
    access.reads = !writes, access.writes = writes;
    detector.access(by, access);
    if (writes) detector.stored(true);
  }
  void store(const By& by, uint64_t offset = 0) { lanes(by, offset, true, by.cta.place.cta); }
  void load(const By& by, uint64_t offset = 0) { lanes(by, offset, false, by.cta.place.cta); }
  /// All of these lanes touch one word.
  void word(const By& by, bool writes) { at(by, {}, writes, by.cta.place.cta); }

  enum class How : uint8_t { Plain, Volatile, Relaxed, Ordered, Add };
  /// All of these lanes touch one word of global memory; Add: a relaxed read-modify-write.
  void global(const By& by, uint64_t at, bool writes, How how = How::Plain) {
    std::array<uint64_t, 32> address{};
    address.fill(at);
    WarpAccess access;
    access.space = MemoryKind::Global;
    access.address = address.data();
    access.bytes = 4;
    access.role = how == How::Add ? Role::Atomic : writes ? Role::Store : Role::Load;
    access.reads = !writes || how == How::Add, access.writes = writes;
    access.strong = how != How::Plain, access.is_volatile = how == How::Volatile;
    access.read_modify_write = how == How::Add;
    access.acquires = how == How::Ordered && !writes, access.releases = how == How::Ordered && writes;
    access.scope = Scope::Gpu;
    detector.access(by, access);
    if (writes) detector.stored(true);
  }

  void sync_cta(uint32_t c, uint32_t line, const std::vector<uint16_t>& warps = {0, 1, 2, 3}, uint32_t id = 0) {
    for (const uint16_t warp : warps) detector.barrier_arrive(all(c, warp, line), id, warps.size() == 4);
    detector.barrier_complete(*cta[c], id);
    for (const uint16_t warp : warps) detector.barrier_pass(all(c, warp, line), id);
  }
  void sync_cluster(uint32_t line, bool releases = true) {
    for (uint32_t c = 0; c < 2; ++c) {
      for (uint16_t warp = 0; warp < 4; ++warp) detector.cluster_arrive(all(c, warp, line), releases);
    }
    detector.cluster_complete(0);
    for (uint32_t c = 0; c < 2; ++c) {
      for (uint16_t warp = 0; warp < 4; ++warp) detector.cluster_pass(all(c, warp, line), true);
    }
  }
  /// An mbarrier that the whole cluster knows. Lines 1 and 2.
  void init(uint32_t c, uint32_t offset, bool fence = true) {
    detector.barrier_init(lane0(c, 0, 1), offset);
    if (fence) detector.fence_barrier_init(lane0(c, 0, 1));
    sync_cluster(2);
  }
  void arrive(const By& by, uint32_t target, uint32_t offset, bool completes, Scope scope = Scope::Cta,
              bool releases = true) {
    detector.arrived(*cta[target], offset, detector.signal(by, releases, scope));
    if (completes) detector.phase_complete(*cta[target], offset);
  }
  void wait(const By& by, uint32_t offset, Scope scope = Scope::Cta, bool acquires = true) {
    detector.waited(by, offset, scope, acquires);
  }

  std::unique_ptr<OperationRecord> load_bulk(const By& by, uint64_t offset, uint32_t barrier, uint32_t target = 0) {
    return detector.bulk_load(by, Role::BulkLoad, {{cta[target], {{offset, offset + 128}}, cta[target], barrier}},
                              nullptr, {{4096, 4224}});
  }
  void land(OperationRecord& operation, uint32_t barrier, uint32_t target = 0) {
    detector.landed(operation, 0, *cta[target], barrier);
    detector.phase_complete(*cta[target], barrier);
  }
  std::unique_ptr<OperationRecord> store_bulk(const By& by, uint64_t offset, uint64_t to = 8192) {
    return detector.bulk_store(by, {{offset, offset + 128}}, {{to, to + 128}}, false);
  }

  std::vector<Finding> found() const { return findings.all(); }
  void expect_silence() {
    for (const Finding& each : found()) ADD_FAILURE() << report::text(each);
  }
  /// Exactly one finding, and its text holds this.
  void expect(const std::string& name, const std::string& missing) {
    ASSERT_EQ(found().size(), 1u) << all_text();
    const Finding finding = found()[0];
    EXPECT_EQ(finding.rule, name) << all_text();
    EXPECT_NE(report::text(finding).find(missing), std::string::npos) << all_text();
  }
  void expect_unless(bool is_right, const std::string& name, const std::string& missing) {
    if (is_right)
      expect_silence();
    else
      expect(name, missing);
  }
  std::string all_text() const {
    std::string text;
    for (const Finding& each : found()) text += report::text(each);
    return text;
  }

  NumberedLines names;
  Findings findings;
  RaceDetector detector;
  std::vector<CtaKnowledge*> cta;
};

// ---- threads

TEST(Order, ABarrierOrdersAReadAfterAWrite) {
  Story good;
  good.store(good.all(0, 0, 10));
  good.sync_cta(0, 11);
  good.load(good.all(0, 1, 12));
  good.expect_silence();

  Story bad;
  bad.store(bad.all(0, 0, 10));
  bad.load(bad.all(0, 1, 12));
  bad.expect("read after write", "nothing orders them");
}

TEST(Order, ABarrierOrdersAWriteAfterARead) {
  Story good;
  good.load(good.all(0, 0, 10));
  good.sync_cta(0, 11);
  good.store(good.all(0, 1, 12));
  good.expect_silence();

  Story bad;
  bad.load(bad.all(0, 0, 10));
  bad.store(bad.all(0, 1, 12));
  bad.expect("write after read", "nothing orders them");
}

TEST(Order, WhatComesAfterTheBarrierIsNotOrderedByIt) {
  Story story;
  story.sync_cta(0, 9);
  story.store(story.all(0, 0, 10));
  story.load(story.all(0, 1, 11));
  story.expect("read after write", ":10");
}

TEST(Order, ABarrierOfSomeWarpsDoesNotConcernTheOthers) {
  Story story;
  story.store(story.all(0, 0, 10));
  story.sync_cta(0, 11, {0, 1}, 3);
  story.load(story.all(0, 1, 12));
  story.expect_silence();
  story.load(story.all(0, 2, 13));
  story.expect("read after write", "a barrier, or an arrival and a wait, is missing");
}

TEST(Order, ThreadsOfTheirOwnNeedNoBarrier) {
  Story story;
  story.store(story.all(0, 0, 10));
  story.load(story.all(0, 0, 11));
  story.store(story.all(0, 0, 12));
  story.expect_silence();
}

TEST(Order, LanesThatExchangeDataNeedASyncOfTheWarp) {
  const auto turned = [](Story& story, uint32_t line) {
    std::array<uint64_t, 32> address{};
    for (uint64_t lane = 0; lane < 32; ++lane) address[lane] = 4 * (31 - lane);
    story.at(story.all(0, 0, line), address, false, 0);
  };
  Story good;
  good.store(good.all(0, 0, 10));
  good.detector.sync_warp(good.all(0, 0, 11));
  turned(good, 12);
  good.expect_silence();

  Story habit;
  habit.store(habit.all(0, 0, 10));
  turned(habit, 12);
  habit.expect("warp-synchronous", ":12");

  Story apart;
  apart.store(apart.all(0, 0, 10));
  apart.detector.may_part(apart.all(0, 0, 11));
  turned(apart, 12);
  apart.expect("read after write", ":12");
}

TEST(Order, AShuffleIsNoFence) {
  Story story;
  story.store(story.lane0(0, 0, 10));
  story.detector.meet(story.all(0, 0, 11));
  story.store(story.by(0, 0, 2, 12), 4);  // another lane, another word
  story.expect_silence();
  std::array<uint64_t, 32> zero{};
  story.at(story.by(0, 0, 4, 13), zero, false, 0);
  story.expect("read after write", "__syncwarp");
}

TEST(Order, OneLaneMayArriveForTheOthersOnlyAfterTheyHaveMet) {
  for (const bool synced : {true, false}) {
    Story story;
    story.init(0, 1024);
    story.load(story.all(0, 0, 10));
    if (synced) story.detector.sync_warp(story.all(0, 0, 11));
    story.arrive(story.lane0(0, 0, 12), 0, 1024, true);
    story.wait(story.all(0, 1, 13), 1024);
    story.detector.sync_warp(story.all(0, 1, 13));
    story.store(story.all(0, 1, 14));
    story.expect_unless(synced, "write after read", "lanes 1 to 31 have not: __syncwarp() before :12");
  }
}

TEST(Order, EveryLaneMayArriveForItself) {
  Story story;
  story.init(0, 1024);
  story.load(story.all(0, 0, 10));
  story.arrive(story.all(0, 0, 12), 0, 1024, true);
  story.wait(story.all(0, 1, 13), 1024);
  story.store(story.all(0, 1, 14));
  story.expect_silence();
}

TEST(Order, WordsOfACellBelongToDifferentLanes) {
  Story story;
  for (uint16_t warp = 0; warp < 4; ++warp) story.store(story.by(0, warp, 1u << warp, 10), 0);  // word w by warp w
  story.expect_silence();
  for (uint16_t warp = 0; warp < 4; ++warp) story.load(story.by(0, warp, 1u << warp, 11), 0);
  story.expect_silence();
  story.load(story.by(0, 1, 1, 12), 0);  // word 0, by warp 1
  story.expect("read after write", ":12");
}

TEST(Order, BytesOfAWordToo) {
  Story story;
  const auto bytes = [&](uint16_t warp, bool writes, uint32_t line, uint64_t first) {
    std::array<uint64_t, 32> address{};
    address[0] = first;
    story.at(story.by(0, warp, 1, line), address, writes, 0, 1);
  };
  bytes(0, true, 10, 0);
  bytes(1, true, 11, 1);
  bytes(2, true, 12, 2);
  bytes(0, false, 13, 0);
  bytes(1, false, 14, 1);
  story.expect_silence();
  bytes(0, false, 15, 2);
  story.expect("read after write", ":15");
}

// ---- scopes

TEST(Order, DataForAPeerNeedsAReleaseAndAnAcquireOfTheCluster) {
  const auto story = [](Scope release, Scope acquire, bool releases = true) {
    auto story = std::make_unique<Story>();
    story->init(1, 1024);
    story->lanes(story->lane0(0, 0, 10), 0, true, 1);
    story->arrive(story->lane0(0, 0, 11), 1, 1024, true, release, releases);
    story->wait(story->lane0(1, 2, 12), 1024, acquire);
    story->load(story->lane0(1, 2, 13));
    return story;
  };
  story(Scope::Cluster, Scope::Cluster)->expect_silence();
  story(Scope::Gpu, Scope::Gpu)->expect_silence();
  story(Scope::Cta, Scope::Cluster)->expect("remote-arrival-scope", ".cluster scope");
  story(Scope::Cluster, Scope::Cta)->expect("remote-arrival-scope", ".cluster scope");
  story(Scope::Cluster, Scope::Cluster, false)->expect("read after write", "not visible");
}

TEST(Order, ABufferIsHandedBackByAnyArrival) {
  Story story;
  story.init(1, 1024);
  story.lanes(story.lane0(0, 0, 10), 0, false, 1);  // reads the peer's memory
  story.arrive(story.lane0(0, 0, 11), 1, 1024, true, Scope::Cluster, false);
  story.wait(story.lane0(1, 2, 12), 1024, Scope::Cluster, false);
  story.store(story.lane0(1, 2, 13));
  story.expect_silence();
}

TEST(Order, StrictAsksForReleaseAndAcquireThereToo) {
  for (const bool releases : {true, false}) {
    Story story("", true);
    story.init(1, 1024);
    story.lanes(story.lane0(0, 0, 10), 0, false, 1);
    story.arrive(story.lane0(0, 0, 11), 1, 1024, true, Scope::Cluster, releases);
    story.wait(story.lane0(1, 2, 12), 1024, Scope::Cluster);
    story.store(story.lane0(1, 2, 13));
    story.expect_unless(releases, "visible", "not visible");
  }
}

TEST(Order, AFenceMakesARelaxedArrivalARelease) {
  for (const Scope scope : {Scope::Cluster, Scope::Cta}) {
    Story story;
    story.init(1, 1024);
    story.lanes(story.lane0(0, 0, 10), 0, true, 1);
    story.detector.fence(story.lane0(0, 0, 10), scope, true, true);
    story.arrive(story.lane0(0, 0, 11), 1, 1024, true, Scope::Cluster, false);
    story.wait(story.lane0(1, 2, 12), 1024, Scope::Cluster);
    story.load(story.lane0(1, 2, 13));
    story.expect_unless(scope == Scope::Cluster, "read after write", "not visible");
  }
}

TEST(Order, AFenceMakesARelaxedWaitAnAcquire) {
  enum class Lacks : uint8_t { Nothing, Fence, ScopeOfFence, ScopeOfWait };
  for (const Lacks lacks : {Lacks::Nothing, Lacks::Fence, Lacks::ScopeOfFence, Lacks::ScopeOfWait}) {
    Story story;
    story.init(1, 1024);
    story.lanes(story.lane0(0, 0, 10), 0, true, 1);
    story.arrive(story.lane0(0, 0, 11), 1, 1024, true, Scope::Cluster);
    story.wait(story.lane0(1, 2, 12), 1024, lacks == Lacks::ScopeOfWait ? Scope::Cta : Scope::Cluster, false);
    if (lacks != Lacks::Fence)
      story.detector.fence(story.lane0(1, 2, 13), lacks == Lacks::ScopeOfFence ? Scope::Cta : Scope::Cluster, true,
                           true);
    story.load(story.lane0(1, 2, 14));
    story.expect_unless(lacks == Lacks::Nothing, "read after write",
                        lacks == Lacks::Fence ? "the wait for it is relaxed" : "not visible");
  }
}

TEST(Order, FlagsInMemory) {
  const auto flag = [](Story& story, const By& by, bool writes, bool orders, Scope scope, bool rmw = false) {
    std::array<uint64_t, 32> address{};
    address.fill(512);
    WarpAccess access;
    access.space = MemoryKind::Global;
    access.address = address.data();
    access.bytes = 4;
    access.role = Role::Atomic;
    access.strong = true;
    access.reads = !writes || rmw, access.writes = writes, access.read_modify_write = rmw;
    access.acquires = orders && access.reads, access.releases = orders && writes;
    access.scope = scope;
    story.detector.access(by, access);
  };
  const auto data = [](Story& story, const By& by, bool writes) {
    std::array<uint64_t, 32> address{};
    address.fill(2048);
    WarpAccess access;
    access.space = MemoryKind::Global;
    access.address = address.data();
    access.bytes = 4;
    access.role = writes ? Role::Store : Role::Load;
    access.reads = !writes, access.writes = writes;
    story.detector.access(by, access);
    story.detector.stored(true);
  };
  {  // st.release, ld.acquire; from CTA to CTA of different clusters
    Story story;
    data(story, story.lane0(0, 0, 10), true);
    flag(story, story.lane0(0, 0, 11), true, true, Scope::Gpu);
    flag(story, story.lane0(3, 0, 12), false, true, Scope::Gpu);
    data(story, story.lane0(3, 0, 13), false);
    story.expect_silence();
  }
  {  // through a third one, by an atomic operation: a release sequence
    Story story;
    data(story, story.lane0(0, 0, 10), true);
    flag(story, story.lane0(0, 0, 11), true, true, Scope::Gpu);
    flag(story, story.lane0(2, 0, 12), true, false, Scope::Gpu, true);
    flag(story, story.lane0(3, 0, 13), false, true, Scope::Gpu);
    data(story, story.lane0(3, 0, 14), false);
    story.expect_silence();
  }
  {  // fences on both sides of a relaxed flag
    Story story;
    data(story, story.lane0(0, 0, 10), true);
    story.detector.fence(story.lane0(0, 0, 11), Scope::Gpu, true, true);
    flag(story, story.lane0(0, 0, 12), true, false, Scope::Gpu);
    flag(story, story.lane0(3, 0, 13), false, false, Scope::Gpu);
    story.detector.fence(story.lane0(3, 0, 14), Scope::Gpu, true, true);
    data(story, story.lane0(3, 0, 15), false);
    story.expect_silence();
  }
  {  // the writer's is missing
    Story story;
    data(story, story.lane0(0, 0, 10), true);
    flag(story, story.lane0(0, 0, 12), true, false, Scope::Gpu);
    flag(story, story.lane0(3, 0, 13), false, false, Scope::Gpu);
    story.detector.fence(story.lane0(3, 0, 14), Scope::Gpu, true, true);
    data(story, story.lane0(3, 0, 15), false);
    story.expect("read after write", ":15");
  }
  for (const std::string tolerated :
       {"", "flag-without-fence"}) {  // the reader's; and a barrier passes it on to others
    for (const bool passed_on : {false, true}) {
      Story story(tolerated);
      data(story, story.lane0(0, 0, 10), true);
      story.detector.fence(story.lane0(0, 0, 11), Scope::Gpu, true, true);
      flag(story, story.lane0(0, 0, 12), true, false, Scope::Gpu, true);
      flag(story, story.lane0(3, 0, 13), true, false, Scope::Gpu, true);
      if (passed_on) story.sync_cta(3, 14);
      data(story, story.lane0(3, passed_on ? 1 : 0, 15), false);
      story.expect_unless(!tolerated.empty(), "flag-without-fence", "__threadfence()");
    }
  }
  {  // too narrow
    Story story;
    data(story, story.lane0(0, 0, 10), true);
    flag(story, story.lane0(0, 0, 11), true, true, Scope::Cluster);
    flag(story, story.lane0(3, 0, 12), false, true, Scope::Gpu);
    data(story, story.lane0(3, 0, 13), false);
    EXPECT_NE(story.all_text().find("read after write"), std::string::npos);
  }
}

TEST(Order, AtomicsDoNotRaceButAnOrdinaryAccessDoes) {
  Story story;
  std::array<uint64_t, 32> address{};
  WarpAccess access;
  access.target = story.cta[0];
  access.address = address.data();
  access.bytes = 4;
  access.role = Role::Atomic;
  access.strong = access.reads = access.writes = access.read_modify_write = true;
  for (uint16_t warp = 0; warp < 4; ++warp) story.detector.access(story.all(0, warp, 10), access);
  story.expect_silence();
  story.load(story.lane0(0, 0, 11));
  story.expect("read after write", ":11");
}

TEST(Order, EqualStoresAreAHabit) {
  Story equal;
  equal.store(equal.lane0(0, 0, 10));
  equal.store(equal.lane0(0, 1, 11));
  equal.expect("equal-stores", ":11");
  Story tolerated("equal-stores");
  tolerated.store(tolerated.lane0(0, 0, 10));
  tolerated.store(tolerated.lane0(0, 1, 11));
  tolerated.expect_silence();
}

// ---- proxies

TEST(Order, TheWriterFencesBeforeABulkStoreReads) {
  enum Where { Nowhere, Writer, Reader };
  for (const Where where : {Nowhere, Writer, Reader}) {
    Story story;
    story.store(story.all(0, 0, 10));
    if (where == Writer) story.detector.fence_proxy_async(story.all(0, 0, 11), true, false);
    story.sync_cta(0, 12);
    if (where == Reader) story.detector.fence_proxy_async(story.lane0(0, 1, 13), true, false);
    story.store_bulk(story.lane0(0, 1, 14), 0);
    if (where == Writer) story.expect_silence();
    if (where == Nowhere) story.expect("across proxies", "fence.proxy.async by the writer, between :10 and :12");
    if (where == Reader) story.expect("reader-side-proxy-fence", "by the writer");
  }
}

TEST(Order, AProxyFenceBeforeTheStoreIsNone) {
  Story story;
  story.detector.fence_proxy_async(story.all(0, 0, 9), true, true);
  story.store(story.all(0, 0, 10));
  story.sync_cta(0, 12);
  story.store_bulk(story.lane0(0, 1, 14), 0);
  story.expect("across proxies", "between :10 and :12");
}

TEST(Order, AProxyFenceOfAnotherSpaceIsNone) {
  Story story;
  story.store(story.all(0, 0, 10));
  story.detector.fence_proxy_async(story.all(0, 0, 11), false, true);
  story.sync_cta(0, 12);
  story.store_bulk(story.lane0(0, 1, 14), 0);
  story.expect("across proxies", "between :10 and :12");
}

TEST(Order, AProxyFenceIsNoBarrier) {
  Story story;
  story.store(story.all(0, 0, 10));
  story.detector.fence_proxy_async(story.all(0, 0, 11), true, false);
  story.store_bulk(story.lane0(0, 1, 14), 0);
  story.expect("read after write", ":14");
}

TEST(Order, ABulkStoreHasReadWhenItsThreadHasWaitedAndToldTheOthers) {
  enum Lacks { Nothing, Wait, BarrierChannel };
  for (const Lacks lacks : {Nothing, Wait, BarrierChannel}) {
    Story story;
    story.store_bulk(story.lane0(0, 0, 10), 0);
    story.detector.bulk_commit(story.lane0(0, 0, 11));
    if (lacks != Wait) story.detector.bulk_wait(story.lane0(0, 0, 12), 0, true);
    if (lacks != BarrierChannel) story.sync_cta(0, 13);
    story.store(story.all(0, 1, 14));
    if (lacks == Nothing) story.expect_silence();
    if (lacks == Wait) story.expect("write after read", "cp.async.bulk.wait_group.read");
    if (lacks == BarrierChannel) story.expect("write after read", "a barrier, or an arrival and a wait, is missing");
  }
}

TEST(Order, ABarrierOfTheWarpIsAdvisedBeforeALaneSignals) {
  for (const bool meets : {true, false}) {
    Story story;
    story.init(0, 1024);
    story.load(story.all(0, 0, 10));
    if (meets) story.detector.meet(story.all(0, 0, 11));
    story.arrive(story.lane0(0, 0, 12), 0, 1024, true, Scope::Cta);
    story.load_bulk(story.lane0(0, 0, 13), 0, 1024);
    story.expect_unless(meets, "write after read", "__syncwarp() (bar.warp.sync) between :10 and :13");
  }
}

TEST(Order, WhatABulkOperationWritesIsReadAfterMoreThanItsRead) {
  for (const bool reduces : {false, true}) {
    Story story;
    const auto operation = story.detector.bulk_store(story.lane0(0, 0, 10), {{0, 128}}, {{8192, 8192 + 128}}, reduces);
    story.detector.bulk_commit(story.lane0(0, 0, 11));
    story.detector.bulk_wait(story.lane0(0, 0, 12), 0, true);
    story.sync_cta(0, 13);
    story.global(story.lane0(0, 1, 14), 8192, false);
    story.expect("read after write", "cp.async.bulk.wait_group, between :10 and :14");
  }
}

TEST(Order, AWaitThatLeavesTheGroupPendingIsNone) {
  Story story;
  story.store_bulk(story.lane0(0, 0, 10), 0);
  story.detector.bulk_commit(story.lane0(0, 0, 11));
  story.store_bulk(story.lane0(0, 0, 12), 256);
  story.detector.bulk_commit(story.lane0(0, 0, 13));
  story.detector.bulk_wait(story.lane0(0, 0, 14), 1, true);
  story.store(story.lane0(0, 0, 15), 0);
  story.expect_silence();
  story.store(story.lane0(0, 0, 16), 256);
  story.expect("write after read", ":16");
}

TEST(Order, ALoadIsCompleteForWhoeverWaitsForItsPhase) {
  Story story;
  story.init(0, 1024);
  const auto load = story.load_bulk(story.lane0(0, 0, 10), 0, 1024);
  story.land(*load, 1024);
  story.wait(story.all(0, 1, 12), 1024, Scope::Cta, false);  // whatever the wait's scope
  story.load(story.all(0, 1, 13));
  story.expect_silence();
  story.load(story.all(0, 2, 14));
  story.expect("read after write", "a wait (mbarrier.try_wait) for that phase, before :14");
}

TEST(Order, ACompletedLoadTellsNothingOfStores) {
  Story story;
  story.init(0, 1024);
  story.store(story.lane0(0, 0, 9), 512);
  const auto load = story.load_bulk(story.lane0(0, 0, 10), 0, 1024);
  story.land(*load, 1024);
  story.wait(story.lane0(0, 1, 12), 1024);
  story.load(story.lane0(0, 1, 13), 512);
  story.expect("read after write", ":13");
}

TEST(Order, ALoadMayNotOverwriteWhatAnotherStillReads) {
  for (const bool waits : {true, false}) {
    Story story;
    story.init(0, 1024);
    story.init(0, 1032);
    story.detector.wgmma(story.all(0, 1, 10), {{0, 128}});
    story.detector.wgmma_commit(story.all(0, 1, 11));
    if (waits) story.detector.wgmma_wait(story.all(0, 1, 12), 0);
    story.arrive(story.lane0(0, 1, 13), 0, 1032, true);
    story.wait(story.lane0(0, 0, 14), 1032);
    story.load_bulk(story.lane0(0, 0, 15), 0, 1024);
    story.expect_unless(waits, "write after read", "wgmma.wait_group");
  }
}

TEST(Order, AnOperationThatWasIssuedAfterAReadTellsOfItByHabit) {
  // Warp 1 reads, and tells warp 0; warp 0 starts a load, and warp 2, which waits for it, overwrites.
  for (const bool told : {true, false}) {
    for (const bool reads : {true, false}) {
      Story story;
      story.init(0, 1024);
      story.init(0, 1032);
      story.lanes(story.lane0(0, 1, 10), 512, !reads, 0);
      if (told) {
        story.arrive(story.lane0(0, 1, 11), 0, 1032, true);
        story.wait(story.lane0(0, 0, 12), 1032);
      }
      const auto load = story.load_bulk(story.lane0(0, 0, 13), 0, 1024);
      story.land(*load, 1024);
      story.wait(story.lane0(0, 2, 14), 1024);
      story.lanes(story.lane0(0, 2, 15), 512, reads, 0);
      story.expect(!reads ? "read after write" : told ? "completion-release" : "write after read", ":15");
    }
  }
}

TEST(Order, WhatOneLaneHasAcquiredTheOthersMeet) {
  // Lane 0 waits for what another warp has stored, and the warp reads it: after a barrier of the warp, after a shfl, or
  // after neither.
  enum class Then : uint8_t { Syncs, Meets, Nothing };
  for (const Then then : {Then::Syncs, Then::Meets, Then::Nothing}) {
    Story story;
    story.init(0, 1024);
    story.store(story.lane0(0, 1, 10));
    story.arrive(story.lane0(0, 1, 11), 0, 1024, true);
    story.wait(story.lane0(0, 2, 12), 1024);
    if (then == Then::Syncs) story.detector.sync_warp(story.all(0, 2, 13));
    if (then == Then::Meets) story.detector.meet(story.all(0, 2, 13));
    story.word(story.all(0, 2, 14), false);
    story.expect_unless(then == Then::Syncs, then == Then::Meets ? "warp-synchronous" : "read after write",
                        "__syncwarp() before :14");
  }
}

TEST(Order, LanesOfOneStoreThatKnowDifferentThings) {
  // Lane 0 has waited, the others have not. One store by all of them to one word is one store; a second one is not.
  for (const int stores : {1, 2}) {
    Story story;
    story.init(0, 1024);
    story.arrive(story.lane0(0, 1, 10), 0, 1024, true);
    story.wait(story.lane0(0, 2, 11), 1024);
    for (int i = 0; i < stores; ++i) story.word(story.all(0, 2, 12u + static_cast<uint32_t>(i)), true);
    story.expect_unless(stores == 1, "warp-synchronous", ":13");
  }
}

TEST(Order, StrictLeavesAThreadToItself) {
  for (const uint64_t distance : {0, 4}) {  // x[threadIdx.x] += 1, or to its neighbour's
    Story story("", true);
    story.store(story.all(0, 0, 9));
    story.sync_cta(0, 10);
    story.load(story.all(0, 0, 11));
    story.store(story.all(0, 0, 11), distance);
    story.expect_unless(distance == 0, "warp-synchronous", "11");
  }
}

TEST(Order, OneWarpOfAWarpgroupReleasesForAllOfThem) {
  for (const std::string tolerated : {"", "warpgroup-release"}) {
    Story story(tolerated);
    story.init(0, 1024);
    story.init(0, 1032);
    for (uint16_t warp = 0; warp < 4; ++warp) {
      story.detector.wgmma(story.all(0, warp, 10), {{0, 128}});
      story.detector.wgmma_commit(story.all(0, warp, 11));
    }
    for (uint16_t warp = 0; warp < 4; ++warp) story.detector.wgmma_wait(story.all(0, warp, 12), 0);
    story.arrive(story.lane0(0, 0, 13), 0, 1032, true);
    story.wait(story.lane0(0, 3, 14), 1032);
    story.load_bulk(story.lane0(0, 3, 15), 0, 1024);
    story.expect_unless(!tolerated.empty(), "warpgroup-release", ":15");
  }
}

TEST(Order, WgmmaReadsWhatThreadsHaveFenced) {
  for (const bool fenced : {true, false}) {
    Story story;
    story.store(story.all(0, 0, 10));
    if (fenced) story.detector.fence_proxy_async(story.all(0, 0, 11), true, true);
    story.sync_cta(0, 12);
    story.detector.wgmma(story.all(0, 1, 13), {{0, 128}});
    story.expect_unless(fenced, "across proxies", "between :10 and :12");
  }
}

TEST(Order, CopiesOfLanes) {
  enum Lacks { Nothing, Wait, BarrierChannel, ProxyFence };
  for (const Lacks lacks : {Nothing, Wait, BarrierChannel, ProxyFence}) {
    Story story;
    std::array<uint64_t, 32> to{}, from{};
    for (uint64_t lane = 0; lane < 32; ++lane) to[lane] = 16 * lane, from[lane] = 4096 + 16 * lane;
    story.detector.copy_async(story.all(0, 0, 10), to.data(), from.data(), 16, kAll);
    story.detector.copy_commit(story.all(0, 0, 11));
    if (lacks != Wait) story.detector.copy_wait(story.all(0, 0, 12), 0, false);
    if (lacks != ProxyFence) story.detector.fence_proxy_async(story.all(0, 0, 13), true, false);
    if (lacks != BarrierChannel) story.sync_cta(0, 14);
    if (lacks == ProxyFence)
      story.detector.wgmma(story.all(0, 1, 15), {{0, 512}});
    else
      story.lanes(story.all(0, 1, 15), 0, false, 0, 16);
    if (lacks == Nothing) story.expect_silence();
    if (lacks == Wait) story.expect("read after write", "cp.async.wait_group");
    if (lacks == BarrierChannel) story.expect("read after write", "knows that it has finished");
    if (lacks == ProxyFence) story.expect("across proxies", "fence.proxy.async by the writer");
  }
}

TEST(Order, StrictAsksForAFenceBetweenReadsAndTheNextLoad) {
  for (const bool strict : {false, true}) {
    Story story("", strict);
    story.init(0, 1024);
    story.load(story.all(0, 0, 10));
    story.sync_cta(0, 11);
    story.load_bulk(story.lane0(0, 1, 12), 0, 1024);
    story.expect_unless(!strict, "read, then asynchronous write", "by the reader");
  }
}

TEST(Order, ATensorMapThatTheKernelChangesIsReleasedAndAcquired) {
  for (const bool released : {true, false}) {
    for (const bool acquired : {true, false}) {
      Story story;
      std::array<uint64_t, 32> map{};
      map[0] = 4096;
      WarpAccess change;
      change.space = MemoryKind::Global;
      change.address = map.data(), change.bytes = 128;
      change.role = Role::Store, change.writes = true;
      story.detector.access(story.lane0(0, 0, 10), change);
      story.detector.stored(true);
      if (released) story.detector.release_maps(story.lane0(0, 0, 11));
      story.sync_cta(0, 12);
      if (acquired) story.detector.acquire_map(story.lane0(0, 1, 13), 4096);
      story.detector.use_map(story.lane0(0, 1, 14), 4096);
      if (!released)
        story.expect("tensor map", "release by the thread that changes it, after :10");
      else
        story.expect_unless(acquired, "tensor map", "acquire of these 128 bytes by this warp, before :14");
    }
  }
}

/// Thread 0 of a CTA changes the tensor map at 16384, as the ISA wants it.
void change_map(Story& story, const By& by) {
  std::array<uint64_t, 32> map{};
  map[0] = 16384;
  WarpAccess change;
  change.space = MemoryKind::Global;
  change.address = map.data(), change.bytes = 128;
  change.role = Role::Store, change.writes = true;
  story.detector.access(by, change);
  story.detector.stored(true);
  story.detector.release_maps(by);
  story.detector.acquire_map(by, 16384);
}

TEST(Order, ATensorMapIsChangedAfterTheLoadsThatUseIt) {
  enum class By : uint8_t { Nothing, Phase, AnotherThread, Group, WrongPhase, OpenGroup };
  for (const By waits : {By::Nothing, By::Phase, By::AnotherThread, By::Group, By::WrongPhase, By::OpenGroup}) {
    Story story;
    story.init(0, 1024);
    story.init(0, 1032);
    change_map(story, story.lane0(0, 0, 10));
    story.detector.use_map(story.lane0(0, 0, 11), 16384);
    const auto first = story.load_bulk(story.lane0(0, 0, 11), 0, 1024);
    story.detector.use_map(story.lane0(0, 0, 12), 16384);
    const auto second = story.load_bulk(story.lane0(0, 0, 12), 256, 1032);
    if (waits != By::OpenGroup) story.detector.bulk_commit(story.lane0(0, 0, 13));
    story.land(*second, 1032);
    story.land(*first, 1024);
    if (waits == By::Phase || waits == By::WrongPhase) story.wait(story.lane0(0, 0, 14), 1024);
    if (waits == By::Phase) story.wait(story.lane0(0, 0, 14), 1032);
    if (waits == By::AnotherThread) {
      for (const uint32_t barrier : {1024, 1032}) story.wait(story.lane0(0, 1, 14), barrier);
      story.sync_cta(0, 15);
    }
    if (waits == By::Group || waits == By::OpenGroup) story.detector.bulk_wait(story.lane0(0, 0, 14), 0, true);
    change_map(story, story.lane0(0, 0, 16));
    const bool is_right = waits == By::Phase || waits == By::AnotherThread || waits == By::Group;
    if (is_right) {
      story.expect_silence();
    } else {
      ASSERT_EQ(story.found().size(), waits == By::WrongPhase ? 1u : 2u) << story.all_text();
      EXPECT_EQ(story.found()[0].rule, "write after read");
      EXPECT_NE(story.all_text().find("the mbarrier that counts the load's bytes"), std::string::npos)
          << story.all_text();
    }
  }
}

TEST(Order, ATensorMapIsChangedAfterTheStoresThatUseItHaveReadIt) {
  for (const bool waits : {true, false}) {
    Story story;
    change_map(story, story.lane0(0, 0, 10));
    story.detector.use_map(story.lane0(0, 0, 11), 16384);
    story.store_bulk(story.lane0(0, 0, 11), 0);
    story.detector.bulk_commit(story.lane0(0, 0, 12));
    if (waits) story.detector.bulk_wait(story.lane0(0, 0, 13), 0, true);
    change_map(story, story.lane0(0, 0, 14));
    story.expect_unless(waits, "write after read", "wait_group.read by its thread");
  }
}

TEST(Order, AMapOfAMulticastIsReadForEachThatItsBytesReach) {
  for (const uint32_t waiter : {0u, 1u}) {
    Story story;
    story.init(0, 1024);
    story.init(1, 1024);
    story.detector.use_map(story.lane0(0, 0, 10), 16384);
    const auto load = story.detector.bulk_load(
        story.lane0(0, 0, 10), Role::BulkLoad,
        {{story.cta[0], {{0, 128}}, story.cta[0], 1024}, {story.cta[1], {{0, 128}}, story.cta[1], 1024}}, nullptr,
        {{8192, 8320}});
    for (uint32_t c = 0; c < 2; ++c) {
      story.detector.landed(*load, c, *story.cta[c], 1024);
      story.detector.phase_complete(*story.cta[c], 1024);
    }
    story.wait(story.lane0(waiter, 0, 11), 1024);
    change_map(story, story.lane0(waiter, 0, 12));
    story.expect_silence();
  }
}

TEST(Order, AnotherThreadMayAcquireAndReleaseATensorMap) {
  for (const bool told : {true, false}) {
    Story story;
    std::array<uint64_t, 32> map{};
    map[0] = 16384;
    WarpAccess change;
    change.space = MemoryKind::Global;
    change.address = map.data(), change.bytes = 128;
    change.role = Role::Store, change.writes = true;
    story.detector.access(story.lane0(0, 0, 10), change);
    story.detector.stored(true);
    story.sync_cta(0, 11);
    story.detector.release_maps(story.lane0(0, 1, 12));
    story.detector.acquire_map(story.lane0(0, 1, 13), 16384);
    if (told) story.sync_cta(0, 14);
    story.detector.use_map(story.lane0(0, 2, 15), 16384);
    story.expect_unless(told, "tensor map", "acquire of these 128 bytes by this warp, before :15");
  }
}

TEST(Order, StrictAsksForAnAcquireOfMapsOfBefore) {
  for (const bool strict : {false, true}) {
    for (const bool acquired : {false, true}) {
      Story story("", strict);
      if (acquired) story.detector.acquire_map(story.lane0(0, 0, 10), 16384);
      story.detector.use_map(story.lane0(0, 0, 11), 16384);
      story.expect_unless(!strict || acquired, "earlier tensor map", "before :11");
    }
  }
}

TEST(Order, TheResponseOfTryCancelIsReadAndFencedBeforeTheNext) {
  for (const bool fenced : {true, false}) {
    Story story;
    story.init(0, 1024);
    const std::vector<RaceDetector::Landing> landing{{story.cta[0], {{0, 16}}, story.cta[0], 1024}};
    const auto first = story.detector.bulk_load(story.lane0(0, 0, 10), Role::Cancel, landing, nullptr, {});
    story.land(*first, 1024);
    story.wait(story.all(0, 1, 11), 1024);
    story.load(story.by(0, 1, 0xF, 12));
    if (fenced) story.detector.fence_proxy_async(story.all(0, 1, 13), true, false);
    story.sync_cta(0, 14);
    story.detector.bulk_load(story.lane0(0, 0, 15), Role::Cancel, landing, nullptr, {});
    story.expect_unless(fenced, "response of try_cancel", "by the reader, between :12 and :14");
  }
}

// ---- phases

TEST(Order, ABarrierMustBeKnownToExist) {
  Story bad;
  bad.detector.barrier_init(bad.lane0(0, 0, 10), 1024);
  bad.arrive(bad.lane0(0, 1, 11), 0, 1024, true);
  bad.expect("barrier exists", "a barrier of the CTA between :10 and :11");

  Story good;
  good.detector.barrier_init(good.lane0(0, 0, 10), 1024);
  good.sync_cta(0, 11);
  good.arrive(good.lane0(0, 1, 12), 0, 1024, true);
  good.expect_silence();
}

TEST(Order, PeersNeedTheFenceOfTheInit) {
  for (const bool releases : {true, false}) {
    for (const bool fenced : {true, false}) {
      Story story;
      story.detector.barrier_init(story.lane0(0, 0, 10), 1024);
      if (fenced) story.detector.fence_barrier_init(story.lane0(0, 0, 11));
      story.sync_cluster(12, releases);
      story.arrive(story.lane0(1, 1, 13), 0, 1024, true, Scope::Cluster);
      if (fenced) story.expect_silence();
      if (!fenced) story.expect("init-fence", "fence.mbarrier_init");  // whatever the barrier is
    }
  }
}

TEST(Order, WhoArrivesKnowsThatThePhaseBeforeIsComplete) {
  Story story;  // two arrivals per phase; the second of warp 1 might be counted in the first phase
  story.init(0, 1024);
  story.arrive(story.lane0(0, 1, 10), 0, 1024, false);
  story.arrive(story.lane0(0, 2, 11), 0, 1024, true);
  story.arrive(story.lane0(0, 1, 12), 0, 1024, false);
  story.expect("phase known", "counted in the phase before");
}

TEST(Order, WhoArrivesAtANamedBarrierKnowsThatItsTurnBeforeIsComplete) {
  // Barrier 3 counts two arrivals: of warp 0 and of warp 1, which waits, or of warp 2, which does not.
  for (const bool somebody_waits : {true, false}) {
    Story story;
    story.sync_cta(0, 9, {0, 1, 2}, 4);
    const uint16_t second = somebody_waits ? 1 : 2;
    for (int turn = 0; turn < 2; ++turn) {
      story.detector.barrier_arrive(story.all(0, 0, 10), 3, false);
      story.detector.barrier_arrive(story.all(0, second, 11), 3, false);
      story.detector.barrier_complete(*story.cta[0], 3);
      if (somebody_waits) story.detector.barrier_pass(story.all(0, 1, 11), 3);
    }
    if (!somebody_waits) {  // it is told beside the errors that may follow from it
      EXPECT_TRUE(story.found().empty());
      story.store(story.all(0, 0, 20));
      story.load(story.all(0, 2, 21));
      story.detector.end(*story.cta[0]);
    }
    ASSERT_FALSE(story.found().empty());
    const Finding finding = story.found()[0];
    EXPECT_EQ(finding.rule, "phase known");
    const std::string missing = report::missing(finding);
    EXPECT_NE(missing.find("counted in the phase before"), std::string::npos) << missing;
    EXPECT_NE(missing.find(somebody_waits ? "Warps that wait at barrier 3: warp 1 at :11"
                                          : "No warp waits (bar.sync) at barrier 3; others are shared with "
                                            "warp 1 at :9 (barrier 4)"),
              std::string::npos)
        << missing;
  }
}

TEST(Order, AThreadThatKnowsAllArrivalsOfAPhaseKnowsThatItIsComplete) {
  Story own;  // one arrival per phase, all of one thread; a wait for a later phase, too
  own.init(0, 1024);
  for (int phase = 0; phase < 3; ++phase) own.arrive(own.lane0(0, 1, 10), 0, 1024, true);
  own.wait(own.lane0(0, 1, 11), 1024);
  own.expect_silence();
  for (const bool all_arrive : {true, false}) {
    Story other;  // warps 1 and 2 arrive at one barrier, then at another one; what has waited there knows of both
    other.init(0, 1024);
    other.init(0, 1032);
    for (const uint16_t warp : {1, 2}) other.arrive(other.lane0(0, warp, 10), 0, 1024, warp == 2);
    if (all_arrive) other.arrive(other.lane0(0, 1, 11), 0, 1032, false);
    other.arrive(other.lane0(0, 2, 11), 0, 1032, true);
    other.wait(other.lane0(0, 3, 12), 1032);
    other.arrive(other.lane0(0, 3, 13), 0, 1024, false);
    other.expect_unless(all_arrive, "phase known", "counted in the phase before");
  }
}

TEST(Order, CommitsOfOneThreadArriveInTheirOrder) {
  for (const bool same_thread : {true, false}) {
    Story story;
    story.init(0, 1024);
    for (const uint16_t warp : {uint16_t{0}, same_thread ? uint16_t{0} : uint16_t{1}}) {
      story.detector.arrived(*story.cta[0], 1024, story.detector.tensor_commit(story.lane0(0, warp, 10), 1));
      story.detector.phase_complete(*story.cta[0], 1024);
    }
    story.expect_unless(same_thread, "phase known", ":10");
  }
}

TEST(Order, ANamedBarrierIsKnownByAllItsArrivals) {
  Story story;  // warps 0 and 1 arrive at barrier 3, then all meet at barrier 4
  for (int round = 0; round < 2; ++round) {
    for (const uint16_t warp : {0, 1}) story.detector.barrier_arrive(story.all(0, warp, 10), 3, false);
    story.detector.barrier_complete(*story.cta[0], 3);
    story.sync_cta(0, 11, {0, 1, 2}, 4);
  }
  story.expect_silence();
}

TEST(Order, ANamedBarrierOfAllThenOfSome) {
  // Two phases of all threads, as __syncthreads() has them; then warps 0 and 1 go on with the same barrier.
  for (const bool stays_away : {false, true}) {
    Story story;
    story.sync_cta(0, 10);
    story.sync_cta(0, 11);
    for (const uint32_t line : {12, 13}) story.sync_cta(0, line, {0, 1});
    if (stays_away)
      story.detector.barrier_arrive(story.all(0, 2, 14), 0, false);  // of those two phases it knows nothing
    story.expect_unless(!stays_away, "phase known", ":14");
  }
}

TEST(Order, AnMbarrierThatIsValidIsNotInitialisedAgain) {
  for (const bool invalidated : {true, false}) {
    Story story;
    story.init(0, 1024);
    story.arrive(story.lane0(0, 0, 10), 0, 1024, true);
    story.wait(story.lane0(0, 0, 11), 1024);
    if (invalidated) story.detector.barrier_invalidate(story.lane0(0, 0, 12), 1024);
    story.detector.barrier_init(story.lane0(0, 0, 13), 1024);
    story.expect_unless(invalidated, "barrier lifetime", "mbarrier.inval of it, after its last use and before :13");
  }
}

TEST(Order, AWaiterMayNotBeLapped) {
  for (const bool tells : {true, false}) {
    Story story;
    story.init(0, 1024);
    story.init(0, 1032);
    story.arrive(story.lane0(0, 0, 10), 0, 1024, true);
    story.wait(story.lane0(0, 1, 11), 1024);
    if (tells) {
      story.arrive(story.lane0(0, 1, 12), 0, 1032, true);
      story.wait(story.lane0(0, 0, 13), 1032);
    } else {
      story.wait(story.lane0(0, 0, 13), 1024);
    }
    story.arrive(story.lane0(0, 0, 14), 0, 1024, true);
    story.expect_unless(tells, "phase held", "a late waiter is lapped");
  }
}

TEST(Order, OneLaneTellsForAWarpThatHasWaitedAsOne) {
  for (const bool meets : {true, false}) {
    Story story;
    story.init(0, 1024);
    story.init(0, 1032);
    story.arrive(story.lane0(0, 0, 10), 0, 1024, true);
    story.wait(story.all(0, 1, 11), 1024);
    if (meets) story.detector.sync_warp(story.all(0, 1, 12));
    story.arrive(story.lane0(0, 1, 13), 0, 1032, true);
    story.wait(story.lane0(0, 0, 14), 1032);
    story.arrive(story.lane0(0, 0, 15), 0, 1024, true);
    story.expect_unless(meets, "phase held", "lanes 1 to 31 must signal");
  }
}

TEST(Order, ALoadTellsThatItsThreadHasWaited) {
  // Warp 1 waits for the fresh barrier and loads; that its bytes have landed says that its wait was over.
  for (const bool waits_before : {true, false}) {
    Story story;
    story.init(0, 1024);
    story.init(0, 1032);
    if (waits_before) story.wait(story.lane0(0, 1, 10), 1032);
    const auto load = story.load_bulk(story.lane0(0, 1, 11), 0, 1024);
    if (!waits_before) story.wait(story.lane0(0, 1, 10), 1032);
    story.land(*load, 1024);
    story.wait(story.all(0, 2, 12), 1024);
    story.arrive(story.lane0(0, 2, 13), 0, 1032, true);
    story.expect_unless(waits_before, "phase held", "a late waiter is lapped");
  }
}

TEST(Order, AWaitThatAnEarlierPhaseWouldSatisfy) {
  Story story;  // warp 1 waits for phase 1 without knowing of phase 0: its parity is that of a phase before the first
  story.init(0, 1024);
  story.arrive(story.lane0(0, 0, 10), 0, 1024, true);
  story.wait(story.lane0(0, 0, 11), 1024);
  story.arrive(story.lane0(0, 0, 12), 0, 1024, true);
  story.wait(story.lane0(0, 1, 13), 1024);
  story.expect("phase known", "would satisfy this wait as well: a wait (mbarrier.try_wait) for phase 0");
}

// ---- tensor memory

std::vector<RaceDetector::TensorRange> cells(CtaKnowledge& cta, int columns = 8) {
  std::vector<RaceDetector::TensorRange> result;
  for (const Range& range : RaceDetector::tensor_range(0, 128, 0, columns)) result.push_back({&cta, range});
  return result;
}
RaceDetector::Mma mma_of(CtaKnowledge& cta, bool accumulates, uint64_t accumulator = 1) {
  RaceDetector::Mma mma;
  mma.results = cells(cta);
  mma.accumulates = accumulates;
  mma.accumulator = accumulator;
  return mma;
}

TEST(Order, MmasOfOneThreadIntoOneAccumulatorAreInOrder) {
  Story story;
  story.detector.tensor_operation(story.lane0(0, 0, 10), mma_of(*story.cta[0], false));
  story.detector.tensor_operation(story.lane0(0, 0, 11), mma_of(*story.cta[0], true));
  story.expect_silence();
  story.detector.tensor_operation(story.lane0(0, 0, 12), mma_of(*story.cta[0], true, 2));  // of another shape
  story.expect("tensor-pipe-in-order", ":12");
}

TEST(Order, MmaThenLoadNeedsCommitWaitAndFence) {
  enum Lacks { Nothing, Commit, After };
  for (const Lacks lacks : {Nothing, Commit, After}) {
    Story story;
    story.init(0, 1024);
    story.detector.tensor_operation(story.lane0(0, 0, 10), mma_of(*story.cta[0], false));
    if (lacks != Commit) {
      story.detector.arrived(*story.cta[0], 1024, story.detector.tensor_commit(story.lane0(0, 0, 11), 1));
      story.detector.phase_complete(*story.cta[0], 1024);
      story.wait(story.all(0, 1, 12), 1024);
    }
    if (lacks != After) story.detector.fence_after_thread_sync(story.all(0, 1, 13));
    story.detector.tensor_transfer(story.all(0, 1, 14), RaceDetector::tensor_range(32, 32, 0, 8), false);
    if (lacks == Nothing) story.expect_silence();
    if (lacks == Commit) story.expect("tensor memory", "tcgen05.commit after it");
    if (lacks == After) story.expect("tcgen05-fence", "after_thread_sync by warp 1");
  }
}

TEST(Order, LoadThenMmaNeedsWaitFenceAndAnArrivalForAllLanes) {
  enum Lacks { Nothing, Wait, Before, Sync, After };
  for (const Lacks lacks : {Nothing, Wait, Before, Sync, After}) {
    Story story;
    story.init(0, 1024);
    story.detector.tensor_transfer(story.all(0, 1, 10), RaceDetector::tensor_range(32, 32, 0, 8), false);
    if (lacks != Wait) story.detector.tensor_wait(story.all(0, 1, 11), false);
    if (lacks != Before) story.detector.fence_before_thread_sync(story.all(0, 1, 12));
    if (lacks != Sync) story.detector.sync_warp(story.all(0, 1, 13));
    story.arrive(story.lane0(0, 1, 14), 0, 1024, true, Scope::Cluster, false);
    story.wait(story.lane0(0, 0, 15), 1024);
    if (lacks != After) story.detector.fence_after_thread_sync(story.lane0(0, 0, 16));
    story.detector.tensor_operation(story.lane0(0, 0, 17), mma_of(*story.cta[0], false));
    if (lacks == Nothing) story.expect_silence();
    if (lacks == Wait) story.expect("ld-without-wait", ":17");
    if (lacks == Before) story.expect("tcgen05-fence", "before_thread_sync by warp 1, between :10 and :14");
    if (lacks == Sync) story.expect("tensor memory", "lanes 1 to 31 have not: __syncwarp()");
    if (lacks == After) story.expect("tcgen05-fence", "after_thread_sync by warp 0");
  }
}

TEST(Order, StoreToTensorMemoryIsWaitedFor) {
  for (const bool waits : {true, false}) {
    Story story;
    story.detector.tensor_transfer(story.all(0, 1, 10), RaceDetector::tensor_range(32, 32, 0, 8), true);
    if (waits) story.detector.tensor_wait(story.all(0, 1, 11), true);
    story.detector.fence_before_thread_sync(story.all(0, 1, 12));
    story.sync_cta(0, 13);
    story.detector.fence_after_thread_sync(story.all(0, 0, 14));
    story.detector.tensor_operation(story.lane0(0, 0, 15), mma_of(*story.cta[0], true));
    story.expect_unless(waits, "st-without-wait", ":15");
  }
}

TEST(Order, AnMmaReadsWhatTmaHasBroughtAfterTheFence) {
  for (const bool fenced : {true, false}) {
    Story story;
    story.init(0, 1024);
    const auto load = story.load_bulk(story.lane0(0, 0, 10), 0, 1024);
    story.land(*load, 1024);
    story.wait(story.lane0(0, 1, 11), 1024);
    if (fenced) story.detector.fence_after_thread_sync(story.lane0(0, 1, 12));
    RaceDetector::Mma mma = mma_of(*story.cta[0], false);
    mma.operands = {{story.cta[0], {0, 128}}};
    story.detector.tensor_operation(story.lane0(0, 1, 13), mma);
    story.expect_unless(fenced, "tcgen05-fence", ":13");
  }
}

TEST(Order, AnAllocationIsKnownBeforeItsUse) {
  for (const bool synced : {true, false}) {
    Story story;
    story.detector.tensor_allocate(story.all(0, 2, 10), RaceDetector::tensor_range(0, 128, 0, 32), Role::Allocation);
    story.detector.fence_before_thread_sync(story.all(0, 2, 11));
    if (synced) story.sync_cta(0, 12);
    story.detector.fence_after_thread_sync(story.lane0(0, 1, 13));
    story.detector.tensor_operation(story.lane0(0, 1, 14), mma_of(*story.cta[0], false));
    story.expect_unless(synced, "tensor memory", ":14");
  }
}

TEST(Order, TheAllocationOfThePeerIsAHabitAndItsEndAnError) {
  for (const Role role : {Role::Allocation, Role::Deallocation}) {
    Story story;  // CTAs 0 and 1 are a pair
    story.detector.tensor_allocate(story.all(1, 2, 10), RaceDetector::tensor_range(0, 128, 0, 32), role);
    story.detector.tensor_operation(story.lane0(0, 1, 14), mma_of(*story.cta[1], false));
    story.expect(role == Role::Allocation ? "pair-allocation" : "tensor memory", ":14");
  }
}

TEST(Order, APairAllocatesOnceBothHaveBegunAndDeallocatesOnceBothHaveAllocated) {
  enum class Lacks : uint8_t { Nothing, Begun, Allocated };
  for (const Lacks lacks : {Lacks::Nothing, Lacks::Begun, Lacks::Allocated}) {
    Story story;
    const std::vector<Range> columns = RaceDetector::tensor_range(0, 128, 0, 32);
    if (lacks != Lacks::Begun) story.sync_cluster(9);
    for (uint32_t c = 0; c < 2; ++c)
      story.detector.tensor_allocate(story.all(c, 2, 10), columns, Role::Allocation, story.cta[1 - c]);
    if (lacks != Lacks::Allocated) story.sync_cluster(11);
    for (uint32_t c = 0; c < 2; ++c)
      story.detector.tensor_allocate(story.all(c, 2, 12), columns, Role::Deallocation, story.cta[1 - c]);
    if (lacks == Lacks::Nothing) story.expect_silence();
    if (lacks == Lacks::Begun) story.expect("CTA has begun", "a barrier of the cluster before :10");
    if (lacks == Lacks::Allocated) story.expect("tensor memory", "a barrier of the cluster between :10 and :12");
  }
}

TEST(Order, DeallocationTwiceIsAHabit) {
  Story story;
  for (uint16_t warp = 0; warp < 2; ++warp)
    story.detector.tensor_allocate(story.all(0, warp, 10), RaceDetector::tensor_range(0, 128, 0, 32),
                                   Role::Deallocation);
  story.expect("repeated-dealloc", ":10");
}

TEST(Order, TheAddressOfAnAllocationIsForItsWholeWarpAndByHabitForAnyNews) {
  enum class Reader : uint8_t { Same, Relaxed, Commit, Nothing };
  for (const Reader reader : {Reader::Same, Reader::Relaxed, Reader::Commit, Reader::Nothing}) {
    Story story;
    story.init(0, 1024);
    std::array<uint64_t, 32> zero{};
    WarpAccess address;
    address.target = story.cta[0], address.address = zero.data(), address.bytes = 4;
    address.role = Role::Allocation, address.writes = true;
    story.detector.access(story.lane0(0, 1, 10), address);
    if (reader == Reader::Relaxed) story.arrive(story.lane0(0, 1, 11), 0, 1024, true, Scope::Cta, false);
    if (reader == Reader::Commit) {
      story.detector.arrived(*story.cta[0], 1024, story.detector.tensor_commit(story.lane0(0, 1, 11), 1));
      story.detector.phase_complete(*story.cta[0], 1024);
    }
    const uint16_t warp = reader == Reader::Same ? 1 : 2;
    if (warp == 2 && reader != Reader::Nothing) story.wait(story.all(0, 2, 12), 1024);
    story.at(story.all(0, warp, 13), zero, false, 0);
    story.expect_unless(reader == Reader::Same,
                        reader == Reader::Nothing ? "read after write" : "allocation-visibility", "instruction 13");
  }
}

// ---- convergence

TEST(Order, AlignedInstructionsWantLanesThatAreTogether) {
  Story good;
  good.detector.part(good.by(0, 0, 1, 9), ~1u);
  good.detector.sync_warp(good.all(0, 0, 10));
  good.detector.aligned(good.all(0, 0, 11));
  good.expect_silence();

  Story bad;
  bad.detector.may_part(bad.all(0, 0, 9));
  bad.detector.aligned(bad.all(0, 0, 11));
  bad.expect("implicit-reconvergence", "which have parted, between :9 and :11");
}

// ---- the end of a CTA

TEST(Order, NothingMayBeOnItsWayToACtaThatEnds) {
  const auto end = [](Story& story, uint32_t c) {
    for (uint16_t warp = 0; warp < 4; ++warp) story.detector.exit(story.all(c, warp, 99));
    story.detector.end(*story.cta[c]);
  };
  Story peer;  // a load into the peer's memory that it has not waited for
  peer.init(1, 1024);
  const auto load = peer.load_bulk(peer.lane0(0, 0, 10), 0, 1024, 1);
  peer.land(*load, 1024, 1);
  end(peer, 1);
  EXPECT_NE(peer.all_text().find("exit"), std::string::npos) << peer.all_text();

  Story waited;
  waited.init(1, 1024);
  const auto same = waited.load_bulk(waited.lane0(0, 0, 10), 0, 1024, 1);
  waited.land(*same, 1024, 1);
  waited.wait(waited.lane0(1, 0, 11), 1024);
  end(waited, 1);
  waited.expect_silence();

  Story own;
  own.store_bulk(own.lane0(0, 0, 10), 0);
  end(own, 0);
  own.expect("exit-with-own-stores", "wait_group.read");

  Story commit;
  commit.init(0, 1024);
  commit.detector.arrived(*commit.cta[0], 1024, commit.detector.tensor_commit(commit.lane0(0, 0, 11), 1));
  end(commit, 0);
  commit.expect("exit-before-own-commit", "a wait (mbarrier.try_wait) for the phase");

  for (const bool releases : {true, false}) {
    Story remote;
    remote.init(0, 1024);
    remote.arrive(remote.lane0(1, 0, 10), 0, 1024, false);
    remote.sync_cluster(11, releases);
    end(remote, 0);
    remote.expect_unless(releases, "relaxed-cluster-exit", "barrier.cluster.arrive.release");
  }
}

// ---- launches, streams, the host

/// Launches of one CTA whose thread 0 stores or loads 4 bytes at 4096.
class Streams {
 public:
  enum Does { Stores, Loads };
  /// What is found. `waits`: griddepcontrol.wait comes first.
  std::string launch(Does does, StreamName stream, bool overlaps = false, bool waits = false,
                     const std::vector<uint32_t>& clusters = {0}) {
    const auto check = launches.begin(stream, overlaps, std::make_unique<NumberedLines>(), {}, false);
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
    const auto middle = through.launches.begin(kFirst, true, std::make_unique<NumberedLines>(), {}, false);
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

// ---- habits have names, and what is forgotten stays right

// ---- flags, and what stands behind them

using How = Story::How;

TEST(Order, AnOrdinaryWriteRemainsBehindAnAtomicOne) {
  for (const bool ordered : {true, false}) {
    Story story;
    story.global(story.lane0(0, 0, 10), 2048, true);
    if (ordered) story.sync_cta(0, 11);
    story.global(story.lane0(0, 0, 12), 2048, true, How::Add);
    story.global(story.lane0(0, 1, 13), 2048, true, How::Add);
    story.expect_unless(ordered, "read after write", "between :10 and :13");
  }
}

TEST(Order, VolatileDataBehindAFlag) {
  const auto tell = [](Story& story, bool writer_fences, bool reader_fences) {
    story.global(story.lane0(0, 0, 10), 2048, true, How::Volatile);
    if (writer_fences) story.detector.fence(story.lane0(0, 0, 11), Scope::Gpu, true, true);
    story.global(story.lane0(0, 0, 12), 512, true, How::Add);
    story.global(story.lane0(3, 0, 13), 512, true, How::Add);
    if (reader_fences) story.detector.fence(story.lane0(3, 0, 14), Scope::Gpu, true, true);
    story.sync_cta(3, 15);
    story.global(story.lane0(3, 1, 16), 2048, false, How::Volatile);
  };
  Story good;
  tell(good, true, true);
  good.expect_silence();
  Story habit;
  tell(habit, true, false);
  habit.expect("flag-without-fence", ":16");
  Story bad;
  tell(bad, false, true);
  bad.expect("read after write", "release and acquire at .gpu scope");

  Story again;  // what has been read once may be read again
  again.global(again.lane0(0, 0, 10), 2048, true, How::Volatile);
  again.global(again.lane0(3, 0, 11), 2048, false, How::Volatile);
  again.sync_cta(3, 12);
  again.global(again.lane0(3, 1, 13), 2048, false, How::Volatile);
  again.expect_silence();
}

TEST(Order, AFenceBeforeTheBarrierIsAHabit) {
  for (const bool after : {true, false}) {
    Story story;
    story.global(story.lane0(0, 1, 10), 2048, true);
    for (uint16_t warp = 0; warp < 4; ++warp) story.detector.fence(story.all(0, warp, 11), Scope::Gpu, true, true);
    story.sync_cta(0, 12);
    if (after) story.detector.fence(story.lane0(0, 0, 13), Scope::Gpu, true, true);
    story.global(story.lane0(0, 0, 14), 512, true, How::Add);
    story.global(story.lane0(3, 0, 15), 512, false, How::Ordered);
    story.global(story.lane0(3, 0, 16), 2048, false);
    story.expect_unless(after, "fence-before-barrier", "has not fenced since the barrier");
  }
  Story bad;  // a third thread that only passes the flag on has no barrier with the first
  bad.global(bad.lane0(0, 0, 10), 2048, true);
  bad.detector.fence(bad.lane0(0, 0, 11), Scope::Gpu, true, true);
  bad.global(bad.lane0(0, 0, 12), 512, true, How::Relaxed);
  bad.global(bad.lane0(2, 0, 13), 512, false, How::Relaxed);
  bad.global(bad.lane0(2, 0, 14), 516, true, How::Relaxed);
  bad.global(bad.lane0(3, 0, 15), 516, false, How::Ordered);
  bad.global(bad.lane0(3, 0, 16), 2048, false);
  bad.expect("read after write", ":16");
}

TEST(Order, GlobalMemoryIsFencedByTheWriterOrOutOfHabitByTheReader) {
  enum class Fences : uint8_t { Writer, Reader, WriterShared };
  for (const Fences fences : {Fences::Writer, Fences::Reader, Fences::WriterShared}) {
    Story story;
    story.init(0, 1024);
    story.global(story.lane0(0, 0, 10), 4096, true);
    if (fences != Fences::Reader)
      story.detector.fence_proxy_async(story.lane0(0, 0, 11), fences == Fences::WriterShared, fences == Fences::Writer);
    story.sync_cta(0, 12);
    if (fences == Fences::Reader) story.detector.fence_proxy_async(story.lane0(0, 1, 13), false, true);
    story.load_bulk(story.lane0(0, 1, 14), 0, 1024);
    story.expect_unless(fences == Fences::Writer,
                        fences == Fences::Reader ? "reader-side-proxy-fence" : "across proxies", ":10");
  }
}

// ---- other CTAs of a cluster

TEST(Order, ACtaMustHaveBegunBeforeItsMemoryIsTouched) {
  for (const bool waits : {true, false}) {
    Story story;
    if (waits) story.sync_cluster(10);
    story.lanes(story.all(0, 0, 11), 0, true, 1);
    story.expect_unless(waits, "CTA has begun", "a barrier of the cluster before :11");
  }
}

TEST(Order, AsynchronousStoresAreOfTheGenericProxyAndReductionsAreAtomic) {
  for (const bool reduces : {true, false}) {
    Story story;
    story.store(story.lane0(0, 0, 10));
    story.init(0, 1024);
    const std::vector<RaceDetector::Landing> landing{{story.cta[0], {{0, 4}}, story.cta[0], 1024}};
    for (uint16_t warp = 0; warp < 2; ++warp)
      story.detector.bulk_load(story.lane0(1, warp, 11), Role::RemoteStore, landing, nullptr, {}, reduces);
    story.expect_unless(reduces, "write after write", ":11");
  }
}

TEST(Order, NobodyMayWaitForAnMbarrierThatIsInvalidated) {
  for (const bool ordered : {true, false}) {
    Story story;
    story.init(0, 1024);
    story.arrive(story.lane0(0, 0, 10), 0, 1024, true);
    for (uint16_t warp = 0; warp < 2; ++warp) story.wait(story.all(0, warp, 11), 1024);
    if (ordered) story.sync_cta(0, 12);
    story.detector.barrier_invalidate(story.lane0(0, 0, 13), 1024);
    story.expect_unless(ordered, "barrier exists", "(bar.sync) between :11 and :13");
  }
}

TEST(Order, AWarpgroupIsOneAlsoIfAWarpIsLate) {
  Story story;
  story.init(0, 1024);
  story.init(0, 1032);
  for (uint16_t warp = 0; warp < 4; ++warp) {
    story.detector.wgmma(story.all(0, warp, 10), {{0, 128}});
    story.detector.wgmma_commit(story.all(0, warp, 11));
    if (warp == 0) story.detector.wgmma_wait(story.all(0, 0, 12), 0);  // the others have not begun
  }
  story.arrive(story.lane0(0, 0, 13), 0, 1032, true);
  story.wait(story.lane0(0, 3, 14), 1032);
  story.load_bulk(story.lane0(0, 3, 15), 0, 1024);
  story.expect("warpgroup-release", ":15");
}

TEST(Order, WhoeverWaitsForAStreamWaitsForItsEvents) {
  for (const bool waits : {true, false}) {
    Streams streams;
    streams.launch(Streams::Stores, kFree);
    if (waits) streams.launches.wait_for(kOther, streams.launches.record(kFree));
    streams.launches.wait_for(kOther);
    EXPECT_EQ(streams.launch(Streams::Loads, kSecond).empty(), waits);
  }
}

TEST(Order, HabitsAreKnownByName) {
  Habits habits;
  EXPECT_EQ(habits.add("warpgroup-release,tcgen05-fence"), "");
  EXPECT_TRUE(habits.contains(Habit::WarpgroupRelease));
  EXPECT_FALSE(habits.contains(Habit::InitFence));
  EXPECT_EQ(habits.add("init-fence,nonsense,more"), "nonsense");
}

TEST(Order, ManyAccessesAreForgottenWithoutForgettingTheLast) {
  Story story;
  for (uint32_t round = 0; round < 20'000; ++round) {
    story.store(story.all(0, 0, 10), 128 * (round % 8));
    story.sync_cta(0, 11);
    story.load(story.all(0, 1, 12), 128 * (round % 8));
    story.sync_cta(0, 13);
  }
  story.expect_silence();
  story.store(story.all(0, 0, 14), 0);
  story.load(story.all(0, 1, 15), 0);
  story.expect("read after write", ":15");
}

}  // namespace
}  // namespace sim::order
