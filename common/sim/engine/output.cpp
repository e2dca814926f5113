#include "engine/output.h"

#include <cstdio>

namespace sim {
namespace {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

void Output::end(uint32_t cluster, std::string text) {
  waiting_[cluster] = std::move(text);
  for (auto next = waiting_.begin(); next != waiting_.end() && next->first == next_;
       next = waiting_.erase(next), ++next_)
    print(next->second);
}

Output::~Output() {
  for (const auto& [cluster, text] : waiting_) print(text);
}

}  // namespace sim
