// TMA: tensor copies of every rank and swizzle with their out-of-bounds rules, bulk copies and reductions, st.async.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "exec/arithmetic/numeric.h"
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
  std::vector<uint64_t> dims, strides = {};  ///< strides in bytes of dimensions 1..
  std::vector<uint32_t> box, element_strides = {};
  std::vector<int32_t> at = {};
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
      const uint64_t nan = c.element_bytes == 2 ? 0x7FF7 : 0x7FF7'7FF7;
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
Source shared_kernel(const std::string& body) {
  Source source;
  source.prologue = ".extern .shared .align 1024 .b8 box[];\n.shared .align 8 .b64 bar;\n";
  source.parameters = std::string(kMapParameter) +
                      ", .param .align 4 .b8 at[20], .param .u64 from, .param .u64 to, .param .u32 offset, .param .u32 "
                      "bytes, .param .u32 total, .param .u64 extra";
  source.body =
      R"(
        mov.u32 %r9, bar;
        mov.u32 %r8, box;
        mov.u32 %r10, %tid.x;
        mov.u32 %r11, %ntid.x;
        ld.param.u64 %rd10, [from];
        ld.param.u64 %rd11, [to];
        ld.param.u32 %r12, [total];
        ld.param.u32 %r13, [offset];
        ld.param.u32 %r14, [bytes];
        add.u32 %r15, %r8, %r13;
        mov.u64 %rd12, map;
        cvta.param.u64 %rd13, %rd12;
        ld.param.u64 %rd14, [extra];
        mov.u32 %r7, %cluster_ctarank;
        mul.wide.u32 %rd15, %r7, %r12;
        add.s64 %rd10, %rd10, %rd15;
        add.s64 %rd11, %rd11, %rd15;
        shl.b32 %r16, %r10, 2;
        fill: setp.ge.u32 %p1, %r16, %r12;
        @%p1 bra filled;
        cvt.u64.u32 %rd16, %r16;
        add.s64 %rd17, %rd10, %rd16;
        ld.global.u32 %r17, [%rd17];
        add.u32 %r18, %r8, %r16;
        st.shared.u32 [%r18], %r17;
        mad.lo.u32 %r16, %r11, 4, %r16;
        bra fill;
        filled: setp.ne.u32 %p2, %r10, 0;
        @!%p2 mbarrier.init.shared::cta.b64 [%r9], 1;
        fence.mbarrier_init.release.cluster;
        fence.proxy.async;
        bar.sync 0;
        barrier.cluster.arrive.aligned;
        barrier.cluster.wait.aligned;
        @%p2 bra sync;)" +
      load_coordinates(5) + body +
      R"(
        sync: bar.sync 0;
        barrier.cluster.arrive.aligned;
        barrier.cluster.wait.aligned;
        shl.b32 %r16, %r10, 2;
        drain: setp.ge.u32 %p1, %r16, %r12;
        @%p1 bra drained;
        cvt.u64.u32 %rd16, %r16;
        add.s64 %rd17, %rd11, %rd16;
        add.u32 %r18, %r8, %r16;
        ld.shared.u32 %r17, [%r18];
        st.global.u32 [%rd17], %r17;
        mad.lo.u32 %r16, %r11, 4, %r16;
        bra drain;
        drained:)";
  return source;
}
const std::string kWait = "wait: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0; @!%p3 bra wait; ";

const std::string kExpect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r14; ";
const std::string kLoad2d =
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd13, {%r40, %r41}], "
    "[%r9]; ";
const std::string kStore2d =
    R"(
      cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd13, {%r40, %r41}], [%r15];
      cp.async.bulk.commit_group;
      cp.async.bulk.wait_group 0;)";

/// The kernel's parameter `at`: coordinates, or a pointer.
struct Coordinates {
  int32_t at[5] = {};
  Coordinates(const std::vector<int32_t>& from = {}) { std::copy(from.begin(), from.end(), at); }
  explicit Coordinates(const void* pointer) { std::memcpy(at, &pointer, sizeof pointer); }
};

/// What a launch of a shared_kernel() is given: a cluster of CTAs, and what their shared memory holds before.
struct Given {
  TensorMap map = {};
  Coordinates at = {};
  std::vector<uint8_t> shared = std::vector<uint8_t>(kShared);
  uint32_t offset = 0, bytes = 0;
  const void* extra = nullptr;
  uint32_t threads = 1;
};
struct Ran {
  Outcome outcome;
  std::vector<uint8_t> shared;  ///< of all CTAs, one after the other
};
Ran run(Bench& bench, const std::string& body, const Given& given) {
  const auto* from = bench.upload(given.shared);
  auto* to = bench.allocate<uint8_t>(given.shared.size());
  const auto ctas = static_cast<uint32_t>(given.shared.size() / kShared);
  Ran ran;
  ran.outcome = bench.launch(
      shared_kernel(body),
      {.grid = {ctas, 1, 1}, .block = {given.threads, 1, 1}, .cluster = {ctas, 1, 1}, .dynamic_smem = kShared},
      given.map, given.at, from, to, given.offset, given.bytes, kShared, given.extra);
  ran.shared.assign(to, to + given.shared.size());
  return ran;
}
/// Shared memory of one CTA of a cluster.
std::vector<uint8_t> of_cta(const std::vector<uint8_t>& shared, size_t rank) {
  const auto begin = shared.begin() + static_cast<long>(rank * kShared);
  return {begin, begin + kShared};
}
/// The same for one tensor copy, by a map of the case's tensor.
Ran run(Bench& bench, const std::string& body, const Case& c, const void* tensor,
        const std::vector<uint8_t>& shared = std::vector<uint8_t>(kShared)) {
  return run(bench, body,
             {.map = make_map(c.spec(tensor)),
              .at = c.at,
              .shared = shared,
              .offset = c.offset,
              .bytes = c.bytes(),
              .threads = 64});
}

