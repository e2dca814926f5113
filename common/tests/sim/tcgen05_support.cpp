#include "tcgen05_support.h"

#include <cmath>

namespace sim::test {
namespace {

/// A kernel of `group` CTAs with 128 threads each that allocates 512 columns, fills tensor memory from `c`, shared
/// memory from `from`, runs `body` (in one thread of CTA 0 between barriers if `single`, else in all threads), and
/// copies tensor memory to `out`: [CTA][lane][column].
Source tensor_kernel(int group, const std::string& body, bool single, uint32_t shared_bytes) {
  const std::string g = ".cta_group::" + std::to_string(group);
  Source source;
  source.prologue =
      ".extern .shared .align 1024 .b8 box[];\n.shared .align 8 .b64 bar;\n.shared .align 4 .u32 address;\n";
  source.parameters =
      ".param .u64 from, .param .u64 c, .param .u64 out, .param .u64 adesc, .param .u64 bdesc, .param .u32 idesc, "
      ".param .u32 d, .param .u32 acc";
  source.body =
      "mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %tid.x; shr.u32 %r3, %r2, 5; mov.u32 %r8, box; mov.u32 %r9, bar; "
      "ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [c]; ld.param.u64 %rd3, [out];\n"
      "mul.wide.u32 %rd4, %r1, " +
      std::to_string(shared_bytes) +
      "; add.s64 %rd1, %rd1, %rd4; mul.wide.u32 %rd4, %r1, 262144; add.s64 %rd2, %rd2, %rd4; add.s64 %rd3, %rd3, %rd4; "
      "mul.wide.u32 %rd4, %r2, 2048; add.s64 %rd2, %rd2, %rd4; add.s64 %rd3, %rd3, %rd4;\n"
      "shl.b32 %r10, %r2, 4; fill: setp.ge.u32 %p1, %r10, " +
      std::to_string(shared_bytes) +
      "; @%p1 bra filled; cvt.u64.u32 %rd5, %r10; add.s64 %rd5, %rd1, %rd5; ld.global.v4.u32 {%r11, %r12, %r13, %r14}, "
      "[%rd5]; add.u32 %r15, %r8, %r10; st.shared.v4.u32 [%r15], {%r11, %r12, %r13, %r14}; add.u32 %r10, %r10, 2048; "
      "bra fill; filled:\n"
      "setp.eq.u32 %p2, %r2, 0; @%p2 mbarrier.init.shared::cta.b64 [%r9], 1; fence.mbarrier_init.release.cluster; "
      "fence.proxy.async; bar.sync 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
      "setp.eq.u32 %p3, %r3, 0; @!%p3 bra allocated; tcgen05.alloc" +
      g + ".sync.aligned.shared::cta.b32 [address], 512; tcgen05.relinquish_alloc_permit" + g +
      ".sync.aligned; allocated: bar.sync 0; ld.shared.u32 %r16, [address];\n"
      "shl.b32 %r17, %r3, 21; add.u32 %r17, %r16, %r17; mov.u32 %r18, 0; put: cvt.u64.u32 %rd5, %r18; shl.b64 %rd5, "
      "%rd5, 2; add.s64 %rd5, %rd2, %rd5; ld.global.v4.b32 {%r21, %r22, %r23, %r24}, [%rd5]; add.u32 %r19, %r17, %r18; "
      "tcgen05.st.sync.aligned.32x32b.x4.b32 [%r19], {%r21, %r22, %r23, %r24}; add.u32 %r18, %r18, 4; setp.lt.u32 %p4, "
      "%r18, 512; @%p4 bra put;\n"
      "tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0; barrier.cluster.arrive.aligned; "
      "barrier.cluster.wait.aligned; tcgen05.fence::after_thread_sync;\n"
      "ld.param.u64 %rd6, [adesc]; ld.param.u64 %rd7, [bdesc]; ld.param.u32 %r30, [idesc]; ld.param.u32 %r31, [d]; "
      "ld.param.u32 %r32, [acc]; setp.ne.u32 %p5, %r32, 0;\n";
  if (single) {
    source.body += "or.b32 %r20, %r1, %r2; setp.ne.u32 %p6, %r20, 0; @%p6 bra multiplied;\n" + body +
                   "\nmultiplied: mov.u32 %r20, 0;\n";
    if (group == 1) source.body += "setp.ne.u32 %p6, %r1, 0; @%p6 bra done;\n";
    source.body +=
        "wait: mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r9], 0; @!%p7 bra wait; done: "
        "tcgen05.fence::after_thread_sync;\n";
  } else {
    source.body += body + "\n";
  }
  source.body +=
      "mov.u32 %r18, 0; get: add.u32 %r19, %r17, %r18; tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r21, %r22, %r23, %r24}, "
      "[%r19]; tcgen05.wait::ld.sync.aligned; cvt.u64.u32 %rd5, %r18; shl.b64 %rd5, %rd5, 2; add.s64 %rd5, %rd3, %rd5; "
      "st.global.v4.b32 [%rd5], {%r21, %r22, %r23, %r24}; add.u32 %r18, %r18, 4; setp.lt.u32 %p4, %r18, 512; @%p4 bra "
      "get;\n"
      "tcgen05.fence::before_thread_sync; bar.sync 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; "
      "@%p3 tcgen05.dealloc" +
      g + ".sync.aligned.b32 %r16, 512;";
  return source;
}

}  // namespace

Tmem random_tmem(int ctas, uint64_t seed) {
  Dice dice(seed);
  Tmem cells(static_cast<size_t>(ctas) * 128 * 512);
  for (uint32_t& each : cells) each = bits_of(dice.real(-3, 3));
  return cells;
}

static Result run(int group, const std::string& body, bool single, const Tmem& c, const Given& given) {
  Bench bench(given.options);
  const auto* from = bench.upload(given.shared);
  const auto* start = bench.upload(c);
  auto* out = bench.allocate<uint32_t>(c.size());
  const auto ctas = static_cast<uint32_t>(group);
  const LaunchConfig config{.grid = {ctas, 1, 1},
                            .block = {128, 1, 1},
                            .cluster = {ctas, 1, 1},
                            .dynamic_smem = given.shared.size() / static_cast<size_t>(group)};
  Result run;
  run.outcome =
      bench.launch(tensor_kernel(group, body, single, static_cast<uint32_t>(config.dynamic_smem)), config, from, start,
                   out, given.a, given.b, given.idesc, given.d, static_cast<uint32_t>(given.accumulate));
  run.tmem.assign(out, out + c.size());
  return run;
}
Result run_one(int group, const std::string& body, const Tmem& c, const Given& given) {
  return run(group, body, true, c, given);
}
Result run_all(const std::string& body, const Tmem& c, const Options& options) {
  return run(1, body, false, c, {.options = options});
}
std::string commit(int group) {
  return group == 1
             ? "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];"
             : "mov.u16 %h1, 3; "
               "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r9], %h1;";
}

void expect_tmem(const Tmem& got, const Tmem& expected, const Tmem& start, const std::string& what, float tolerance) {
  int wrong = 0;
  for (size_t i = 0; i < expected.size() && wrong < 3; ++i) {
    if (got[i] == expected[i] || std::abs(float_of(got[i]) - float_of(expected[i])) <= tolerance) continue;
    ++wrong;
    ADD_FAILURE() << what << " CTA " << i / 65536 << " lane " << i / 512 % 128 << " column " << i % 512 << std::hex
                  << ": " << got[i] << ", not " << expected[i] << " (was " << start[i] << ")";
  }
}

}  // namespace sim::test
