#include "verify.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "diagnose.h"
#include "failure.h"
#include "parallel.h"
#include "reference.h"
#include "text.h"

namespace harness {
namespace {

constexpr double MIN_COSINE = 0.99999;
constexpr double MAX_SCALE_ERROR = 1e-5;
constexpr std::int64_t MAX_SAMPLES = 16384;
constexpr std::int64_t MAX_SAMPLE_PRODUCTS = std::int64_t{1} << 28;  // about a tenth of a second on two cores
constexpr int WITNESSES_PER_TILE = 4;
constexpr size_t MAX_WITNESSES = 64;

std::vector<double> row_norms(const Bf16* rows, std::int64_t count, int k) {
  std::vector<double> norms(static_cast<size_t>(count));
  constexpr std::int64_t PIECE = 64;
  parallel_for((count + PIECE - 1) / PIECE, [&](std::int64_t piece) {
    for (std::int64_t i = piece * PIECE; i < std::min(count, (piece + 1) * PIECE); ++i) {
      norms[i] = std::sqrt(dot_fp64(rows + i * k, rows + i * k, k));
    }
  });
  return norms;
}

/// What one element may be, given the value it should have.
class Judge {
 public:
  explicit Judge(const Inputs& inputs)
      : exact_((inputs.init == Init::integer || inputs.init == Init::zeros) && inputs.shape.k <= MAX_EXACT_K),
        tolerance_(accumulation_tolerance(inputs.shape.k)),
        a_norms_(row_norms(inputs.a.get(), inputs.shape.m, inputs.shape.k)),
        b_norms_(row_norms(inputs.b.get(), inputs.shape.n, inputs.shape.k)) {}

  double bound(int m, int n, double expected) const {
    return exact_ ? 0 : std::abs(expected) * 0x1p-8 + tolerance_ * a_norms_[m] * b_norms_[n];
  }
  bool accepts(int m, int n, Bf16 d, double expected) const {
    if (exact_) return to_float(d) == to_float(round_to_bf16(static_cast<float>(expected)));  // -0 is a zero
    return std::abs(to_float(d) - expected) <= bound(m, n, expected);                         // false for NaN
  }

 private:
  bool exact_;
  double tolerance_;
  std::vector<double> a_norms_, b_norms_;
};

struct Sums {
  double xy = 0, xx = 0, yy = 0;
  void add(double x, double y) {
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  void add(const Sums& other) {
    xy += other.xy;
    xx += other.xx;
    yy += other.yy;
  }
  double cosine() const { return xx == 0 && yy == 0 ? 1 : xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy); }
  double scale_error() const { return xx + yy == 0 ? 0 : 1 - 2 * xy / (xx + yy); }
};

/// What was found in one row of 128x128 tiles. Threads fill one each; they are merged in order, so that the result does
/// not depend on the number of cores.
struct Band {
  Sums sums;
  double max_error = 0;
  std::int64_t wrong = 0, unwritten = 0, not_finite = 0, different = 0, past_row = 0;
  int first_past_row = -1;
  double worst_violation = -1;
  Element worst;
  std::vector<std::int64_t> wrong_in_tile;
  std::vector<Element> witnesses;