/// Runs one load and compares shared memory with the model.
void check_load(const Case& c, const Options& options = {},
                const std::string& form = ".shared::cluster.global.tile.mbarrier::complete_tx::bytes") {
  Bench bench(options);
  const std::vector<uint8_t> tensor = random_bytes(c.tensor_bytes(), 7 + c.bytes()), before = random_bytes(kShared, 3);
  const Ran ran = run(bench,
                      kExpect + "cp.async.bulk.tensor." + std::to_string(c.rank()) + "d" + form + " [%r15], [%rd13, " +
                          coordinates(c.rank()) + "], [%r9];" + kWait,
                      c, bench.upload(tensor), before);
  ASSERT_EQ(ran.outcome.status, Status::Success) << ran.outcome.report;
  const std::vector<uint8_t> expected = model_load(c, tensor, before);
  const auto wrong = std::mismatch(expected.begin(), expected.end(), ran.shared.begin());
  EXPECT_EQ(wrong.first, expected.end()) << "rank " << c.rank() << " swizzle " << c.swizzle << " shared byte +"
                                         << wrong.first - expected.begin() << ": " << int{*wrong.second} << ", not "
                                         << int{*wrong.first};
}

// ---- loads

TEST(TensorLoad, RanksOneToFive) {
  for (const Options& options : all_schedules()) {
    check_load({.dims = {300}, .box = {256}, .at = {32}}, options);
    check_load({.dims = {200, 50}, .strides = {400}, .box = {64, 20}, .at = {16, 7}}, options);
    check_load({.dims = {64, 30, 9}, .strides = {128, 4096}, .box = {32, 5, 4}, .at = {8, 3, 2}}, options);
    check_load({.dims = {40, 7, 6, 5}, .strides = {96, 800, 6000}, .box = {16, 3, 2, 4}, .at = {8, 2, 1, 1}}, options);
    check_load(
        {.dims = {32, 5, 4, 3, 6}, .strides = {64, 320, 1280, 3840}, .box = {8, 2, 3, 2, 3}, .at = {16, 1, 1, 0, 2}},
        options);
  }
}

TEST(TensorLoad, SwizzlesAtEveryOffset) {
  for (const int swizzle : {0, 1, 2, 3, 4}) {
    const uint32_t inner = swizzle == 1 ? 16 : swizzle == 2 ? 32 : 64;
    for (uint32_t offset = 0; offset < 2048; offset += 128) {
      check_load({.dims = {128, 70},
                  .strides = {256},
                  .box = {inner, 40},
                  .at = {64, 9},
                  .swizzle = swizzle,
                  .offset = offset});
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
      check_load({.element_bytes = kind.bytes,
                  .data_type = kind.type,
                  .dims = {100, 20},
                  .strides = {1024},
                  .box = {128 / bytes, 12},
                  .at = {static_cast<int32_t>(32 / bytes), 5},
                  .swizzle = swizzle});
    }
  }
}

