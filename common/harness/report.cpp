#include "report.h"

#include "text.h"

namespace harness {
namespace {

Value optional_number(const std::optional<double>& number, int digits = 5) {
  return number ? Value(Number{*number, digits}) : Value();
}

Value text_or_nothing(const std::string& text) { return text.empty() ? Value() : Value(text); }

std::string percent_text(double fraction) {
  return fraction == 0 ? "0 %" : format(fraction < 1e-5 ? "%.1e %%" : "%.2g %%", 100 * fraction);
}

std::string rival_text(const Rival& rival, const char* name) {
  return format("  %.3f x %s [%.3f, %.3f]", rival.ratio, name, rival.interval.low, rival.interval.high);
}

std::string verdict_text(const Result& result) {
  const Verdict& v = *result.verdict;
  if (!v.right) return "WRONG: " + v.faults.front();
  std::string text = format("right: cosine %.7f, max error %.3g", v.cosine, v.max_error);
  if (result.reference == "fp64") {
    text += format(" in %lld FP64 samples", static_cast<long long>(v.samples));
  } else if (v.different == 0) {
    text += ", bit-identical to the rounded reference";
  } else {
    const double fraction = static_cast<double>(v.different) / static_cast<double>(result.shape.d_elements());
    text += format(", %s not bit-identical", percent_text(fraction).c_str());
  }
  return text + " (" + result.reference + ")";
}

std::string conditions_text(const BenchResult& bench, const Environment& environment) {
  if (!bench.sm_mhz || !bench.power_w) return "";
  std::string text = format("  at %.0f MHz, %.0f W", *bench.sm_mhz, *bench.power_w);
  if (environment.power_cap_w) text += format(" of %.0f W", *environment.power_cap_w);
  return text;
}

}  // namespace

std::string Result::verdict_word() const { return !verdict ? "unverified" : verdict->right ? "right" : "wrong"; }

Record to_record(const Result& result, const Environment& environment) {
  const auto* verdict = result.verdict ? &*result.verdict : nullptr;
  const auto* bench = result.bench ? &*result.bench : nullptr;
  const auto* cublas = bench != nullptr && bench->cublas ? &*bench->cublas : nullptr;
  const auto* cublaslt = bench != nullptr && bench->cublaslt ? &*bench->cublaslt : nullptr;
  const auto* apart = bench != nullptr && bench->apart ? &*bench->apart : nullptr;
  const auto number = [](double value, int digits = 5) { return Value(Number{value, digits}); };
  const auto whole = [](std::int64_t value) { return Value(value); };
  std::string faults;
  if (verdict != nullptr) {
    for (const std::string& fault : verdict->faults) {
      if (!faults.empty()) faults += "; ";
      faults += fault;
    }
  }
  const Value none;
  return {
      {"level", result.level},
      {"arch", whole(result.arch)},
      {"m", whole(result.shape.m)},
      {"n", whole(result.shape.n)},
      {"k", whole(result.shape.k)},
      {"tflops", bench ? number(bench->level.tflops) : none},
      {"cublas_tflops", cublas ? number(cublas->speed.tflops) : none},
      {"cublaslt_tflops", cublaslt ? number(cublaslt->speed.tflops) : none},
      {"ratio_cublas", cublas ? number(cublas->ratio) : none},
      {"ratio_cublaslt", cublaslt ? number(cublaslt->ratio) : none},
      {"kind", environment.simulated ? none : Value("measured")},
      {"gpu", environment.gpu},

      {"config", result.config},
      {"init", std::string(INIT_NAMES[static_cast<int>(result.init)])},
      {"seed", Value(std::to_string(result.seed))},  // as text: JSON readers turn large numbers into doubles
      {"verify", std::string(VERIFY_NAMES[static_cast<int>(result.verify)])},
      {"verdict", result.verdict_word()},
      {"reference", text_or_nothing(result.reference)},
      {"cosine", verdict ? number(verdict->cosine, 9) : none},
      {"scale_error", verdict ? number(verdict->scale_error, 4) : none},
      {"max_error", verdict ? number(verdict->max_error, 4) : none},
      {"different_bits", verdict && verdict->different >= 0 ? whole(verdict->different) : none},
      {"faults", text_or_nothing(faults)},
      {"digest", result.digest ? Value(format("%016llx", static_cast<unsigned long long>(*result.digest))) : none},

      {"rounds", bench ? whole(result.rounds) : none},
      {"budget_s", bench ? number(result.budget_s) : none},
      {"tflops_min", bench ? number(bench->level.tflops_min) : none},
      {"tflops_max", bench ? number(bench->level.tflops_max) : none},
      {"cublas_tflops_min", cublas ? number(cublas->speed.tflops_min) : none},
      {"cublas_tflops_max", cublas ? number(cublas->speed.tflops_max) : none},
      {"cublaslt_tflops_min", cublaslt ? number(cublaslt->speed.tflops_min) : none},
      {"cublaslt_tflops_max", cublaslt ? number(cublaslt->speed.tflops_max) : none},
      {"ratio_cublas_low", cublas ? number(cublas->interval.low) : none},
      {"ratio_cublas_high", cublas ? number(cublas->interval.high) : none},
      {"ratio_cublaslt_low", cublaslt ? number(cublaslt->interval.low) : none},
      {"ratio_cublaslt_high", cublaslt ? number(cublaslt->interval.high) : none},
      {"interval_coverage", cublas ? number(cublas->interval.coverage, 4) : none},
      {"burst_tflops", bench ? optional_number(bench->level.burst_tflops) : none},
      {"burst_cublas_tflops", cublas ? optional_number(cublas->speed.burst_tflops) : none},
      {"burst_cublaslt_tflops", cublaslt ? optional_number(cublaslt->speed.burst_tflops) : none},
      {"apart_tflops", apart ? number(apart->level.tflops) : none},
      {"apart_ratio_cublas", apart && apart->cublas ? number(apart->cublas->ratio) : none},
      {"apart_ratio_cublas_low", apart && apart->cublas ? number(apart->cublas->interval.low) : none},
      {"apart_ratio_cublas_high", apart && apart->cublas ? number(apart->cublas->interval.high) : none},
      {"apart_ratio_cublaslt", apart && apart->cublaslt ? number(apart->cublaslt->ratio) : none},
      {"apart_ratio_cublaslt_low", apart && apart->cublaslt ? number(apart->cublaslt->interval.low) : none},
      {"apart_ratio_cublaslt_high", apart && apart->cublaslt ? number(apart->cublaslt->interval.high) : none},
      {"cublaslt_algorithm", bench ? text_or_nothing(bench->cublaslt_algorithm) : none},
      {"sm_mhz", bench ? optional_number(bench->sm_mhz, 4) : none},
      {"power_w", bench ? optional_number(bench->power_w, 4) : none},
      {"power_cap_w", optional_number(environment.power_cap_w, 4)},

      {"driver", text_or_nothing(environment.driver)},
      {"cuda", environment.cuda},
      {"cublas", text_or_nothing(environment.cublas)},
      {"date", result.date},
      {"commit", text_or_nothing(environment.commit)},
  };
}

std::string human_line(const Result& result, const Environment& environment) {
  std::string line = format("%s_sm%d  %s  ", result.level.c_str(), result.arch, to_string(result.shape).c_str());
  line += result.verdict ? verdict_text(result) : std::string("unverified");
  if (result.bench) {
    line += format("  %.4g TFLOPS", result.bench->level.tflops) + conditions_text(*result.bench, environment);
    if (result.bench->cublas) line += rival_text(*result.bench->cublas, "cuBLAS");
    if (result.bench->cublaslt) line += rival_text(*result.bench->cublaslt, "cublasLt");
    if (const auto& apart = result.bench->apart) {
      line += format("  apart %.4g TFLOPS", apart->level.tflops);
      if (apart->cublas) line += rival_text(*apart->cublas, "cuBLAS");
      if (apart->cublaslt) line += rival_text(*apart->cublaslt, "cublasLt");
    }
    if (result.bench->level.burst_tflops) line += format("  bursts %.4g TFLOPS", *result.bench->level.burst_tflops);
  }
  if (result.digest) line += format("  digest %016llx", static_cast<unsigned long long>(*result.digest));
  return line;
}

std::string explanation(const Verdict& verdict) {
  std::string text;
  for (size_t i = 1; i < verdict.faults.size(); ++i) text += "  and " + verdict.faults[i] + "\n";
  text += verdict.map;
  if (!verdict.hint.empty()) text += "  the wrong elements: " + verdict.hint + "\n";
  return text;
}

}  // namespace harness
