// Textures and surfaces. The simulated device has none of them, but a text that uses them is PTX.
#include "ptx/rules/signature.h"

namespace sim::ptx {
namespace {

#define TYPES ".{u32|s32|f32}.{s32|f32}"
#define HALF ".f16x2.{s32|f32}"
#define QUERY                                                                                                        \
  ".{width|height|depth|channel_data_type|channel_order|normalized_coords|array_size|num_mipmap_levels|num_samples|" \
  "filter_mode|addr_mode_0|addr_mode_1|addr_mode_2|force_unnormalized_coords}"

// How many coordinates a geometry has, in front of its rows.
#define SAMPLE(opcode, geometry, count, more)                                          \
  {opcode, geometry ".v4" TYPES, "={4 1}, [texture, {" count " 2}]" more},             \
      {opcode, geometry ".v4" TYPES, "={4 1}, [texture, %u64, {" count " 2}]" more}, { \
    opcode, geometry ".v2" HALF, "={2 1}, [texture, {" count " 2}]" more               \
  }
#define SURFACE(geometry, count)                                                                                      \
  {"suld.b", geometry "[.{v2|v4}].{b8|b16|b32|b64}.{trap|clamp|zero}", "=*~1, [texture, {" count " s32}]"},           \
      {"sust.b", geometry "[.{v2|v4}].{b8|b16|b32|b64}.{trap|clamp|zero}", "[texture, {" count " s32}], *~1"},        \
      {"sust.p", geometry "[.{v2|v4}].b32.{trap|clamp|zero}", "[texture, {" count " s32}], *~1"},                     \
      {"sured.b", ".{add|min|max}" geometry ".{u32|s32|u64|s64}.{trap|clamp|zero}", "[texture, {" count " s32}], 1"}, \
  {                                                                                                                   \
    "sured.b", ".{and|or}" geometry ".b32.{trap|clamp|zero}", "[texture, {" count " s32}], 1"                         \
  }

constexpr Row kRows[] = {
    SAMPLE("tex", ".1d", "1", ""),
    SAMPLE("tex", ".2d", "2", ""),
    SAMPLE("tex", ".3d", "4", ""),
    SAMPLE("tex", ".cube", "4", ""),
    SAMPLE("tex.base", ".1d", "1", ""),
    SAMPLE("tex.base", ".2d", "2", ""),
    SAMPLE("tex.base", ".3d", "4", ""),
    SAMPLE("tex.level", ".1d", "1", ", 2"),
    SAMPLE("tex.level", ".2d", "2", ", 2"),
    SAMPLE("tex.level", ".3d", "4", ", 2"),
    SAMPLE("tex.grad", ".1d", "1", ", {1 f32}, {1 f32}"),
    SAMPLE("tex.grad", ".2d", "2", ", {2 f32}, {2 f32}"),
    SAMPLE("tex.grad", ".3d", "4", ", {4 f32}, {4 f32}"),
    {"tld4", ".{r|g|b|a}.2d.v4.{u32|s32|f32}.f32", "={4 1}, [texture, {2 f32}]"},
    {"tld4", ".{r|g|b|a}.2d.v4.{u32|s32|f32}.f32", "={4 1}, [texture, %u64, {2 f32}]"},
    {"txq", QUERY ".b32", "=b32, [texture]"},
    {"txq.level", ".{width|height|depth}.b32", "=b32, [texture], b32"},
    {"suq", ".{width|height|depth|channel_data_type|channel_order|array_size|memory_layout}.b32", "=b32, [texture]"},
    {"istypep", ".{texref|samplerref|surfref}", "=pred, %u64"},
    SURFACE(".1d", "1"),
    SURFACE(".2d", "2"),
    SURFACE(".3d", "4"),
};

}  // namespace

std::span<const Row> texture_rows() { return kRows; }

}  // namespace sim::ptx
