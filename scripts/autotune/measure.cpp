// Verifies and times variants of a kernel, one after the other, in one process. Inputs, reference and cuBLAS are made
// once, and a variant costs a fraction of a second. autotune.py starts this program, and starts it again if a variant
// takes it down.
//
//   autotune_measure --type fp32|bf16 --arch 90|100 --sizes LIST [--budget SECONDS] [--rounds N] [--init KIND]
//
// On standard input: paths of shared libraries (variant.h), one per line. On standard output: a line about the device,
// then one per library and size, all of them JSON objects. With a budget, what is right is timed for about so long
// beside cuBLAS, and verified again. Sizes are edges or MxNxK.
//
// Exit codes: 0; 2 usage; 3 CUDA error, the last line says which variant's; 77 no device.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/harness/arguments.h"
#include "common/harness/blas.h"
#include "common/harness/device.h"
#include "common/harness/environment.h"
#include "common/harness/failure.h"
#include "common/harness/inputs.h"
#include "common/harness/nvml.h"
#include "common/harness/parallel.h"
#include "common/harness/reference.h"
#include "common/harness/results.h"
#include "common/harness/shape.h"
#include "common/harness/statistics.h"
#include "common/harness/stopwatch.h"
#include "common/harness/text.h"
#include "common/harness/verify.h"
#include "scripts/autotune/sgemm_check.h"
#include "scripts/autotune/variant.h"

