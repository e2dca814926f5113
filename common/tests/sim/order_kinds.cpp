// Kinds of bugs that were once missed, and right idioms that were once reported: of each kind several forms, as kernels
// of a few lines.
#include "machine/missing.h"
#include "support.h"

namespace sim::test {
namespace {

struct Form {
  const char* name;
  std::string body;
  const char* finds;  ///< by --check; "": nothing; "strict ...": by --check=strict alone
  uint32_t ctas = 1;  ///< of a cluster
  uint32_t threads = 128;
  const char* gpu = "h200";
  bool is_right = false;  ///< its first word of output is 1 in every schedule
};

const std::string kPrologue =
    ".shared .align 1024 .b8 box[8192];\n.shared .align 8 .b64 bars[4];\n.shared .b32 columns;\n";

/// Thread, warp, lane and rank are in %r1 to %r4. A box is at %r5, an mbarrier of `arrivals` at %r6, another of 1 at
/// %r8. Those of the next CTA are at %r10 and %r11. Global memory is at %rd1: its first word is the result. Thread 0
/// has %p1, and lane 0 %p2.
std::string begin(const std::string& arrivals = "1") {
  return R"(
      ld.param.u64 %rd1, [data];
      mov.u32 %r1, %tid.x;
      shr.u32 %r2, %r1, 5;
      and.b32 %r3, %r1, 31;
      mov.u32 %r4, %cluster_ctarank;
      mov.u32 %r5, box;
      mov.u32 %r6, bars;
      add.u32 %r8, %r6, 8;
      mov.u32 %r12, %cluster_nctarank;
      add.u32 %r7, %r4, 1;
      rem.u32 %r7, %r7, %r12;
      mapa.shared::cluster.u32 %r10, %r5, %r7;
      mapa.shared::cluster.u32 %r11, %r6, %r7;
      shl.b32 %r13, %r1, 2;
      add.u32 %r14, %r5, %r13;
      cvt.u64.u32 %rd2, %r13;
      add.u64 %rd2, %rd2, %rd1;
      setp.eq.u32 %p1, %r1, 0;
      setp.eq.u32 %p2, %r3, 0;
      @!%p1 bra ready;
      mbarrier.init.shared::cta.b64 [%r6], )" +
         arrivals +
         R"(
           ;
           mbarrier.init.shared::cta.b64 [%r8], 1;
           fence.mbarrier_init.release.cluster;
           ready: bar.warp.sync -1;
           barrier.cluster.arrive.release.aligned;
           barrier.cluster.wait.acquire.aligned;)";
}
const std::string kEnd = "\nbarrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";
const std::string kLoad =
    R"(
      @!%p1 bra issued;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 512;
      cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd1+1024], 512, [%r6];
      issued: bar.warp.sync -1;)";
const std::string kRead = "ld.shared.u32 %r20, [%r14];";
std::string wait(const std::string& barrier = "%r6", const std::string& parity = "0", const std::string& label = "w") {
  return label + ": mbarrier.try_wait.parity.shared::cta.b64 %p9, [" + barrier + "], " + parity + "; @!%p9 bra " +
         label + "; bar.warp.sync -1;\n";
}
const std::string kTry = "mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r6], 0;\n";

const std::vector<Form> kDroppedWaits = {
    {"a wait in a loop", begin() + kLoad + wait() + kRead + kEnd, ""},
    {"a peek, then the wait",
     begin() + kLoad + kTry + "@%p9 bra got;" + wait() + "got: bar.warp.sync -1;" + kRead + kEnd, ""},
    {"its result is dropped", begin() + kLoad + kTry + kRead + kEnd, "error (read after write)"},
    {"its result is stored, and decides nothing",
     begin() + kLoad + kTry + "selp.b32 %r21, 1, 0, %p9; st.global.u32 [%rd2], %r21;" + kRead + kEnd,
     "error (read after write)"},
    {"it is tried again once",
     begin() + kLoad + kTry + "@%p9 bra got;" + kTry + "got: bar.warp.sync -1;" + kRead + kEnd,
     "error (read after write)"},
    {"without it, the thread sleeps, and goes on",
     begin() + kLoad + kTry + "@%p9 bra got; nanosleep.u32 100; got: bar.warp.sync -1;" + kRead + kEnd,
     "error (read after write)"},
    {"a test whose result is dropped",
     begin() + kLoad + "nanosleep.u32 100000; mbarrier.test_wait.parity.shared::cta.b64 %p9, [%r6], 0;" + kRead + kEnd,
     "error (read after write)"},
    {"with a time limit, of arrivals by threads",
     begin("128") +
         R"(
           st.shared.u32 [%r14], 1;
           mbarrier.arrive.shared::cta.b64 _, [%r6];
           mov.u32 %r22, 100;
           mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r6], 0, %r22;
           xor.b32 %r14, %r14, 256;)" +
         kRead + kEnd,
     "error (read after write)"},
    {"a state of which the thread knows all arrivals",
     begin("128") +
         R"(
           st.shared.u32 [%r14], 1;
           mbarrier.arrive.shared::cta.b64 %rd9, [%r6];
           bar.sync 0;
           mbarrier.test_wait.shared::cta.b64 %p9, [%r6], %rd9;
           selp.b32 %r21, 1, 0, %p9;
           @%p1 st.global.u32 [%rd1], %r21;
           bar.warp.sync -1;)" +
         kEnd,
     "", 1, 128, "h200", true}};

