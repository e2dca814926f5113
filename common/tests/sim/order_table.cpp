// Every way to wait for an operation, times every way to tell another thread that it is over: kernels made from both.
// What is right must be silent; without the wait, or without the telling, it must be reported.
#include "support.h"

namespace sim::test {
namespace {

enum class Reach : uint8_t { Warp, Cta, Cluster, Grid };

/// An operation that a thread, a warp or a warpgroup starts and waits for, and what another thread does next to the
/// memory that it uses. %r5 is a box in shared memory of the first CTA, %r6 an mbarrier of one arrival, %r9 tensor
/// memory. %rd1 is global memory that holds zeros, %rd3 a tensor map there, of 16 bytes.
struct Waiting {
  const char* name;
  const char* issue;
  const char* wait;
  const char* conflict;  ///< by another thread of the CTA
  const char* remote;    ///< by one of another CTA of the cluster; %r7: the box's address there; "": cannot be
  bool is_global;        ///< memory that every CTA reaches
  bool is_blackwell = false;
  const char* own_wait = nullptr;  ///< for `issue` alone, at the end
  uint32_t warps = 0;              ///< that start it together; 0: one lane does
  const char* before = "";         ///< what the launch before does; this one may overlap it
  const char* unwaited = "error";  ///< what a missing wait is; "": an error or a habit
};

const std::string kWaitPhase =
    "{ .reg .pred q; again: mbarrier.try_wait.parity.shared::cta.b64 q, [%r6], 0; @!q bra again; }";
const std::string kLoadBulk =
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 16; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx"
    "::bytes [%r5], [%rd1+1024], 16, [%r6];";
const std::string kTestPhase =
    "{ .reg .pred q; again: mbarrier.test_wait.parity.shared::cta.b64 q, [%r6], 0; @!q bra again; }";
const std::string kWaitRelaxed =
    R"(
      { .reg .pred q;
      again: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 q, [%r6], 0;
      @!q bra again;
      } fence.acq_rel.cluster;)";
const std::string kStoreBulk =
    "cp.async.bulk.global.shared::cta.bulk_group [%rd1+2048], [%r5], 16; cp.async.bulk.commit_group;";
const std::string kReduceBulk =
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1+2048], [%r5], 16; cp.async.bulk.commit_group;";
const std::string kCopy = "cp.async.ca.shared.global [%r5], [%rd1+1024], 16; cp.async.commit_group;";
const std::string kCopyArrive =
    "cp.async.ca.shared.global [%r5], [%rd1+1024], 16; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r6];";
const std::string kCopyTensor =
    "tcgen05.cp.cta_group::1.128x256b [%r9], %rd5; "
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
    "[%r6];";
const std::string kCopyTensorNext = "tcgen05.fence::after_thread_sync; " + kCopyTensor + kWaitPhase;
const std::string kMultiply =
    R"(
      wgmma.fence.sync.aligned;
      wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd5, %rd5, 0, 1, 1, 0, 0;
      wgmma.commit_group.sync.aligned;)";
constexpr const char* kLoadShared = "ld.shared.u32 %r20, [%r5];";
constexpr const char* kLoadRemote = "ld.shared::cluster.u32 %r20, [%r7];";
constexpr const char* kStoreShared = "st.shared.u32 [%r5], 7;";
constexpr const char* kStoreRemote = "st.shared::cluster.u32 [%r7], 7;";
constexpr const char* kStoreSource = "st.global.u32 [%rd1+1024], 7;";
constexpr const char* kChangeMap = "tensormap.replace.tile.global_address.global.b1024.b64 [%rd3], %rd1;";
constexpr const char* kLoadResult = "ld.global.u32 %r20, [%rd1+2048];";

const std::string kLoadTile =
    R"(
      mov.u32 %r22, 0;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 16;
      cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r5], [%rd3, {%r22, %r22}],
          [%r6];)";
const std::string kStoreTile =
    R"(
      mov.u32 %r22, 0;
      cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {%r22, %r22}], [%r5];
      cp.async.bulk.commit_group;)";
const std::string kBulkOfLaunch = kStoreBulk + "cp.async.bulk.wait_group 0;";

