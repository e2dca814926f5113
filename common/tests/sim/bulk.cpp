// TMA: tensor copies of every rank and swizzle with their out-of-bounds rules, bulk copies and reductions, st.async.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "support.h"

namespace sim::test {
namespace {

// ---- the model, from what was measured on an H200

uint32_t swizzle_bits(int mode, uint32_t address) {  // the absolute shared address, after all offsets
  switch (mode) {
    case 1: return address ^ ((address >> 7 & 1) << 4);
    case 2: return address ^ ((address >> 7 & 3) << 4);
    case 3: return address ^ ((address >> 7 & 7) << 4);
    case 4: return address ^ ((address >> 7 & 3) << 5);
    default: return address;
  }
}
uint32_t span_of(int mode) { return mode == 0 ? 0 : mode == 1 ? 32 : mode == 2 ? 64 : 128; }

constexpr uint32_t kBase = 0x800;  // of dynamic shared memory in the kernels below

/// A tensor on the host: bytes with pitches, and a box somewhere in it.
struct Case {
  int element_bytes = 2;
  int data_type = 9;
  std::vector<uint64_t> dims, strides;  ///< strides in bytes of dimensions 1..
  std::vector<uint32_t> box, element_strides;
  std::vector<int32_t> at;
  int swizzle = 0;
  bool nan_fill = false;
  uint32_t offset = 0;  ///< in dynamic shared memory