/// Single-stage pipelines: a consumer peeks at several of them before it hands back what their producers wait for.
std::string peeks(int count, bool in_loop) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += "mbarrier.try_wait.parity.shared::cta.b64 %p" + std::to_string(10 + i % 10) + ", [%r8], 0;\n";
  const std::string once =
      in_loop ? "mov.u32 %r30, 0; more: " + all + "add.u32 %r30, %r30, 1; setp.lt.u32 %p8, %r30, 12; @%p8 bra more;\n"
              : all;
  return begin("32") + "setp.ne.u32 %p3, %r2, 0; @%p3 bra producer;\n" + once +
         "mbarrier.arrive.shared::cta.b64 _, [%r6];" + wait("%r8") + "@%p1 st.global.u32 [%rd1], 1; bra.uni end;\n" +
         "producer:" + wait("%r6", "0", "v") +
         "setp.eq.u32 %p4, %r1, 32; @%p4 mbarrier.arrive.shared::cta.b64 _, [%r8]; end: bar.warp.sync -1;" + kEnd;
}
const std::vector<Form> kPeeks = {{"one", peeks(1, false), "", 1, 64, "h200", true},
                                  {"two", peeks(2, false), "", 1, 64, "h200", true},
                                  {"five", peeks(5, false), "", 1, 64, "h200", true},
                                  {"two, twelve times", peeks(2, true), "", 1, 64, "h200", true}};

/// CTA 0 writes, and sets a flag; CTA 1 reads it, then the data.
std::string fresh(const std::string& write, const std::string& load) {
  return begin() + "setp.ne.u32 %p3, %r4, 0; @%p3 bra reader;\n" + write +
         R"(
           bar.sync 0;
           @%p1 st.release.gpu.global.u32 [%rd1+4096], 1;
           bra.uni end;
           reader: ld.acquire.gpu.global.u32 %r20, [%rd1+4096];
           setp.eq.u32 %p4, %r20, 0;
           @%p4 bra reader;
           bar.warp.sync -1;)" +
         load + "end: bar.warp.sync -1;" + kEnd;
}
const std::string kStoreBulk =
    R"(
      @!%p1 bra stored;
      fence.proxy.async;
      cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5], 512;
      cp.async.bulk.commit_group;
      cp.async.bulk.wait_group 0;
      stored: bar.warp.sync -1;)";
const std::vector<Form> kReadOnly = {
    {"an ordinary load", fresh("st.global.u32 [%rd2], 7;", "ld.global.u32 %r20, [%rd2];"), "", 2},
    {"another CTA's store", fresh("st.global.u32 [%rd2], 7;", "ld.global.nc.u32 %r20, [%rd2];"),
     "error (read-only data)", 2},
    {"another CTA's reduction",
     fresh("red.global.add.u32 [%rd2], 7;", "ld.global.nc.L1::no_allocate.u32 %r20, [%rd2];"), "error (read-only data)",
     2},
    {"another CTA's bulk store", fresh(kStoreBulk, "ld.global.nc.v2.u32 {%r20, %r21}, [%rd1+8];"),
     "error (read-only data)", 2},
    {"its own CTA's",
     begin() +
         R"(
           st.global.u32 [%rd2], 7;
           bar.sync 0;
           xor.b32 %r13, %r13, 256;
           cvt.u64.u32 %rd2, %r13;
           add.u64 %rd2, %rd2, %rd1;
           ld.global.nc.u32 %r20, [%rd2];)" +
         kEnd,
     "error (read-only data)"},
    {"read, then overwritten by the same thread",
     begin() + "ld.global.nc.u32 %r20, [%rd2]; add.u32 %r20, %r20, 1; st.global.u32 [%rd2], %r20;" + kEnd, ""},
    {"of an earlier launch", begin() + "ld.global.nc.u32 %r20, [%rd2+8192];" + kEnd, ""}};

/// Both CTAs store into each other's box; then each one's bulk store reads its own.
std::string pushed(const std::string& fence) {
  return begin() + "shl.b32 %r15, %r1, 2; add.u32 %r15, %r10, %r15; st.shared::cluster.u32 [%r15], 7; " + fence +
         R"(
           barrier.cluster.arrive.release.aligned;
           barrier.cluster.wait.acquire.aligned;
           @!%p1 bra stored;
           mul.lo.u32 %r16, %r4, 512;
           cvt.u64.u32 %rd3, %r16;
           add.u64 %rd3, %rd3, %rd1;
           cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r5], 512;
           cp.async.bulk.commit_group;
           cp.async.bulk.wait_group 0;
           stored: bar.warp.sync -1;)" +
         kEnd;
}
/// A CTA stores into its own box or into global memory, from where a bulk copy reads it.
std::string copied(const std::string& store, const std::string& fence, const std::string& copy) {
  return begin() + store + fence + " bar.sync 0; @!%p1 bra copied; " + copy + " copied: bar.warp.sync -1;" + kEnd;
}
const std::string kOutOfShared =
    R"(
      cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5], 512;
      cp.async.bulk.commit_group;
      cp.async.bulk.wait_group 0;)";
const std::string kIntoShared =
    R"(
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 512;
      cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd1], 512, [%r6];
      w: mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r6], 0;
      @!%p9 bra w;)";
