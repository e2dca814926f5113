#include "shape.h"

#include <algorithm>

#include "failure.h"
#include "text.h"

namespace harness {
namespace {

int nearest_multiple(int extent) {
  const std::int64_t rounded = (std::int64_t{extent} + SHAPE_MULTIPLE / 2) / SHAPE_MULTIPLE * SHAPE_MULTIPLE;
  return static_cast<int>(std::clamp<std::int64_t>(rounded, SHAPE_MULTIPLE, MAX_EXTENT));
}

void require_countable(const Shape& shape, const char* matrix, std::int64_t rows, std::int64_t columns) {
  if (rows * columns <= MAX_ELEMENTS) return;
  throw usage_error(format("%s is too large: %s would have %lld x %lld elements, and a matrix may have at most 2^40.",
                           to_string(shape).c_str(), matrix, static_cast<long long>(rows),
                           static_cast<long long>(columns)));
}

}  // namespace

std::string to_string(const Shape& shape) { return format("%dx%dx%d", shape.m, shape.n, shape.k); }

Shape nearest_legal(const Shape& shape) {
  return {std::max(shape.m, 1), nearest_multiple(shape.n), nearest_multiple(shape.k)};
}

void require_legal(const Shape& shape) {
  if (shape.m < 1 || shape.n < 1 || shape.k < 1)
    throw usage_error(format("M, N and K must be at least 1, but the shape is %s.", to_string(shape).c_str()));
  if (std::max({shape.m, shape.n, shape.k}) > MAX_EXTENT)
    throw usage_error(format("M, N and K must be at most 2^30, but the shape is %s.", to_string(shape).c_str()));
  for (const auto& [name, extent] : {std::pair{"N", shape.n}, std::pair{"K", shape.k}}) {
    if (extent % SHAPE_MULTIPLE == 0) continue;
    throw usage_error(format(
        "%s must be a multiple of 8, because TMA needs row pitches that are multiples of 16 bytes, but the shape "
        "is %s: the nearest legal one is %s.",
        name, to_string(shape).c_str(), to_string(nearest_legal(shape)).c_str()));
  }
  require_countable(shape, "A", shape.m, shape.k);
  require_countable(shape, "B", shape.n, shape.k);
  require_countable(shape, "D", shape.m, shape.n);
}

}  // namespace harness