  size_t rank() const { return dims.size(); }
  size_t tensor_bytes() const {
    size_t last = (dims[0] * static_cast<uint64_t>(element_bytes) + 15) / 16 * 16;
    for (size_t d = 1; d < rank(); ++d) last += (dims[d] - 1) * strides[d - 1];
    return last;
  }
  uint32_t count(size_t d) const {
    const uint32_t stride = d == 0 || d >= element_strides.size() ? 1 : element_strides[d];
    return (box[d] + stride - 1) / stride;
  }
  uint32_t rows() const {
    uint32_t n = 1;
    for (size_t d = 1; d < rank(); ++d) n *= count(d);
    return n;
  }
  uint32_t inner() const { return box[0] * static_cast<uint32_t>(element_bytes); }
  uint32_t bytes() const { return inner() * rows(); }
  uint32_t pitch() const { return std::max(inner(), span_of(swizzle)); }
  /// Calls f(index of the row, its coordinates).
  template <class F>
  void for_rows(F f) const {
    std::vector<uint32_t> i(rank(), 0);
    for (uint32_t row = 0; row < rows(); ++row) {
      std::vector<int64_t> where(rank());
      for (size_t d = 0; d < rank(); ++d)
        where[d] = int64_t{at[d]} + int64_t{i[d]} * (d > 0 && d < element_strides.size() ? element_strides[d] : 1);
      f(row, where);
      for (size_t d = 1; d < rank() && ++i[d] == count(d); ++d) i[d] = 0;
    }
  }
  bool row_inside(const std::vector<int64_t>& where) const {
    for (size_t d = 1; d < rank(); ++d) {
      if (where[d] < 0 || where[d] >= static_cast<int64_t>(dims[d])) return false;
    }
    return true;
  }
  int64_t row_offset(const std::vector<int64_t>& where) const {  // of coordinate 0
    int64_t at_byte = 0;
    for (size_t d = 1; d < rank(); ++d) at_byte += where[d] * static_cast<int64_t>(strides[d - 1]);
    return at_byte;
  }
  MapSpec spec(const void* address) const {
    return {.address = address,
            .data_type = data_type,
            .element_bytes = element_bytes,
            .dims = dims,
            .strides = strides,
            .box = box,
            .element_strides = element_strides,
            .swizzle = swizzle,
            .nan_fill = nan_fill};
  }
};

/// What a load leaves in shared memory (from kBase on).
std::vector<uint8_t> model_load(const Case& c, const std::vector<uint8_t>& tensor, std::vector<uint8_t> shared) {
  c.for_rows([&](uint32_t row, const std::vector<int64_t>& where) {
    for (uint32_t e = 0; e < c.box[0]; ++e) {
      const int64_t x = int64_t{c.at[0]} + e;
      const bool inside = c.row_inside(where) && x >= 0 && x < static_cast<int64_t>(c.dims[0]);
      const uint64_t nan = c.element_bytes == 2 ? 0x7FF7 : 0x7FF7'FFFF;
      for (uint32_t b = 0; b < static_cast<uint32_t>(c.element_bytes); ++b) {
        const uint32_t linear = kBase + c.offset + row * c.pitch() + e * static_cast<uint32_t>(c.element_bytes) + b;
        uint8_t value = c.nan_fill ? static_cast<uint8_t>(nan >> (8 * b)) : 0;
        if (inside) value = tensor[static_cast<size_t>(c.row_offset(where) + x * c.element_bytes + b)];
        shared.at(swizzle_bits(c.swizzle, linear) - kBase) = value;
      }
    }
  });
  return shared;
}

std::vector<uint8_t> random_bytes(size_t count, uint64_t seed) {
  Dice dice(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(dice.next());
  return bytes;
}

std::string coordinates(size_t rank) {
  std::string text = "{";
  for (size_t d = 0; d < rank; ++d) text += (d ? ", %r" : "%r") + std::to_string(40 + d);
  return text + "}";
}
std::string load_coordinates(size_t rank) {
  std::string text;
  for (size_t d = 0; d < rank; ++d)
    text += "ld.param.s32 %r" + std::to_string(40 + d) + ", [at+" + std::to_string(4 * d) + "]; ";
  return text;
}

constexpr uint32_t kShared = 40 * 1024;

/// Fills dynamic shared memory from `from`, runs `body` in thread 0, and copies it to `to`.
Source shared_kernel(const std::string& body, const std::string& prologue = "") {
  Source source;
  source.prologue = ".extern .shared .align 1024 .b8 box[];\n.shared .align 8 .b64 bar;\n" + prologue;
  source.parameters = std::string(kMapParameter) +
                      ", .param .align 4 .b8 at[20], .param .u64 from, .param .u64 to, .param .u32 offset, .param .u32 "
                      "bytes, .param .u32 total, .param .u64 extra";
  source.body =
      "mov.u32 %r9, bar; mov.u32 %r8, box; mov.u32 %r10, %tid.x; mov.u32 %r11, %ntid.x; ld.param.u64 %rd10, [from]; "
      "ld.param.u64 %rd11, [to]; ld.param.u32 %r12, [total]; ld.param.u32 %r13, [offset]; ld.param.u32 %r14, [bytes]; "
      "add.u32 %r15, %r8, %r13;\n"
      "mov.u64 %rd12, map; cvta.param.u64 %rd13, %rd12; ld.param.u64 %rd14, [extra]; mov.u32 %r7, %cluster_ctarank; "
      "mul.wide.u32 %rd15, %r7, %r12; add.s64 %rd10, %rd10, %rd15; add.s64 %rd11, %rd11, %rd15;\n"
      "shl.b32 %r16, %r10, 2; fill: setp.ge.u32 %p1, %r16, %r12; @%p1 bra filled; cvt.u64.u32 %rd16, %r16; add.s64 "
      "%rd17, %rd10, %rd16; ld.global.u32 %r17, [%rd17]; add.u32 %r18, %r8, %r16; st.shared.u32 [%r18], %r17; "
      "mad.lo.u32 %r16, %r11, 4, %r16; bra fill; filled:\n"
      "setp.ne.u32 %p2, %r10, 0; @!%p2 mbarrier.init.shared::cta.b64 [%r9], 1; fence.mbarrier_init.release.cluster; "
      "fence.proxy.async; bar.sync 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; @%p2 bra sync;\n" +
      load_coordinates(5) + body +
      "\nsync: bar.sync 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; shl.b32 %r16, %r10, 2; drain: "
      "setp.ge.u32 %p1, %r16, %r12; @%p1 bra drained; cvt.u64.u32 %rd16, %r16; add.s64 %rd17, %rd11, %rd16; add.u32 "
      "%r18, %r8, %r16; ld.shared.u32 %r17, [%r18]; st.global.u32 [%rd17], %r17; mad.lo.u32 %r16, %r11, 4, %r16; bra "
      "drain; drained:";
  return source;
}
const std::string kWait = "wait: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0; @!%p3 bra wait; ";

struct Coordinates {
  int32_t at[5] = {};
};
Coordinates pack(const std::vector<int32_t>& at) {
  Coordinates c;
  std::copy(at.begin(), at.end(), c.at);
  return c;
}

/// Runs one load and compares shared memory with the model.
void check_load(const Case& c, const Options& options, const std::string& form = "") {
  Bench bench(options);
  const std::vector<uint8_t> tensor = random_bytes(c.tensor_bytes(), 7 + c.bytes()), before = random_bytes(kShared, 3);
  const auto* device_tensor = bench.upload(tensor);
  const auto* from = bench.upload(before);
  auto* to = bench.allocate<uint8_t>(kShared);
  const std::string rank = std::to_string(c.rank()) + "d";
  const std::string load =
      (form.empty() ? "cp.async.bulk.tensor." + rank + ".shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                    : "cp.async.bulk.tensor." + rank + form) +
      " [%r15], [%rd13, " + coordinates(c.rank()) + "], [%r9];";
  const Source source = shared_kernel("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r14; " + load + kWait);
  LaunchConfig config;
  config.block = {64, 1, 1}, config.dynamic_smem = kShared;
  const Outcome outcome = bench.launch(source, config, make_map(c.spec(device_tensor)), pack(c.at), from, to, c.offset,
                                       c.bytes(), kShared, nullptr);
  ASSERT_EQ(outcome.status, Status::Success) << outcome.report;
  const std::vector<uint8_t> expected = model_load(c, tensor, before);
  size_t wrong = 0;
  for (size_t i = 0; i < kShared && wrong < 3; ++i) {
    if (to[i] == expected[i]) continue;
    ++wrong;
    ADD_FAILURE() << "rank " << c.rank() << " swizzle " << c.swizzle << " shared byte +" << i << ": " << int{to[i]}
                  << ", not " << int{expected[i]};
  }
}

// ---- loads

TEST(TensorLoad, RanksOneToFive) {
  for (const Options& options : all_schedules()) {
    check_load({.dims = {300}, .strides = {}, .box = {256}, .element_strides = {}, .at = {32}}, options);
    check_load({.dims = {200, 50}, .strides = {400}, .box = {64, 20}, .element_strides = {}, .at = {16, 7}}, options);
    check_load({.dims = {64, 30, 9}, .strides = {128, 4096}, .box = {32, 5, 4}, .element_strides = {}, .at = {8, 3, 2}},
               options);
    check_load({.dims = {40, 7, 6, 5},
                .strides = {96, 800, 6000},
                .box = {16, 3, 2, 4},
                .element_strides = {},
                .at = {8, 2, 1, 1}},
               options);
    check_load({.dims = {32, 5, 4, 3, 6},
                .strides = {64, 320, 1280, 3840},
                .box = {8, 2, 3, 2, 3},
                .element_strides = {},
                .at = {16, 1, 1, 0, 2}},
               options);
  }
}

TEST(TensorLoad, SwizzlesAtEveryOffset) {
  for (const int swizzle : {0, 1, 2, 3, 4}) {
    const uint32_t inner = swizzle == 1 ? 16 : swizzle == 2 ? 32 : 64;
    for (uint32_t offset = 0; offset < 2048; offset += 128) {
      Case c{.dims = {128, 70}, .strides = {256}, .box = {inner, 40}, .element_strides = {}, .at = {64, 9}};
      c.swizzle = swizzle, c.offset = offset;
      check_load(c, {});
    }
  }
}

TEST(TensorLoad, ElementSizes) {
  struct Kind {
    int type, bytes;
  };
  for (const Kind kind :
       {Kind{0, 1}, Kind{1, 2}, Kind{2, 4}, Kind{4, 8}, Kind{6, 2}, Kind{7, 4}, Kind{8, 8}, Kind{9, 2}}) {
    for (const int swizzle : {0, 3}) {
      const auto bytes = static_cast<uint32_t>(kind.bytes);
      Case c{.dims = {100, 20},
             .strides = {1024},
             .box = {128 / bytes, 12},
             .element_strides = {},
             .at = {static_cast<int32_t>(32 / bytes), 5}};
      c.element_bytes = kind.bytes, c.data_type = kind.type, c.swizzle = swizzle;
      check_load(c, {});
    }
  }
}

TEST(TensorLoad, OutOfBoundsInEveryDirection) {
  for (const bool nan : {false, true}) {
    for (const int swizzle : {0, 3}) {
      for (const int32_t x : {-64, -8, 0, 8, 56, 88, 96, 104, 1000, -1000, 0x7FFF'FFF8}) {
        for (const int32_t y : {-30, -3, 0, 7, 15, 19, 20, 1000}) {
          Case c{.dims = {100, 20}, .strides = {256}, .box = {64, 8}, .element_strides = {}, .at = {x, y}};
          c.nan_fill = nan, c.swizzle = swizzle;
          check_load(c, {});
        }
      }
    }
  }
  for (const uint64_t width : {1, 63, 65, 97, 100, 101}) {  // clipped exactly, element by element
    Case c{.dims = {width, 9},
           .strides = {256},
           .box = {64, 8},
           .element_strides = {},
           .at = {static_cast<int32_t>(width) / 64 * 64, 4}};
    c.swizzle = 3;
    check_load(c, {});
  }
  for (const int32_t z : {-2, 1, 3}) {
    Case c{.dims = {64, 10, 3}, .strides = {128, 2000}, .box = {64, 4, 2}, .element_strides = {}, .at = {0, 8, z}};
    c.swizzle = 3;
    check_load(c, {});
  }
  Case wide{.dims = {16, 16}, .strides = {64}, .box = {16, 8}, .element_strides = {}, .at = {4, 14}};
  wide.element_bytes = 4, wide.data_type = 7, wide.nan_fill = true;
  check_load(wide, {});
}

TEST(TensorLoad, NarrowBoxesLeaveTheRestOfTheirRows) {
  for (const int swizzle : {1, 2, 3}) {
    for (uint32_t inner = 8; inner * 2 < span_of(swizzle); inner += 8) {
      Case c{.dims = {256, 40}, .strides = {512}, .box = {inner, 20}, .element_strides = {}, .at = {24, 3}};
      c.swizzle = swizzle, c.offset = 128;
      for (const Options& options : all_schedules()) check_load(c, options);
    }
  }
}

TEST(TensorLoad, ElementStrides) {
  for (const uint32_t stride : {2, 3, 5, 8}) {
    check_load({.dims = {64, 100}, .strides = {128}, .box = {32, 16}, .element_strides = {1, stride}, .at = {16, 4}},
               {});
    check_load({.dims = {64, 30, 20},
                .strides = {128, 4096},
                .box = {32, 5, 16},
                .element_strides = {1, 2, stride},
                .at = {16, 4, 11}},
               {});
  }
}

/// A convolution's activations: channels, and one to three spatial dimensions, width first.
struct Im2col {
  std::vector<int64_t> extent, padding, filter, stride, dilation;  // spatial
  int64_t images = 3;
  uint32_t pixels = 40;
  std::vector<int64_t> tap;  // of the filter
  int64_t first = 0;         // output of the convolution, counted through all images

  static constexpr uint32_t kChannels = 64, kLoaded = 32, kFrom = 16;
  int64_t outputs(size_t d) const {
    return (extent[d] + 2 * padding[d] - (filter[d] - 1) * dilation[d] - 1) / stride[d] + 1;
  }
  /// Where the filter stands for an output, and behind the spatial dimensions the image.
  std::vector<int64_t> place(int64_t output) const {
    std::vector<int64_t> at;
    for (size_t d = 0; d < extent.size(); ++d) {
      at.push_back(output % outputs(d) * stride[d] - padding[d]);
      output /= outputs(d);
    }
    at.push_back(output);
    return at;
  }
  /// The index of the pixel in the tensor; -1: outside.
  int64_t pixel(int64_t output) const {
    const std::vector<int64_t> at = place(output);
    int64_t index = 0;
    if (at.back() >= images) return -1;
    for (size_t d = extent.size() + 1; d-- > 0;) {
      const int64_t x = at[d] + (d < extent.size() ? tap[d] * dilation[d] : 0);
      if (d < extent.size() && (x < 0 || x >= extent[d])) return -1;
      index = (d < extent.size() ? index * extent[d] : index) + x;
    }
    return index;
  }
};

void check_im2col(const Im2col& c, const Options& options) {
  Bench bench(options);
  const size_t spatial = c.extent.size();
  MapSpec spec{.dims = {Im2col::kChannels}, .box = {Im2col::kLoaded}};
  for (const int64_t extent : c.extent) spec.dims.push_back(static_cast<uint64_t>(extent));
  spec.dims.push_back(static_cast<uint64_t>(c.images));
  spec.box.resize(spatial + 2, 1);
  spec.element_strides = {1};
  for (const int64_t stride : c.stride) spec.element_strides.push_back(static_cast<uint32_t>(stride));
  uint64_t pixels = 1;
  for (size_t d = 1; d < spec.dims.size(); ++d) pixels *= spec.dims[d];
  const std::vector<uint8_t> tensor = random_bytes(pixels * Im2col::kChannels * 2, 11);
  spec.address = bench.upload(tensor);
  TensorMap map = make_map(spec);
  map.is_im2col = true;
  map.pixels = static_cast<uint16_t>(c.pixels);
  std::string offsets, load = ".reg .b16 %o<3>; ";
  for (size_t d = 0; d < spatial; ++d) {
    const std::string offset = "%o" + std::to_string(d);
    map.lower[d] = static_cast<int16_t>(-c.padding[d]);
    map.upper[d] = static_cast<int16_t>(c.padding[d] - (c.filter[d] - 1) * c.dilation[d]);
    load += "mov.b16 " + offset + ", " + std::to_string(c.tap[d] * c.dilation[d]) + "; ";
    offsets += (d > 0 ? ", " : "") + offset;
  }
  Coordinates at;
  const std::vector<int64_t> place = c.place(c.first);
  at.at[0] = Im2col::kFrom;
  for (size_t d = 0; d < place.size(); ++d) at.at[d + 1] = static_cast<int32_t>(place[d]);

  load += "cp.async.bulk.tensor." + std::to_string(spatial + 2) +
          "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r15], [%rd13, " + coordinates(spatial + 2) +
          "], [%r9], {" + offsets + "};";
  const uint32_t row_bytes = Im2col::kLoaded * 2;
  std::vector<uint8_t> expected = random_bytes(kShared, 3);
  auto* to = bench.allocate<uint8_t>(kShared);
  const Source source = shared_kernel("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r14; " + load + kWait);
  LaunchConfig config;
  config.block = {64, 1, 1}, config.dynamic_smem = kShared;
  const Outcome outcome =
      bench.launch(source, config, map, at, bench.upload(expected), to, 0u, c.pixels * row_bytes, kShared, nullptr);
  ASSERT_EQ(outcome.status, Status::Success) << outcome.report;
  for (uint32_t i = 0; i < c.pixels; ++i) {
    const int64_t pixel = c.pixel(c.first + i);
    const auto row = expected.begin() + i * row_bytes;
    if (pixel < 0) {
      std::fill_n(row, row_bytes, uint8_t{0});
    } else {
      std::copy_n(tensor.begin() + (pixel * Im2col::kChannels + Im2col::kFrom) * 2, row_bytes, row);
    }
  }
  for (size_t i = 0; i < kShared; ++i) ASSERT_EQ(int{to[i]}, int{expected[i]}) << "shared byte +" << i;
}

TEST(TensorLoad, PixelsOfAConvolution) {
  for (const Options& options : all_schedules()) {
    check_im2col({{20}, {2}, {3}, {1}, {1}, 3, 40, {2}, 5}, options);
    check_im2col({{9, 7}, {1, 2}, {3, 2}, {1, 1}, {1, 3}, 3, 100, {0, 1}, 13}, options);
  }
  check_im2col({{9, 11}, {2, 1}, {3, 3}, {2, 3}, {1, 1}, 2, 50, {1, 0}, 2}, {});  // the last rows are beyond all images
  check_im2col({{6, 5, 4}, {1, 0, 1}, {2, 3, 3}, {1, 2, 1}, {2, 1, 1}, 2, 64, {1, 2, 0}, 7}, {});
}

TEST(TensorFaults, MapsOfTheOtherKind) {
  const auto run = [](bool is_im2col, const std::string& form, const std::string& offsets) {
    Bench bench;
    TensorMap map = make_map({.address = bench.allocate<uint8_t>(1 << 16), .dims = {64, 8, 4}, .box = {32, 1, 1}});
    map.is_im2col = is_im2col;
    map.pixels = 8;
    LaunchConfig config;
    config.dynamic_smem = kShared;
    return bench.launch(
        shared_kernel(".reg .b16 %o; cp.async.bulk.tensor.3d.shared::cluster.global." + form +
                      ".mbarrier::complete_tx::bytes [%r15], [%rd13, " + coordinates(3) + "], [%r9]" + offsets + ";"),
        config, map, Coordinates{}, bench.allocate<uint8_t>(kShared), bench.allocate<uint8_t>(kShared), 0u, 0u, kShared,
        nullptr);
  };
  expect_failure(run(true, "tile", ""), Status::IllegalInstruction, {"one for im2col, and the instruction has no"});
  expect_failure(run(false, "im2col", ", {%o}"), Status::IllegalInstruction, {"is not one for im2col"});
}

TEST(TensorLoad, QualifiersInEveryOrderThatAssembles) {
  const Case c{.dims = {200, 50}, .strides = {400}, .box = {64, 20}, .element_strides = {}, .at = {16, 7}};
  for (const char* const form :
       {".shared::cluster.global.mbarrier::complete_tx::bytes", ".shared::cta.global.mbarrier::complete_tx::bytes",
        ".shared::cta.global.tile.mbarrier::complete_tx::bytes",
        ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::1"}) {
    check_load(c, {}, form);
  }
}

TEST(TensorLoad, SlabsOfRankThree) {
  // {64, rows, K/64} loads several 128-byte atoms in one instruction: slab z starts at z * rows * 128.
  Case c{.dims = {64, 100, 4}, .strides = {512, 128}, .box = {64, 24, 4}, .element_strides = {}, .at = {0, 90, 1}};
  c.swizzle = 3;
  check_load(c, {});
}

TEST(TensorLoad, MapsInGlobalMemoryAndPrefetches) {
  Bench bench;
  const std::vector<uint8_t> tensor = random_bytes(64 * 64 * 2, 5), before(kShared, 0);
  const Case c{.dims = {64, 64}, .strides = {128}, .box = {64, 8}, .element_strides = {}, .at = {0, 3}};
  const auto* device_tensor = bench.upload(tensor);
  const auto* map = bench.upload(std::vector<TensorMap>{make_map(c.spec(device_tensor))});
  const auto* from = bench.upload(before);
  auto* to = bench.allocate<uint8_t>(kShared);
  const Source source = shared_kernel(
      "prefetch.tensormap [%rd14]; fence.proxy.tensormap::generic.acquire.gpu [%rd14], 128; "
      "cp.async.bulk.prefetch.tensor.2d.L2.global [%rd14, {%r40, %r41}]; mbarrier.arrive.expect_tx.shared::cta.b64 _, "
      "[%r9], %r14;"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r15], [%rd14, "
      "{%r40, %r41}], [%r9], 1152921504606846976;" +
      kWait);
  LaunchConfig config;
  config.dynamic_smem = kShared;
  expect_success(bench.launch(source, config, TensorMap{}, pack(c.at), from, to, 0u, c.bytes(), kShared, map));
  EXPECT_EQ(std::vector<uint8_t>(to, to + 1024),
            std::vector<uint8_t>(tensor.begin() + 3 * 128, tensor.begin() + 11 * 128));
}

// ---- multicast and pairs

TEST(TensorLoad, MulticastToTheCtasOfTheMask) {
  for (const Options& options : all_schedules()) {
    for (const bool pair : {false, true}) {
      // Rank 2 of 4 loads for ranks 1 and 3 (0b1010). Signals: with ::1 at each destination's barrier; with ::2 at the
      // CTA of the destination's pair that has the named barrier's parity (even here: ranks 0 and 2).
      Bench bench(options);
      const Case c{.dims = {64, 64}, .strides = {128}, .box = {64, 16}, .element_strides = {}, .at = {0, 5}};
      const std::vector<uint8_t> tensor = random_bytes(c.tensor_bytes(), 6), before = random_bytes(4 * kShared, 9);
      const auto* device_tensor = bench.upload(tensor);
      const auto* from = bench.upload(before);
      auto* to = bench.allocate<uint8_t>(4 * kShared);
      const std::string group = pair ? ".cta_group::2" : "";
      const uint32_t signalled = pair ? 0b0101 : 0b1010;
      const Source source =
          shared_kernel("mov.u32 %r20, 1; shl.b32 %r20, %r20, %r7; and.b32 %r20, %r20, " + std::to_string(signalled) +
                        "; setp.ne.u32 %p4, %r20, 0; @%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r14; "
                        "mov.u16 %h1, 10; setp.eq.u32 %p5, %r7, 2;"
                        "@%p5 cp.async.bulk.tensor.2d" +
                        group +
                        ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r15], [%rd13, "
                        "{%r40, %r41}], [%r9], %h1; @!%p4 bra sync; " +
                        kWait);
      LaunchConfig config;
      config.grid = {4, 1, 1}, config.cluster = {4, 1, 1}, config.block = {32, 1, 1}, config.dynamic_smem = kShared;
      expect_success(bench.launch(source, config, make_map(c.spec(device_tensor)), pack(c.at), from, to, 256u,
                                  c.bytes(), kShared, nullptr));
      for (size_t rank = 0; rank < 4; ++rank) {
        std::vector<uint8_t> expected(before.begin() + static_cast<long>(rank * kShared),
                                      before.begin() + static_cast<long>((rank + 1) * kShared));
        Case placed = c;
        placed.offset = 256;
        if (rank % 2 == 1) expected = model_load(placed, tensor, expected);
        EXPECT_EQ(std::vector<uint8_t>(to + rank * kShared, to + (rank + 1) * kShared), expected) << rank << pair;
      }
    }
  }
}

TEST(TensorLoad, BothCtasOfAPairReportToTheLeader) {
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    const Case c{.dims = {64, 64}, .strides = {128}, .box = {64, 16}, .element_strides = {}, .at = {0, 5}};
    const std::vector<uint8_t> tensor = random_bytes(c.tensor_bytes(), 6);
    const auto* device_tensor = bench.upload(tensor);
    const auto* from = bench.upload(std::vector<uint8_t>(2 * kShared, 1));
    auto* to = bench.allocate<uint8_t>(2 * kShared);
    const Source source = shared_kernel(
        "setp.eq.u32 %p5, %r7, 0; shl.b32 %r20, %r14, 1; @%p5 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], "
        "%r20; and.b32 %r21, %r9, -16777224; mov.u32 %r41, %r7; shl.b32 %r41, %r41, 4;"
        "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd13, "
        "{%r40, %r41}], [%r21]; @!%p5 bra sync; " +
        kWait);
    LaunchConfig config;
    config.grid = {2, 1, 1}, config.cluster = {2, 1, 1}, config.block = {32, 1, 1}, config.dynamic_smem = kShared;
    expect_success(bench.launch(source, config, make_map(c.spec(device_tensor)), pack(c.at), from, to, 0u, c.bytes(),
                                kShared, nullptr));
    EXPECT_TRUE(std::equal(to, to + 2048, tensor.begin()));
    EXPECT_TRUE(std::equal(to + kShared, to + kShared + 2048, tensor.begin() + 16 * 128));
  }
}

// ---- four rows, wherever they lie (tile::gather4, tile::scatter4)

/// A matrix of 64 rows of 64 16-bit elements, and boxes of one row of it.
struct Rows {
  Case c{.dims = {64, 64}, .strides = {128}, .box = {32, 1}, .element_strides = {}, .at = {}};
  explicit Rows(std::vector<int32_t> at, int swizzle = 0, uint32_t offset = 0) {
    c.at = std::move(at), c.swizzle = swizzle, c.offset = offset;
  }
  /// Row `i` of the four: a load, or a store, of this one alone.
  Case row(size_t i) const {
    Case one = c;
    one.at = {c.at[0], c.at[1 + i]};
    one.offset = c.offset + static_cast<uint32_t>(i) * c.pitch();
    return one;
  }
};

const std::string kGather = ".shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes";

TEST(FourRows, GatherBringsThemInOrder) {
  for (const Options& options : all_schedules()) {
    for (const int swizzle : {0, 1, 2, 3}) {
      Rows rows({swizzle == 1 ? 48 : 32, 63, 5, 5, 64}, swizzle, 256);  // one twice, one outside
      if (swizzle == 1) rows.c.box[0] = 16;
      Bench bench(options);
      const std::vector<uint8_t> tensor = random_bytes(rows.c.tensor_bytes(), 11), before = random_bytes(kShared, 3);
      const auto* device_tensor = bench.upload(tensor);
      const auto* from = bench.upload(before);
      auto* to = bench.allocate<uint8_t>(kShared);
      const Source source =
          shared_kernel("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%rd13, " + coordinates(5) +
                        "]; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r14; cp.async.bulk.tensor.2d" +
                        kGather + " [%r15], [%rd13, " + coordinates(5) + "], [%r9];" + kWait);
      LaunchConfig config;
      config.dynamic_smem = kShared;
      expect_success(bench.launch(source, config, make_map(rows.c.spec(device_tensor)), pack(rows.c.at), from, to,
                                  rows.c.offset, 4 * rows.c.inner(), kShared, nullptr));
      std::vector<uint8_t> expected = before;
      for (size_t i = 0; i < 4; ++i) expected = model_load(rows.row(i), tensor, expected);
      EXPECT_EQ(std::vector<uint8_t>(to, to + kShared), expected) << swizzle;
    }
  }
}

TEST(FourRows, GatherToTheCtasOfTheMaskAndToAPair) {
  for (const Options& options : all_schedules()) {
    const Rows rows({8, 40, 3, 17, 0});
    Bench bench(options);
    const std::vector<uint8_t> tensor = random_bytes(rows.c.tensor_bytes(), 6), before(2 * kShared, 1);
    const auto* device_tensor = bench.upload(tensor);
    const auto* from = bench.upload(before);
    auto* to = bench.allocate<uint8_t>(2 * kShared);
    // Rank 1 loads for both; with ::2 both report to the CTA whose mbarrier has the parity of the named one.
    const Source source = shared_kernel(
        "setp.eq.u32 %p5, %r7, 1; shl.b32 %r20, %r14, 1; @%p5 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], "
        "%r20; "
        "mov.u16 %h1, 3; @%p5 cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes"
        ".multicast::cluster.cta_group::2 [%r15], [%rd13, " +
        coordinates(5) + "], [%r9], %h1; @!%p5 bra sync; " + kWait);
    LaunchConfig config;
    config.grid = {2, 1, 1}, config.cluster = {2, 1, 1}, config.dynamic_smem = kShared;
    expect_success(bench.launch(source, config, make_map(rows.c.spec(device_tensor)), pack(rows.c.at), from, to, 0u,
                                4 * rows.c.inner(), kShared, nullptr));
    std::vector<uint8_t> expected(kShared, 1);
    for (size_t i = 0; i < 4; ++i) expected = model_load(rows.row(i), tensor, expected);
    for (const size_t rank : {0, 1})
      EXPECT_EQ(std::vector<uint8_t>(to + rank * kShared, to + (rank + 1) * kShared), expected) << rank;
  }
}

TEST(FourRows, ScatterWritesWhatLiesInside) {
  for (const Options& options : all_schedules()) {
    for (const int swizzle : {0, 2}) {
      const Rows rows({32, 9, 64, 2, 63}, swizzle, 128);
      Bench bench(options);
      const std::vector<uint8_t> shared = random_bytes(kShared, 3);
      std::vector<uint8_t> tensor = random_bytes(rows.c.tensor_bytes(), 17);
      auto* device_tensor = bench.upload(tensor);
      const auto* from = bench.upload(shared);
      auto* to = bench.allocate<uint8_t>(kShared);
      const Source source =
          shared_kernel("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd13, " +
                        coordinates(5) + "], [%r15]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
      LaunchConfig config;
      config.dynamic_smem = kShared;
      expect_success(bench.launch(source, config, make_map(rows.c.spec(device_tensor)), pack(rows.c.at), from, to,
                                  rows.c.offset, 4 * rows.c.inner(), kShared, nullptr));
      for (size_t i = 0; i < 4; ++i) {
        const Case one = rows.row(i);
        for (uint32_t b = 0; b < one.inner() && one.at[1] < 64; ++b) {
          tensor[static_cast<size_t>(one.at[1] * 128 + one.at[0] * 2) + b] =
              shared[swizzle_bits(swizzle, kBase + one.offset + b) - kBase];
        }
      }
      EXPECT_EQ(std::vector<uint8_t>(device_tensor, device_tensor + tensor.size()), tensor) << swizzle;
    }
  }
}

TEST(FourRows, Faults) {
  const auto run = [](Case c, std::vector<int32_t> at, bool store) {
    Bench bench;
    auto* tensor = bench.upload(std::vector<uint8_t>(c.tensor_bytes(), 0));
    const auto* from = bench.upload(std::vector<uint8_t>(kShared, 0));
    auto* to = bench.allocate<uint8_t>(kShared);
    const Source source =
        shared_kernel(store ? "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd13, " +
                                  coordinates(5) + "], [%r15]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
                            : "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r14; cp.async.bulk.tensor.2d" +
                                  kGather + " [%r15], [%rd13, " + coordinates(5) + "], [%r9];" + kWait);
    LaunchConfig config;
    config.dynamic_smem = kShared;
    return bench.launch(source, config, make_map(c.spec(tensor)), pack(at), from, to, 0u, 4 * c.inner(), kShared,
                        nullptr);
  };
  const Case right = Rows({}).c;
  expect_success(run(right, {-8, -1, 0, 64, 7}, false));
  expect_failure(run(right, {0, -1, 0, 1, 2}, true), Status::IllegalInstruction, {"negative coordinate -1"});
  expect_failure(run(right, {3, 0, 1, 2, 3}, false), Status::IllegalInstruction, {"multiple of 16 bytes"});
  Case high = right;
  high.box[1] = 4;
  expect_failure(run(high, {0, 0, 1, 2, 3}, false), Status::IllegalInstruction, {"has 4 rows", "need 1"});
  Case deep{.dims = {64, 8, 8}, .strides = {128, 1024}, .box = {32, 1, 1}, .element_strides = {}, .at = {}};
  expect_failure(run(deep, {0, 0, 1, 2, 3}, true), Status::IllegalInstruction, {"rank 2", "has rank 3"});
}

// ---- stores

/// Stores a box and compares the whole tensor with the model.
void check_store(const Case& c, const Options& options, const std::string& reduce = "",
                 const std::function<void(uint8_t*, const uint8_t*)>& combine = {}) {
  Bench bench(options);
  const std::vector<uint8_t> shared = random_bytes(kShared, 3);
  std::vector<uint8_t> tensor = random_bytes(c.tensor_bytes(), 17);
  std::vector<uint8_t> source_bytes = shared;
  if (c.data_type == 9 || c.data_type == 6 || c.data_type == 7) {  // keep exponents away from infinities
    for (size_t i = 1; i < tensor.size(); i += 2) tensor[i] = static_cast<uint8_t>(0x3C | (tensor[i] & 0x81));
    for (size_t i = 1; i < source_bytes.size(); i += 2)
      source_bytes[i] = static_cast<uint8_t>(0x3C | (source_bytes[i] & 0x81));
  }
  auto* device_tensor = bench.upload(tensor);
  const auto* from = bench.upload(source_bytes);
  auto* to = bench.allocate<uint8_t>(kShared);
  const std::string rank = std::to_string(c.rank()) + "d";
  const std::string store = reduce.empty()
                                ? "cp.async.bulk.tensor." + rank + ".global.shared::cta.bulk_group [%rd13, " +
                                      coordinates(c.rank()) + "], [%r15];"
                                : "cp.reduce.async.bulk.tensor." + rank + ".global.shared::cta." + reduce +
                                      ".tile.bulk_group [%rd13, " + coordinates(c.rank()) + "], [%r15];";
  const Source source = shared_kernel(
      store + " cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;");
  LaunchConfig config;
  config.block = {64, 1, 1}, config.dynamic_smem = kShared;
  const Outcome outcome = bench.launch(source, config, make_map(c.spec(device_tensor)), pack(c.at), from, to, c.offset,
                                       c.bytes(), kShared, nullptr);
  ASSERT_EQ(outcome.status, Status::Success) << outcome.report;
  c.for_rows([&](uint32_t row, const std::vector<int64_t>& where) {
    if (!c.row_inside(where)) return;
    // Clipped at 16 bytes only, in the innermost dimension.
    const int64_t width = (static_cast<int64_t>(c.dims[0]) * c.element_bytes + 15) / 16 * 16;
    for (uint32_t e = 0; e < c.box[0]; ++e) {
      const int64_t x = (int64_t{c.at[0]} + e) * c.element_bytes;
      if (x >= width) continue;
      std::vector<uint8_t> value(static_cast<size_t>(c.element_bytes));
      for (uint32_t b = 0; b < value.size(); ++b)
        value[b] = source_bytes[swizzle_bits(c.swizzle, kBase + c.offset + row * c.pitch() +
                                                            e * static_cast<uint32_t>(value.size()) + b) -
                                kBase];
      uint8_t* const target = tensor.data() + c.row_offset(where) + x;
      if (combine)
        combine(target, value.data());
      else
        std::memcpy(target, value.data(), value.size());
    }
  });
  EXPECT_EQ(std::vector<uint8_t>(device_tensor, device_tensor + tensor.size()), tensor)
      << "rank " << c.rank() << " swizzle " << c.swizzle;
}

TEST(TensorStore, RanksSwizzlesAndClipping) {
  for (const Options& options : all_schedules()) {
    check_store({.dims = {304}, .strides = {}, .box = {256}, .element_strides = {}, .at = {96}}, options);
    check_store(
        {.dims = {64, 30, 9}, .strides = {128, 4096}, .box = {32, 5, 4}, .element_strides = {}, .at = {8, 27, 7}},
        options);
    check_store({.dims = {40, 7, 6, 5},
                 .strides = {96, 800, 6000},
                 .box = {16, 3, 2, 4},
                 .element_strides = {},
                 .at = {8, 2, 1, 1}},
                options);
    check_store({.dims = {32, 5, 4, 3, 6},
                 .strides = {64, 320, 1280, 3840},
                 .box = {8, 2, 3, 2, 3},
                 .element_strides = {},
                 .at = {16, 4, 1, 0, 2}},
                options);
  }
  for (const int swizzle : {0, 1, 2, 3, 4}) {
    for (const uint64_t width : {1, 64, 97, 100, 128}) {
      for (const int32_t y : {0, 15, 20, 900}) {
        Case c{.dims = {width, 20},
               .strides = {512},
               .box = {swizzle == 1   ? 16u
                       : swizzle == 2 ? 32u
                                      : 64u,
                       8},
               .element_strides = {},
               .at = {width > 64 ? 64 : 0, y}};
        c.swizzle = swizzle, c.offset = 384;
        check_store(c, {});
      }
    }
  }
}

TEST(TensorStore, Reductions) {
  const auto as = []<class T>(T, auto f) {
    return [f](uint8_t* to, const uint8_t* from) {
      T old, value;
      std::memcpy(&old, to, sizeof old), std::memcpy(&value, from, sizeof value);
      const T fresh = f(old, value);
      std::memcpy(to, &fresh, sizeof fresh);
    };
  };
  const auto kind = [](int type, int bytes) {
    Case c{.dims = {40, 20}, .strides = {512}, .box = {32, 8}, .element_strides = {}, .at = {16, 15}};
    c.data_type = type, c.element_bytes = bytes;
    return c;
  };
  check_store(kind(2, 4), {}, "add", as(uint32_t{}, [](uint32_t a, uint32_t b) { return a + b; }));
  check_store(kind(3, 4), {}, "min", as(int32_t{}, [](int32_t a, int32_t b) { return std::min(a, b); }));
  check_store(kind(2, 4), {}, "max", as(uint32_t{}, [](uint32_t a, uint32_t b) { return std::max(a, b); }));
  check_store(kind(2, 4), {}, "inc", as(uint32_t{}, [](uint32_t a, uint32_t b) { return a >= b ? 0 : a + 1; }));
  check_store(kind(2, 4), {}, "dec",
              as(uint32_t{}, [](uint32_t a, uint32_t b) { return a == 0 || a > b ? b : a - 1; }));
  check_store(kind(2, 4), {}, "and", as(uint32_t{}, [](uint32_t a, uint32_t b) { return a & b; }));
  check_store(kind(4, 8), {}, "or", as(uint64_t{}, [](uint64_t a, uint64_t b) { return a | b; }));
  check_store(kind(2, 4), {}, "xor", as(uint32_t{}, [](uint32_t a, uint32_t b) { return a ^ b; }));
  check_store(kind(7, 4), {}, "add", as(float{}, [](float a, float b) { return a + b; }));
  check_store(kind(9, 2), {}, "add", as(uint16_t{}, [](uint16_t a, uint16_t b) {
                const auto widen = [](uint16_t v) { return std::bit_cast<float>(uint32_t{v} << 16); };
                const uint32_t sum = bits_of(widen(a) + widen(b));
                return static_cast<uint16_t>((sum + 0x7FFF + (sum >> 16 & 1)) >> 16);
              }));
}

TEST(TensorStore, GroupsCompleteInOrderAndReadsFirst) {
  // The source may be overwritten after .read of its group; the data that arrives is the old one.
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    const Case c{.dims = {64, 64}, .strides = {128}, .box = {64, 8}, .element_strides = {}, .at = {0, 0}};
    auto* tensor = bench.upload(std::vector<uint8_t>(c.tensor_bytes(), 0));
    const auto* from = bench.upload(std::vector<uint8_t>(kShared, 0));
    auto* to = bench.allocate<uint8_t>(kShared);
    const Source source = shared_kernel(R"(
      mov.u32 %r20, 0;
      turn: and.b32 %r21, %r20, 1; shl.b32 %r21, %r21, 10; add.u32 %r21, %r15, %r21; cp.async.bulk.wait_group.read 1;
      mov.u32 %r22, 0; put: add.u32 %r23, %r21, %r22; add.u32 %r24, %r20, 1; st.shared.u32 [%r23], %r24; add.u32 %r22, %r22, 4; setp.lt.u32 %p4, %r22, 1024; @%p4 bra put;
      fence.proxy.async.shared::cta; shl.b32 %r41, %r20, 3; cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd13, {%r40, %r41}], [%r21]; cp.async.bulk.commit_group;
      add.u32 %r20, %r20, 1; setp.lt.u32 %p4, %r20, 8; @%p4 bra turn; cp.async.bulk.wait_group 0;)");
    LaunchConfig config;
    config.block = {32, 1, 1}, config.dynamic_smem = kShared;
    expect_success(
        bench.launch(source, config, make_map(c.spec(tensor)), pack(c.at), from, to, 0u, 0u, kShared, nullptr));
    for (uint32_t i = 0; i < 2048; ++i) EXPECT_EQ(reinterpret_cast<uint32_t*>(tensor)[i], i / 256 + 1) << i;
  }
}

// ---- faults, as hardware gives them

// ---- packed types: elements of four and six bits

/// Six rows of 128 elements at (128, 5) of a tensor of 256 x 9: two rows lie outside.
struct Packed {
  int type;  ///< CUtensorMapDataType
  int swizzle;
  uint32_t bits() const { return type == 15 ? 6 : 4; }
  bool is_spread() const { return type != 13; }  ///< sixteen begin 16 bytes of shared memory
  uint32_t row_bytes() const { return 128 * bits() / 8; }
  uint32_t pitch() const { return is_spread() || swizzle == 3 ? 128 : row_bytes(); }
  static constexpr uint32_t kRows = 6, kInside = 4, kStride = 224;
  MapSpec spec(const void* address) const {
    return {.address = address,
            .data_type = type,
            .element_bytes = 0,
            .dims = {256, 9},
            .strides = {kStride},
            .box = {128, kRows},
            .swizzle = swizzle};
  }
  /// Calls f(offset in the tensor, offset in shared memory, bytes, is it inside) for sixteen elements each.
  template <class F>
  void for_sixteens(F f) const {
    for (uint32_t row = 0; row < kRows; ++row) {
      for (uint32_t i = 0; i < 128; i += 16) {
        const uint32_t linear = kBase + row * pitch() + (is_spread() ? i : i / 2),
                       at = (swizzle_bits(swizzle, linear & ~15u) | (linear & 15)) - kBase;
        f((5 + row) * kStride + (128 + i) * bits() / 8, at, 2 * bits(), row < kInside);
      }
    }
  }
};
constexpr Packed kPacked[] = {{13, 0}, {13, 3}, {14, 0}, {14, 3}, {14, 4}, {15, 0}, {15, 3}};

TEST(Packed, LoadsLeaveRoomBehindSixteen) {
  for (const Packed& c : kPacked) {
    Bench bench;
    const std::vector<uint8_t> tensor = random_bytes(9 * Packed::kStride, 7), before = random_bytes(kShared, 3);
    auto* to = bench.allocate<uint8_t>(kShared);
    LaunchConfig config;
    config.block = {64, 1, 1}, config.dynamic_smem = kShared;
    const Source source = shared_kernel(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r14; "
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r15], [%rd13, " +
        coordinates(2) + "], [%r9];" + kWait);
    const Outcome outcome = bench.launch(source, config, make_map(c.spec(bench.upload(tensor))), pack({128, 5}),
                                         bench.upload(before), to, 0, c.row_bytes() * Packed::kRows, kShared, nullptr);
    expect_success(outcome);
    std::vector<uint8_t> expected = before;
    if (c.pitch() > c.row_bytes() && !c.is_spread()) {
      // Between the rows of a box that is narrower than its swizzle everything stays.
    } else {
      std::fill_n(expected.begin(), c.pitch() * Packed::kRows, 0xFF);  // what a program may not rely on
    }
    c.for_sixteens([&](uint32_t from, uint32_t at, uint32_t bytes, bool inside) {
      for (uint32_t i = 0; i < bytes; ++i) expected.at(at + i) = inside ? tensor.at(from + i) : 0;
    });
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to)) << "type " << c.type << " swizzle " << c.swizzle;
  }
}

TEST(Packed, StoresTakeTheLowerSixBitsOfBytes) {
  for (const Packed& c : kPacked) {
    Bench bench;
    const std::vector<uint8_t> shared = random_bytes(kShared, 3);
    std::vector<uint8_t> tensor = random_bytes(9 * Packed::kStride, 17);
    auto* const device_tensor = bench.upload(tensor);
    LaunchConfig config;
    config.block = {64, 1, 1}, config.dynamic_smem = kShared;
    const Source source =
        shared_kernel("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd13, " + coordinates(2) +
                      "], [%r15]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
    const Outcome outcome =
        bench.launch(source, config, make_map(c.spec(device_tensor)), pack({128, 5}), bench.upload(shared),
                     bench.allocate<uint8_t>(kShared), 0, c.row_bytes() * Packed::kRows, kShared, nullptr);
    if (c.type == 14) {
      expect_failure(outcome, Status::IllegalInstruction, {"16U4_ALIGN16B", "only loads"});
      continue;
    }
    expect_success(outcome);
    c.for_sixteens([&](uint32_t to, uint32_t at, uint32_t bytes, bool inside) {
      if (!inside) return;
      for (uint32_t i = 0; i < bytes; ++i) tensor.at(to + i) = c.bits() == 4 ? shared.at(at + i) : 0;
      for (uint32_t i = 0; i < 16 && c.bits() == 6; ++i) {
        for (uint32_t bit = 0; bit < 6; ++bit)
          tensor.at(to + (6 * i + bit) / 8) |=
              static_cast<uint8_t>((shared.at(at + i) >> bit & 1) << (6 * i + bit) % 8);
      }
    });
    EXPECT_TRUE(std::equal(tensor.begin(), tensor.end(), device_tensor))
        << "type " << c.type << " swizzle " << c.swizzle;
  }
}

TEST(Packed, WhatTheyDoNotHave) {
  const auto run = [](const Packed& c, int32_t x, bool nan, const std::string& body) {
    Bench bench;
    MapSpec spec = c.spec(bench.allocate<uint8_t>(9 * Packed::kStride));
    spec.nan_fill = nan;
    LaunchConfig config;
    config.block = {64, 1, 1}, config.dynamic_smem = kShared;
    return bench.launch(shared_kernel(body), config, make_map(spec), pack({x, 0}), bench.allocate<uint8_t>(kShared),
                        bench.allocate<uint8_t>(kShared), 0, 0, kShared, nullptr);
  };
  const std::string load =
      "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r15], [%rd13, " + coordinates(2) +
      "], [%r9];";
  expect_failure(run({15, 0}, 64, false, load), Status::IllegalInstruction, {"coordinate 64", "multiple of 128"});
  expect_failure(run({13, 0}, 16, false, load), Status::IllegalInstruction, {"coordinate 16 is 8 bytes"});
  expect_failure(run({14, 0}, 0, true, load), Status::IllegalInstruction, {"no NaNs"});
  expect_failure(run({13, 0}, 0, false,
                     "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd13, " + coordinates(2) +
                         "], [%r15];"),
                 Status::IllegalInstruction, {"no packed types"});
}

TEST(TensorFaults, CoordinatesAlignmentAndMaps) {
  Case c{.dims = {128, 64}, .strides = {256}, .box = {64, 8}, .element_strides = {}, .at = {0, 0}};
  const auto run = [](const Case& each, bool store, const std::string& change = "") {
    Bench bench;
    auto* tensor = bench.upload(std::vector<uint8_t>(each.tensor_bytes(), 0));
    const auto* from = bench.upload(std::vector<uint8_t>(kShared, 0));
    auto* to = bench.allocate<uint8_t>(kShared);
    const Source source =
        shared_kernel(change + (store ? "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd13, {%r40, %r41}], "
                                        "[%r15]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
                                      : "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r14; "
                                        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                                        "[%r15], [%rd13, {%r40, %r41}], [%r9]; " +
                                            kWait));
    LaunchConfig config;
    config.dynamic_smem = kShared;
    return bench.launch(source, config, make_map(each.spec(tensor)), pack(each.at), from, to, each.offset, each.bytes(),
                        kShared, nullptr);
  };
  const auto at = [&](int32_t x, int32_t y) {
    Case moved = c;
    moved.at = {x, y};
    return moved;
  };
  for (const int32_t x : {1, 3, 4, 12, 100, -1, -3}) {
    expect_failure(run(at(x, 0), false), Status::IllegalInstruction, {"innermost coordinate", "multiple of 16 bytes"});
    expect_failure(run(at(x, 0), true), Status::IllegalInstruction,
                   {x < 0 ? "negative coordinate" : "innermost coordinate"});
  }
  for (const int32_t x : {8, -8, 104, 0x7FFF'FFF8}) expect_success(run(at(x, 0), false));
  expect_failure(run(at(-8, 0), true), Status::IllegalInstruction, {"negative coordinate -8"});
  expect_failure(run(at(0, -1), true), Status::IllegalInstruction, {"negative coordinate -1", "dimension 1"});
  for (const uint32_t offset : {8, 16, 32, 64}) {
    Case moved = c;
    moved.offset = offset;
    expect_failure(run(moved, false), Status::MisalignedAddress, {"multiple of 128"});
    expect_failure(run(moved, true), Status::MisalignedAddress, {"multiple of 128"});
  }
  Case outside = c;
  outside.offset = kShared - 512;
  expect_failure(run(outside, false), Status::IllegalAddress, {"TMA load", "shared offset"});
  // A tensor map that is a copy on the stack, no map at all, or of another rank.
  expect_failure(run(c, false, "mov.u64 %rd13, 144115188075855872;"), Status::IllegalInstruction,
                 {"copy on the stack"});
  expect_failure(run(c, false, "ld.param.u64 %rd13, [from]; add.s64 %rd13, %rd13, 64;"), Status::IllegalInstruction,
                 {"not a tensor map"});
  Case flat{.dims = {1024}, .strides = {}, .box = {64}, .element_strides = {}, .at = {0}};
  expect_failure(run(flat, false), Status::IllegalInstruction, {"2 coordinates", "rank 1"});
  // A load over the mbarrier itself; the wrong CTA's barrier.
  expect_failure(run(c, false, "add.u32 %r15, %r15, -1024;"), Status::LaunchFailure, {"over the live mbarrier"});
  // A tensor that has been freed.
  {
    Bench bench;
    auto* tensor = bench.upload(std::vector<uint8_t>(c.tensor_bytes(), 0), "cudaMalloc #3");
    const TensorMap map = make_map(c.spec(tensor));
    bench.device().memory().release(tensor);
    const auto* from = bench.upload(std::vector<uint8_t>(kShared, 0));
    LaunchConfig config;
    config.dynamic_smem = kShared;
    const Source source = shared_kernel(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r14; "
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd13, {%r40, %r41}], "
        "[%r9]; " +
        kWait);
    expect_failure(bench.launch(source, config, map, pack(c.at), from, from, 0u, c.bytes(), kShared, nullptr),
                   Status::IllegalAddress,
                   {"TMA load", "cudaMalloc #3", "freed", "asynchronous operation that was issued at", "lane 0"});
  }
}

TEST(TensorFaults, WrongByteCounts) {
  const auto run = [](uint32_t expected, const Options& options) {
    Bench bench(options);
    const Case c{.dims = {128, 64}, .strides = {256}, .box = {64, 8}, .element_strides = {}, .at = {0, 0}};
    auto* tensor = bench.upload(std::vector<uint8_t>(c.tensor_bytes(), 0));
    const auto* from = bench.upload(std::vector<uint8_t>(kShared, 0));
    auto* to = bench.allocate<uint8_t>(kShared);
    const Source source = shared_kernel(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r14; "
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd13, {%r40, %r41}], "
        "[%r9]; " +
        kWait);
    LaunchConfig config;
    config.dynamic_smem = kShared;
    return bench.launch(source, config, make_map(c.spec(tensor)), pack(c.at), from, to, 0u, expected, kShared, nullptr);
  };
  for (const Options& options : all_schedules()) {
    expect_success(run(1024, options));
    expect_failure(run(1040, options), Status::LaunchTimeout,
                   {"deadlock", "bar, parity 0", "phase 0 still needs 16 bytes", "expect_tx 1,040",
                    "1,024 bytes by an operation that rank 0 issued"});
    expect_failure(run(1008, options), Status::LaunchTimeout, {"deadlock", "16 bytes that were delivered beyond"});
  }
}

TEST(TensorFaults, BarrierInAnotherCta) {
  Bench bench;
  const Case c{.dims = {64, 64}, .strides = {128}, .box = {64, 16}, .element_strides = {}, .at = {0, 5}};
  const auto* tensor = bench.upload(random_bytes(c.tensor_bytes(), 6));
  const auto* from = bench.upload(std::vector<uint8_t>(2 * kShared, 1));
  auto* to = bench.allocate<uint8_t>(2 * kShared);
  const Source source = shared_kernel(
      "and.b32 %r21, %r9, -16777217; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%r15], [%rd13, {%r40, %r41}], [%r21];");
  LaunchConfig config;
  config.grid = {2, 1, 1}, config.cluster = {2, 1, 1}, config.block = {32, 1, 1}, config.dynamic_smem = kShared;
  expect_failure(
      bench.launch(source, config, make_map(c.spec(tensor)), pack(c.at), from, to, 0u, c.bytes(), kShared, nullptr),
      Status::LaunchFailure, {"the mbarrier is in CTA 0, the destination in CTA 1", "without .cta_group::2"});
}

// ---- copies without a tensor map

TEST(BulkCopy, FromAndToGlobalMemory) {
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    const std::vector<uint8_t> data = random_bytes(4096, 4);
    const auto* global = bench.upload(data);
    auto* result = bench.upload(std::vector<uint8_t>(4096, 0xAB));
    const auto* from = bench.upload(std::vector<uint8_t>(kShared, 0x11));
    auto* to = bench.allocate<uint8_t>(kShared);
    const Source source = shared_kernel(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 1040; cp.async.bulk.prefetch.L2.global [%rd14], 1024; "
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r15+16], [%rd14+32], 1024, [%r9];"
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r15+2048], [%rd14], 16, [%r9]; " +
        kWait +
        "ld.param.u64 %rd20, [at]; fence.proxy.async; cp.async.bulk.global.shared::cta.bulk_group [%rd20], [%r15+16], "
        "512; cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd20+1024], [%r15+2048], 16, 0; mov.u16 "
        "%h1, 0x00F0;"
        "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd20+2048], [%r15+16], 32, %h1; "
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
    LaunchConfig config;
    config.block = {32, 1, 1}, config.dynamic_smem = kShared;
    Coordinates pointer;
    std::memcpy(pointer.at, &result, sizeof result);
    expect_success(bench.launch(source, config, TensorMap{}, pointer, from, to, 0u, 0u, kShared, global));
    EXPECT_TRUE(std::equal(to + 16, to + 1040, data.begin() + 32));
    EXPECT_EQ(to[15], 0x11);
    EXPECT_EQ(to[1040], 0x11);
    EXPECT_TRUE(std::equal(to + 2048, to + 2064, data.begin()));
    EXPECT_TRUE(std::equal(result, result + 512, data.begin() + 32));
    EXPECT_TRUE(std::equal(result + 1024, result + 1040, data.begin()));
    for (int i = 0; i < 32; ++i)
      EXPECT_EQ(result[2048 + i], i % 16 >= 4 && i % 16 < 8 ? data[static_cast<size_t>(32 + i)] : 0xAB) << i;
    EXPECT_EQ(result[512], 0xAB);
  }
}

TEST(BulkCopy, BetweenCtasAndMulticast) {
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    const std::vector<uint8_t> before = random_bytes(4 * kShared, 8), data = random_bytes(256, 5);
    const auto* from = bench.upload(before);
    const auto* global = bench.upload(data);
    auto* to = bench.allocate<uint8_t>(4 * kShared);
    // Each rank copies 512 bytes to the next one's; rank 0 also multicasts 256 bytes from global memory to all.
    const Source source = shared_kernel(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 768; barrier.cluster.arrive.relaxed; "
        "barrier.cluster.wait; add.u32 %r20, %r7, 1; and.b32 %r20, %r20, 3; mapa.shared::cluster.u32 %r21, %r15, %r20; "
        "mapa.shared::cluster.u32 %r22, %r9, %r20;"
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r21+4096], [%r15], 512, [%r22]; "
        "setp.eq.u32 %p4, %r7, 0; mov.u16 %h1, 15; @%p4 "
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r15+8192], [%rd14], "
        "256, [%r9], %h1;" +
        kWait);
    LaunchConfig config;
    config.grid = {4, 1, 1}, config.cluster = {4, 1, 1}, config.block = {1, 1, 1}, config.dynamic_smem = kShared;
    expect_success(bench.launch(source, config, TensorMap{}, Coordinates{}, from, to, 0u, 0u, kShared, global));
    for (size_t rank = 0; rank < 4; ++rank) {
      const auto previous = before.begin() + static_cast<long>((rank + 3) % 4 * kShared);
      EXPECT_TRUE(std::equal(previous, previous + 512, to + rank * kShared + 4096)) << rank;
      EXPECT_TRUE(std::equal(data.begin(), data.end(), to + rank * kShared + 8192)) << rank;
    }
  }
}