const std::vector<Form> kProxyFences = {
    {"of the cluster's shared memory", pushed("fence.proxy.async.shared::cluster;"), "", 2},
    {"of all memory", pushed("fence.proxy.async;"), "", 2},
    {"of its own CTA's, for a peer's", pushed("fence.proxy.async.shared::cta;"), "error (across proxies)", 2},
    {"of global memory, for a peer's", pushed("fence.proxy.async.global;"), "error (across proxies)", 2},
    {"restricted to its own CTA's, for a peer's",
     pushed("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"), "error (across proxies)", 2},
    {"of its own CTA's, for its own",
     copied("st.shared.u32 [%r14], 7;", "fence.proxy.async.shared::cta;", kOutOfShared), ""},
    {"restricted to its own CTA's, for its own",
     copied("st.shared.u32 [%r14], 7;", "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
            kOutOfShared),
     ""},
    {"of global memory, for its own", copied("st.shared.u32 [%r14], 7;", "fence.proxy.async.global;", kOutOfShared),
     "error (across proxies)"},
    {"of shared memory, for global",
     copied("st.global.u32 [%rd2], 7;", "fence.proxy.async.shared::cluster;", kIntoShared), "error (across proxies)"},
    {"restricted to shared memory, for global",
     copied("st.global.u32 [%rd2], 7;", "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
            kIntoShared),
     "error (across proxies)"},
    {"an acquire restricted to shared memory, for global",
     copied("st.global.u32 [%rd2], 7;", "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
            kIntoShared),
     "error (across proxies)"},
    {"of global memory, for global", copied("st.global.u32 [%rd2], 7;", "fence.proxy.async.global;", kIntoShared), ""}};

/// A CTA stores, fences, and arrives relaxed at the next CTA's barrier, which waits, and loads.
std::string handed(const std::string& store, const std::string& release, const std::string& acquire,
                   const std::string& load) {
  return begin("128") + store + release + " mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r11];\n" +
         "v: mbarrier.try_wait.parity." + (acquire.empty() ? "acquire" : "relaxed") +
         ".cluster.shared::cta.b64 %p9, [%r6], 0; @!%p9 bra v; bar.warp.sync -1; " + acquire + load + kEnd;
}
const std::string kStoreGlobal =
                      R"(
                        mul.lo.u32 %r16, %r4, 512;
                        cvt.u64.u32 %rd3, %r16;
                        add.u64 %rd3, %rd3, %rd2;
                        st.global.u32 [%rd3], 7;)",
                  kLoadGlobal =
                      R"(
                        mul.lo.u32 %r16, %r7, 512;
                        cvt.u64.u32 %rd3, %r16;
                        add.u64 %rd3, %rd3, %rd2;
                        ld.global.u32 %r20, [%rd3];)";
const std::string kStorePeer = "add.u32 %r15, %r10, %r13; st.shared::cluster.u32 [%r15], 7; ",
                  kLoadPeer = "add.u32 %r15, %r10, %r13; ld.shared::cluster.u32 %r20, [%r15];";
const std::string kReleaseShared = "fence.release.sync_restrict::shared::cta.cluster;",
                  kAcquireShared = "fence.acquire.sync_restrict::shared::cluster.cluster;",
                  kReleaseAll = "fence.acq_rel.cluster;";
const std::vector<Form> kRestricted = {
    {"a whole fence, global memory", handed(kStoreGlobal, kReleaseAll, "", kLoadGlobal), "", 2},
    {"a release of shared memory, global memory", handed(kStoreGlobal, kReleaseShared, "", kLoadGlobal),
     "error (read after write)", 2},
    {"an acquire of shared memory, global memory", handed(kStoreGlobal, kReleaseAll, kAcquireShared, kLoadGlobal),
     "error (read after write)", 2},
    {"a release of shared memory, a peer's", handed(kStorePeer, kReleaseShared, "", kRead), "error (read after write)",
     2},
    {"a release of shared memory, its own", handed("st.shared.u32 [%r14], 7;", kReleaseShared, "", kLoadPeer), "", 2},
    {"both of shared memory, its own", handed("st.shared.u32 [%r14], 7;", kReleaseShared, kAcquireShared, kLoadPeer),
     "", 2},
    {"an acquire of shared memory, a peer's", handed(kStorePeer, kReleaseAll, kAcquireShared, kRead), "", 2}};

std::string registers(const std::string& code) { return begin() + code + "bar.warp.sync -1;" + kEnd; }
const std::vector<Form> kRegisters = {
    {"by all four warps", registers("setmaxnreg.dec.sync.aligned.u32 40;"), ""},
    {"by all four warps, in two places", registers(R"(
         setp.lt.u32 %p3, %r2, 2;
         @%p3 bra low;
         setmaxnreg.dec.sync.aligned.u32 40;
         bra.uni both;
         low: setmaxnreg.dec.sync.aligned.u32 40;
         both: )"),
     ""},
    {"by one warp", registers("setp.ne.u32 %p3, %r2, 1; @%p3 bra skip; setmaxnreg.dec.sync.aligned.u32 40; skip: "),
     "error (register count)"},
    {"by three of four",
     registers("setp.eq.u32 %p3, %r2, 3; @%p3 bra skip; setmaxnreg.dec.sync.aligned.u32 40; skip: "),
     "error (register count)"},
    {"with two values", registers(R"(
         setp.lt.u32 %p3, %r2, 2;
         @%p3 bra low;
         setmaxnreg.dec.sync.aligned.u32 40;
         bra.uni both;
         low: setmaxnreg.dec.sync.aligned.u32 48;
         both: )"),
     "error (register count)"},
    {"by one warpgroup of two",
     registers("setp.ge.u32 %p3, %r2, 4; @%p3 bra skip; setmaxnreg.dec.sync.aligned.u32 40; skip: "), "", 1, 256}};

/// `first` reports to the barrier, and thread 0 invalidates it.
std::string invalidated(const std::string& first, const std::string& between) {
  return begin() + first + between + "bar.sync 0; @%p1 mbarrier.inval.shared::cta.b64 [%r6];" + kEnd;
}
const std::string kCopies =
    R"(
      @!%p1 bra copied;
      cp.async.ca.shared.global [%r5], [%rd1], 16;
      cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r6];
      copied: bar.warp.sync -1;)";
const std::string kCommits =
    R"(
      @!%p1 bra committed;
      tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r6];
      tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r8];
      committed: bar.warp.sync -1;)";
