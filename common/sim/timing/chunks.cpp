#include "timing/chunks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace sim::timing {
namespace {

/// Average bytes of a row per request to L2: where rows are not aligned to lines, many need one more request.
uint32_t request_bytes(const LoadForm& form) {
  constexpr uint64_t kLine = 128, kRows = 8;  // TMA requires pitches of 16 bytes: the alignment repeats after 8 rows
  uint64_t lines = 0;
  for (uint64_t row = 0; row < kRows; ++row) {
    const uint64_t begin = (form.tensor + row * form.row_step) % kLine;
    lines += (begin + form.row_bytes + kLine - 1) / kLine;
  }
  return static_cast<uint32_t>(kRows * form.row_bytes / lines);
}

}  // namespace

Chunks::Chunks(std::span<const GridDemands> launches) {
  struct Tensor {
    int32_t rows = 0, row_bytes = 0, end_x = 0, end_y = 0;
    uint32_t fetch_bytes = 1, request_bytes = 1;
    uint32_t first = 0;
  };
  std::map<std::pair<uint64_t, uint32_t>, Tensor> tensors;
  const auto each_place = [&](auto&& f) {
    for (const GridDemands& launch : launches) {
      for (const auto& places : launch.places) {
        for (const BoxPlace& place : places) f(launch.forms.loads[place.load], place);
      }
    }
  };
  each_place([&](const LoadForm& form, const BoxPlace& place) {
    Tensor& tensor = tensors[{form.tensor, form.row_bytes}];
    tensor.rows = std::gcd(std::gcd(tensor.rows, static_cast<int32_t>(form.rows)), place.y);
    tensor.fetch_bytes = form.fetch_bytes;
    tensor.request_bytes = request_bytes(form);
    tensor.end_x = std::max(tensor.end_x, place.x + static_cast<int32_t>(form.row_bytes));
    tensor.end_y = std::max(tensor.end_y, place.y + static_cast<int32_t>(form.rows));
  });
  uint32_t next = 0;
  for (auto& [key, tensor] : tensors) {
    tensor.rows = std::max(tensor.rows, 8);
    tensor.row_bytes = static_cast<int32_t>(key.second);
    tensor.first = next;
    const auto chunks = static_cast<uint32_t>((tensor.end_y / tensor.rows + 1) * (tensor.end_x / tensor.row_bytes + 1));
    const auto column = static_cast<uint32_t>(tensor.end_y / tensor.rows + 1);
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const uint32_t x = chunk / column * key.second;
      uint32_t partner = chunk;
      if (tensor.fetch_bytes == 2 * key.second) partner = x % tensor.fetch_bytes == 0 ? chunk + column : chunk - column;
      all_.push_back({static_cast<uint32_t>(tensor.rows) * key.second, next + (partner < chunks ? partner : chunk),
                      tensor.request_bytes});
    }
    next += chunks;
  }
  for (const GridDemands& launch : launches) {
    auto& numbers = first_.emplace_back(launch.places.size());
    std::vector<const Tensor*> of_form;
    for (const LoadForm& form : launch.forms.loads) of_form.push_back(&tensors[{form.tensor, form.row_bytes}]);
    auto& counts = counts_.emplace_back();
    for (size_t i = 0; i < of_form.size(); ++i)
      counts.push_back((launch.forms.loads[i].rows + static_cast<uint32_t>(std::max(of_form[i]->rows, 1)) - 1) /
                       static_cast<uint32_t>(std::max(of_form[i]->rows, 1)));
    for (size_t cluster = 0; cluster < launch.places.size(); ++cluster) {
      numbers[cluster].reserve(launch.places[cluster].size());
      for (const BoxPlace& place : launch.places[cluster]) {
        const Tensor& tensor = *of_form[place.load];
        const int32_t column = std::max(place.x, 0) / tensor.row_bytes, row = std::max(place.y, 0) / tensor.rows;
        numbers[cluster].push_back(tensor.first +
                                   static_cast<uint32_t>(column * (tensor.end_y / tensor.rows + 1) + row));
      }
    }
  }
}

}  // namespace sim::timing