const std::vector<Waiting> kWaits = {
    {"a load's phase, then its bytes", kLoadBulk.c_str(), kWaitPhase.c_str(), kLoadShared, kLoadRemote, false},
    {"a load's phase, then its source", kLoadBulk.c_str(), kWaitPhase.c_str(), kStoreSource, kStoreSource, true},
    {"wait_group", kStoreBulk.c_str(), "cp.async.bulk.wait_group 0;", kLoadResult, kLoadResult, true},
    {"wait_group of a reduction", kReduceBulk.c_str(), "cp.async.bulk.wait_group 0;", kLoadResult, kLoadResult, true},
    {"wait_group.read", kStoreBulk.c_str(), "cp.async.bulk.wait_group.read 0;", kStoreShared, kStoreRemote, false,
     false, "cp.async.bulk.wait_group 0;"},
    {"cp.async.wait_group, then the bytes", kCopy.c_str(), "cp.async.wait_group 0;", kLoadShared, kLoadRemote, false},
    {"cp.async.wait_all, then the source", kCopy.c_str(), "cp.async.wait_all;", kStoreSource, kStoreSource, true},
    {"a commit's phase", kCopyTensor.c_str(), kWaitPhase.c_str(), kStoreShared, kStoreRemote, false, true},
    {"a load's phase by test_wait", kLoadBulk.c_str(), kTestPhase.c_str(), kLoadShared, kLoadRemote, false},
    {"a load's phase, relaxed, and a fence", kLoadBulk.c_str(), kWaitRelaxed.c_str(), kLoadShared, kLoadRemote, false},
    {"the phase of cp.async.mbarrier.arrive", kCopyArrive.c_str(), kWaitPhase.c_str(), kLoadShared, kLoadRemote, false},
    {"a load's phase, then its tensor map", kLoadTile.c_str(), kWaitPhase.c_str(), kChangeMap, kChangeMap, true},
    {"wait_group.read, then the store's tensor map", kStoreTile.c_str(), "cp.async.bulk.wait_group.read 0;", kChangeMap,
     kChangeMap, true, false, "cp.async.bulk.wait_group 0;"},
    {"wgmma.wait_group", kMultiply.c_str(), "wgmma.wait_group.sync.aligned 0;", kStoreShared, kStoreRemote, false,
     false, nullptr, 4},
    {"tcgen05.wait::ld", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r21}, [%r9];", "tcgen05.wait::ld.sync.aligned;",
     kCopyTensorNext.c_str(), "", false, true, nullptr, 1, "", ""},
    {"griddepcontrol.wait, then what was stored", "", "griddepcontrol.wait;", kLoadResult, kLoadResult, true, false,
     nullptr, 0, "st.global.u32 [%rd1+2048], 7;"},
    {"griddepcontrol.wait, then what was stored asynchronously", "", "griddepcontrol.wait;", kLoadResult, kLoadResult,
     true, false, nullptr, 0, kBulkOfLaunch.c_str()},
    {"griddepcontrol.wait, then what was read", "", "griddepcontrol.wait;", kStoreSource, kStoreSource, true, false,
     nullptr, 0, "ld.global.u32 %r20, [%rd1+1024];"},
    {"tcgen05.wait::st", "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r9], {%r1};", "tcgen05.wait::st.sync.aligned;",
     kCopyTensorNext.c_str(), "", false, true, nullptr, 1, "", ""},
};

/// How a thread, or a warp, tells another one. %r8: another mbarrier of one arrival; %rd2: a flag.
struct Telling {
  const char* name;
  Reach reach;
  bool by_warps;  ///< else by one lane of each
  const char* writer;
  const char* reader;
  bool only_happened = false;  ///< enough for what is overwritten, not for what is read
  bool is_blackwell = false;
};

const std::string kFlagAcquired =
    R"(
      { .reg .pred q;
      look: ld.acquire.SCOPE.global.u32 %r30, [%rd2];
      setp.eq.u32 q, %r30, 0;
      @q bra look;
      })";
const std::string kFlagFenced =
    R"(
      { .reg .pred q;
      look: ld.relaxed.SCOPE.global.u32 %r30, [%rd2];
      setp.eq.u32 q, %r30, 0;
      @q bra look;
      } fence.acq_rel.SCOPE;)";
const std::string kFlagVolatile =
    R"(
      { .reg .pred q;
      look: ld.volatile.global.u32 %r30, [%rd2];
      setp.eq.u32 q, %r30, 0;
      @q bra look;
      } membar.gl;)";