TEST(TensorLoad, OutOfBoundsInEveryDirection) {
  for (const bool nan : {false, true}) {
    for (const int swizzle : {0, 3}) {
      for (const int32_t x : {-64, -8, 0, 8, 56, 88, 96, 104, 1000, -1000, 0x7FFF'FFF8}) {
        for (const int32_t y : {-30, -3, 0, 7, 15, 19, 20, 1000}) {
          check_load(
              {.dims = {100, 20}, .strides = {256}, .box = {64, 8}, .at = {x, y}, .swizzle = swizzle, .nan_fill = nan});
        }
      }
    }
  }
  for (const uint64_t width : {1, 63, 65, 97, 100, 101}) {  // clipped exactly, element by element
    check_load({.dims = {width, 9},
                .strides = {256},
                .box = {64, 8},
                .at = {static_cast<int32_t>(width) / 64 * 64, 4},
                .swizzle = 3});
  }
  for (const int32_t z : {-2, 1, 3}) {
    check_load({.dims = {64, 10, 3}, .strides = {128, 2000}, .box = {64, 4, 2}, .at = {0, 8, z}, .swizzle = 3});
  }
  check_load({.element_bytes = 4,
              .data_type = 7,
              .dims = {16, 16},
              .strides = {64},
              .box = {16, 8},
              .at = {4, 14},
              .nan_fill = true});
}

TEST(TensorLoad, NarrowBoxesLeaveTheRestOfTheirRows) {
  for (const int swizzle : {1, 2, 3}) {
    for (uint32_t inner = 8; inner * 2 < span_of(swizzle); inner += 8) {
      const Case c{
          .dims = {256, 40}, .strides = {512}, .box = {inner, 20}, .at = {24, 3}, .swizzle = swizzle, .offset = 128};
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
  std::vector<int32_t> at{Im2col::kFrom};
  for (const int64_t each : c.place(c.first)) at.push_back(static_cast<int32_t>(each));

  load += "cp.async.bulk.tensor." + std::to_string(spatial + 2) +
          "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r15], [%rd13, " + coordinates(spatial + 2) +
          "], [%r9], {" + offsets + "};";
  const uint32_t row_bytes = Im2col::kLoaded * 2;
  std::vector<uint8_t> expected = random_bytes(kShared, 3);
  const Ran ran = run(bench, kExpect + load + kWait,
                      {.map = map, .at = at, .shared = expected, .bytes = c.pixels * row_bytes, .threads = 64});
  ASSERT_EQ(ran.outcome.status, Status::Success) << ran.outcome.report;
  for (uint32_t i = 0; i < c.pixels; ++i) {
    const int64_t pixel = c.pixel(c.first + i);
    const auto row = expected.begin() + i * row_bytes;
    if (pixel < 0) {
      std::fill_n(row, row_bytes, uint8_t{0});
    } else {
      std::copy_n(tensor.begin() + (pixel * Im2col::kChannels + Im2col::kFrom) * 2, row_bytes, row);
    }
  }
  for (size_t i = 0; i < kShared; ++i) ASSERT_EQ(int{ran.shared[i]}, int{expected[i]}) << "shared byte +" << i;
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
  const auto load = [](bool is_im2col, const std::string& form, const std::string& offsets) {
    Bench bench;
    TensorMap map = make_map({.address = bench.allocate<uint8_t>(1 << 16), .dims = {64, 8, 4}, .box = {32, 1, 1}});
    map.is_im2col = is_im2col;
    map.pixels = 8;
    return run(bench,
               ".reg .b16 %o; cp.async.bulk.tensor.3d.shared::cluster.global." + form +
                   ".mbarrier::complete_tx::bytes [%r15], [%rd13, " + coordinates(3) + "], [%r9]" + offsets + ";",
               {.map = map})
        .outcome;
  };
  expect_fault(load(true, "tile", ""), faults::map_for_im2col);
  expect_fault(load(false, "im2col", ", {%o}"), faults::map_not_for_im2col);
}

TEST(TensorLoad, QualifiersInEveryOrderThatAssembles) {
  const Case c{.dims = {200, 50}, .strides = {400}, .box = {64, 20}, .at = {16, 7}};
  for (const char* const form :
       {".shared::cluster.global.mbarrier::complete_tx::bytes", ".shared::cta.global.mbarrier::complete_tx::bytes",
        ".shared::cta.global.tile.mbarrier::complete_tx::bytes",
        ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::1"}) {
    check_load(c, {}, form);
  }
}

TEST(TensorLoad, SlabsOfRankThree) {
  // {64, rows, K/64} loads several 128-byte atoms in one instruction: slab z starts at z * rows * 128.
  check_load({.dims = {64, 100, 4}, .strides = {512, 128}, .box = {64, 24, 4}, .at = {0, 90, 1}, .swizzle = 3});
}

TEST(TensorLoad, MapsInGlobalMemoryAndPrefetches) {
  Bench bench;
  const std::vector<uint8_t> tensor = random_bytes(64 * 64 * 2, 5);
  const Case c{.dims = {64, 64}, .strides = {128}, .box = {64, 8}, .at = {0, 3}};
  const auto* map = bench.upload(std::vector<TensorMap>{make_map(c.spec(bench.upload(tensor)))});
  const Ran ran = run(bench,
                      R"(
        prefetch.tensormap [%rd14];
        fence.proxy.tensormap::generic.acquire.gpu [%rd14], 128;
        cp.async.bulk.prefetch.tensor.2d.L2.global [%rd14, {%r40, %r41}];
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r14;
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r15], [%rd14,
            {%r40, %r41}], [%r9], 1152921504606846976;)" +
                          kWait,
                      {.at = c.at, .bytes = c.bytes(), .extra = map});
  expect_success(ran.outcome);
  EXPECT_TRUE(std::equal(ran.shared.begin(), ran.shared.begin() + 1024, tensor.begin() + 3 * 128));
}

// ---- multicast and pairs

TEST(TensorLoad, MulticastToTheCtasOfTheMask) {
  for (const Options& options : all_schedules()) {
    for (const bool pair : {false, true}) {
      // Rank 2 of 4 loads for ranks 1 and 3 (0b1010). Signals: with ::1 at each destination's barrier; with ::2 at the
      // CTA of the destination's pair that has the named barrier's parity (even here: ranks 0 and 2).
      Bench bench(options);
      const Case c{.dims = {64, 64}, .strides = {128}, .box = {64, 16}, .at = {0, 5}, .offset = 256};
      const std::vector<uint8_t> tensor = random_bytes(c.tensor_bytes(), 6), before = random_bytes(4 * kShared, 9);
      const std::string group = pair ? ".cta_group::2" : "";
      const uint32_t signalled = pair ? 0b0101 : 0b1010;
      const Ran ran = run(bench,
                          "mov.u32 %r20, 1; shl.b32 %r20, %r20, %r7; and.b32 %r20, %r20, " + std::to_string(signalled) +
                              "; setp.ne.u32 %p4, %r20, 0; @%p4 " + kExpect +
                              "mov.u16 %h1, 10; setp.eq.u32 %p5, %r7, 2; @%p5 cp.async.bulk.tensor.2d" + group +
                              ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r15], [%rd13, "
                              "{%r40, %r41}], [%r9], %h1; @!%p4 bra sync; " +
                              kWait,
                          c, bench.upload(tensor), before);
      expect_success(ran.outcome);
      for (size_t rank = 0; rank < 4; ++rank) {
        std::vector<uint8_t> expected = of_cta(before, rank);
        if (rank % 2 == 1) expected = model_load(c, tensor, expected);
        EXPECT_EQ(of_cta(ran.shared, rank), expected) << rank << pair;
      }
    }
  }
}

TEST(TensorLoad, BothCtasOfAPairReportToTheLeader) {
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    const Case c{.dims = {64, 64}, .strides = {128}, .box = {64, 16}, .at = {0, 5}};
    const std::vector<uint8_t> tensor = random_bytes(c.tensor_bytes(), 6);
    const Ran ran = run(bench,
                        R"(
              setp.eq.u32 %p5, %r7, 0;
              shl.b32 %r20, %r14, 1;
              @%p5 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r20;
              and.b32 %r21, %r9, -16777224;
              mov.u32 %r41, %r7;
              shl.b32 %r41, %r41, 4;
              cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes [%r15],
                  [%rd13, {%r40, %r41}], [%r21];
              @!%p5 bra sync;)" +
                            kWait,
                        c, bench.upload(tensor), std::vector<uint8_t>(2 * kShared, 1));
    expect_success(ran.outcome);
    for (size_t rank = 0; rank < 2; ++rank) {
      const std::vector<uint8_t> shared = of_cta(ran.shared, rank);
      EXPECT_TRUE(
          std::equal(shared.begin(), shared.begin() + 2048, tensor.begin() + static_cast<long>(rank * 16 * 128)));
    }
  }
}