const std::vector<Form> kInvalidations = {
    {"after the load's phase", invalidated(kLoad, wait()), ""},
    {"under a load", invalidated(kLoad, ""), "error (barrier lifetime)"},
    {"under a load that has landed", invalidated(kLoad, "nanosleep.u32 100000;"), "error (barrier lifetime)"},
    {"under cp.async", invalidated(kCopies, "nanosleep.u32 100000;"), "error (barrier lifetime)"},
    {"after the phase of cp.async", invalidated(kCopies, wait()), ""},
    {"under a commit, and a later one has arrived", invalidated(kCommits, wait("%r8")), "habit exit-before-own-commit",
     1, 128, "b200"},
    {"under commits", invalidated(kCommits, "nanosleep.u32 100000;"), "error (barrier lifetime)", 1, 128, "b200"},
    {"after all commits", invalidated(kCommits, wait() + wait("%r8", "0", "v")), "", 1, 128, "b200"},
    {"under a peer's arrival",
     begin() +
         R"(
           @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];
           nanosleep.u32 100000;
           bar.sync 0;
           @%p1 mbarrier.inval.shared::cta.b64 [%r6];)" +
         kEnd,
     "error (barrier lifetime)", 2}};

/// All lanes of warp 1 wait for phase 0; those of %p4 arrive in the next phase, which takes `arrivals`.
std::string lapped(const std::string& between, const std::string& arrive = "setp.eq.u32 %p4, %r3, 0;",
                   const std::string& arrivals = "1") {
  return begin(arrivals) + "setp.ne.u32 %p3, %r2, 0; @%p3 bra other; setp.lt.u32 %p4, %r1, " + arrivals +
         R"(;
           @%p4 mbarrier.arrive.shared::cta.b64 _, [%r6];
           bra.uni end;
           other: w: mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r6], 0;
           @!%p9 bra w;)" +
         between + arrive + "@%p4 mbarrier.arrive.shared::cta.b64 _, [%r6]; end: bar.warp.sync -1;" + kEnd;
}
const std::vector<Form> kLapped = {
    {"lanes that meet", lapped("bar.warp.sync -1;"), "", 1, 64},
    {"lanes that vote", lapped("vote.sync.all.pred %p8, %p9, -1;"), "", 1, 64},
    {"lanes that all arrive", lapped("", "setp.ge.u32 %p4, %r3, 0;", "32"), "", 1, 64},
    {"lanes that do not", lapped(""), "error (phase held)", 1, 64},
    {"half of the lanes meet", lapped("setp.ge.u32 %p7, %r3, 16; @%p7 bra met; bar.warp.sync 65535; met: "),
     "error (phase held)", 1, 64},
    {"half of the lanes arrive", lapped("", "setp.lt.u32 %p4, %r3, 16;", "16"), "error (phase held)", 1, 64},
    {"another lane arrives", lapped("", "setp.eq.u32 %p4, %r3, 31;"), "error (phase held)", 1, 64}};

