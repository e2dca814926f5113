// Tensor memory and the fifth generation of tensor cores.
#include "ptx/rules/signature.h"

namespace sim::ptx {
namespace {

constexpr char kFamily[] = "8.6 sm_100f,sm_110f";
#define GROUP ".{cta_group::1|cta_group::2}"
#define KINDS ".{kind::f16|kind::tf32|kind::f8f6f4|kind::i8}"
#define SCALED_KINDS ".{kind::f16|kind::tf32|kind::i8}"
#define COLLECTOR ".{collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard}"
#define ASHIFT_COLLECTOR ".{collector::a::lastuse|collector::a::discard}"
#define D_A_B "[tmem]<D>, u64 or [tmem]<A>, u64<B>"
#define D_TMEM_B "[tmem]<D>, [tmem]<A>, u64<B>"
#define MASK "{4 b32}<lanes to leave out>@cta_group::1, {8 b32}<lanes to leave out>@cta_group::2"
#define MX8 ".kind::mxf8f6f4.block_scale[.{scale_vec::1X|block32}]"
#define MX4 ".kind::mxf4.block_scale[.{scale_vec::2X|block32}]"
#define NVF4 ".kind::mxf4nvf4.block_scale.{scale_vec::2X|scale_vec::4X|block16|block32}"
#define WS_COLLECTOR                                                                                             \
  ".{collector::b0::fill|collector::b0::use|collector::b0::lastuse|collector::b0::discard|collector::b1::fill|"  \
  "collector::b1::use|collector::b1::lastuse|collector::b1::discard|collector::b2::fill|collector::b2::use|"     \
  "collector::b2::lastuse|collector::b2::discard|collector::b3::fill|collector::b3::use|collector::b3::lastuse|" \
  "collector::b3::discard}"

constexpr Row kRows[] = {
    // ---- allocation
    {"tcgen05.alloc", GROUP ".sync.aligned[.shared::cta].b32", "[any]<where its address goes>, u32:32..512^2<columns>",
     kFamily},
    {"tcgen05.dealloc", GROUP ".sync.aligned.b32", "i32<address>, u32:32..512^2<columns>", kFamily},
    {"tcgen05.relinquish_alloc_permit", GROUP ".sync.aligned", "", kFamily},

    // ---- loads and stores
    {"tcgen05.ld", ".sync[.aligned].{32x32b|16x64b}.{x1|x2|x4|x8|x16|x32|x64|x128}[.pack::16b].b32",
     "={x %b32}, [tmem]", kFamily},
    {"tcgen05.ld", ".sync[.aligned].16x128b.{x1|x2|x4|x8|x16|x32|x64}[.pack::16b].b32", "={2x %b32}, [tmem]", kFamily},
    {"tcgen05.ld", ".sync[.aligned].16x256b.{x1|x2|x4|x8|x16|x32}[.pack::16b].b32", "={4x %b32}, [tmem]", kFamily},
    {"tcgen05.ld", ".sync[.aligned].16x32bx2.{x1|x2|x4|x8|x16|x32|x64|x128}[.pack::16b].b32", "={x %b32}, [tmem], #b32",
     kFamily},
    {"tcgen05.ld.red", ".sync[.aligned].32x32b.{x2|x4|x8|x16|x32|x64|x128}.{min|max}.{u32|s32}", "={x %1}, =1, [tmem]",
     "8.8 sm_101a,sm_103f,sm_110f"},
    {"tcgen05.ld.red", ".sync[.aligned].32x32b.{x2|x4|x8|x16|x32|x64|x128}.{min|max}[.abs][.NaN].f32",
     "={x %1}, =1, [tmem]", "8.8 sm_101a,sm_103f,sm_110f"},
    {"tcgen05.ld.red", ".sync[.aligned].16x32bx2.{x2|x4|x8|x16|x32|x64|x128}.{min|max}.{u32|s32}",
     "={x %1}, =1, [tmem], #b32", "8.8 sm_101a,sm_103f,sm_110f"},
    {"tcgen05.ld.red", ".sync[.aligned].16x32bx2.{x2|x4|x8|x16|x32|x64|x128}.{min|max}[.abs][.NaN].f32",
     "={x %1}, =1, [tmem], #b32", "8.8 sm_101a,sm_103f,sm_110f"},
    {"tcgen05.st", ".sync[.aligned].{32x32b|16x64b}.{x1|x2|x4|x8|x16|x32|x64|x128}[.unpack::16b].b32",
     "[tmem], {x b32}", kFamily},
    {"tcgen05.st", ".sync[.aligned].16x128b.{x1|x2|x4|x8|x16|x32|x64}[.unpack::16b].b32", "[tmem], {2x b32}", kFamily},
    {"tcgen05.st", ".sync[.aligned].16x256b.{x1|x2|x4|x8|x16|x32}[.unpack::16b].b32", "[tmem], {4x b32}", kFamily},
    {"tcgen05.st", ".sync[.aligned].16x32bx2.{x1|x2|x4|x8|x16|x32|x64|x128}[.unpack::16b].b32", "[tmem], #b32, {x b32}",
     kFamily},
    {"tcgen05.wait::ld", ".sync.aligned", "", kFamily},
    {"tcgen05.wait::st", ".sync.aligned", "", kFamily},

    // ---- copies
    {"tcgen05.cp", GROUP ".{128x256b|4x256b|128x128b}[.b8x16.{b6x16_p32|b4x16_p64}]", "[tmem], i64", kFamily},
    {"tcgen05.cp", GROUP ".64x128b.{warpx2::02_13|warpx2::01_23}[.b8x16.{b6x16_p32|b4x16_p64}]", "[tmem], i64",
     kFamily},
    {"tcgen05.cp", GROUP ".32x128b.warpx4[.b8x16.{b6x16_p32|b4x16_p64}]", "[tmem], i64", kFamily},
    {"tcgen05.shift", GROUP ".down", "[tmem]", "8.6 sm_100a,sm_101a,sm_103a,sm_110a"},

    // ---- products: without and with a mask of lanes, and with a factor for D
    {"tcgen05.mma", GROUP KINDS "[" COLLECTOR "]", D_A_B ", i32<instruction descriptor>, !pred<enable-input-d>",
     kFamily},
    {"tcgen05.mma", GROUP KINDS "[" COLLECTOR "]",
     D_A_B ", i32<instruction descriptor>, " MASK ", !pred<enable-input-d>", kFamily},
    {"tcgen05.mma", GROUP SCALED_KINDS "[" COLLECTOR "]",
     D_A_B ", i32<instruction descriptor>, !pred<enable-input-d>, #b32:0..15<scale-input-d>", kFamily},
    {"tcgen05.mma", GROUP SCALED_KINDS "[" COLLECTOR "]",
     D_A_B ", i32<instruction descriptor>, " MASK ", !pred<enable-input-d>, #b32:0..15<scale-input-d>", kFamily},
    {"tcgen05.mma", GROUP KINDS ".ashift[" ASHIFT_COLLECTOR "]",
     D_TMEM_B ", i32<instruction descriptor>, !pred<enable-input-d>", kFamily},
    {"tcgen05.mma", GROUP KINDS ".ashift[" ASHIFT_COLLECTOR "]",
     D_TMEM_B ", i32<instruction descriptor>, " MASK ", !pred<enable-input-d>", kFamily},
    {"tcgen05.mma", GROUP SCALED_KINDS ".ashift[" ASHIFT_COLLECTOR "]",
     D_TMEM_B ", i32<instruction descriptor>, !pred<enable-input-d>, #b32:0..15<scale-input-d>", kFamily},
    {"tcgen05.mma", GROUP SCALED_KINDS ".ashift[" ASHIFT_COLLECTOR "]",
     D_TMEM_B ", i32<instruction descriptor>, " MASK ", !pred<enable-input-d>, #b32:0..15<scale-input-d>", kFamily},
    {"tcgen05.mma", ".sp" GROUP KINDS "[" COLLECTOR "]",
     D_A_B ", [tmem]<metadata>, i32<instruction descriptor>, !pred<enable-input-d>", kFamily},
    {"tcgen05.mma", ".sp" GROUP KINDS "[" COLLECTOR "]",
     D_A_B ", [tmem]<metadata>, i32<instruction descriptor>, " MASK ", !pred<enable-input-d>", kFamily},
    {"tcgen05.mma", ".sp" GROUP SCALED_KINDS "[" COLLECTOR "]",
     D_A_B ", [tmem]<metadata>, i32<instruction descriptor>, !pred<enable-input-d>, #b32:0..15<scale-input-d>",
     kFamily},
    {"tcgen05.mma", ".sp" GROUP SCALED_KINDS "[" COLLECTOR "]",
     D_A_B ", [tmem]<metadata>, i32<instruction descriptor>, " MASK
           ", !pred<enable-input-d>, #b32:0..15<scale-input-d>",
     kFamily},
    {"tcgen05.mma", ".sp" GROUP KINDS ".ashift[" ASHIFT_COLLECTOR "]",
     D_TMEM_B ", [tmem]<metadata>, i32<instruction descriptor>, !pred<enable-input-d>", kFamily},
    {"tcgen05.mma", ".sp" GROUP KINDS ".ashift[" ASHIFT_COLLECTOR "]",
     D_TMEM_B ", [tmem]<metadata>, i32<instruction descriptor>, " MASK ", !pred<enable-input-d>", kFamily},
    {"tcgen05.mma", ".sp" GROUP SCALED_KINDS ".ashift[" ASHIFT_COLLECTOR "]",
     D_TMEM_B ", [tmem]<metadata>, i32<instruction descriptor>, !pred<enable-input-d>, #b32:0..15<scale-input-d>",
     kFamily},
    {"tcgen05.mma", ".sp" GROUP SCALED_KINDS ".ashift[" ASHIFT_COLLECTOR "]",
     D_TMEM_B ", [tmem]<metadata>, i32<instruction descriptor>, " MASK
              ", !pred<enable-input-d>, #b32:0..15<scale-input-d>",
     kFamily},
    // with factors for blocks of A and B, in tensor memory
    {"tcgen05.mma", GROUP MX8 "[" COLLECTOR "]",
     D_A_B ", i32<instruction descriptor>, [tmem]<factors of A>, [tmem]<factors of B>, !pred<enable-input-d>", kFamily},
    {"tcgen05.mma", GROUP MX4 "[" COLLECTOR "]",
     D_A_B ", i32<instruction descriptor>, [tmem]<factors of A>, [tmem]<factors of B>, !pred<enable-input-d>", kFamily},
    {"tcgen05.mma", GROUP NVF4 "[" COLLECTOR "]",
     D_A_B ", i32<instruction descriptor>, [tmem]<factors of A>, [tmem]<factors of B>, !pred<enable-input-d>", kFamily},
    {"tcgen05.mma", ".sp" GROUP MX8 "[" COLLECTOR "]",
     D_A_B ", [tmem]<metadata>, i32<instruction descriptor>, [tmem]<factors of A>, [tmem]<factors of B>, "
           "!pred<enable-input-d>",
     kFamily},
    {"tcgen05.mma", ".sp" GROUP MX4 "[" COLLECTOR "]",
     D_A_B ", [tmem]<metadata>, i32<instruction descriptor>, [tmem]<factors of A>, [tmem]<factors of B>, "
           "!pred<enable-input-d>",
     kFamily},
    {"tcgen05.mma", ".sp" GROUP NVF4 "[" COLLECTOR "]",
     D_A_B ", [tmem]<metadata>, i32<instruction descriptor>, [tmem]<factors of A>, [tmem]<factors of B>, "
           "!pred<enable-input-d>",
     kFamily},
    // with B at rest
    {"tcgen05.mma.ws", ".cta_group::1" KINDS "[" WS_COLLECTOR "]", D_A_B ", i32<instruction descriptor>, !pred, ?b64",
     kFamily},
    {"tcgen05.mma.ws", ".sp.cta_group::1" KINDS "[" WS_COLLECTOR "]",
     D_A_B ", [tmem]<metadata>, i32<instruction descriptor>, !pred, ?b64", kFamily},

    // ---- completion and order
    {"tcgen05.commit", GROUP ".mbarrier::arrive::one[.shared::cluster].b64", "[any]<mbarrier>", kFamily},
    {"tcgen05.commit", GROUP ".mbarrier::arrive::one[.shared::cluster].multicast::cluster.b64",
     "[any]<mbarrier>, %i16<mask of CTAs>", kFamily},
    {"tcgen05.fence::before_thread_sync", "", "", kFamily},
    {"tcgen05.fence::after_thread_sync", "", "", kFamily},
};

}  // namespace

std::span<const Row> tcgen05_rows() { return kRows; }

}  // namespace sim::ptx
