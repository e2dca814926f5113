// mov, cvt and what else moves values between registers of other types.
#include "ptx/rules/signature.h"

namespace sim::ptx {
namespace {

constexpr Row kRows[] = {
    {"mov", ".{$int|b16|b32|b64}", "=1, &1"},
    {"mov", ".{f32|f64|b128}", "=1, 1"},
    {"mov", ".pred", "=pred, &!pred"},
    {"mov", ".{v2|v4}.{$int|b16|b32|b64|f32|f64}", "=*1, *1"},
    {"mov", ".{b16|b32|b64|b128}", "=1, {pack}"},
    {"mov", ".{b16|b32|b64|b128}", "={pack}, 1"},

    // ---- between integers: nothing can be lost, or values saturate
    {"cvt", ".{u8|u16|u32|u64|s8|s16|s32|s64}.{u8|u16|u32|u64|s8|s16|s32|s64}", "=~1, ~2"},
    {"cvt", ".sat.u8.{u16|u32|u64|s8|s16|s32|s64}", "=~1, ~2"},
    {"cvt", ".sat.u16.{u32|u64|s8|s16|s32|s64}", "=~1, ~2"},
    {"cvt", ".sat.u32.{u64|s8|s16|s32|s64}", "=~1, ~2"},
    {"cvt", ".sat.u64.{s8|s16|s32|s64}", "=~1, ~2"},
    {"cvt", ".sat.s8.{u8|u16|u32|u64|s16|s32|s64}", "=~1, ~2"},
    {"cvt", ".sat.s16.{u16|u32|u64|s32|s64}", "=~1, ~2"},
    {"cvt", ".sat.s32.{u32|u64|s64}", "=~1, ~2"},
    {"cvt", ".sat.s64.u64", "=~1, ~2"},

    // ---- between integers and floating point
    {"cvt", ".{$rounding_integer}[.sat].{u8|u16|u32|u64|s8|s16|s32|s64}.{f16|f64}", "=~1, ~2"},
    {"cvt", ".{$rounding_integer}[.ftz][.sat].{u8|u16|u32|u64|s8|s16|s32|s64}.f32", "=~1, ~2"},
    {"cvt", ".{$rounding_integer}.{u16|u32|u64|s16|s32|s64}.bf16", "=1, 2", "7.8 sm_90"},
    {"cvt", ".{$round}[.sat].{f16|f64}.{u8|u16|u32|u64|s8|s16|s32|s64}", "=~1, ~2"},
    {"cvt", ".{$round}[.ftz][.sat].f32.{u8|u16|u32|u64|s8|s16|s32|s64}", "=~1, ~2"},
    {"cvt", ".{$round}.bf16.{u16|u32|u64|s16|s32|s64}", "=1, 2", "7.8 sm_90"},

    // ---- between formats of floating point
    {"cvt", "[.{$rounding_integer}][.sat].f16.f16", "=~1, ~2"},
    {"cvt", "[.{$rounding_integer}][.sat].f64.f64", "=~1, ~2"},
    {"cvt", "[.{$rounding_integer}][.ftz][.sat].f32.f32", "=~1, ~2"},
    {"cvt", "[.{$rounding_integer}].bf16.bf16", "=1, 2", "7.8 sm_90"},
    {"cvt", "[.sat].f64.f16", "=~1, ~2"},
    {"cvt", "[.ftz][.sat].f32.f16", "=~1, ~2"},
    {"cvt", "[.ftz][.sat].f64.f32", "=~1, ~2"},
    {"cvt", ".{$round}[.sat].f16.f64", "=~1, ~2"},
    {"cvt", ".{$round}[.ftz][.sat].f32.f64", "=~1, ~2"},
    {"cvt", ".{$round}[.ftz][.sat].f16.f32", "=~1, ~2"},
    {"cvt", ".{rn|rz}[.relu][.satfinite].f16.f32", "=~1, ~2", "7.0 sm_80"},
    {"cvt", ".{$round}[.ftz].bf16.f32", "=1, 2", "7.0 sm_80"},
    {"cvt", ".{rn|rz}[.relu][.satfinite].bf16.f32", "=1, 2", "7.0 sm_80"},
    {"cvt", ".{$round}.bf16.f64", "=1, 2", "7.8 sm_90"},
    {"cvt", "[.{$round}].f16.bf16", "=1, 2", "7.8 sm_90"},
    {"cvt", "[.{$round}].bf16.f16", "=1, 2", "7.8 sm_90"},
    {"cvt", "[.{$round}].f64.bf16", "=1, 2", "7.8 sm_90"},
    {"cvt", "[.{$round}][.ftz].f32.bf16", "=1, 2", "7.1 sm_80"},
    {"cvt", ".rna[.satfinite].tf32.f32", "=bits32, f32", "7.0 sm_80"},
    {"cvt", ".{rn|rz}[.relu].tf32.f32", "=bits32, f32", "7.8 sm_90"},
    {"cvt", ".{rn|rz}[.relu].satfinite.tf32.f32", "=bits32, f32", "8.6 sm_100"},

    // ---- two or four at a time. The first source becomes the upper half.
    {"cvt", ".{rn|rz}[.relu][.satfinite].{f16x2|bf16x2}.f32", "=1, f32, f32", "7.0 sm_80"},
    {"cvt", ".rs[.relu][.satfinite].{f16x2|bf16x2}.f32", "=1, f32, f32, bits32", "8.7 sm_100a,sm_103a"},
    {"cvt", ".rn.satfinite[.relu].{e4m3x2|e5m2x2}.f32", "=1, f32, f32", "7.8 sm_89"},
    {"cvt", ".rn.satfinite[.relu].{e4m3x2|e5m2x2}.f16x2", "=1, 2", "7.8 sm_89"},
    {"cvt", ".rn[.relu].f16x2.{e4m3x2|e5m2x2}", "=1, 2", "7.8 sm_89"},
    {"cvt", ".rn.satfinite[.relu].{e2m1x2|e2m3x2|e3m2x2}.f32", "=1, f32, f32", "8.6 sm_100f,sm_120f"},
    {"cvt", ".rn.satfinite[.relu].e2m1x2.f16x2", "=1, 2", "9.1 sm_100f,sm_120f"},
    {"cvt", ".rn[.relu].f16x2.{e2m1x2|e2m3x2|e3m2x2}", "=1, 2", "8.6 sm_100f,sm_120f"},
    {"cvt", ".{rz|rp}[.satfinite].ue8m0x2.f32", "=1, f32, f32", "8.6 sm_100f,sm_120f"},
    {"cvt", ".{rz|rp}[.satfinite].ue8m0x2.bf16x2", "=1, %i32", "8.6 sm_100f,sm_120f"},
    {"cvt", ".rn.bf16x2.ue8m0x2", "=1, 2", "8.6 sm_100f,sm_120f"},
    {"cvt", ".rs[.relu].satfinite.{e4m3x4|e5m2x4|e2m1x4|e2m3x4|e3m2x4}.f32", "=1, {4 f32}, bits32",
     "8.7 sm_100a,sm_103a"},
    {"cvt.pack", ".sat.{u16|s16}.s32", "=b32, s32, s32", "6.5 sm_72"},
    {"cvt.pack", ".sat.{u8|s8|u4|s4|u2|s2}.s32.b32", "=b32, s32, s32, b32", "6.5 sm_72"},
};

}  // namespace

std::span<const Row> conversion_rows() { return kRows; }

}  // namespace sim::ptx