/// Thread 0 hands shared memory of its CTA to the peer by an arrival of this scope, and the peer waits with that one.
std::string remote(const std::string& release, const std::string& acquire) {
  return begin() + "@%p1 st.shared.u32 [%r5], 7; @%p1 mbarrier.arrive" + release +
         ".shared::cluster.b64 _, [%r11]; v: mbarrier.try_wait.parity" + acquire +
         ".shared::cta.b64 %p9, [%r6], 0; @!%p9 bra v; bar.warp.sync -1; ld.shared::cluster.u32 %r20, [%r10];" + kEnd;
}
const std::vector<Form> kOneVerdict = {
    {"global memory stored, and overwritten asynchronously", copied("@%p1 st.global.u32 [%rd1], 7;", "", kOutOfShared),
     "strict error (write, then asynchronous write)"},
    {"a word stored, read, and overwritten asynchronously",
     begin() + "@%p1 st.shared.u32 [%r5], 7; bar.sync 0; ld.shared.u32 %r20, [%r5]; bar.sync 0;" + kLoad + wait() +
         kEnd,
     "strict error (write, then asynchronous write)"},
    {"a word stored, and overwritten asynchronously",
     begin() + "@%p1 st.shared.u32 [%r5], 7; bar.sync 0;" + kLoad + wait() + kEnd,
     "strict error (write, then asynchronous write)"},
    {"read, and overwritten asynchronously",
     begin() + kLoad + wait() + kRead +
         R"(
           bar.sync 0;
           @!%p1 bra again;
           mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 512;
           cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd1+1024], 512, [%r6];
           again: bar.warp.sync -1;)" +
         wait("%r6", "1", "v") + kEnd,
     "strict error (read, then asynchronous write)"},
    {"initialised twice by one thread",
     begin() +
         R"(
           add.u32 %r9, %r6, 16;
           @%p1 mbarrier.init.shared::cta.b64 [%r9], 1;
           @%p1 mbarrier.init.shared::cta.b64 [%r9], 2;
           bar.sync 0;)" +
         kEnd,
     "habit repeated-init"},
    {"initialised three times",
     begin() +
         "add.u32 %r9, %r6, 16; mov.u32 %r30, 1; more: @%p1 mbarrier.init.shared::cta.b64 [%r9], %r30; "
         "add.u32 %r30, %r30, 1; setp.lt.u32 %p8, %r30, 4; @%p8 bra more; bar.sync 0;" +
         kEnd,
     "habit repeated-init"},
    {"initialised again after a barrier of the CTA, and used",
     begin() +
         R"(
           add.u32 %r9, %r6, 16;
           @%p1 mbarrier.init.shared::cta.b64 [%r9], 1;
           bar.sync 0;
           @%p1 mbarrier.init.shared::cta.b64 [%r9], 128;
           bar.sync 0;
           mbarrier.arrive.shared::cta.b64 _, [%r9];)" +
         wait("%r9") + kEnd,
     "habit repeated-init"},
    {"initialised by two threads",
     begin() +
         R"(
           add.u32 %r9, %r6, 16;
           @%p1 mbarrier.init.shared::cta.b64 [%r9], 1;
           bar.sync 0;
           setp.eq.u32 %p3, %r1, 32;
           @%p3 mbarrier.init.shared::cta.b64 [%r9], 2;
           bar.sync 0;)" +
         kEnd,
     "error (barrier lifetime)"},
    {"initialised again after an arrival",
     begin() +
         R"(
           add.u32 %r9, %r6, 16;
           @%p1 mbarrier.init.shared::cta.b64 [%r9], 1;
           @%p1 mbarrier.arrive.shared::cta.b64 _, [%r9];
           @%p1 mbarrier.init.shared::cta.b64 [%r9], 2;
           bar.sync 0;)" +
         kEnd,
     "error (barrier lifetime)"},
    {"a barrier at which no warp waits", begin() + "bar.arrive 14, 64; bar.sync 0; bar.arrive 14, 64;" + kEnd, ""},
    {"an arrival of every warp, again and again",
     begin() +
         "mov.u32 %r30, 0; more: bar.arrive 14, 128; bar.sync 0; add.u32 %r30, %r30, 1; setp.lt.u32 %p8, %r30, 3; "
         "@%p8 bra more;" +
         kEnd,
     ""},
    {"arrivals left over at a barrier at which warps have waited",
     begin() +
         "setp.ge.u32 %p3, %r2, 4; @%p3 bra rest; bar.sync 14, 128; bar.arrive 14, 256; rest: bar.warp.sync -1; "
         "bar.sync 0;" +
         kEnd,
     "", 1, 256},
    {"a barrier at which a warp waits",
     begin() +
         R"(
           setp.eq.u32 %p3, %r2, 3;
           @%p3 bra waits;
           bar.arrive 14, 64;
           bra.uni end;
           waits: bar.sync 14, 64;
           end: bar.warp.sync -1;)" +
         kEnd,
     "error (phase known)"},
    {"an arrival at a peer, scope .cluster", remote(".release.cluster", ".acquire.cluster"), "", 2, 32},
    {"an arrival at a peer, default scope", remote("", ".acquire.cluster"), "habit remote-arrival-scope", 2, 32},
    {"a wait for a peer, default scope", remote(".release.cluster", ""), "habit remote-arrival-scope", 2, 32},
    {"both of default scope", remote("", ""), "habit remote-arrival-scope", 2, 32},
    {"a relaxed arrival at a peer", remote(".relaxed.cluster", ".acquire.cluster"), "error (read after write)", 2, 32}};

/// These threads issue a bulk store, commit it, and wait for it.
std::string stored_by(const std::string& issues, const std::string& commits, const std::string& waits) {
  return begin() + "elect.sync %r24|%p6, -1; setp.eq.and.u32 %p5, %r2, 0, %p6;\nbar.warp.sync -1; @!" + issues +
         " bra issued; cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5], 512; issued: bar.warp.sync -1; @!" +
         commits + " bra committed; cp.async.bulk.commit_group; committed: bar.warp.sync -1; @!" + waits +
         " bra waited; cp.async.bulk.wait_group 0; waited: bar.warp.sync -1;" + kEnd;
}
/// The elected thread of warp 0 issues a bulk store. All of its lanes do the rest, the others first.
std::string stored_by_one(const std::string& rest) {
  return begin() +
         "setp.ne.u32 %p3, %r2, 0; @%p3 bra end; elect.sync %r24|%p6, -1; setp.eq.u32 %p4, %r3, 5; @!%p6 bra others;"
         "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5], 512; mbarrier.arrive.shared::cta.b64 _, [%r8];" +
         "v: mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r6], 0; @!%p9 bra v;" + rest +
         "bra.uni end; others: "
         "u: mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r8], 0; @!%p9 bra u;" +
         rest + "@%p4 mbarrier.arrive.shared::cta.b64 _, [%r6]; end: bar.warp.sync -1;" + kEnd;
}
const std::vector<Form> kElections = {
    {"all lanes commit and wait", stored_by_one("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; "), ""},
    {"all lanes commit twice",
     stored_by_one("cp.async.bulk.commit_group; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; "), ""},
    {"all lanes commit and await what is read",
     stored_by_one("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0; "), ""},
    {"thread 0 throughout", stored_by("%p1", "%p1", "%p1"), ""},
    {"the elected thread throughout", stored_by("%p5", "%p5", "%p5"), ""},
    {"the elected thread commits and waits", stored_by("%p1", "%p5", "%p5"), "strict error (elected lane)"},
    {"the elected thread issues", stored_by("%p5", "%p1", "%p1"), "strict error (elected lane)"},
    {"the elected thread waits", stored_by("%p1", "%p1", "%p5"), "strict error (elected lane)"}};

const std::string kAllocate =
                      R"(
                        setp.lt.u32 %p5, %r1, 32;
                        @%p5 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 32;
                        tcgen05.fence::before_thread_sync;
                        bar.sync 0;
                        tcgen05.fence::after_thread_sync;
                        ld.shared.u32 %r9, [columns];)",
                  kFree =
                      R"(
                        tcgen05.fence::before_thread_sync;
                        bar.sync 0;
                        tcgen05.fence::after_thread_sync;
                        @%p5 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 32;)";