// ---- four rows, wherever they lie (tile::gather4, tile::scatter4)

/// A matrix of 64 rows of 64 16-bit elements, and boxes of one row of it.
struct Rows {
  Case c{.dims = {64, 64}, .strides = {128}, .box = {32, 1}};
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

const std::string kGather = kExpect +
                            "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
                            "[%r15], [%rd13, " +
                            coordinates(5) + "], [%r9];" + kWait;
const std::string kScatter = "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd13, " +
                             coordinates(5) + "], [%r15]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
Ran run_rows(Bench& bench, const std::string& body, const Case& c, const void* tensor,
             const std::vector<uint8_t>& shared = std::vector<uint8_t>(kShared)) {
  return run(
      bench, body,
      {.map = make_map(c.spec(tensor)), .at = c.at, .shared = shared, .offset = c.offset, .bytes = 4 * c.inner()});
}

TEST(FourRows, GatherBringsThemInOrder) {
  for (const Options& options : all_schedules()) {
    for (const int swizzle : {0, 1, 2, 3}) {
      Rows rows({swizzle == 1 ? 48 : 32, 63, 5, 5, 64}, swizzle, 256);  // one twice, one outside
      if (swizzle == 1) rows.c.box[0] = 16;
      Bench bench(options);
      const std::vector<uint8_t> tensor = random_bytes(rows.c.tensor_bytes(), 11), before = random_bytes(kShared, 3);
      const Ran ran = run_rows(
          bench, "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%rd13, " + coordinates(5) + "]; " + kGather,
          rows.c, bench.upload(tensor), before);
      expect_success(ran.outcome);
      std::vector<uint8_t> expected = before;
      for (size_t i = 0; i < 4; ++i) expected = model_load(rows.row(i), tensor, expected);
      EXPECT_EQ(ran.shared, expected) << swizzle;
    }
  }
}

TEST(FourRows, GatherToTheCtasOfTheMaskAndToAPair) {
  for (const Options& options : all_schedules()) {
    const Rows rows({8, 40, 3, 17, 0});
    Bench bench(options);
    const std::vector<uint8_t> tensor = random_bytes(rows.c.tensor_bytes(), 6);
    // Rank 1 loads for both; with ::2 both report to the CTA whose mbarrier has the parity of the named one.
    const Ran ran = run_rows(bench,
                             R"(
          setp.eq.u32 %p5, %r7, 1;
          shl.b32 %r20, %r14, 1;
          @%p5 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r20;
          mov.u16 %h1, 3;
          @%p5 cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2
              [%r15], [%rd13, )" +
                                 coordinates(5) + "], [%r9], %h1; @!%p5 bra sync; " + kWait,
                             rows.c, bench.upload(tensor), std::vector<uint8_t>(2 * kShared, 1));
    expect_success(ran.outcome);
    std::vector<uint8_t> expected(kShared, 1);
    for (size_t i = 0; i < 4; ++i) expected = model_load(rows.row(i), tensor, expected);
    for (const size_t rank : {0, 1}) EXPECT_EQ(of_cta(ran.shared, rank), expected) << rank;
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
      expect_success(run_rows(bench, kScatter, rows.c, device_tensor, shared).outcome);
      for (size_t i = 0; i < 4; ++i) {
        const Case one = rows.row(i);
        for (uint32_t b = 0; b < one.inner() && one.at[1] < 64; ++b) {
          tensor[static_cast<size_t>(one.at[1] * 128 + one.at[0] * 2) + b] =
              shared[swizzle_bits(swizzle, kBase + one.offset + b) - kBase];
        }
      }
      EXPECT_TRUE(std::equal(tensor.begin(), tensor.end(), device_tensor)) << swizzle;
    }
  }
}

TEST(FourRows, Faults) {
  const auto copy = [](Case c, std::vector<int32_t> at, const std::string& how) {
    Bench bench;
    c.at = std::move(at);
    return run_rows(bench, how, c, bench.upload(std::vector<uint8_t>(c.tensor_bytes()))).outcome;
  };
  const Case right = Rows({}).c;
  expect_success(copy(right, {-8, -1, 0, 64, 7}, kGather));
  expect_fault(copy(right, {0, -1, 0, 1, 2}, kScatter), faults::row_at_negative_coordinate, {-1});
  expect_fault(copy(right, {3, 0, 1, 2, 3}, kGather), faults::coordinate_misaligned);
  Case high = right;
  high.box[1] = 4;
  expect_fault(copy(high, {0, 0, 1, 2, 3}, kGather), faults::box_of_rows, {4});
  const Case deep{.dims = {64, 8, 8}, .strides = {128, 1024}, .box = {32, 1, 1}};
  expect_fault(copy(deep, {0, 0, 1, 2, 3}, kScatter), faults::map_rank_of_rows, {3});
}

// ---- stores