  void note_wrong(const Element& e) {
    ++wrong;
    if (e.d == BF16_POISON) {
      ++unwritten;
    } else if (!is_finite(e.d)) {
      ++not_finite;
    }
    const double violation = is_finite(e.d) ? std::abs(to_float(e.d) - e.expected) - e.bound : INFINITY;
    if (violation > worst_violation) {
      worst_violation = violation;
      worst = e;
    }
    if (wrong_in_tile[e.n / MAP_TILE]++ < WITNESSES_PER_TILE) witnesses.push_back(e);
  }
};

/// Looks at every element: against the reference if there is one, else only for values that can never be right.
Band examine_band(const Inputs& inputs, const Output& output, const float* reference, const Judge& judge, int band) {
  const Shape& shape = inputs.shape;
  Band result;
  result.wrong_in_tile.assign((shape.n + MAP_TILE - 1) / MAP_TILE, 0);
  const int end = static_cast<int>(std::min<std::int64_t>(shape.m, (std::int64_t{band} + 1) * MAP_TILE));
  for (int m = band * MAP_TILE; m < end; ++m) {
    const Bf16* row = output.d + m * output.ldd;
    for (int n = 0; n < shape.n; ++n) {
      const Bf16 d = row[n];
      if (reference == nullptr) {
        if (!is_finite(d)) result.note_wrong({m, n, d, NAN, 0});
        continue;
      }
      const double expected = reference[std::int64_t{m} * shape.n + n];
      if (is_finite(d)) {
        result.sums.add(to_float(d), expected);
        result.max_error = std::max(result.max_error, std::abs(to_float(d) - expected));
      }
      result.different += d != round_to_bf16(static_cast<float>(expected));
      if (!judge.accepts(m, n, d, expected)) result.note_wrong({m, n, d, expected, judge.bound(m, n, expected)});
    }
    for (std::int64_t n = shape.n; n < output.ldd; ++n) {
      if (row[n] == BF16_POISON) continue;
      ++result.past_row;
      if (result.first_past_row < 0) result.first_past_row = m;
    }
  }
  return result;
}

struct Sample {
  int m, n;
  double expected;
};

/// The four corners and a random element of every 128x128 tile, or of one in so many tiles when D is large.
std::vector<Sample> draw_samples(const Shape& shape) {
  const std::int64_t m_tiles = (shape.m + MAP_TILE - 1) / MAP_TILE, n_tiles = (shape.n + MAP_TILE - 1) / MAP_TILE;
  const std::int64_t tiles = m_tiles * n_tiles;
  const std::int64_t affordable = std::clamp<std::int64_t>(MAX_SAMPLE_PRODUCTS / shape.k, 64, MAX_SAMPLES);
  const std::int64_t step = (tiles + affordable - 1) / affordable;
  std::vector<Sample> samples = {{0, 0, 0}, {0, shape.n - 1, 0}, {shape.m - 1, 0, 0}, {shape.m - 1, shape.n - 1, 0}};
  const auto pick = [](std::uint64_t& random, std::int64_t count) {
    random = mix(random + 1);
    return static_cast<std::int64_t>((random >> 32) % static_cast<std::uint64_t>(count));
  };
  for (std::int64_t first = 0; first < tiles; first += step) {
    std::uint64_t random = mix(static_cast<std::uint64_t>(first) + 1);
    const std::int64_t tile = first + pick(random, std::min(step, tiles - first));
    const int m0 = static_cast<int>(tile / n_tiles) * MAP_TILE, n0 = static_cast<int>(tile % n_tiles) * MAP_TILE;
    samples.push_back({m0 + static_cast<int>(pick(random, std::min(MAP_TILE, shape.m - m0))),
                       n0 + static_cast<int>(pick(random, std::min(MAP_TILE, shape.n - n0))), 0});
  }
  const auto place = [](const Sample& s) { return std::pair(s.m, s.n); };
  std::ranges::sort(samples, {}, place);
  const auto repeated = std::ranges::unique(samples, {}, place);
  samples.erase(repeated.begin(), repeated.end());
  return samples;
}

std::vector<Sample> compute_samples(const Inputs& inputs) {
  const std::int64_t k = inputs.shape.k;
  std::vector<Sample> samples = draw_samples(inputs.shape);
  parallel_for(static_cast<std::int64_t>(samples.size()), [&](std::int64_t i) {
    Sample& s = samples[i];
    s.expected = dot_fp64(inputs.a.get() + s.m * k, inputs.b.get() + s.n * k, inputs.shape.k);
  });
  return samples;
}

constexpr int STEP = 64;                     // of K, as long as the stages of a kernel
constexpr int MIN_K_OF_STEPS = 1 << 19;      // below, the bound of an element shows a missing step
constexpr std::uint64_t STEP_SAMPLES = 256;  // enough for the errors of 2^22 products to cancel out

/// A step of K that D holds `extra` times more than it should: -1, it is missing.
struct WrongStep {
  std::int64_t first = -1;
  double extra = 0;
};

/// Looks for the step that the errors of D go together with: least squares, of the errors of elements spread over D on
/// what the step adds to each of them.
WrongStep find_wrong_step(const Inputs& inputs, const Output& output) {
  const Shape& shape = inputs.shape;
  const std::int64_t k = shape.k;
  struct Place {
    const Bf16 *a, *b;
    double error;
  };
  std::vector<Place> places(STEP_SAMPLES);
  parallel_for(static_cast<std::int64_t>(places.size()), [&](std::int64_t i) {
    const std::uint64_t random = mix(static_cast<std::uint64_t>(i) + 1);
    const auto m = static_cast<std::int64_t>((random >> 32) % static_cast<std::uint64_t>(shape.m));
    const auto n = static_cast<std::int64_t>((random & 0xFFFF'FFFF) % static_cast<std::uint64_t>(shape.n));
    Place& place = places[i];
    place = {inputs.a.get() + m * k, inputs.b.get() + n * k, 0};
    const Bf16 d = output.d[m * output.ldd + n];
    if (is_finite(d)) place.error = to_float(d) - dot_fp64(place.a, place.b, shape.k);
  });
  const std::int64_t steps = (k + STEP - 1) / STEP;
  std::vector<WrongStep> found(static_cast<size_t>((steps + 63) / 64));
  parallel_for(static_cast<std::int64_t>(found.size()), [&](std::int64_t piece) {
    for (std::int64_t step = piece * 64; step < std::min(steps, (piece + 1) * 64); ++step) {
      const std::int64_t first = step * STEP;
      const int length = static_cast<int>(std::min<std::int64_t>(STEP, k - first));
      std::vector<double> parts(places.size());
      Sums sums;  // x: error, y: what the step adds
      for (size_t i = 0; i < places.size(); ++i) {
        parts[i] = dot_fp64(places[i].a + first, places[i].b + first, length);
        sums.add(places[i].error, parts[i]);
      }
      const double extra = sums.yy > 0 ? sums.xy / sums.yy : 0;
      if (std::abs(extra) < 0.5) continue;
      double noise = 0;  // variance of xy from what is left of the errors
      for (size_t i = 0; i < places.size(); ++i) {
        const double rest = (places[i].error - extra * parts[i]) * parts[i];
        noise += rest * rest;
      }
      // Seven standard deviations: by chance not once in a billion steps.
      if (std::abs(sums.xy) > 7 * std::sqrt(noise) && std::abs(extra) > std::abs(found[piece].extra))
        found[piece] = {first, extra};
    }
  });
  const auto worst = std::ranges::max_element(found, {}, [](const WrongStep& step) { return std::abs(step.extra); });
  return *worst;
}

/// The offset of the first byte that is no longer poison, or -1.
std::int64_t first_touched(std::span<const std::byte> guard) {
  const auto it = std::find_if(guard.begin(), guard.end(), [](std::byte b) { return b != std::byte{0xFF}; });
  return it == guard.end() ? -1 : std::distance(guard.begin(), it);
}

long long ll(std::int64_t value) { return value; }

/// "0-31, 64, 96-127", cut short after a few ranges.
std::string ranges_text(const std::vector<int>& sorted) {
  constexpr int MAX_RANGES = 8;
  std::string text;
  int ranges = 0;
  for (size_t i = 0; i < sorted.size();) {
    size_t j = i;
    while (j + 1 < sorted.size() && sorted[j + 1] == sorted[j] + 1) ++j;
    if (++ranges > MAX_RANGES) return text + ", ...";
    if (!text.empty()) text += ", ";
    text += i == j ? format("%d", sorted[i]) : format("%d-%d", sorted[i], sorted[j]);
    i = j + 1;
  }
  return text;
}

/// Which rows and columns of one tile hold wrong elements.
std::string tile_text(const Inputs& inputs, const Output& output, const float* reference, const Judge& judge,
                      int tile_m, int tile_n) {
  const Shape& shape = inputs.shape;
  std::vector<int> rows, columns;
  std::vector<bool> column_wrong(MAP_TILE, false);
  for (int m = tile_m * MAP_TILE; m < std::min(shape.m, (tile_m + 1) * MAP_TILE); ++m) {
    bool row_wrong = false;
    for (int n = tile_n * MAP_TILE; n < std::min(shape.n, (tile_n + 1) * MAP_TILE); ++n) {
      const Bf16 d = output.d[m * output.ldd + n];
      const bool right =
          reference == nullptr ? is_finite(d) : judge.accepts(m, n, d, reference[std::int64_t{m} * shape.n + n]);
      if (right) continue;
      row_wrong = true;
      column_wrong[n - tile_n * MAP_TILE] = true;
    }
    if (row_wrong) rows.push_back(m);
  }
  for (int i = 0; i < MAP_TILE; ++i) {
    if (column_wrong[i]) columns.push_back(tile_n * MAP_TILE + i);
  }
  if (rows.empty()) return "";
  return format("    its wrong elements lie in %zu rows (%s) and %zu columns (%s)\n", rows.size(),
                ranges_text(rows).c_str(), columns.size(), ranges_text(columns).c_str());
}

/// A picture of D with one character per tile, or per group of tiles when D is large.
std::string map_text(const Shape& shape, const std::vector<Band>& bands) {
  constexpr int MAX_ROWS = 32, MAX_COLUMNS = 64;
  const int m_tiles = static_cast<int>(bands.size()), n_tiles = static_cast<int>(bands[0].wrong_in_tile.size());
  const int m_group = (m_tiles + MAX_ROWS - 1) / MAX_ROWS, n_group = (n_tiles + MAX_COLUMNS - 1) / MAX_COLUMNS;
  std::string text =
      format("  wrong elements by tiles of %d x %d (. none, + some, # all), rows m down, columns n across:\n",
             m_group * MAP_TILE, n_group * MAP_TILE);
  for (int m = 0; m < m_tiles; m += m_group) {
    text += "    ";
    for (int n = 0; n < n_tiles; n += n_group) {
      std::int64_t wrong = 0;
      for (int i = m; i < std::min(m_tiles, m + m_group); ++i) {
        for (int j = n; j < std::min(n_tiles, n + n_group); ++j) wrong += bands[i].wrong_in_tile[j];
      }
      const std::int64_t rows = std::min<std::int64_t>(shape.m - std::int64_t{m} * MAP_TILE, m_group * MAP_TILE);
      const std::int64_t columns = std::min<std::int64_t>(shape.n - std::int64_t{n} * MAP_TILE, n_group * MAP_TILE);
      text += wrong == 0 ? '.' : wrong == rows * columns ? '#' : '+';
    }
    text += '\n';
  }
  return text;
}

std::string worst_text(const Element& e) {
  const std::string place = format("  worst element: D[%d][%d]", e.m, e.n);
  if (e.d == BF16_POISON) return place + " was never written\n";
  if (std::isnan(e.expected)) return place + format(" is %g\n", to_float(e.d));
  return place + format(" is %.6g instead of %.6g, off by %.3g where %.3g is allowed\n", to_float(e.d), e.expected,
                        std::abs(to_float(e.d) - e.expected), e.bound);
}

/// Everything that was found, before judgement.
struct Examination {
  std::vector<Band> bands;
  Sums sample_sums;
  std::int64_t reference_wrong = 0;  // samples in which the reference disagrees with FP64
};

void examine_sample(Examination& exam, const Sample& s, const Output& output, const float* reference,
                    const Shape& shape, const Judge& judge) {
  const Bf16 d = output.d[s.m * output.ldd + s.n];
  const double bound = judge.bound(s.m, s.n, s.expected);
  Band& band = exam.bands[s.m / MAP_TILE];
  bool noted_before = !is_finite(d);
  if (reference != nullptr) {
    // FP32 rounding in any order stays far inside the bound, even without its BF16 part.
    const double r = reference[std::int64_t{s.m} * shape.n + s.n];
    if (!(std::abs(r - s.expected) <= bound)) ++exam.reference_wrong;
    noted_before = !judge.accepts(s.m, s.n, d, r);
  } else if (is_finite(d)) {
    exam.sample_sums.add(to_float(d), s.expected);
    band.max_error = std::max(band.max_error, std::abs(to_float(d) - s.expected));
  }
  if (!noted_before && !judge.accepts(s.m, s.n, d, s.expected)) band.note_wrong({s.m, s.n, d, s.expected, bound});
}

Verdict summary(const Examination& exam) {
  Verdict verdict;
  verdict.different = 0;
  Sums sums = exam.sample_sums;
  double worst_violation = -1;
  for (const Band& band : exam.bands) {
    sums.add(band.sums);
    verdict.max_error = std::max(verdict.max_error, band.max_error);
    verdict.wrong += band.wrong;
    verdict.unwritten += band.unwritten;
    verdict.not_finite += band.not_finite;
    verdict.different += band.different;
    if (band.worst_violation > worst_violation) {
      worst_violation = band.worst_violation;
      verdict.worst = band.worst;
    }
  }
  verdict.cosine = sums.cosine();
  verdict.scale_error = sums.scale_error();
  return verdict;
}

void list_faults(Verdict& verdict, const Examination& exam, const Shape& shape, const Output& output) {
  if (exam.reference_wrong > 0) {
    verdict.reject(format("the reference itself disagrees with FP64 in %lld of %lld samples", ll(exam.reference_wrong),
                          ll(verdict.samples)));
  }
  if (verdict.wrong > 0) {
    std::string text = format("%lld of %lld elements are wrong", ll(verdict.wrong), ll(shape.d_elements()));
    if (verdict.compared < shape.d_elements()) text += format(" (%lld were compared)", ll(verdict.compared));
    if (verdict.unwritten > 0) text += format(", %lld of them never written", ll(verdict.unwritten));
    if (verdict.not_finite > 0) text += format(", %lld of them NaN or infinite", ll(verdict.not_finite));
    verdict.reject(text);
  }
  if (!(verdict.cosine >= MIN_COSINE)) {
    verdict.reject(format("the cosine similarity is %.7f, and at least %g is required", verdict.cosine, MIN_COSINE));
  }
  if (!(verdict.scale_error < MAX_SCALE_ERROR)) {
    verdict.reject(format("1 - 2 sum(xy) / sum(x^2 + y^2) is %.3g, and less than %g is required", verdict.scale_error,
                          MAX_SCALE_ERROR));
  }
  std::int64_t past_row = 0;
  int first_past_row = -1;
  for (const Band& band : exam.bands) {
    past_row += band.past_row;
    if (first_past_row < 0) first_past_row = band.first_past_row;
  }
  if (past_row > 0) {
    verdict.reject(
        format("%lld elements were stored past the end of a row, the first in row %d", ll(past_row), first_past_row));
  }
  if (const std::int64_t i = first_touched(output.before); i >= 0) {
    verdict.reject(format("memory before D was overwritten, the first time %lld bytes before it",
                          ll(static_cast<std::int64_t>(output.before.size()) - i)));
  }
  if (const std::int64_t i = first_touched(output.after); i >= 0) {
    verdict.reject(format("memory after D was overwritten, the first time %lld bytes after its end", ll(i)));
  }
}

/// The map, and a guess at the kind of fault.
void explain(Verdict& verdict, const Examination& exam, const Inputs& inputs, const Output& output,
             const float* reference, const Judge& judge) {
  int tile_m = 0, tile_n = 0;
  std::int64_t most_wrong = 0;
  std::vector<Element> witnesses;
  for (size_t i = 0; i < exam.bands.size(); ++i) {
    const Band& band = exam.bands[i];
    for (size_t j = 0; j < band.wrong_in_tile.size(); ++j) {
      if (band.wrong_in_tile[j] <= most_wrong) continue;
      most_wrong = band.wrong_in_tile[j];
      tile_m = static_cast<int>(i);
      tile_n = static_cast<int>(j);
    }
    witnesses.insert(witnesses.end(), band.witnesses.begin(), band.witnesses.end());
  }
  verdict.map = map_text(inputs.shape, exam.bands);
  verdict.map += format("  worst tile: rows from %d, columns from %d, %lld wrong elements\n", tile_m * MAP_TILE,
                        tile_n * MAP_TILE, ll(most_wrong));
  verdict.map += tile_text(inputs, output, reference, judge, tile_m, tile_n);
  verdict.map += worst_text(verdict.worst);

  std::vector<Element> chosen;
  const size_t step = (witnesses.size() + MAX_WITNESSES - 1) / MAX_WITNESSES;
  for (size_t i = 0; i < witnesses.size(); i += step) chosen.push_back(witnesses[i]);
  verdict.hint = diagnose(inputs, chosen);
}

}  // namespace

void require_verifiable(const Shape& shape, Init init) {
  if (init == Init::zeros) return;
  const int most = init == Init::integer ? MAX_EXACT_K : MAX_VERIFIED_K;
  if (shape.k <= most) return;
  throw usage_error(
      format("K = %d is too large to verify: with --init %s, K up to %d is verified. "
             "--verify off runs it without.",
             shape.k, std::string(INIT_NAMES[static_cast<size_t>(init)]).c_str(), most));
}

double accumulation_tolerance(int k) {
  const double steps = (std::int64_t{k} + 15) / 16;
  return steps * (0x1p-23 + 17 * 0x1p-25) * 6 / std::sqrt(static_cast<double>(k));
}

Verdict verify(const Inputs& inputs, const Output& output, const float* reference) {
  const Shape& shape = inputs.shape;
  require_verifiable(shape, inputs.init);
  const Judge judge(inputs);
  Examination exam;
  exam.bands.resize((std::int64_t{shape.m} + MAP_TILE - 1) / MAP_TILE);
  parallel_for(static_cast<std::int64_t>(exam.bands.size()), [&](std::int64_t i) {
    exam.bands[i] = examine_band(inputs, output, reference, judge, static_cast<int>(i));
  });
  const std::vector<Sample> samples = compute_samples(inputs);
  for (const Sample& s : samples) examine_sample(exam, s, output, reference, shape, judge);

  Verdict verdict = summary(exam);
  verdict.samples = static_cast<std::int64_t>(samples.size());
  verdict.compared = reference != nullptr ? shape.d_elements() : verdict.samples;
  if (reference == nullptr) verdict.different = -1;
  list_faults(verdict, exam, shape, output);
  if (shape.k > MIN_K_OF_STEPS) {
    const WrongStep step = find_wrong_step(inputs, output);
    if (step.first >= 0)
      verdict.reject(format("the %d products from k = %lld on %s", STEP, ll(step.first),
                            step.extra < 0 ? "are missing in D" : "are in D more than once"));
  }
  if (verdict.wrong > 0) explain(verdict, exam, inputs, output, reference, judge);
  return verdict;
}

std::uint64_t digest(const Shape& shape, const Output& output) {
  constexpr std::uint64_t OFFSET_BASIS = 0xCBF29CE484222325u, PRIME = 0x100000001B3u;
  std::uint64_t hash = OFFSET_BASIS;
  for (std::int64_t m = 0; m < shape.m; ++m) {
    const Bf16* row = output.d + m * output.ldd;
    for (int n = 0; n < shape.n; ++n) {
      hash = (hash ^ (row[n] & 0xFF)) * PRIME;
      hash = (hash ^ (row[n] >> 8)) * PRIME;
    }
  }
  return hash;
}

}  // namespace harness