const std::string kLoadTensor =
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r21, %r22}, [%r9]; tcgen05.wait::ld.sync.aligned;";
/// One warp allocates tensor memory and commits. Warp 0 does `first` after the commit's phase, warp 2 does `second`.
std::string freed_after_commit(const std::string& first, const std::string& second = "") {
  return begin() + R"(
           setp.ne.u32 %p5, %r2, 1;
           @%p5 bra other;
           tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 32;
           setp.ne.u32 %p6, %r1, 32;
           @%p6 bra met;
           tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r6];
           met: bar.warp.sync -1;
           bra.uni end;
           other: setp.eq.u32 %p5, %r2, 2;
           @%p5 bra third;
           setp.ne.u32 %p5, %r2, 0;
           @%p5 bra end;)" +
         wait() + first + " bra.uni end; third: " + second + " end: bar.warp.sync -1;" + kEnd;
}

const std::vector<Form> kTensor = {
    {"read, and written before",
     begin() + kAllocate +
         R"(
           @!%p5 bra done;
           tcgen05.st.sync.aligned.32x32b.x2.b32 [%r9], {%r1, %r1};
           tcgen05.wait::st.sync.aligned;)" +
         kLoadTensor + "done: bar.warp.sync -1;" + kFree + kEnd,
     "", 1, 128, "b200"},
    {"read, and never written",
     begin() + kAllocate + "@!%p5 bra done;" + kLoadTensor + "done: bar.warp.sync -1;" + kFree + kEnd,
     "error (tensor memory)", 1, 128, "b200"},
    {"read, and other columns written",
     begin() + kAllocate +
         "@!%p5 bra done; tcgen05.st.sync.aligned.32x32b.x2.b32 [%r9], {%r1, %r1}; "
         "tcgen05.wait::st.sync.aligned; add.u32 %r9, %r9, 4;" +
         kLoadTensor + "sub.u32 %r9, %r9, 4; done: bar.warp.sync -1;" + kFree + kEnd,
     "error (tensor memory)", 1, 128, "b200"},
    {"read, and other lanes written",
     begin() + kAllocate +
         "setp.ge.u32 %p6, %r1, 64; @%p6 bra done; shl.b32 %r25, %r2, 21; add.u32 %r9, %r9, %r25; setp.ne.u32 %p7, "
         "%r2, 0; @%p7 bra other; tcgen05.st.sync.aligned.32x32b.x2.b32 [%r9], {%r1, %r1}; "
         "tcgen05.wait::st.sync.aligned; bra.uni done; other: " +
         kLoadTensor + "done: bar.warp.sync -1;" + kFree + kEnd,
     "error (tensor memory)", 1, 128, "b200"},
    {"read, and written before it was freed and allocated again",
     begin() + kAllocate +
         "@!%p5 bra done; tcgen05.st.sync.aligned.32x32b.x2.b32 [%r9], {%r1, %r1}; tcgen05.wait::st.sync.aligned; "
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 32; "
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 32;" +
         kLoadTensor + "done: bar.warp.sync -1;" + kFree + kEnd,
     "error (tensor memory)", 1, 128, "b200"},
    {"freed by another warp, which nothing tells of the allocation",
     begin() +
         "setp.ne.u32 %p5, %r2, 1; @%p5 bra other; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 "
         "[columns], 32; bra.uni end;\nother: setp.ne.u32 %p5, %r2, 0; @%p5 bra end; nanosleep.u32 100000; "
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 0, 32; end: bar.warp.sync -1;" +
         kEnd,
     "error (tensor memory)", 1, 128, "b200"},
    {"freed after a commit's phase, by its number",
     freed_after_commit("tcgen05.dealloc.cta_group::1.sync.aligned.b32 0, 32;"), "habit allocation-visibility", 1, 128,
     "b200"},
    {"freed after a commit's phase",
     freed_after_commit("ld.shared.u32 %r9, [columns]; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 32;"),
     "habit allocation-visibility", 1, 128, "b200"},
    {"freed by a warp that is told of a commit's phase",
     freed_after_commit("@%p1 mbarrier.arrive.shared::cta.b64 _, [%r8];",
                        wait("%r8", "0", "v") + "tcgen05.dealloc.cta_group::1.sync.aligned.b32 0, 32;"),
     "habit allocation-visibility", 1, 128, "b200"},
    {"the address of an allocation, overwritten asynchronously",
     begin() +
         R"(
           setp.lt.u32 %p5, %r1, 32;
           @%p5 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], 32;
           tcgen05.fence::before_thread_sync;
           bar.sync 0;
           tcgen05.fence::after_thread_sync;
           ld.shared.u32 %r9, [%r5];
           bar.sync 0;)" +
         kLoad + wait() + kFree + kEnd,
     "strict error (write, then asynchronous write)", 1, 128, "b200"}};

/// The last commit of CTA 0 reports to the mbarriers of these CTAs; what comes next is before its end.
std::string committed(const std::string& ctas, const std::string& after) {
  return begin() + "setp.eq.and.u32 %p4, %r4, 0, %p1; mov.u16 %h1, " + ctas +
         "; @%p4 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r6], %h1; "
         "bar.warp.sync -1;" +
         after;
}
const std::vector<Form> kLastCommits = {
    {"both CTAs wait", committed("3", wait() + kEnd), "", 2, 32, "b200"},
    {"to both CTAs, then a barrier of the cluster", committed("3", kEnd), "habit exit-before-own-commit", 2, 32,
     "b200"},
    {"to its own, then a barrier of the cluster", committed("1", kEnd), "habit exit-before-own-commit", 2, 32, "b200"},
    {"to its own, then the end", committed("1", ""), "habit exit-before-own-commit", 2, 32, "b200"},
    {"to the peer, then a barrier of the cluster", committed("2", kEnd), "habit exit-before-own-commit", 2, 32, "b200"},
    {"to the peer, then the end", committed("2", "nanosleep.u32 100000;"), "error (exit)", 2, 32, "b200"},
    {"to both CTAs, and its own waits",
     committed("3", "setp.ne.u32 %p3, %r4, 0; @%p3 bra ends;" + wait() + "ends: nanosleep.u32 100000;"), "error (exit)",
     2, 32, "b200"}};