TEST(BulkCopy, Reductions) {
  Bench bench;
  std::vector<float> values(64), sums(64);
  std::iota(values.begin(), values.end(), 1.0f), std::iota(sums.begin(), sums.end(), 100.0f);
  std::vector<uint8_t> shared(kShared, 0);
  std::memcpy(shared.data(), values.data(), 256);
  const std::vector<uint32_t> words(64, 0xFF00);
  std::memcpy(shared.data() + 256, words.data(), 256);
  const auto* from = bench.upload(shared);
  auto* to = bench.allocate<uint8_t>(kShared);
  auto* result = bench.upload(sums);
  auto* bits = bench.upload(std::vector<uint32_t>(64, 0x0FF0));
  Coordinates pointer;
  std::memcpy(pointer.at, &bits, sizeof bits);
  const Source source = shared_kernel(
      "ld.param.u64 %rd20, [at]; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd14], [%r15], 256; "
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b32 [%rd20], [%r15+256], 128; "
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%rd20+128], [%r15+256], 128; "
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
  LaunchConfig config;
  config.dynamic_smem = kShared;
  expect_success(bench.launch(source, config, TensorMap{}, pointer, from, to, 0u, 0u, kShared, result));
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(result[i], 101.0f + 2 * static_cast<float>(i));
    EXPECT_EQ(bits[i], i < 32 ? 0x0F00u : 0xFF00u);
  }
}