/// Stores a box and compares the whole tensor with the model.
void check_store(const Case& c, const Options& options, const std::string& reduce = "",
                 const std::function<void(uint8_t*, const uint8_t*)>& combine = {}) {
  Bench bench(options);
  std::vector<uint8_t> tensor = random_bytes(c.tensor_bytes(), 17), source_bytes = random_bytes(kShared, 3);
  if (c.data_type >= 6 && c.data_type <= 9) {  // keep exponents of floating-point numbers away from infinities
    for (size_t i = 1; i < tensor.size(); i += 2) tensor[i] = static_cast<uint8_t>(0x3C | (tensor[i] & 0x81));
    for (size_t i = 1; i < source_bytes.size(); i += 2)
      source_bytes[i] = static_cast<uint8_t>(0x3C | (source_bytes[i] & 0x81));
  }
  auto* device_tensor = bench.upload(tensor);
  const Ran ran =
      run(bench,
          (reduce.empty() ? "cp.async.bulk.tensor." : "cp.reduce.async.bulk.tensor.") + std::to_string(c.rank()) +
              "d.global.shared::cta." + (reduce.empty() ? "bulk_group" : reduce + ".tile.bulk_group") + " [%rd13, " +
              coordinates(c.rank()) +
              R"(
                ], [%r15];
                cp.async.bulk.commit_group;
                cp.async.bulk.wait_group.read 0;
                cp.async.bulk.wait_group 0;)",
          c, device_tensor, source_bytes);
  ASSERT_EQ(ran.outcome.status, Status::Success) << ran.outcome.report;
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
    check_store({.dims = {304}, .box = {256}, .at = {96}}, options);
    check_store({.dims = {64, 30, 9}, .strides = {128, 4096}, .box = {32, 5, 4}, .at = {8, 27, 7}}, options);
    check_store({.dims = {40, 7, 6, 5}, .strides = {96, 800, 6000}, .box = {16, 3, 2, 4}, .at = {8, 2, 1, 1}}, options);
    check_store(
        {.dims = {32, 5, 4, 3, 6}, .strides = {64, 320, 1280, 3840}, .box = {8, 2, 3, 2, 3}, .at = {16, 4, 1, 0, 2}},
        options);
  }
  for (const int swizzle : {0, 1, 2, 3, 4}) {
    for (const uint64_t width : {1, 64, 97, 100, 128}) {
      for (const int32_t y : {0, 15, 20, 900}) {
        check_store({.dims = {width, 20},
                     .strides = {512},
                     .box = {swizzle == 1   ? 16u
                             : swizzle == 2 ? 32u
                                            : 64u,
                             8},
                     .at = {width > 64 ? 64 : 0, y},
                     .swizzle = swizzle,
                     .offset = 384},
                    {});
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
    const Case c{
        .element_bytes = bytes, .data_type = type, .dims = {40, 20}, .strides = {512}, .box = {32, 8}, .at = {16, 15}};
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
  check_store(kind(5, 8), {}, "min", as(int64_t{}, [](int64_t a, int64_t b) { return std::min(a, b); }));
  check_store(kind(8, 8), {}, "add", as(double{}, [](double a, double b) { return a + b; }));
  check_store(kind(6, 2), {}, "add", as(uint16_t{}, [](uint16_t a, uint16_t b) {
                return float_to_f16_rn(f16_to_float(a) + f16_to_float(b));
              }));
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
    const Case c{.dims = {64, 64}, .strides = {128}, .box = {64, 8}, .at = {0, 0}};
    auto* tensor = bench.upload(std::vector<uint8_t>(c.tensor_bytes(), 0));
    expect_success(run(bench, R"(
      mov.u32 %r20, 0;
      turn: and.b32 %r21, %r20, 1;
      shl.b32 %r21, %r21, 10;
      add.u32 %r21, %r15, %r21;
      cp.async.bulk.wait_group.read 1;
      mov.u32 %r22, 0;
      put: add.u32 %r23, %r21, %r22;
      add.u32 %r24, %r20, 1;
      st.shared.u32 [%r23], %r24;
      add.u32 %r22, %r22, 4;
      setp.lt.u32 %p4, %r22, 1024;
      @%p4 bra put;
      fence.proxy.async.shared::cta;
      shl.b32 %r41, %r20, 3;
      cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd13, {%r40, %r41}], [%r21];
      cp.async.bulk.commit_group;
      add.u32 %r20, %r20, 1;
      setp.lt.u32 %p4, %r20, 8;
      @%p4 bra turn;
      cp.async.bulk.wait_group 0;)",
                       c, tensor)
                       .outcome);
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
  /// A copy of the box, by a map of the tensor at `address`.
  Ran copy(Bench& bench, const std::string& body, const void* address, const std::vector<uint8_t>& shared) const {
    return run(bench, body,
               {.map = make_map(spec(address)),
                .at = {{128, 5}},
                .shared = shared,
                .bytes = row_bytes() * kRows,
                .threads = 64});
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
    const Ran ran = c.copy(bench, kExpect + kLoad2d + kWait, bench.upload(tensor), before);
    expect_success(ran.outcome);
    std::vector<uint8_t> expected = before;
    // Between the rows of a box that is narrower than its swizzle everything stays; else a program may not rely on it.
    if (c.pitch() == c.row_bytes() || c.is_spread()) std::fill_n(expected.begin(), c.pitch() * Packed::kRows, 0xFF);
    c.for_sixteens([&](uint32_t from, uint32_t at, uint32_t bytes, bool inside) {
      for (uint32_t i = 0; i < bytes; ++i) expected.at(at + i) = inside ? tensor.at(from + i) : 0;
    });
    EXPECT_EQ(ran.shared, expected) << "type " << c.type << " swizzle " << c.swizzle;
  }
}