namespace autotune {
namespace {

using harness::Bf16;
using harness::check;
using harness::Cublas;
using harness::DeviceMemory;
using harness::Shape;

constexpr std::uint64_t SEED = 1;
constexpr int PITCH_PADDING = 8;                           // columns of poison behind each row of D
constexpr std::size_t GUARD_BYTES = std::size_t{4} << 20;  // of poison before and after D
constexpr int SETS = 3;                                    // of operands: 2048 x 2048 in FP32 exceed twice the L2
constexpr double WARM_UP_S = 0.5;                          // of the clocks, once

struct Options {
  bool fp32 = true;
  int arch = 90;
  std::vector<Shape> sizes;
  double budget_s = 0;
  int rounds = 3;
  harness::Init init = harness::Init::normal;
};

/// What is asked of both types of GEMM.
template <typename Element>
struct Type;

template <>
struct Type<float> {
  using Inputs = SgemmInputs;
  static std::unique_ptr<float[]> on_cpu(const Inputs& inputs) { return sgemm_on_cpu(inputs); }
  static harness::ColumnMajorGemm column_major(const Shape& s, const void* a, const void* b, void* d) {
    // D^T = B^T A^T, and what is row-major here is the transpose there.
    return {.op_a = harness::cublas::OP_N,
            .op_b = harness::cublas::OP_N,
            .m = s.n,
            .n = s.m,
            .k = s.k,
            .a = b,
            .lda = s.n,
            .b = a,
            .ldb = s.k,
            .c = d,
            .ldc = s.n};
  }
  static void multiply(const Cublas& cublas, const harness::ColumnMajorGemm& gemm) { cublas.gemm_fp32(gemm); }
  static void multiply_to_fp32(const Cublas& cublas, const harness::ColumnMajorGemm& gemm) { cublas.gemm_fp32(gemm); }
  static std::string fault_of_reference(const Inputs& inputs, const float* reference) {
    return find_fault_in_reference(inputs, reference);
  }
  static std::string fault(const Inputs& inputs, const float* d, int ldd, std::span<const std::byte> before,
                           std::span<const std::byte> after, const float* reference) {
    return find_fault(inputs, {.d = d, .ldd = ldd, .before = before, .after = after}, reference);
  }
};

template <>
struct Type<Bf16> {
  using Inputs = harness::Inputs;
  static std::unique_ptr<float[]> on_cpu(const Inputs& inputs) {
    auto values = std::make_unique_for_overwrite<float[]>(inputs.shape.d_elements());
    harness::gemm_fp32(inputs.shape, inputs.a.get(), inputs.b.get(), values.get());
    return values;
  }
  static harness::ColumnMajorGemm column_major(const Shape& s, const void* a, const void* b, void* d) {
    return harness::column_major(s, a, b, d, s.n);
  }
  static void multiply(const Cublas& cublas, const harness::ColumnMajorGemm& gemm) { cublas.gemm_to_bf16(gemm); }
  static void multiply_to_fp32(const Cublas& cublas, const harness::ColumnMajorGemm& g) { cublas.gemm_to_fp32(g); }
  static std::string fault_of_reference(const Inputs&, const float*) { return ""; }  // harness::verify looks itself
  static std::string fault(const Inputs& inputs, const Bf16* d, int ldd, std::span<const std::byte> before,
                           std::span<const std::byte> after, const float* reference) {
    const harness::Verdict verdict =
        harness::verify(inputs, {.d = d, .ldd = ldd, .before = before, .after = after}, reference);
    std::string text;
    for (const std::string& fault : verdict.faults) text += (text.empty() ? "" : "; ") + fault;
    return text;
  }
};

struct Times {
  double tflops, cublas_tflops, ratio;
  std::optional<double> sm_mhz, power_w;  // means while both were timed
};

/// One size: its inputs, on the host and on the device, and what D should be.
class Field {
 public:
  virtual ~Field() = default;
  /// Runs a variant once. Returns what is wrong with D, empty if nothing is.
  virtual std::string verify(Launch& launch) = 0;
  /// Times it beside cuBLAS, then verifies the last D; a fault comes back instead of times.
  virtual std::string time(Launch& launch, const Options& options, Times& times) = 0;
};

template <typename Element>
class FieldOf : public Field {
 public:
  /// Without cuBLAS and NVML nothing can be timed.
  FieldOf(const Shape& shape, harness::Init init, cudaStream_t stream, const Cublas* cublas, const harness::Nvml* nvml)
      : shape_(shape),
        stream_(stream),
        cublas_(cublas),
        nvml_(nvml),
        inputs_(shape, init, SEED),
        stopwatch_(SETS, stream),
        a_(SETS * a_bytes(), "A"),
        b_(SETS * b_bytes(), "B"),
        d_(SETS * d_bytes(shape.n), "D"),
        guarded_(2 * GUARD_BYTES + d_bytes(shape.n + PITCH_PADDING), "D") {
    for (int set = 0; set < SETS; ++set) {
      check(cudaMemcpy(a_.data() + set * a_bytes(), inputs_.a.get(), a_bytes(), cudaMemcpyHostToDevice), "copying A");
      check(cudaMemcpy(b_.data() + set * b_bytes(), inputs_.b.get(), b_bytes(), cudaMemcpyHostToDevice), "copying B");
    }
    if (cublas_ == nullptr) {
      reference_ = Type<Element>::on_cpu(inputs_);
      return;
    }
    blas_d_ = DeviceMemory(SETS * shape.d_elements() * sizeof(float), "cuBLAS's D");
    Type<Element>::multiply_to_fp32(*cublas_, blas_problem(0));
    reference_ = std::make_unique_for_overwrite<float[]>(shape.d_elements());
    synchronize("running cuBLAS");
    check(cudaMemcpy(reference_.get(), blas_d_.data(), shape.d_elements() * sizeof(float), cudaMemcpyDeviceToHost),
          "copying the reference to the host");
    const std::string fault = Type<Element>::fault_of_reference(inputs_, reference_.get());
    if (!fault.empty()) throw harness::Failure(harness::EXIT_CUDA, "cuBLAS's own product is not FP32: " + fault + ".");
  }

  std::string verify(Launch& launch) override {
    const int ldd = shape_.n + PITCH_PADDING;
    const std::size_t bytes = 2 * GUARD_BYTES + d_bytes(ldd);
    check(cudaMemset(guarded_.data(), 0xFF, bytes), "poisoning D");
    enqueue(launch, 0, guarded_.data() + GUARD_BYTES, ldd);
    synchronize("running the variant");
    copy_.resize(bytes);
    check(cudaMemcpy(copy_.data(), guarded_.data(), bytes, cudaMemcpyDeviceToHost), "copying D to the host");
    return judge(GUARD_BYTES, ldd);
  }