TEST(BulkCopy, Faults) {
  const auto run = [](const std::string& body) {
    Bench bench;
    const auto* from = bench.upload(std::vector<uint8_t>(kShared, 0), "source");
    auto* to = bench.allocate<uint8_t>(kShared);
    LaunchConfig config;
    config.dynamic_smem = kShared;
    return bench.launch(shared_kernel(body), config, TensorMap{}, Coordinates{}, from, to, 0u, 0u, kShared, from);
  };
  const std::string odd = ".reg .b32 odd; mov.b32 odd, 20; ";  // a literal is refused before anything runs
  expect_failure(
      run(odd + "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r15], [%rd14], odd, [%r9];"),
      Status::MisalignedAddress, {"multiple of 16"});
  expect_failure(run("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r15+8], [%rd14], 16, [%r9];"),
                 Status::MisalignedAddress, {"multiple of 16"});
  expect_failure(run("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r15], [%rd14+8], 16, [%r9];"),
                 Status::MisalignedAddress, {"multiple of 16"});
  expect_failure(run("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r15], [%rd14+40944], 32, [%r9];"),
                 Status::IllegalAddress, {"bulk copy of 32 bytes", "source"});
  expect_failure(
      run("cp.async.bulk.global.shared::cta.bulk_group [%rd14], [%r15], 16; cp.async.bulk.commit_group; exit;"),
      Status::Success, {"warning", "exits while 1 of its bulk stores still read shared memory"});
}