const std::string kFlagAtomic =
    R"(
      { .reg .pred q;
      look: atom.acq_rel.SCOPE.global.or.b32 %r30, [%rd2], 0;
      setp.eq.u32 q, %r30, 0;
      @q bra look;
      })";
const std::string kWaitOther =
    "{ .reg .pred q; again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q, [%r8], 0; @!q bra again; }";

const std::string kWaitOtherRelaxed =
    R"(
      { .reg .pred q;
      again: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 q, [%r8], 0;
      @!q bra again;
      } fence.acq_rel.cta;)";

/// By flags, at every scope.
const std::vector<Telling> kFlags = {
    {"st.release", Reach::Warp, false, "st.release.SCOPE.global.u32 [%rd2], 1;", kFlagAcquired.c_str()},
    {"fence and st.relaxed", Reach::Warp, false, "fence.acq_rel.SCOPE; st.relaxed.SCOPE.global.u32 [%rd2], 1;",
     kFlagFenced.c_str()},
    {"fence.sc and atom", Reach::Warp, false, "fence.sc.SCOPE; atom.relaxed.SCOPE.global.exch.b32 %r31, [%rd2], 1;",
     kFlagAcquired.c_str()},
    {"red.release", Reach::Warp, false, "red.release.SCOPE.global.add.u32 [%rd2], 1;", kFlagAtomic.c_str()},
    {"atom.acq_rel", Reach::Warp, false, "atom.acq_rel.SCOPE.global.add.u32 %r31, [%rd2], 1;", kFlagFenced.c_str()},
    {"membar and st.volatile", Reach::Warp, false, "membar.gl; st.volatile.global.u32 [%rd2], 1;",
     kFlagVolatile.c_str()},
};
/// By flags in shared memory: %r12.
const std::vector<Telling> kSharedFlags = {
    {"st.release in shared memory", Reach::Cluster, false, "st.release.SCOPE.shared::cluster.u32 [%r12], 1;",
     "{ .reg .pred q; look: ld.acquire.SCOPE.shared::cluster.u32 %r30, [%r12]; setp.eq.u32 q, %r30, 0; @q bra look; }"},
    {"fence and red.relaxed in shared memory", Reach::Cluster, false,
     "fence.acq_rel.SCOPE; red.relaxed.SCOPE.shared::cluster.add.u32 [%r12], 1;",
     R"(
       { .reg .pred q;
       look: ld.relaxed.SCOPE.shared::cluster.u32 %r30, [%r12];
       setp.eq.u32 q, %r30, 0;
       @q bra look;
       } fence.acq_rel.SCOPE;)"},
};
const std::vector<Telling> kOthers = {
    {"bar.warp.sync", Reach::Warp, true, "bar.warp.sync -1;", ""},
    {"bar.sync", Reach::Cta, true, "bar.sync 1, 64;", "bar.sync 1, 64;"},
    {"bar.arrive", Reach::Cta, true, "bar.arrive 1, 64;", "bar.sync 1, 64;"},
    {"bar.red", Reach::Cta, true, "bar.red.or.pred %p20, 1, 64, %p21;", "bar.red.or.pred %p20, 1, 64, %p21;"},
    {"mbarrier.arrive", Reach::Cta, false, "mbarrier.arrive.shared::cta.b64 _, [%r8];", kWaitOther.c_str()},
    {"fence and mbarrier.arrive.relaxed", Reach::Cta, false,
     "fence.acq_rel.cta; mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r8];", kWaitOther.c_str()},
    {"mbarrier.arrive.relaxed", Reach::Cta, false, "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r8];",
     kWaitOther.c_str(), true},
    {"mbarrier.arrive_drop", Reach::Cta, false, "mbarrier.arrive_drop.shared::cta.b64 _, [%r8];", kWaitOther.c_str()},
    {"mbarrier.arrive, a relaxed wait and a fence", Reach::Cta, false, "mbarrier.arrive.shared::cta.b64 _, [%r8];",
     kWaitOtherRelaxed.c_str()},
    {"tcgen05.commit", Reach::Cta, false,
     "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r8];", kWaitOther.c_str(), false, true},
    {"a barrier of the cluster", Reach::Cluster, true, "barrier.cluster.arrive.release.aligned;",
     "barrier.cluster.arrive.release.aligned;"},
    {"a relaxed barrier of the cluster", Reach::Cluster, true, "barrier.cluster.arrive.relaxed.aligned;",
     "barrier.cluster.arrive.relaxed.aligned;", true},
    {"a relaxed barrier of the cluster and a fence", Reach::Cluster, true,
     "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed.aligned;",
     "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed.aligned;"},
    {"a remote mbarrier.arrive", Reach::Cluster, false,
     "mapa.shared::cluster.u32 %r32, %r8, 1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r32];",
     kWaitOther.c_str()},
};