TEST(Packed, StoresTakeTheLowerSixBitsOfBytes) {
  for (const Packed& c : kPacked) {
    Bench bench;
    const std::vector<uint8_t> shared = random_bytes(kShared, 3);
    std::vector<uint8_t> tensor = random_bytes(9 * Packed::kStride, 17);
    auto* const device_tensor = bench.upload(tensor);
    const Outcome outcome = c.copy(bench, kStore2d, device_tensor, shared).outcome;
    if (c.type == 14) {
      expect_fault(outcome, faults::packed_store);
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
  const auto copy = [](const Packed& c, int32_t x, bool nan, const std::string& body) {
    Bench bench;
    MapSpec spec = c.spec(bench.allocate<uint8_t>(9 * Packed::kStride));
    spec.nan_fill = nan;
    return run(bench, body, {.map = make_map(spec), .at = {{x, 0}}, .threads = 64}).outcome;
  };
  expect_fault(copy({15, 0}, 64, false, kLoad2d), faults::coordinate_of_packed, {64});
  expect_fault(copy({13, 0}, 16, false, kLoad2d), faults::coordinate_misaligned, {16, 8});
  expect_fault(copy({14, 0}, 0, true, kLoad2d), faults::packed_filled_with_nan);
  expect_fault(copy({13, 0}, 0, false,
                    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd13, {%r40, %r41}], "
                    "[%r15];"),
               faults::reduction_of_packed);
}

TEST(TensorFaults, CoordinatesAlignmentAndMaps) {
  Case c{.dims = {128, 64}, .strides = {256}, .box = {64, 8}, .at = {0, 0}};
  const auto load = [](const Case& each, const std::string& change = "") {
    Bench bench;
    const auto* tensor = bench.upload(std::vector<uint8_t>(each.tensor_bytes()));
    return run(bench, change + kExpect + kLoad2d + kWait, each, tensor).outcome;
  };
  const auto store = [](const Case& each) {
    Bench bench;
    return run(bench, kStore2d, each, bench.upload(std::vector<uint8_t>(each.tensor_bytes()))).outcome;
  };
  const auto at = [&](int32_t x, int32_t y) {
    Case moved = c;
    moved.at = {x, y};
    return moved;
  };
  for (const int32_t x : {1, 3, 4, 12, 100, -1, -3}) {
    expect_fault(load(at(x, 0)), faults::coordinate_misaligned);
    expect_fault(store(at(x, 0)), x < 0 ? faults::store_at_negative_coordinate : faults::coordinate_misaligned);
  }
  for (const int32_t x : {8, -8, 104, 0x7FFF'FFF8}) expect_success(load(at(x, 0)));
  expect_fault(store(at(-8, 0)), faults::store_at_negative_coordinate, {-8});
  expect_fault(store(at(0, -1)), faults::store_at_negative_coordinate, {-1, 1});
  for (const uint32_t offset : {8, 16, 32, 64}) {
    Case moved = c;
    moved.offset = offset;
    expect_fault(load(moved), faults::shared_misaligned, {128});
    expect_fault(store(moved), faults::shared_misaligned, {128});
  }
  Case outside = c;
  outside.offset = kShared - 512;
  expect_fault(load(outside), faults::access_outside_shared, {"TMA load"});
  // A tensor map that is a copy on the stack, no map at all, or of another rank.
  expect_fault(load(c, "mov.u64 %rd13, 144115188075855872;"), faults::map_in_wrong_memory);
  expect_fault(load(c, "ld.param.u64 %rd13, [from]; add.s64 %rd13, %rd13, 64;"), faults::not_a_map);
  expect_fault(load({.dims = {1024}, .box = {64}, .at = {0}}), faults::map_rank, {1, 2});
  expect_fault(load(c, "add.u32 %r15, %r15, -1024;"), faults::copy_over_mbarrier);
  // A tensor that has been freed.
  Bench bench;
  auto* tensor = bench.upload(std::vector<uint8_t>(c.tensor_bytes()), "cudaMalloc #3");
  bench.device().memory().release(tensor);
  expect_fault(run(bench, kExpect + kLoad2d + kWait, c, tensor).outcome, faults::access_outside,
               {"TMA load", "cudaMalloc #3"});
}

TEST(TensorFaults, WrongByteCounts) {
  const auto load = [](uint32_t expected, const Options& options) {
    Bench bench(options);
    const Case c{.dims = {128, 64}, .strides = {256}, .box = {64, 8}, .at = {0, 0}};
    const auto* tensor = bench.upload(std::vector<uint8_t>(c.tensor_bytes()));
    return run(bench, kExpect + kLoad2d + kWait, {.map = make_map(c.spec(tensor)), .bytes = expected}).outcome;
  };
  for (const Options& options : all_schedules()) {
    expect_success(load(1024, options));
    EXPECT_EQ(expect_wait(load(1040, options), Wait::Mbarrier).phase->bytes, 16);
    EXPECT_EQ(expect_wait(load(1008, options), Wait::Mbarrier).phase->bytes, -16);
  }
}

TEST(TensorFaults, BarrierInAnotherCta) {
  Bench bench;
  const Case c{.dims = {64, 64}, .strides = {128}, .box = {64, 16}, .at = {0, 5}};
  expect_fault(run(bench,
                   "and.b32 %r21, %r9, -16777217; "
                   "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd13, "
                   "{%r40, %r41}], [%r21];",
                   c, bench.upload(random_bytes(c.tensor_bytes(), 6)), std::vector<uint8_t>(2 * kShared, 1))
                   .outcome,
               faults::copy_signals_other_cta, {0, 1});
}

// ---- copies without a tensor map

TEST(BulkCopy, FromAndToGlobalMemory) {
  for (const Options& options : all_schedules()) {
    Bench bench(options);
    const std::vector<uint8_t> data = random_bytes(4096, 4);
    const auto* global = bench.upload(data);
    auto* result = bench.upload(std::vector<uint8_t>(4096, 0xAB));
    const Ran ran = run(bench,
                        R"(
          mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 1040;
          cp.async.bulk.prefetch.L2.global [%rd14], 1024;
          cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r15+16], [%rd14+32], 1024, [%r9];
          cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r15+2048], [%rd14], 16, [%r9];)" +
                            kWait +
                            R"(
              ld.param.u64 %rd20, [at];
              fence.proxy.async;
              cp.async.bulk.global.shared::cta.bulk_group [%rd20], [%r15+16], 512;
              cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd20+1024], [%r15+2048], 16, 0;
              mov.u16 %h1, 0x00F0;
              cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd20+2048], [%r15+16], 32, %h1;
              cp.async.bulk.commit_group;
              cp.async.bulk.wait_group 0;)",
                        {.at = Coordinates(result), .shared = std::vector<uint8_t>(kShared, 0x11), .extra = global});
    expect_success(ran.outcome);
    const uint8_t* const to = ran.shared.data();
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
    // Each rank copies 512 bytes to the next one's; rank 0 also multicasts 256 bytes from global memory to all.
    const Ran ran = run(bench,
                        R"(
          mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 768;
          barrier.cluster.arrive.relaxed;
          barrier.cluster.wait;
          add.u32 %r20, %r7, 1;
          and.b32 %r20, %r20, 3;
          mapa.shared::cluster.u32 %r21, %r15, %r20;
          mapa.shared::cluster.u32 %r22, %r9, %r20;
          cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r21+4096], [%r15], 512, [%r22];
          setp.eq.u32 %p4, %r7, 0;
          mov.u16 %h1, 15;
          @%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r15+8192],
              [%rd14], 256, [%r9], %h1;)" +
                            kWait,
                        {.shared = before, .extra = bench.upload(data)});
    expect_success(ran.outcome);
    for (size_t rank = 0; rank < 4; ++rank) {
      const std::vector<uint8_t> shared = of_cta(ran.shared, rank), previous = of_cta(before, (rank + 3) % 4);
      EXPECT_TRUE(std::equal(previous.begin(), previous.begin() + 512, shared.begin() + 4096)) << rank;
      EXPECT_TRUE(std::equal(data.begin(), data.end(), shared.begin() + 8192)) << rank;
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
  auto* result = bench.upload(sums);
  auto* bits = bench.upload(std::vector<uint32_t>(64, 0x0FF0));
  const Ran ran = run(bench,
                      R"(
            ld.param.u64 %rd20, [at];
            cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd14], [%r15], 256;
            cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b32 [%rd20], [%r15+256], 128;
            cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%rd20+128], [%r15+256], 128;
            cp.async.bulk.commit_group;
            cp.async.bulk.wait_group 0;)",
                      {.at = Coordinates(bits), .shared = shared, .extra = result});
  expect_success(ran.outcome);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(result[i], 101.0f + 2 * static_cast<float>(i));
    EXPECT_EQ(bits[i], i < 32 ? 0x0F00u : 0xFF00u);
  }
}