// ---- st.async, red.async

TEST(RemoteStore, CountsItsBytes) {
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    auto* out = bench.allocate<uint32_t>(2 * 8);
    Source source;
    source.prologue = ".shared .align 16 .b8 cells[64];\n.shared .align 8 .b64 bar;\n";
    source.parameters = ".param .u64 out";
    source.body = R"(
      ld.param.u64 %rd1, [out]; mov.u32 %r1, cells; mov.u32 %r9, bar; mov.u32 %r2, %cluster_ctarank; xor.b32 %r3, %r2, 1; mapa.shared::cluster.u32 %r4, %r1, %r3; mapa.shared::cluster.u32 %r5, %r9, %r3;
      st.shared.u32 [%r1+24], 100; mbarrier.init.shared::cta.b64 [%r9], 1; barrier.cluster.arrive; barrier.cluster.wait; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 32; add.u32 %r6, %r2, 10; cvt.u64.u32 %rd3, %r6;
      st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r4], %r6, [%r5]; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r4+32], {%r6, 1, 2, 3}, [%r5]; st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r4+8], %rd3, [%r5];
      red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4+24], %r6, [%r5];
      wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r9], 0; @!%p1 bra wait;
      mul.wide.u32 %rd2, %r2, 32; add.s64 %rd1, %rd1, %rd2; ld.shared.u32 %r10, [%r1]; ld.shared.u32 %r11, [%r1+8]; ld.shared.u32 %r12, [%r1+24]; ld.shared.v4.u32 {%r13, %r14, %r15, %r16}, [%r1+32];
      st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13}; st.global.v2.u32 [%rd1+16], {%r14, %r16}; barrier.cluster.arrive; barrier.cluster.wait;)";
    LaunchConfig config;
    config.grid = {2, 1, 1}, config.cluster = {2, 1, 1};
    expect_success(bench.launch(source, config, out));
    for (uint32_t rank = 0; rank < 2; ++rank) {
      const uint32_t sent = 11 - rank;
      EXPECT_EQ(std::vector<uint32_t>(out + 8 * rank, out + 8 * rank + 6),
                (std::vector<uint32_t>{sent, sent, 100 + sent, sent, 1, 3}));
    }
  }
}