enum class Lacks : uint8_t { Nothing, Wait, Telling };

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}
/// Labels are unique in a kernel.
std::string labelled(std::string text, const std::string& suffix) {
  return replaced(replaced(std::move(text), "again", "again_" + suffix), "look", "look_" + suffix);
}

/// The threads are lanes 0 and 1 of a warp, two warps of a CTA, or warps of two CTAs, in a cluster or not.
/// `relayed`: another warp tells, after a barrier of the CTA, and the reader is a warp behind such a barrier.
std::string findings_of(const Waiting& what, const Telling& how, Reach reach, Lacks lacks, bool relayed = false) {
  const bool is_blackwell = what.is_blackwell || how.is_blackwell, in_clusters = reach == Reach::Cluster;
  const char* const scope = reach <= Reach::Cta ? "cta" : in_clusters ? "cluster" : "gpu";
  const bool in_one_warp = reach == Reach::Warp, in_one_cta = reach <= Reach::Cta;
  const bool by_cluster_barrier = std::string(how.writer).find("barrier.cluster") != std::string::npos;
  const uint32_t writers = std::max(1u, what.warps);
  Source source;
  source.target = is_blackwell ? "sm_100a" : "sm_90a";
  source.parameters = ".param .u64 data";
  source.prologue = ".shared .align 1024 .b8 box[8192];\n.shared .align 8 .b64 bars[2];\n.shared .b32 columns, flag;\n";
  const std::string alloc = is_blackwell ? R"(
              setp.lt.u32 %p5, %r1, 32;
              @%p5 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 32;
              tcgen05.fence::before_thread_sync;
              bar.sync 0;
              tcgen05.fence::after_thread_sync;
              ld.shared.u32 %r9, [columns];
              @%p5 tcgen05.st.sync.aligned.32x32b.x1.b32 [%r9], {%r1};
              @%p5 tcgen05.wait::st.sync.aligned;
              tcgen05.fence::before_thread_sync;
              bar.sync 0;
              tcgen05.fence::after_thread_sync;)"
                                         : "";
  const std::string dealloc = is_blackwell ? R"(
          tcgen05.fence::before_thread_sync;
          bar.sync 0;
          tcgen05.fence::after_thread_sync;
          @%p5 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 32;)"
                                           : "";
  const std::string wait = labelled(what.wait, "wait"),
                    drain = labelled(what.own_wait ? what.own_wait : what.wait, "end");
  const std::string writer = lacks == Lacks::Telling ? "" : replaced(labelled(how.writer, "tell"), "SCOPE", scope);
  const std::string reader = lacks == Lacks::Telling ? "" : replaced(labelled(how.reader, "hear"), "SCOPE", scope);
  const std::string pass = by_cluster_barrier && lacks != Lacks::Telling ? "barrier.cluster.wait.acquire.aligned;" : "";
  const std::string conflict = in_clusters ? what.remote : what.conflict;
  const bool apart = in_one_warp && lacks == Lacks::Telling;  // a barrier of the warp would tell
  const auto of_thread = [&](const std::string& is_another, const std::string& label, const std::string& code) {
    return "setp.ne.u32 %p3, " + is_another + "; @%p3 bra " + label + "; " + code + " " + label + ":" +
           (apart ? "" : " bar.warp.sync -1;") + "\n";
  };
  const std::string tell = how.by_warps || relayed ? "" : writer, hear = how.by_warps ? "" : reader;
  const std::string meet = "bar.sync 1, 64;\n";
  const std::string waited = lacks == Lacks::Wait ? "" : wait;
  const std::string run = what.warps == 0
                              ? of_thread("%r1, 0", "issued", what.issue + std::string(" ") + waited + " " + tell)
                              : what.issue + std::string(" ") + waited + "\n" +
                                    // then a lane of the first warp speaks for all
                                    (is_blackwell ? "tcgen05.fence::before_thread_sync; " : "") + "bar.sync 2, " +
                                    std::to_string(writers * 32) + ";\n" +
                                    (by_cluster_barrier ? "" : "setp.ne.u32 %p2, %r2, 0; @%p2 bra drain;\n") +
                                    of_thread("%r1, 0", "issued", tell);
  source.body =
      R"(
        ld.param.u64 %rd1, [data];
        add.u64 %rd2, %rd1, 512;
        add.u64 %rd3, %rd1, 8192;
        mov.u32 %r1, %tid.x;
        shr.u32 %r2, %r1, 5;
        and.b32 %r3, %r1, 31;
        mov.u32 %r4, %ctaid.x;
        mov.u32 %r5, box;
        mov.u32 %r6, bars;
        add.u32 %r8, %r6, 8;
        setp.ne.u32 %p21, %r1, %r1;
        shr.u32 %r10, %r5, 4;
        cvt.u64.u32 %rd5, %r10;
        or.b64 %rd5, %rd5, )" +
      std::string(is_blackwell ? "0x0000400800080000" : "0x0000001000080000") +
      R"(
        ;
        mapa.shared::cluster.u32 %r7, %r5, 0;
        mov.u32 %r11, flag;
        mapa.shared::cluster.u32 %r12, %r11, 0;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra ready;
        st.shared.u32 [%r11], 0;
        mbarrier.init.shared::cta.b64 [%r6], 1;
        mbarrier.init.shared::cta.b64 [%r8], 1;
        fence.mbarrier_init.release.cluster;
        ready: bar.warp.sync -1;)" +
      alloc + "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n" +
      // the writers: the first warps of CTA 0; the reader: the next warp or CTA, or the next lane
      "setp.ne.u32 %p2, %r4, 0; @%p2 bra another_cta; setp.ge.u32 %p2, %r2, " + std::to_string(writers) +
      "; @%p2 bra another_warp;\n" + run +
      (relayed        ? meet
       : how.by_warps ? writer + pass
                      : "") +
      (in_one_warp ? of_thread("%r1, 1", "heard", hear + conflict) : "") +
      "drain: " + (what.warps == 0 ? of_thread("%r1, 0", "drained", drain) : drain) + "bra.uni end;\n" +
      "another_warp: " +
      (in_one_cta && !in_one_warp ? (how.by_warps ? reader : "") + of_thread("%r3, 0", "told", hear + conflict)
       : relayed                  ? meet + of_thread("%r3, 0", "told", writer)
       : by_cluster_barrier && lacks != Lacks::Telling ? how.reader + pass
                                                       : "") +
      "bra.uni end;\nanother_cta: " +
      (in_one_cta ? ""
       : relayed  ? "setp.ge.u32 %p2, %r2, 2; @%p2 bra end; setp.eq.u32 %p2, %r2, 1; @%p2 bra behind;\n" +
                       of_thread("%r1, 0", "heard", hear) + meet + "bra.uni end;\nbehind: " + meet +
                       of_thread("%r3, 0", "known", conflict)
                 : (how.by_warps ? reader + pass : "") + "setp.ne.u32 %p2, %r2, 0; @%p2 bra end;\n" +
                       of_thread("%r1, 0", "known", hear + conflict)) +
      "end: bar.warp.sync -1; barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n" +
      dealloc;
  Bench bench({.check = Options::Check::On}, is_blackwell ? "b200" : "h200");
  auto* const data = bench.upload(std::vector<uint32_t>(4096));
  const TensorMap map =
      make_map({.address = data + 3072, .data_type = 2, .element_bytes = 4, .dims = {4, 1}, .box = {4, 1}});
  std::memcpy(data + 2048, &map, sizeof map);
  std::string report;
  const auto launch = [&](const Source& each, LaunchConfig config) {
    const Outcome outcome = bench.launch(each, config, data);
    EXPECT_EQ(outcome.status, Status::Success) << outcome.report << each.body;
    report += found_in(outcome);
  };
  const bool follows = *what.before != '\0';
  if (follows) {
    Source before = source;
    before.body =
        "griddepcontrol.launch_dependents; ld.param.u64 %rd1, [data]; mov.u32 %r5, box; mov.u32 %r6, bars;\n" +
        std::string(what.before);
    launch(before, {.grid = {1, 1, 1}, .block = {1, 1, 1}});
  }
  launch(source, {.grid = {in_one_cta ? 1u : 2u, 1, 1},
                  .block = {32 * writers + 32, 1, 1},
                  .cluster = {in_clusters ? 2u : 1u, 1, 1},
                  .overlaps = follows});
  return report + found_in(bench.device().settle());
}