TEST(BulkCopy, Faults) {
  const auto copy = [](const std::string& body) {
    Bench bench;
    return run(bench, body, {.extra = bench.upload(std::vector<uint8_t>(kShared), "source")}).outcome;
  };
  const std::string load = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes ";
  for (const char* const misaligned :
       {"[%r15], [%rd14], odd, [%r9];", "[%r15+8], [%rd14], 16, [%r9];", "[%r15], [%rd14+8], 16, [%r9];"}) {
    expect_failure(copy(".reg .b32 odd; mov.b32 odd, 20; " + load + misaligned), Status::MisalignedAddress,
                   {"multiple of 16"});  // a literal is refused before anything runs
  }
  expect_fault(copy(load + "[%r15], [%rd14+40944], 32, [%r9];"), faults::access_outside, {"bulk copy", 32, "source"});
  expect_fault(
      copy("cp.async.bulk.global.shared::cta.bulk_group [%rd14], [%r15], 16; cp.async.bulk.commit_group; exit;"),
      faults::exit_before_own_stores, {1});
}

// ---- st.bulk

TEST(BulkStore, WritesZerosAndNothingElse) {
  for (const std::string to : {".shared::cta [%r1+8]", " [%rd5]"}) {
    Bench bench;
    auto* out = bench.allocate<uint32_t>(32);
    Source source;
    source.parameters = ".param .u64 out";
    source.body =
        R"(
          .shared .align 8 .b8 box[128];
          mov.u32 %r1, box;
          mov.u32 %r2, %tid.x;
          shl.b32 %r3, %r2, 2;
          add.u32 %r4, %r1, %r3;
          st.shared.u32 [%r4], -1;
          cvt.u64.u32 %rd1, %r1;
          cvta.shared.u64 %rd5, %rd1;
          add.u64 %rd5, %rd5, 8;
          bar.sync 0;
          setp.ne.u32 %p1, %r2, 0;
          @%p1 bra wait;
          mov.u64 %rd2, 24;
          st.bulk.weak)" +
        to +
        R"(
          , %rd2, 0;
          wait: bar.sync 0;
          ld.shared.u32 %r5, [%r4];
          ld.param.u64 %rd3, [out];
          mul.wide.u32 %rd4, %r2, 4;
          add.u64 %rd3, %rd3, %rd4;
          st.global.u32 [%rd3], %r5;)";
    expect_success(bench.launch(source, {.block = {32, 1, 1}}, out));
    for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], i >= 2 && i < 8 ? 0u : ~0u) << i;
  }
}