// ---- tensor maps edited on the device

TEST(TensorMapEdit, ReplacedFieldsTakeEffect) {
  Bench bench;
  const std::vector<uint8_t> tensor = random_bytes(64 * 256, 5);
  const auto* device_tensor = bench.upload(tensor);
  const Case original{.dims = {16, 4}, .strides = {32}, .box = {16, 4}, .element_strides = {}, .at = {0, 0}};
  auto* map = bench.upload(std::vector<TensorMap>{make_map(original.spec(device_tensor)), TensorMap{}});
  const auto* from = bench.upload(std::vector<uint8_t>(kShared, 0));
  auto* to = bench.allocate<uint8_t>(kShared);
  Coordinates pointer;
  std::memcpy(pointer.at, &device_tensor, 8);
  // Copies the map to shared memory, edits it there, copies it back to the second place, and loads through it.
  const Source source = shared_kernel(R"(
      mov.u32 %r20, 0; copy: cvt.u64.u32 %rd20, %r20; add.s64 %rd21, %rd14, %rd20; ld.global.u32 %r21, [%rd21]; add.u32 %r22, %r8, %r20; st.shared.u32 [%r22+16384], %r21; add.u32 %r20, %r20, 4; setp.lt.u32 %p4, %r20, 128; @%p4 bra copy;
      add.u32 %r23, %r8, 16384; ld.param.u64 %rd22, [at]; add.s64 %rd22, %rd22, 512; cvt.u64.u32 %rd23, %r23; cvta.shared.u64 %rd24, %rd23;
      tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%rd23], %rd22; tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%rd23], 0, 128; tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%rd23], 0, 256;
      tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%rd23], 0, 32; tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%rd23], 2;
      add.s64 %rd25, %rd14, 128; fence.proxy.async;)",
                                      "");
  Source finished = source;
  const std::string after =
      R"(mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 256; mov.u32 %r40, 32; mov.u32 %r41, 1;
      mov.u32 %r24, 0; back: cvt.u64.u32 %rd20, %r24; add.s64 %rd21, %rd25, %rd20; add.u32 %r22, %r23, %r24; ld.shared.u32 %r21, [%r22]; st.global.u32 [%rd21], %r21; add.u32 %r24, %r24, 4; setp.lt.u32 %p4, %r24, 128; @%p4 bra back;
      fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu [%rd25], 128; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd25, {%r40, %r41}], [%r9]; )" +
      kWait;
  finished.body.insert(finished.body.find("\nsync:"), "\n" + after);
  LaunchConfig config;
  config.dynamic_smem = kShared;
  expect_success(bench.launch(finished, config, TensorMap{}, pointer, from, to, 0u, 0u, kShared, map));
  Case edited{.dims = {128, 4}, .strides = {256}, .box = {32, 4}, .element_strides = {}, .at = {32, 1}};
  edited.swizzle = 2;
  const std::vector<uint8_t> expected =
      model_load(edited, {tensor.begin() + 512, tensor.end()}, std::vector<uint8_t>(kShared, 0));
  EXPECT_EQ(std::vector<uint8_t>(to, to + 256), std::vector<uint8_t>(expected.begin(), expected.begin() + 256));
}

