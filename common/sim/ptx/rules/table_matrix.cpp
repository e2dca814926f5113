// Products of warps and warpgroups, and how their fragments come and go: mma, wmma, wgmma, ldmatrix.
#include "ptx/rules/signature.h"

namespace sim::ptx {
namespace {

#define MMA ".sync.aligned"
#define INT8 ".{u8|s8}.{u8|s8}"
#define INT4 ".{u4|s4}.{u4|s4}"
#define FP8 ".{e4m3|e5m2}.{e4m3|e5m2}"
#define SMALL ".{e4m3|e5m2|e2m3|e3m2|e2m1}.{e4m3|e5m2|e2m3|e3m2|e2m1}"
#define LAYOUT ".{row|col}"
#define D2 "={2 u32}"
#define D4F "={4 f32}"
#define C4F "{4 f32}"
// Of wgmma with integers and bits, where not every multiple of eight will do.
#define INT_COLUMNS(k) ".{m64n8" k "|m64n16" k "|m64n24" k "|m64n(32..256/16)" k "}"

constexpr Row kRows[] = {
    // ---- mma: D, A, B, C
    {"mma", MMA ".m8n8k4" LAYOUT LAYOUT ".f16.f16.f16.f16", "={4 u32}, {2 u32}, {2 b32}, {4 u32}", "6.4 sm_70"},
    {"mma", MMA ".m8n8k4" LAYOUT LAYOUT ".f32.f16.f16.f16", "={8 f32}, {2 u32}, {2 b32}, {4 u32}", "6.4 sm_70"},
    {"mma", MMA ".m8n8k4" LAYOUT LAYOUT ".f32.f16.f16.f32", "={8 f32}, {2 u32}, {2 b32}, {8 f32}", "6.4 sm_70"},
    {"mma", MMA ".m16n8k8.row.col.f16.f16.f16.f16", D2 ", {2 u32}, {1 b32}, {2 u32}", "6.5 sm_75"},
    {"mma", MMA ".m16n8k8.row.col.f32.f16.f16.f32", D4F ", {2 u32}, {1 b32}, " C4F, "6.5 sm_75"},
    {"mma", MMA ".m16n8k16.row.col.f16.f16.f16.f16", D2 ", {4 u32}, {2 b32}, {2 u32}", "7.0 sm_80"},
    {"mma", MMA ".m16n8k16.row.col.f32.f16.f16.f32", D4F ", {4 u32}, {2 b32}, " C4F, "7.0 sm_80"},
    {"mma", MMA ".m16n8k8.row.col.f32.bf16.bf16.f32", D4F ", {2 u32}, {1 b32}, " C4F, "7.0 sm_80"},
    {"mma", MMA ".m16n8k16.row.col.f32.bf16.bf16.f32", D4F ", {4 u32}, {2 b32}, " C4F, "7.0 sm_80"},
    {"mma", MMA ".m16n8k4.row.col.f32.tf32.tf32.f32", D4F ", {2 u32}, {1 b32}, " C4F, "7.0 sm_80"},
    {"mma", MMA ".m16n8k8.row.col.f32.tf32.tf32.f32", D4F ", {4 u32}, {2 b32}, " C4F, "7.0 sm_80"},
    {"mma", MMA ".m8n8k4.row.col[.{$round}].f64.f64.f64.f64", "={2 f64}, {1 f64}, {1 f64}, {2 f64}", "7.0 sm_80"},
    {"mma", MMA ".m16n8k4.row.col[.{$round}].f64.f64.f64.f64", "={4 f64}, {2 f64}, {1 f64}, {4 f64}", "7.8 sm_90"},
    {"mma", MMA ".m16n8k8.row.col[.{$round}].f64.f64.f64.f64", "={4 f64}, {4 f64}, {2 f64}, {4 f64}", "7.8 sm_90"},
    {"mma", MMA ".m16n8k16.row.col[.{$round}].f64.f64.f64.f64", "={4 f64}, {8 f64}, {4 f64}, {4 f64}", "7.8 sm_90"},
    {"mma", MMA ".m8n8k16.row.col[.satfinite].s32" INT8 ".s32", "={2 s32}, {1 i32}, {1 b32}, {2 s32}", "6.5 sm_75"},
    {"mma", MMA ".m16n8k16.row.col[.satfinite].s32" INT8 ".s32", "={4 s32}, {2 b32}, {1 b32}, {4 s32}", "7.0 sm_80"},
    {"mma", MMA ".m16n8k32.row.col[.satfinite].s32" INT8 ".s32", "={4 s32}, {4 b32}, {2 b32}, {4 s32}", "7.0 sm_80"},
    {"mma", MMA ".m8n8k32.row.col[.satfinite].s32" INT4 ".s32", "={2 s32}, {1 b32}, {1 b32}, {2 s32}", "6.5 sm_75"},
    {"mma", MMA ".m16n8k32.row.col[.satfinite].s32" INT4 ".s32", "={4 s32}, {2 b32}, {1 b32}, {4 s32}", "7.0 sm_80"},
    {"mma", MMA ".m16n8k64.row.col[.satfinite].s32" INT4 ".s32", "={4 s32}, {4 b32}, {2 b32}, {4 s32}", "7.0 sm_80"},
    {"mma", MMA ".m8n8k128.row.col.s32.b1.b1.s32.{xor|and}.popc", "={2 s32}, {1 b32}, {1 b32}, {2 s32}", "7.0 sm_75"},
    {"mma", MMA ".m16n8k128.row.col.s32.b1.b1.s32.{xor|and}.popc", "={4 s32}, {2 b32}, {1 b32}, {4 s32}", "7.0 sm_80"},
    {"mma", MMA ".m16n8k256.row.col.s32.b1.b1.s32.{xor|and}.popc", "={4 s32}, {4 b32}, {2 b32}, {4 s32}", "7.0 sm_80"},
    {"mma", MMA ".m16n8k16.row.col.f32" FP8 ".f32", D4F ", {2 b32}, {1 b32}, " C4F, "8.7 sm_89"},
    {"mma", MMA ".m16n8k16.row.col.f16" FP8 ".f16", D2 ", {2 b32}, {1 b32}, {2 b32}", "8.7 sm_89"},
    {"mma", MMA ".m16n8k32.row.col.f32" FP8 ".f32", D4F ", {4 b32}, {2 b32}, " C4F, "8.4 sm_89"},
    {"mma", MMA ".m16n8k32.row.col.f16" FP8 ".f16", D2 ", {4 b32}, {2 b32}, {2 b32}", "8.7 sm_89"},
    {"mma", MMA ".m16n8k16.row.col.kind::f8f6f4.f32" FP8 ".f32", D4F ", {2 b32}, {1 b32}, " C4F, "8.7 sm_100"},
    {"mma", MMA ".m16n8k16.row.col.kind::f8f6f4.f16" FP8 ".f16", D2 ", {2 b32}, {1 b32}, {2 b32}", "8.7 sm_100"},
    {"mma", MMA ".m16n8k32.row.col.kind::f8f6f4.f32" FP8 ".f32", D4F ", {4 b32}, {2 b32}, " C4F, "8.7 sm_100"},
    {"mma", MMA ".m16n8k32.row.col.kind::f8f6f4.f16" FP8 ".f16", D2 ", {4 b32}, {2 b32}, {2 b32}", "8.7 sm_100"},
    {"mma", MMA ".m16n8k16.row.col.kind::f8f6f4.f32" SMALL ".f32", D4F ", {2 b32}, {1 b32}, " C4F, "8.7 sm_120f"},
    {"mma", MMA ".m16n8k16.row.col.kind::f8f6f4.f16" SMALL ".f16", D2 ", {2 b32}, {1 b32}, {2 b32}", "8.7 sm_120f"},
    {"mma", MMA ".m16n8k32.row.col.kind::f8f6f4.f32" SMALL ".f32", D4F ", {4 b32}, {2 b32}, " C4F, "8.7 sm_120f"},
    {"mma", MMA ".m16n8k32.row.col.kind::f8f6f4.f16" SMALL ".f16", D2 ", {4 b32}, {2 b32}, {2 b32}", "8.7 sm_120f"},

// ---- mma.sp: D, A, B, C, metadata, selector
#define SPARSE(opcode)                                                                                               \
  {opcode, MMA ".m16n8k16.row.col.f16.f16.f16.f16", D2 ", {2 b32}, {2 b32}, {2 u32}, %b32, #b32:0..3", "7.1 sm_80"}, \
      {opcode, MMA ".m16n8k16.row.col.f32.{f16|bf16}.=.f32", D4F ", {2 b32}, {2 b32}, " C4F ", %b32, #b32:0..3",     \
       "7.1 sm_80"},                                                                                                 \
      {opcode, MMA ".m16n8k32.row.col.f16.f16.f16.f16", D2 ", {4 b32}, {4 b32}, {2 u32}, %b32, #b32:0..1",           \
       "7.1 sm_80"},                                                                                                 \
      {opcode, MMA ".m16n8k32.row.col.f32.f16.f16.f32", D4F ", {4 b32}, {4 b32}, " C4F ", %b32, #b32:0..1",          \
       "7.1 sm_80"},                                                                                                 \
      {opcode, MMA ".m16n8k32.row.col.f32.bf16.bf16.f32", D4F ", {4 b32}, {4 b32}, " C4F ", %b32, #b32:0..1",        \
       "7.1 sm_80"},                                                                                                 \
      {opcode, MMA ".m16n8k8.row.col.f32.tf32.tf32.f32", D4F ", {2 b32}, {2 b32}, " C4F ", %b32, #b32:0..3",         \
       "7.1 sm_80"},                                                                                                 \
      {opcode, MMA ".m16n8k16.row.col.f32.tf32.tf32.f32", D4F ", {4 b32}, {4 b32}, " C4F ", %b32, #b32:0..1",        \
       "7.1 sm_80"},                                                                                                 \
      {opcode, MMA ".m16n8k32.row.col[.satfinite].s32" INT8 ".s32",                                                  \
       "={4 s32}, {2 b32}, {2 b32}, {4 s32}, %b32, #b32:0..1", "7.1 sm_80"},                                         \
      {opcode, MMA ".m16n8k64.row.col[.satfinite].s32" INT8 ".s32",                                                  \
       "={4 s32}, {4 b32}, {4 b32}, {4 s32}, %b32, #b32:0", "7.1 sm_80"},                                            \
      {opcode, MMA ".m16n8k64.row.col[.satfinite].s32" INT4 ".s32",                                                  \
       "={4 s32}, {2 b32}, {2 b32}, {4 s32}, %b32, #b32:0..1", "7.1 sm_80"},                                         \
      {opcode, MMA ".m16n8k128.row.col[.satfinite].s32" INT4 ".s32",                                                 \
       "={4 s32}, {4 b32}, {4 b32}, {4 s32}, %b32, #b32:0", "7.1 sm_80"},                                            \
  {                                                                                                                  \
    opcode, MMA ".m16n8k64.row.col.f32" FP8 ".f32", D4F ", {4 b32}, {4 b32}, " C4F ", %b32, #b32:0", "8.4 sm_89"     \
  }
    SPARSE("mma.sp"),
    SPARSE("mma.sp::ordered_metadata"),
    {"mma.sp::ordered_metadata", MMA ".m16n8k64.row.col.kind::f8f6f4.f32" FP8 ".f32",
     D4F ", {4 b32}, {4 b32}, " C4F ", %b32, #b32:0", "8.7 sm_100"},

    // ---- wmma. A pitch may follow the address.
    {"wmma.load.a", MMA LAYOUT ".{m16n16k16|m32n8k16|m8n32k16}[.{global|$own_shared}].f16", "={8 b32}, [any], ?i32",
     "6.0 sm_70"},
    {"wmma.load.a", MMA LAYOUT ".m16n16k16[.{global|$own_shared}].bf16", "={4 b32}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.a", MMA LAYOUT ".m32n8k16[.{global|$own_shared}].bf16", "={8 b32}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.a", MMA LAYOUT ".m8n32k16[.{global|$own_shared}].bf16", "={2 b32}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.a", MMA LAYOUT ".m16n16k16[.{global|$own_shared}].{u8|s8}", "={2 b32}, [any], ?i32", "6.3 sm_72"},
    {"wmma.load.a", MMA LAYOUT ".m32n8k16[.{global|$own_shared}].{u8|s8}", "={4 b32}, [any], ?i32", "6.3 sm_72"},
    {"wmma.load.a", MMA LAYOUT ".m8n32k16[.{global|$own_shared}].{u8|s8}", "={1 b32}, [any], ?i32", "6.3 sm_72"},
    {"wmma.load.b", MMA LAYOUT ".{m16n16k16|m32n8k16|m8n32k16}[.{global|$own_shared}].f16", "={8 b32}, [any], ?i32",
     "6.0 sm_70"},
    {"wmma.load.b", MMA LAYOUT ".m16n16k16[.{global|$own_shared}].bf16", "={4 b32}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.b", MMA LAYOUT ".m32n8k16[.{global|$own_shared}].bf16", "={2 b32}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.b", MMA LAYOUT ".m8n32k16[.{global|$own_shared}].bf16", "={8 b32}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.b", MMA LAYOUT ".m16n16k16[.{global|$own_shared}].{u8|s8}", "={2 b32}, [any], ?i32", "6.3 sm_72"},
    {"wmma.load.b", MMA LAYOUT ".m32n8k16[.{global|$own_shared}].{u8|s8}", "={1 b32}, [any], ?i32", "6.3 sm_72"},
    {"wmma.load.b", MMA LAYOUT ".m8n32k16[.{global|$own_shared}].{u8|s8}", "={4 b32}, [any], ?i32", "6.3 sm_72"},
    {"wmma.load.a", MMA LAYOUT ".m16n16k8[.{global|$own_shared}].tf32", "={4 b32}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.b", MMA LAYOUT ".m16n16k8[.{global|$own_shared}].tf32", "={4 b32}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.a", MMA LAYOUT ".m8n8k4[.{global|$own_shared}].f64", "={1 f64}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.b", MMA LAYOUT ".m8n8k4[.{global|$own_shared}].f64", "={1 f64}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.a", MMA ".row.m8n8k32[.{global|$own_shared}].{u4|s4}", "={1 b32}, [any], ?i32", "6.3 sm_75"},
    {"wmma.load.b", MMA ".col.m8n8k32[.{global|$own_shared}].{u4|s4}", "={1 b32}, [any], ?i32", "6.3 sm_75"},
    {"wmma.load.a", MMA ".row.m8n8k128[.{global|$own_shared}].b1", "={1 b32}, [any], ?i32", "6.3 sm_75"},
    {"wmma.load.b", MMA ".col.m8n8k128[.{global|$own_shared}].b1", "={1 b32}, [any], ?i32", "6.3 sm_75"},
#define WMMA_LARGE ".{m16n16k16|m32n8k16|m8n32k16}[.{global|$own_shared}]"
#define WMMA_TF32 ".m16n16k8[.{global|$own_shared}]"
#define WMMA_SMALL ".{m8n8k32|m8n8k128}[.{global|$own_shared}]"
    {"wmma.load.c", MMA LAYOUT WMMA_LARGE ".f16", "={4 b32}, [any], ?i32", "6.0 sm_70"},
    {"wmma.load.c", MMA LAYOUT WMMA_LARGE ".{f32|s32}", "={8 1}, [any], ?i32", "6.0 sm_70"},
    {"wmma.load.c", MMA LAYOUT WMMA_TF32 ".f32", "={8 f32}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.c", MMA LAYOUT ".m8n8k4[.{global|$own_shared}].f64", "={2 f64}, [any], ?i32", "7.0 sm_80"},
    {"wmma.load.c", MMA LAYOUT WMMA_SMALL ".s32", "={2 s32}, [any], ?i32", "6.3 sm_75"},
    {"wmma.store.d", MMA LAYOUT WMMA_LARGE ".f16", "[any], {4 %b32}, ?i32", "6.0 sm_70"},
    {"wmma.store.d", MMA LAYOUT WMMA_LARGE ".{f32|s32}", "[any], {8 %1}, ?i32", "6.0 sm_70"},
    {"wmma.store.d", MMA LAYOUT WMMA_TF32 ".f32", "[any], {8 %f32}, ?i32", "7.0 sm_80"},
    {"wmma.store.d", MMA LAYOUT ".m8n8k4[.{global|$own_shared}].f64", "[any], {2 %f64}, ?i32", "7.0 sm_80"},
    {"wmma.store.d", MMA LAYOUT WMMA_SMALL ".s32", "[any], {2 %s32}, ?i32", "6.3 sm_75"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".{m16n16k16|m32n8k16|m8n32k16}.f16.f16", "={4 u32}, {8 u32}, {8 u32}, {4 u32}",
     "6.0 sm_70"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".{m16n16k16|m32n8k16|m8n32k16}.f16.f32", "={4 u32}, {8 u32}, {8 u32}, {8 f32}",
     "6.0 sm_70"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".{m16n16k16|m32n8k16|m8n32k16}.f32.f16", "={8 f32}, {8 u32}, {8 u32}, {4 u32}",
     "6.0 sm_70"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".{m16n16k16|m32n8k16|m8n32k16}.f32.f32", "={8 f32}, {8 u32}, {8 u32}, {8 f32}",
     "6.0 sm_70"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".m16n16k16.f32.bf16.bf16.f32", "={8 f32}, {4 u32}, {4 u32}, {8 f32}", "7.0 sm_80"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".m32n8k16.f32.bf16.bf16.f32", "={8 f32}, {8 u32}, {2 u32}, {8 f32}", "7.0 sm_80"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".m8n32k16.f32.bf16.bf16.f32", "={8 f32}, {2 u32}, {8 u32}, {8 f32}", "7.0 sm_80"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".m16n16k8.f32.tf32.tf32.f32", "={8 f32}, {4 u32}, {4 u32}, {8 f32}", "7.0 sm_80"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".m8n8k4[.{$round}].f64.f64.f64.f64", "={2 f64}, {1 f64}, {1 f64}, {2 f64}",
     "7.0 sm_80"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".m16n16k16.s32.u8.u8.s32[.satfinite]", "={8 s32}, {2 b32}, {2 b32}, {8 s32}",
     "6.3 sm_72"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".m16n16k16.s32.s8.s8.s32[.satfinite]", "={8 s32}, {2 b32}, {2 b32}, {8 s32}",
     "6.3 sm_72"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".m32n8k16.s32.u8.u8.s32[.satfinite]", "={8 s32}, {4 b32}, {1 b32}, {8 s32}",
     "6.3 sm_72"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".m32n8k16.s32.s8.s8.s32[.satfinite]", "={8 s32}, {4 b32}, {1 b32}, {8 s32}",
     "6.3 sm_72"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".m8n32k16.s32.u8.u8.s32[.satfinite]", "={8 s32}, {1 b32}, {4 b32}, {8 s32}",
     "6.3 sm_72"},
    {"wmma.mma", MMA LAYOUT LAYOUT ".m8n32k16.s32.s8.s8.s32[.satfinite]", "={8 s32}, {1 b32}, {4 b32}, {8 s32}",
     "6.3 sm_72"},
    {"wmma.mma", MMA ".row.col.m8n8k32.s32.u4.u4.s32[.satfinite]", "={2 s32}, {1 b32}, {1 b32}, {2 s32}", "6.3 sm_75"},
    {"wmma.mma", MMA ".row.col.m8n8k32.s32.s4.s4.s32[.satfinite]", "={2 s32}, {1 b32}, {1 b32}, {2 s32}", "6.3 sm_75"},
    {"wmma.mma", ".{xor|and}.popc" MMA ".row.col.m8n8k128.s32.b1.b1.s32", "={2 s32}, {1 b32}, {1 b32}, {2 s32}",
     "6.3 sm_75"},

    // ---- wgmma: D, then A as a descriptor or in registers, B, and how they are taken
    {"wgmma.mma_async", MMA ".m64n(8..256/8)k16.f32.{f16|bf16}.=",
     "{n/2 %f32}<D>, u64<A>, u64<B>, !pred:0..1<scale-d>, #b32:{-1|1}<imm-scale-a>, #b32:{-1|1}<imm-scale-b>, "
     "#b32:0..1<imm-trans-a>, #b32:0..1<imm-trans-b>",
     "8.0 sm_90a"},
    {"wgmma.mma_async", MMA ".m64n(8..256/8)k16.f32.{f16|bf16}.=",
     "{n/2 %f32}<D>, {4 b32}<A>, u64<B>, !pred:0..1<scale-d>, #b32:{-1|1}<imm-scale-a>, #b32:{-1|1}<imm-scale-b>, "
     "#b32:0..1<imm-trans-b>",
     "8.0 sm_90a"},
    {"wgmma.mma_async", MMA ".m64n(8..256/8)k16.f16.f16.f16",
     "{n/4 %f16x2}<D>, u64<A>, u64<B>, !pred:0..1<scale-d>, #b32:{-1|1}<imm-scale-a>, #b32:{-1|1}<imm-scale-b>, "
     "#b32:0..1<imm-trans-a>, #b32:0..1<imm-trans-b>",
     "8.0 sm_90a"},
    {"wgmma.mma_async", MMA ".m64n(8..256/8)k16.f16.f16.f16",
     "{n/4 %f16x2}<D>, {4 b32}<A>, u64<B>, !pred:0..1<scale-d>, #b32:{-1|1}<imm-scale-a>, #b32:{-1|1}<imm-scale-b>, "
     "#b32:0..1<imm-trans-b>",
     "8.0 sm_90a"},
    {"wgmma.mma_async", MMA ".m64n(8..256/8)k8.f32.tf32.tf32",
     "{n/2 %f32}<D>, u64 or {4 b32}<A>, u64<B>, !pred:0..1<scale-d>, #b32:{-1|1}<imm-scale-a>, "
     "#b32:{-1|1}<imm-scale-b>",
     "8.0 sm_90a"},
    {"wgmma.mma_async", MMA ".m64n(8..256/8)k32.f32" FP8,
     "{n/2 %f32}<D>, u64 or {4 b32}<A>, u64<B>, !pred:0..1<scale-d>, #b32:{-1|1}<imm-scale-a>, "
     "#b32:{-1|1}<imm-scale-b>",
     "8.0 sm_90a"},
    {"wgmma.mma_async", MMA ".m64n(8..256/8)k32.f16" FP8,
     "{n/4 %f16x2}<D>, u64 or {4 b32}<A>, u64<B>, !pred:0..1<scale-d>, #b32:{-1|1}<imm-scale-a>, "
     "#b32:{-1|1}<imm-scale-b>",
     "8.0 sm_90a"},
    {"wgmma.mma_async", MMA INT_COLUMNS("k32") "[.satfinite].s32" INT8,
     "{n/2 %s32}<D>, u64 or {4 b32}<A>, u64<B>, !pred:0..1<scale-d>", "8.0 sm_90a"},
    {"wgmma.mma_async", MMA INT_COLUMNS("k256") ".s32.b1.b1.and.popc",
     "{n/2 %s32}<D>, u64 or {4 b32}<A>, u64<B>, !pred:0..1<scale-d>", "8.0 sm_90a"},
    {"wgmma.mma_async", ".sp" MMA ".m64n(8..256/8)k32.f32.{f16|bf16}.=",
     "{n/2 %f32}<D>, u64<A>, u64<B>, %b32<metadata>, #b32:0..1<selector>, !pred:0..1<scale-d>, "
     "#b32:{-1|1}<imm-scale-a>, "
     "#b32:{-1|1}<imm-scale-b>, #b32:0..1<imm-trans-a>, #b32:0..1<imm-trans-b>",
     "8.2 sm_90a"},
    {"wgmma.mma_async", ".sp" MMA ".m64n(8..256/8)k32.f32.{f16|bf16}.=",
     "{n/2 %f32}<D>, {4 b32}<A>, u64<B>, %b32<metadata>, #b32:0..1<selector>, !pred:0..1<scale-d>, "
     "#b32:{-1|1}<imm-scale-a>, "
     "#b32:{-1|1}<imm-scale-b>, #b32:0..1<imm-trans-b>",
     "8.2 sm_90a"},
    {"wgmma.mma_async", ".sp" MMA ".m64n(8..256/8)k32.f16.f16.f16",
     "{n/4 %f16x2}<D>, u64<A>, u64<B>, %b32<metadata>, #b32:0..1<selector>, !pred:0..1<scale-d>, "
     "#b32:{-1|1}<imm-scale-a>, "
     "#b32:{-1|1}<imm-scale-b>, #b32:0..1<imm-trans-a>, #b32:0..1<imm-trans-b>",
     "8.2 sm_90a"},
    {"wgmma.mma_async", ".sp" MMA ".m64n(8..256/8)k32.f16.f16.f16",
     "{n/4 %f16x2}<D>, {4 b32}<A>, u64<B>, %b32<metadata>, #b32:0..1<selector>, !pred:0..1<scale-d>, "
     "#b32:{-1|1}<imm-scale-a>, #b32:{-1|1}<imm-scale-b>, #b32:0..1<imm-trans-b>",
     "8.2 sm_90a"},
    {"wgmma.mma_async", ".sp" MMA ".m64n(8..256/8)k16.f32.tf32.tf32",
     "{n/2 %f32}<D>, u64 or {4 b32}<A>, u64<B>, %b32<metadata>, #b32:0..1<selector>, !pred:0..1<scale-d>, "
     "#b32:{-1|1}<imm-scale-a>, #b32:{-1|1}<imm-scale-b>",
     "8.2 sm_90a"},
    {"wgmma.mma_async", ".sp" MMA ".m64n(8..256/8)k64.f32" FP8,
     "{n/2 %f32}<D>, u64 or {4 b32}<A>, u64<B>, %b32<metadata>, #b32:0<selector>, !pred:0..1<scale-d>, "
     "#b32:{-1|1}<imm-scale-a>, #b32:{-1|1}<imm-scale-b>",
     "8.2 sm_90a"},
    {"wgmma.mma_async", ".sp" MMA ".m64n(8..256/8)k64.f16" FP8,
     "{n/4 %f16x2}<D>, u64 or {4 b32}<A>, u64<B>, %b32<metadata>, #b32:0<selector>, !pred:0..1<scale-d>, "
     "#b32:{-1|1}<imm-scale-a>, #b32:{-1|1}<imm-scale-b>",
     "8.2 sm_90a"},
    {"wgmma.mma_async", ".sp" MMA INT_COLUMNS("k64") "[.satfinite].s32" INT8,
     "{n/2 %s32}<D>, u64 or {4 b32}<A>, u64<B>, %b32<metadata>, #b32:0<selector>, !pred:0..1<scale-d>", "8.2 sm_90a"},
    {"wgmma.fence", ".sync[.aligned]", "", "8.0 sm_90a"},
    {"wgmma.commit_group", ".sync[.aligned]", "", "8.0 sm_90a"},
    {"wgmma.wait_group", ".sync[.aligned]", "#b32:0..2147483647", "8.0 sm_90a"},

    // ---- 8 x 8 matrices between shared memory and fragments
    {"ldmatrix", MMA ".m8n8.{x1|x2|x4}[.trans][.{$own_shared}].b16", "={x b32}, [any]", "6.5 sm_75"},
    {"ldmatrix", MMA ".m16n16.{x1|x2}.trans[.{$own_shared}].b8", "={2x b32}, [any]", "8.6 sm_100f,sm_120f"},
    {"ldmatrix", MMA ".m16n16.{x1|x2}.trans[.{$own_shared}].b8x16.{b6x16_p32|b4x16_p64}", "={2x b32}, [any]",
     "8.6 sm_100f,sm_120f"},
    {"ldmatrix", MMA ".m8n16.{x1|x2|x4}[.{$own_shared}].b8x16.{b6x16_p32|b4x16_p64}", "={x b32}, [any]",
     "8.6 sm_100f,sm_120f"},
    {"stmatrix", MMA ".m8n8.{x1|x2|x4}[.trans][.{$own_shared}].b16", "[any], {x b32}", "7.8 sm_90"},
    {"stmatrix", MMA ".m16n8.{x1|x2|x4}.trans[.{$own_shared}].b8", "[any], {x b32}", "8.6 sm_100f,sm_120f"},
    {"movmatrix", MMA ".m8n8.trans.b16", "=b32, b32", "7.8 sm_75"},
};

}  // namespace

std::span<const Row> matrix_rows() { return kRows; }

}  // namespace sim::ptx