TEST(BulkStore, RefusesOtherSizesAndPlaces) {
  const auto launch = [](const std::string& instruction) {
    Bench bench;
    auto* memory = bench.allocate<uint32_t>(32);
    Source source;
    source.parameters = ".param .u64 memory";
    source.body =
        R"(
          .shared .align 8 .b8 box[128];
          mov.u32 %r1, box;
          ld.param.u64 %rd1, [memory];
          mov.u64 %rd2, 12;
          mov.u64 %rd3, 16;)" +
        instruction;
    return bench.launch(source, LaunchConfig{}, memory);
  };
  expect_fault(launch("st.bulk.shared::cta [%r1], %rd2, 0;"), faults::st_bulk_size);
  EXPECT_NE(launch("st.bulk [%rd1], %rd3, 0;").status, Status::Success);
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
      ld.param.u64 %rd1, [out];
      mov.u32 %r1, cells;
      mov.u32 %r9, bar;
      mov.u32 %r2, %cluster_ctarank;
      xor.b32 %r3, %r2, 1;
      mapa.shared::cluster.u32 %r4, %r1, %r3;
      mapa.shared::cluster.u32 %r5, %r9, %r3;
      st.shared.u32 [%r1+24], 100;
      mbarrier.init.shared::cta.b64 [%r9], 1;
      barrier.cluster.arrive;
      barrier.cluster.wait;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 32;
      add.u32 %r6, %r2, 10;
      cvt.u64.u32 %rd3, %r6;
      st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r4], %r6, [%r5];
      st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r4+32], {%r6, 1, 2, 3}, [%r5];
      st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r4+8], %rd3, [%r5];
      red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4+24], %r6, [%r5];
      wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r9], 0;
      @!%p1 bra wait;
      mul.wide.u32 %rd2, %r2, 32;
      add.s64 %rd1, %rd1, %rd2;
      ld.shared.u32 %r10, [%r1];
      ld.shared.u32 %r11, [%r1+8];
      ld.shared.u32 %r12, [%r1+24];
      ld.shared.v4.u32 {%r13, %r14, %r15, %r16}, [%r1+32];
      st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};
      st.global.v2.u32 [%rd1+16], {%r14, %r16};
      barrier.cluster.arrive;
      barrier.cluster.wait;)";
    expect_success(bench.launch(source, {.grid = {2, 1, 1}, .cluster = {2, 1, 1}}, out));
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
  const Case original{.dims = {16, 4}, .strides = {32}, .box = {16, 4}};
  auto* map = bench.upload(std::vector<TensorMap>{make_map(original.spec(device_tensor)), TensorMap{}});
  // Copies the map to shared memory, edits it there, copies it back to the second place, and loads through it.
  const Ran ran = run(bench,
                      R"(
      mov.u32 %r20, 0;
      copy: cvt.u64.u32 %rd20, %r20;
      add.s64 %rd21, %rd14, %rd20;
      ld.global.u32 %r21, [%rd21];
      add.u32 %r22, %r8, %r20;
      st.shared.u32 [%r22+16384], %r21;
      add.u32 %r20, %r20, 4;
      setp.lt.u32 %p4, %r20, 128;
      @%p4 bra copy;
      add.u32 %r23, %r8, 16384;
      ld.param.u64 %rd22, [at];
      add.s64 %rd22, %rd22, 512;
      cvt.u64.u32 %rd23, %r23;
      cvta.shared.u64 %rd24, %rd23;
      tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%rd23], %rd22;
      tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%rd23], 0, 128;
      tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%rd23], 0, 256;
      tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%rd23], 0, 32;
      tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%rd23], 2;
      add.s64 %rd25, %rd14, 128;
      fence.proxy.async;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 256;
      mov.u32 %r40, 32;
      mov.u32 %r41, 1;
      mov.u32 %r24, 0;
      back: cvt.u64.u32 %rd20, %r24;
      add.s64 %rd21, %rd25, %rd20;
      add.u32 %r22, %r23, %r24;
      ld.shared.u32 %r21, [%r22];
      st.global.u32 [%rd21], %r21;
      add.u32 %r24, %r24, 4;
      setp.lt.u32 %p4, %r24, 128;
      @%p4 bra back;
      fence.proxy.tensormap::generic.release.gpu;
      fence.proxy.tensormap::generic.acquire.gpu [%rd25], 128;
      cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd25, {%r40, %r41}], [%r9];)" +
                          kWait,
                      {.at = Coordinates(device_tensor), .extra = map});
  expect_success(ran.outcome);
  const Case edited{.dims = {128, 4}, .strides = {256}, .box = {32, 4}, .at = {32, 1}, .swizzle = 2};
  const std::vector<uint8_t> expected =
      model_load(edited, {tensor.begin() + 512, tensor.end()}, std::vector<uint8_t>(kShared));
  EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + 256, ran.shared.begin()));
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
    // Shared memory is zero: the map is built there by one thread, and copied by its warp.
    const Ran ran = run(
        bench,
        "add.u32 %r23, %r8, 16384; cvt.u64.u32 %rd23, %r23; ld.param.u64 %rd22, [at];\n" +
            build_map("%rd23", ".shared::cta", elemtype, 128, 2) +
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd14], [%r23], "
            "128; fence.proxy.tensormap::generic.acquire.gpu [%rd14], 128; " +
            kExpect +
            R"(
              mov.u32 %r40, 32;
              mov.u32 %r41, 3;
              cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd14, {%r40,
                  %r41}], [%r9];)" +
            kWait,
        {.at = Coordinates(bench.upload(tensor)), .bytes = 256, .extra = bench.upload(std::vector<TensorMap>(1))});
    expect_success(ran.outcome);
    const Case built{.dims = {128, 64}, .strides = {256}, .box = {32, 4}, .at = {32, 3}, .swizzle = 2};
    const std::vector<uint8_t> expected = model_load(built, tensor, std::vector<uint8_t>(kShared));
    EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + 256, ran.shared.begin()));
  }
}

TEST(TensorMapEdit, WhatIsNotSetIsNamed) {
  const auto load = [](const std::string& edit) {
    Bench bench;
    const auto* tensor = bench.upload(std::vector<uint8_t>(64 * 256));
    return run(bench,
               "ld.param.u64 %rd22, [at];\n" + edit +
                   R"(
                     fence.proxy.tensormap::generic.acquire.gpu [%rd14], 128;
                     mov.u32 %r40, 0;
                     mov.u32 %r41, 0;
                     cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r15], [%rd14, {%r40,
                         %r41}], [%r9];)",
               {.at = Coordinates(tensor), .bytes = 256, .extra = bench.upload(std::vector<TensorMap>(1))})
        .outcome;
  };
  const auto without = [](const std::string& line) {
    std::string text = build_map("%rd14", ".global", 6, 128, 0);
    const size_t begin = text.find("tensormap.replace.tile." + line);
    EXPECT_NE(begin, std::string::npos) << line;
    return text.erase(begin, text.find('\n', begin) - begin);
  };
  expect_fault(load(without("rank")), faults::map_rank, {0, 2});
  expect_fault(load(without("box_dim.global.b1024.b32 [%rd14], 1")), faults::map_box_size, {1, 0});
  expect_fault(load(without("element_stride.global.b1024.b32 [%rd14], 1")), faults::map_element_stride, {1, 0});
  expect_fault(load(without("elemtype") + "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd14], 4;"),
               faults::replaced_swizzle_unsupported);
  expect_fault(load(""), faults::not_a_map);
}

}  // namespace
}  // namespace sim::test