/// All fields, as Triton's make_tensor_descriptor sets them in 128 zero bytes: a matrix of `columns` x 64 elements.
std::string build_map(const std::string& at, const std::string& space, int elemtype, int columns, int swizzle) {
  std::string text;
  const auto set = [&](const std::string& field, const std::string& type, const std::string& value) {
    text += "tensormap.replace.tile." + field + space + ".b1024." + type + " [" + at + "], " + value + ";\n";
  };
  const std::string pitch = std::to_string(columns * 2);
  set("global_address", "b64", "%rd22"), set("rank", "b32", "1"), set("global_stride", "b64", "0, " + pitch);
  set("box_dim", "b32", "0, 32"), set("box_dim", "b32", "1, 4");
  set("global_dim", "b32", "0, " + std::to_string(columns)), set("global_dim", "b32", "1, 64");
  set("element_stride", "b32", "0, 1"), set("element_stride", "b32", "1, 1");
  set("elemtype", "b32", std::to_string(elemtype)), set("interleave_layout", "b32", "0");
  set("swizzle_mode", "b32", std::to_string(swizzle)), set("fill_mode", "b32", "0");
  return text;
}

TEST(TensorMapEdit, BuiltFromZeros) {
  for (const int elemtype : {6, 10}) {  // F16, BF16
    Bench bench;
    const std::vector<uint8_t> tensor = random_bytes(64 * 256, 5);
    const auto* device_tensor = bench.upload(tensor);
    auto* map = bench.upload(std::vector<TensorMap>(1));
    const auto* from = bench.upload(std::vector<uint8_t>(kShared, 0));
    auto* to = bench.allocate<uint8_t>(kShared);
    Coordinates pointer;
    std::memcpy(pointer.at, &device_tensor, 8);
    // Shared memory is zero: the map is built there by one thread, and copied by its warp.
    const Source source = shared_kernel(
        "add.u32 %r23, %r8, 16384; cvt.u64.u32 %rd23, %r23; ld.param.u64 %rd22, [at];\n" +
        build_map("%rd23", ".shared::cta", elemtype, 128, 2) +
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd14], [%r23], 128; "
        "fence.proxy.tensormap::generic.acquire.gpu [%rd14], 128; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], "
        "%r14; mov.u32 %r40, 32; mov.u32 %r41, 3; "
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd14, {%r40, %r41}], "
        "[%r9]; " +
        kWait);
    LaunchConfig config;
    config.dynamic_smem = kShared, config.block = {1, 1, 1};
    expect_success(bench.launch(source, config, TensorMap{}, pointer, from, to, 0u, 256u, kShared, map));
    Case built{.dims = {128, 64}, .strides = {256}, .box = {32, 4}, .element_strides = {}, .at = {32, 3}};
    built.swizzle = 2;
    const std::vector<uint8_t> expected = model_load(built, tensor, std::vector<uint8_t>(kShared, 0));
    EXPECT_EQ(std::vector<uint8_t>(to, to + 256), std::vector<uint8_t>(expected.begin(), expected.begin() + 256));
  }
}