  std::string time(Launch& launch, const Options& options, Times& times) override {
    int last_set = 0;
    check(cudaMemset(d_.data(), 0xFF, SETS * d_bytes(shape_.n)), "poisoning D");
    std::vector<harness::Contestant> contestants;
    contestants.push_back({[&](int set) {
      enqueue(launch, set, d_.data() + set * d_bytes(shape_.n), shape_.n);
      last_set = set;
    }});
    contestants.push_back({[&](int set) { Type<Element>::multiply(*cublas_, blas_problem(set)); }});
    if (!warm_) stopwatch_.warm_up(contestants, WARM_UP_S, 2 * WARM_UP_S);
    warm_ = true;
    harness::PowerMeter meter(*nvml_);
    const auto seconds = stopwatch_.time_rounds(contestants, options.rounds, options.budget_s, [](int) {});
    meter.stop();
    std::vector<double> ratios;
    for (int i = 0; i < options.rounds; ++i) ratios.push_back(seconds[1][i] / seconds[0][i]);
    times = {.tflops = shape_.flops() / harness::median(seconds[0]) * 1e-12,
             .cublas_tflops = shape_.flops() / harness::median(seconds[1]) * 1e-12,
             .ratio = harness::median(ratios),
             .sm_mhz = meter.sm_mhz,
             .power_w = meter.power_w};
    copy_.resize(d_bytes(shape_.n));
    check(cudaMemcpy(copy_.data(), d_.data() + last_set * d_bytes(shape_.n), copy_.size(), cudaMemcpyDeviceToHost),
          "copying D to the host");
    const std::string fault = judge(0, shape_.n);
    return fault.empty() ? fault : "after timing, " + fault;
  }

 private:
  std::size_t row_bytes() const { return std::size_t{sizeof(Element)} * shape_.n; }
  std::size_t a_bytes() const { return shape_.a_elements() * sizeof(Element); }
  std::size_t b_bytes() const { return shape_.b_elements() * sizeof(Element); }
  std::size_t d_bytes(int pitch) const { return std::size_t{sizeof(Element)} * shape_.m * pitch; }

  /// What is wrong with the D in `copy_`, between guard bands of so many bytes. Most variants add in the same order:
  /// what equals, bit for bit, a D that was found right needs no second look at every element.
  std::string judge(std::size_t guard_bytes, int ldd) {
    const std::byte *d = copy_.data() + guard_bytes, *end = d + d_bytes(ldd);
    if (!right_.empty() && equals_right(d, ldd) && is_poison({copy_.data(), d}) && is_poison({end, guard_bytes}))
      return "";
    const std::string fault = Type<Element>::fault(inputs_, reinterpret_cast<const Element*>(d), ldd,
                                                   {copy_.data(), guard_bytes}, {end, guard_bytes}, reference_.get());
    if (fault.empty() && right_.empty()) {
      right_.resize(d_bytes(shape_.n));
      for (int m = 0; m < shape_.m; ++m)
        std::memcpy(right_.data() + row_bytes() * m, d + d_bytes(ldd) / shape_.m * m, row_bytes());
    }
    return fault;
  }

  bool equals_right(const std::byte* d, int ldd) const {
    std::atomic<bool> equal{true};
    const std::size_t pitch = std::size_t{sizeof(Element)} * ldd;
    harness::parallel_for(shape_.m, [&](std::int64_t m) {
      const std::byte* row = d + pitch * m;
      if (std::memcmp(row, right_.data() + row_bytes() * m, row_bytes()) != 0 ||
          !is_poison({row + row_bytes(), row + pitch}))
        equal = false;
    });
    return equal;
  }