bool reads(const Waiting& what) { return std::string(what.conflict).starts_with("ld"); }

void expect_row(const Waiting& what, const Telling& how, Reach reach, bool relayed = false) {
  SCOPED_TRACE(std::string(what.name) + "; " + how.name);
  const std::string right = findings_of(what, how, reach, Lacks::Nothing, relayed);
  // A fence releases whatever its thread knows, and the end of a launch is visible to the whole next one.
  const bool is_visible = std::string(what.wait).find("fence.acq_rel") != std::string::npos || *what.before != '\0';
  if (how.only_happened && !is_visible && reads(what))
    EXPECT_NE(right.find("error (read after write)"), std::string::npos) << right;
  else
    EXPECT_EQ(right, "");
  const bool waits_by_telling =
      std::string(what.issue).find("tcgen05.commit") != std::string::npos && std::string(how.name) == "tcgen05.commit";
  const std::string called = what.unwaited;
  const std::string unwaited = waits_by_telling ? called : findings_of(what, how, reach, Lacks::Wait, relayed);
  EXPECT_NE(unwaited.find(called), std::string::npos) << unwaited;
  const std::string untold = findings_of(what, how, reach, Lacks::Telling, relayed);
  EXPECT_NE(untold.find("error"), std::string::npos) << untold;
}