/// B of a wgmma is stored by threads of %p4, at %r15 in their CTA.
std::string multiplied(const std::string& stores, const std::string& between,
                       const std::string& fence = "fence.proxy.async; bar.warp.sync -1; ") {
  return begin() + stores + "@%p4 st.shared.u32 [%r15], 7; " + fence + between +
         "setp.ge.u32 %p3, %r2, 4; @%p3 bra end; shr.u32 %r25, %r5, 4; cvt.u64.u32 %rd4, %r25; "
         "or.b64 %rd4, %rd4, 68720001024; wgmma.fence.sync.aligned; "
         "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r1, %r1, %r1, %r1}, %rd4, 0, 1, 1, "
         "0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; end: bar.warp.sync -1;" +
         kEnd;
}
const std::string kQuarters =
                      "setp.lt.u32 %p4, %r3, 16; shl.b32 %r15, %r2, 4; add.u32 %r15, %r15, %r3; shl.b32 %r15, %r15, 2; "
                      "add.u32 %r15, %r15, %r5;",
                  kOneWarp = "setp.eq.u32 %p4, %r2, 3; shl.b32 %r15, %r3, 2; add.u32 %r15, %r15, %r5;",
                  kOneThread = "setp.eq.u32 %p4, %r1, 40; add.u32 %r15, %r5, 64;",
                  kLate = "setp.eq.u32 %p5, %r2, 3; @%p5 nanosleep.u32 1000; ", kFence = "fence.proxy.async; ";
const std::vector<Form> kWarpgroups = {
    {"a quarter by each warp", multiplied(kQuarters, ""), "habit warpgroup-acquire"},
    {"half by one warp", multiplied(kOneWarp, ""), "habit warpgroup-acquire"},
    {"a word by one thread", multiplied(kOneThread, ""), "habit warpgroup-acquire"},
    {"by lanes that do not meet", multiplied(kQuarters, "", kFence), "habit warpgroup-acquire"},
    {"by one lane, and lanes do not meet", multiplied(kOneThread, "", kFence), "habit warpgroup-acquire"},
    {"a late fence", multiplied(kQuarters, "", kLate + kFence), "habit warpgroup-acquire"},
    {"a late store and fence", multiplied(kOneWarp + kLate, "", kFence), "habit warpgroup-acquire"},
    {"no fence", multiplied(kQuarters, "", ""), "error (across proxies)"},
    {"no fence, but lanes that meet", multiplied(kQuarters, "", "bar.warp.sync -1; "), "error (across proxies)"},
    {"no fence, by a late warp", multiplied(kOneWarp + kLate, "", ""), "error (across proxies)"},
    {"a quarter by each warp, and a barrier", multiplied(kQuarters, "bar.sync 0;"), ""},
    {"by a warp of another warpgroup",
     multiplied("setp.eq.u32 %p4, %r2, 5; shl.b32 %r15, %r3, 2; add.u32 %r15, %r15, %r5;", "nanosleep.u32 1000;"),
     "error (read after write)", 1, 256}};

Outcome run(const Form& form, const Options& options) {
  Bench bench(options, form.gpu);
  Source source;
  source.target = std::string(form.gpu) == "b200" ? "sm_100a" : "sm_90a";
  source.parameters = ".param .u64 data";
  source.prologue = kPrologue;
  source.directives = ".maxntid 256 .minnctapersm 1";
  source.body = form.body;
  auto* const data = bench.upload(std::vector<uint32_t>(8192));
  Outcome outcome = bench.launch(
      source, {.grid = {form.ctas, 1, 1}, .block = {form.threads, 1, 1}, .cluster = {form.ctas, 1, 1}}, data);
  if (form.is_right && *data != 1) outcome.report += "the result is " + std::to_string(*data);
  return outcome;
}

void expect_kinds(const std::vector<Form>& forms) {
  for (const Form& form : forms) {
    SCOPED_TRACE(form.name);
    const std::string finds = form.finds;
    const bool only_strict = finds.starts_with("strict ");
    const std::string text = only_strict ? finds.substr(7) : finds;
    const Outcome checked = run(form, {.check = Options::Check::On}),
                  strict = run(form, {.check = Options::Check::Strict});
    if (only_strict || !text.starts_with("error")) {  // an error may also stop the kernel
      EXPECT_EQ(checked.status, Status::Success) << checked.report << form.body;
    }
    if (text.empty() || only_strict) {
      EXPECT_EQ(checked.report, "");
      for (const Options& options : all_schedules()) expect_success(run(form, options));
    } else {
      EXPECT_NE(found_in(checked).find(text), std::string::npos) << checked.report;
    }
    if (!only_strict && text.starts_with("habit ")) {  // --tolerate lets it pass in every mode
      for (Options options : all_schedules()) {
        options.check = options.schedule == Options::Schedule::Default ? Options::Check::On : Options::Check::Off;
        EXPECT_EQ(options.tolerated.add(text.substr(6)), "");
        expect_success(run(form, options));
      }
    }
    if (text.empty())
      EXPECT_EQ(strict.report, "");
    else
      EXPECT_NE(found_in(strict).find(text), std::string::npos) << strict.report;
  }
}