  static bool is_poison(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0xFF}; });
  }

  void enqueue(Launch& launch, int set, void* d, int ldd) {
    const Problem problem{.m = shape_.m,
                          .n = shape_.n,
                          .k = shape_.k,
                          .a = a_.data() + set * a_bytes(),
                          .b = b_.data() + set * b_bytes(),
                          .d = d,
                          .ldd = ldd};
    check(launch(problem, stream_), "launching the variant");
  }
  harness::ColumnMajorGemm blas_problem(int set) const {
    return Type<Element>::column_major(shape_, a_.data() + set * a_bytes(), b_.data() + set * b_bytes(),
                                       blas_d_.data() + set * shape_.d_elements() * sizeof(float));
  }
  void synchronize(const char* doing) { check(cudaStreamSynchronize(stream_), doing); }

  Shape shape_;
  cudaStream_t stream_;
  const Cublas* cublas_;
  const harness::Nvml* nvml_;
  typename Type<Element>::Inputs inputs_;
  std::unique_ptr<float[]> reference_;
  std::vector<std::byte> copy_, right_;  // of D: the last, and one that was found right
  harness::Stopwatch stopwatch_;
  DeviceMemory a_, b_, d_, guarded_, blas_d_;
  bool warm_ = false;
};

/// A variant's library, open for good: the device may still hold its code.
Launch* open_variant(const std::string& path, std::string& why_not) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const symbol = library != nullptr ? dlsym(library, LAUNCH_NAME) : nullptr;
  if (symbol == nullptr) why_not = dlerror();
  return reinterpret_cast<Launch*>(symbol);
}

void answer(const harness::Record& record) {
  std::printf("%s\n", harness::json_object(record).c_str());
  std::fflush(stdout);
}

harness::Value optional(const std::optional<double>& value) {
  if (!value) return {};
  return harness::Number{*value, 4};
}

void answer_status(const std::string& path, const Shape& shape, const std::string& status, const std::string& why) {
  answer({{"variant", path}, {"size", to_string(shape)}, {"status", status}, {"why", why}});
}

/// Does this device predict times, and compute nothing (scripts/sim.sh --timing)?
bool device_predicts() {
  using Predicts = int (*)();
  const auto predicts = reinterpret_cast<Predicts>(dlsym(RTLD_DEFAULT, "sim_predicts"));
  return predicts != nullptr && predicts() != 0;
}

/// One launch of each variant for each size. The predictions are the device's; here it is only said that there are
/// some.
int predict(const Options& options) {
  const harness::Stream stream;
  answer({{"gpu", "predicted"}});
  for (std::string path; std::getline(std::cin, path);) {
    std::string why_not;
    Launch* const launch = open_variant(path, why_not);
    for (const Shape& shape : options.sizes) {
      if (launch == nullptr) {
        answer_status(path, shape, "broken", why_not);
        continue;
      }
      const std::size_t element = options.fp32 ? sizeof(float) : sizeof(Bf16);
      const DeviceMemory a(shape.a_elements() * element, "A"), b(shape.b_elements() * element, "B"),
          d(shape.d_elements() * element, "D");
      const Problem problem{shape.m, shape.n, shape.k, a.data(), b.data(), d.data(), shape.n};
      check(launch(problem, stream), "launching the variant");
      stream.synchronize("predicting");
      answer({{"variant", path}, {"size", to_string(shape)}, {"status", "ok"}});
    }
  }
  return harness::EXIT_RIGHT;
}