TEST(TensorMapEdit, WhatIsNotSetIsNamed) {
  const auto run = [](const std::string& edit) {
    Bench bench;
    auto* map = bench.upload(std::vector<TensorMap>(1));
    const auto* from = bench.upload(std::vector<uint8_t>(64 * 256, 0));
    Coordinates pointer;
    std::memcpy(pointer.at, &from, 8);
    const Source source = shared_kernel("ld.param.u64 %rd22, [at];\n" + edit +
                                        "fence.proxy.tensormap::generic.acquire.gpu [%rd14], 128; mov.u32 %r40, 0; "
                                        "mov.u32 %r41, 0; "
                                        "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes "
                                        "[%r15], [%rd14, {%r40, %r41}], [%r9];");
    LaunchConfig config;
    config.dynamic_smem = kShared;
    return bench.launch(source, config, TensorMap{}, pointer, from, from, 0u, 256u, 0u, map);
  };
  const auto without = [](const std::string& line) {
    std::string text = build_map("%rd14", ".global", 6, 128, 0);
    const size_t begin = text.find("tensormap.replace.tile." + line);
    EXPECT_NE(begin, std::string::npos) << line;
    return text.erase(begin, text.find('\n', begin) - begin);
  };
  expect_failure(run(without("rank")), Status::IllegalInstruction, {"2 coordinates", "rank 0"});
  expect_failure(run(without("box_dim.global.b1024.b32 [%rd14], 1")), Status::IllegalInstruction,
                 {"box_dim[1]", "is 0", "1 to 256"});
  expect_failure(run(without("element_stride.global.b1024.b32 [%rd14], 1")), Status::IllegalInstruction,
                 {"element_stride[1]", "is 0", "1 to 8"});
  expect_failure(run(without("elemtype") + "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd14], 4;"),
                 Status::IllegalInstruction, {"swizzle_mode 4"});
  expect_failure(run(""), Status::IllegalInstruction, {"not a tensor map"});
}

}  // namespace
}  // namespace sim::test