TEST(OrderKinds, WaitsWhoseResultDecidesNothing) { expect_kinds(kDroppedWaits); }
TEST(OrderKinds, PeeksInARow) { expect_kinds(kPeeks); }
TEST(OrderKinds, ReadOnlyData) { expect_kinds(kReadOnly); }
TEST(OrderKinds, ProxyFencesOfOneStateSpace) { expect_kinds(kProxyFences); }
TEST(OrderKinds, FencesRestrictedToSharedMemory) { expect_kinds(kRestricted); }
TEST(OrderKinds, RegistersOfAWarpgroup) { expect_kinds(kRegisters); }
TEST(OrderKinds, InvalidationsOfBarriersInUse) { expect_kinds(kInvalidations); }
TEST(OrderKinds, LanesThatCanBeLapped) { expect_kinds(kLapped); }
TEST(OrderKinds, OneOmissionHasOneVerdict) { expect_kinds(kOneVerdict); }
TEST(OrderKinds, RelianceOnTheElectedLane) { expect_kinds(kElections); }
TEST(OrderKinds, TensorMemory) { expect_kinds(kTensor); }
TEST(OrderKinds, LastCommits) { expect_kinds(kLastCommits); }
TEST(OrderKinds, OperandsOfAWarpgroup) { expect_kinds(kWarpgroups); }

TEST(OrderKinds, AWaitMayReturnFalseInEveryScheduleButTheDefault) {
  Form dropped{"dropped", begin() + kLoad + kTry + "selp.b32 %r21, 1, 0, %p9; @%p1 st.global.u32 [%rd1], %r21;" + kEnd,
               "",        1,
               128,       "h200",
               true};
  EXPECT_EQ(run(dropped, {}).report, "");
  EXPECT_NE(run(dropped, {.schedule = Options::Schedule::Latest}).report, "");
  bool returns_false = false;
  for (uint64_t seed = 1; seed <= 4; ++seed)
    returns_false |= !run(dropped, {.schedule = Options::Schedule::Seeded, .seed = seed}).report.empty();
  EXPECT_TRUE(returns_false);
}

TEST(OrderKinds, AWarpThatCountsTwiceInOnePhase) {
  const std::string two = "setp.lt.u32 %p3, %r2, 2; @%p3 bra end; setp.eq.u32 %p4, %r2, 2; ";
  for (const std::string& each :
       {std::string("bar.arrive 1, 128; bar.sync 1, 128;"),
        std::string("bar.arrive 1, 128; barrier.cta.red.popc.u32 %r20, 1, 128, %p1;"),
        two + "@%p4 bar.arrive 1, 96; bar.sync 1, 96; end: ",
        two + "@%p4 bar.arrive 1, 96; @%p4 bar.arrive 1, 96; nanosleep.u32 1000; bar.sync 1, 96; end: "}) {
    for (const Options& options : all_schedules())
      expect_fault(run({"", begin() + each + kEnd, ""}, options), faults::barrier_arrival_twice, {1});
  }
}

TEST(OrderKinds, OnlyALoopHasIterations) {
  const auto missing = [](const std::string& body) {
    return run({"", begin() + body + kEnd, ""}, {.check = Options::Check::On}).findings.front().missing.what;
  };
  const std::string loop =
      "mov.u32 %r30, 0; more: add.u32 %r31, %r14, %r30; st.shared.u32 [%r31], %r1; "
      "add.u32 %r30, %r30, 128; setp.lt.u32 %p8, %r30, 512; @%p8 bra more;";
  EXPECT_EQ(missing("@%p2 st.shared.u32 [%r5], %r1;"), MissingLink::What::OneThread);
  EXPECT_EQ(missing("setp.ge.u32 %p3, %r1, 64; xor.b32 %r15, %r14, 128; @!%p3 st.shared.u32 [%r15], %r1; "
                    "@%p3 bra end; @%p2 st.shared.u32 [%r5+512], %r1; end: bar.warp.sync -1;"),
            MissingLink::What::OneThread);
  EXPECT_NE(missing(loop), MissingLink::What::OneThread);
}

/// A later commit that has arrived makes it a habit.
TEST(OrderKinds, ACommitToAnInvalidatedBarrier) {
  const Form overtaken{"",    invalidated(kCommits, wait("%r8")) + "nanosleep.u32 100000; bar.sync 0;", "", 1, 128,
                       "b200"};
  bool is_late = false;
  for (uint64_t seed = 1; seed <= 64 && !is_late; ++seed) {
    const Outcome outcome = run(overtaken, {.schedule = Options::Schedule::Seeded, .seed = seed});
    if (outcome.findings.empty()) continue;
    EXPECT_EQ(outcome.findings.front().rule, "exit-before-own-commit") << outcome.report;
    is_late = outcome.findings.front().fault == &faults::mbarrier_invalidated;
  }
  EXPECT_TRUE(is_late);
  const Form hasty{"",
                   begin() +
                       R"(
                         @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r6];
                         @%p1 mbarrier.inval.shared::cta.b64 [%r6];
                         nanosleep.u32 100000;)" +
                       kEnd,
                   "",
                   1,
                   128,
                   "b200"};
  Options options;
  options.tolerated.add(Habit::ExitBeforeOwnCommit);
  const Outcome outcome = run(hasty, options);
  EXPECT_EQ(outcome.status, Status::LaunchFailure);
  expect_fault(outcome, faults::mbarrier_invalidated);
}

TEST(OrderKinds, ABarrierThatHasBeenInvalidatedIsCalledSo) {
  const Form late{
      "", begin() + "@%p1 mbarrier.inval.shared::cta.b64 [%r6]; @%p1 mbarrier.arrive.shared::cta.b64 _, [%r6];", ""};
  expect_fault(run(late, {}), faults::mbarrier_invalidated);
}

}  // namespace
}  // namespace sim::test