bool is_reached(const Waiting& what, Reach reach) {
  switch (reach) {
    case Reach::Warp: return what.warps == 0;  // else its lanes have waited themselves
    case Reach::Cta: return true;
    case Reach::Cluster: return *what.remote != '\0';
    case Reach::Grid: return what.is_global;
  }
  return false;
}

TEST(OrderTable, EveryWaitAndEveryFlag) {
  for (const Waiting& what : kWaits) {
    for (const Telling& how : kFlags) {
      for (const Reach reach : {Reach::Cta, Reach::Cluster, Reach::Grid}) {
        if (is_reached(what, reach)) expect_row(what, how, reach);
      }
    }
  }
}

/// As a barrier of the grid does.
TEST(OrderTable, EveryWaitAndEveryFlagBetweenBarriersOfCtas) {
  for (const Waiting& what : kWaits) {
    for (const Telling& how : kFlags) {
      for (const Reach reach : {Reach::Cluster, Reach::Grid}) {
        if (is_reached(what, reach)) expect_row(what, how, reach, true);
      }
    }
  }
}

TEST(OrderTable, EveryWaitAndFlagsInSharedMemory) {
  for (const Waiting& what : kWaits) {
    for (const Telling& how : kSharedFlags) {
      for (const Reach reach : {Reach::Cta, Reach::Cluster}) {
        if (is_reached(what, reach)) expect_row(what, how, reach);
      }
    }
  }
}

TEST(OrderTable, EveryWaitAndEveryBarrier) {
  for (const Waiting& what : kWaits) {
    for (const Telling& how : kOthers) {
      const bool is_of_both = what.warps == 4 && how.is_blackwell;  // wgmma is Hopper's
      if (is_reached(what, how.reach) && !is_of_both) expect_row(what, how, how.reach);
    }
  }
}

TEST(OrderTable, AReadThatIsOverIsNoWriteThatIs) {
  Waiting only_read = kWaits[4];  // wait_group.read, and what has been written is read
  only_read.conflict = only_read.remote = kLoadResult;
  for (const Telling& how : kFlags) {
    const std::string found = findings_of(only_read, how, Reach::Grid, Lacks::Nothing);
    EXPECT_NE(found.find("error (read after write)"), std::string::npos) << how.name << found;
  }
}

}  // namespace
}  // namespace sim::test