int measure(const Options& options) {
  const harness::Device device = harness::select_device(options.arch, "autotune_measure", "autotune_measure");
  if (device_predicts()) return predict(options);
  const harness::Stream stream;
  std::unique_ptr<Cublas> cublas;
  std::unique_ptr<harness::Nvml> nvml;
  if (!device.simulated) {
    std::string why_not;
    cublas = Cublas::open(stream, why_not);
    if (cublas == nullptr) throw harness::usage_error(why_not + ", and tuning needs it to compare with.");
    nvml = std::make_unique<harness::Nvml>(device.pci_bus_id());
  } else if (options.budget_s > 0) {
    throw harness::usage_error(device.name() + " computes what a GPU computes, but not as fast: nothing can be timed.");
  }
  std::vector<std::unique_ptr<Field>> fields;
  for (const Shape& shape : options.sizes) {
    if (options.fp32) {
      fields.push_back(std::make_unique<FieldOf<float>>(shape, options.init, stream, cublas.get(), nvml.get()));
    } else {
      fields.push_back(std::make_unique<FieldOf<Bf16>>(shape, options.init, stream, cublas.get(), nvml.get()));
    }
  }
  const harness::Environment environment =
      harness::describe(device, nvml.get(), cublas != nullptr ? cublas->version() : "");
  answer({{"gpu", environment.gpu},
          {"simulated", environment.simulated},
          {"driver", environment.driver},
          {"cuda", environment.cuda},
          {"cublas", environment.cublas}});

  for (std::string path; std::getline(std::cin, path);) {
    std::string why_not;
    Launch* const launch = open_variant(path, why_not);
    for (size_t i = 0; i < fields.size(); ++i) {
      const Shape& shape = options.sizes[i];
      if (launch == nullptr) {
        answer_status(path, shape, "broken", why_not);
        continue;
      }
      try {
        Times times{};
        std::string fault = fields[i]->verify(*launch);
        if (fault.empty() && options.budget_s > 0) fault = fields[i]->time(*launch, options, times);
        if (!fault.empty()) {
          answer_status(path, shape, "wrong", fault);
        } else if (options.budget_s > 0) {
          answer({{"variant", path},
                  {"size", to_string(shape)},
                  {"status", "ok"},
                  {"tflops", harness::Number{times.tflops}},
                  {"cublas_tflops", harness::Number{times.cublas_tflops}},
                  {"ratio_cublas", harness::Number{times.ratio}},
                  {"sm_mhz", optional(times.sm_mhz)},
                  {"power_w", optional(times.power_w)},
                  {"power_cap_w", optional(environment.power_cap_w)}});
        } else {
          answer({{"variant", path}, {"size", to_string(shape)}, {"status", "ok"}});
        }
      } catch (const harness::Failure& failure) {
        answer_status(path, shape, "error", failure.what());
        throw;  // after an error of a kernel nothing works in this process
      }
    }
  }
  return harness::EXIT_RIGHT;
}

double number(const std::string& flag, const std::string& text, double least) {
  std::size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {}
  if (text.empty() || end != text.size() || !(value >= least))
    throw harness::usage_error(
        harness::format("%s needs a number of at least %g, not '%s'.", flag.c_str(), least, text.c_str()));
  return value;
}

Options parse(int argc, char** argv) {
  std::map<std::string, std::string> given;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) throw harness::usage_error(std::string(argv[i]) + " needs a value.");
    given[argv[i]] = argv[i + 1];
  }
  const auto take = [&](const char* flag, const char* otherwise) {
    const auto node = given.extract(flag);
    return node.empty() ? std::string(otherwise) : node.mapped();
  };
  Options options;
  const std::string type = take("--type", "fp32"), init = take("--init", "normal"), sizes = take("--sizes", "");
  if (type != "fp32" && type != "bf16") throw harness::usage_error("--type must be fp32 or bf16, not '" + type + "'.");
  options.fp32 = type == "fp32";
  options.arch = static_cast<int>(number("--arch", take("--arch", "90"), 1));
  options.budget_s = number("--budget", take("--budget", "0"), 0);
  options.rounds = static_cast<int>(number("--rounds", take("--rounds", "3"), 1));
  options.init = harness::parse_init(init);
  options.sizes = harness::parse_sizes(sizes);
  if (!options.fp32) std::ranges::for_each(options.sizes, harness::require_legal);
  if (!given.empty()) throw harness::usage_error("There is no option '" + given.begin()->first + "'.");
  return options;
}

}  // namespace
}  // namespace autotune

int main(int argc, char** argv) {
  return harness::end_at_failure("autotune_measure", [&] { return autotune::measure(autotune::parse(argc, argv)); });
}
