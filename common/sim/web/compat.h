// The parts of C++20 that the C++ library of Debian's emscripten (libc++ 13) lacks. Included before every file of a web
// build.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

static_assert(_LIBCPP_VERSION < 14000, "a newer libc++: remove the parts that it has from this file");

namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

template <class T>
requires is_unbounded_array_v<T> unique_ptr<T> make_unique_for_overwrite(size_t count) {
  return unique_ptr<T>(new remove_extent_t<T>[count]);
}
template <class T>
requires(!is_array_v<T>) unique_ptr<T> make_unique_for_overwrite() { return unique_ptr<T>(new T); }

inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  // Unlike strtod, from_chars accepts no blanks, no plus sign and no hexadecimal digits.
  const string text(first, std::find_if(first, last, [](char c) { return strchr("0123456789.eE+-", c) == nullptr; }));
  if (text.empty() || text[0] == '+') return {first, errc::invalid_argument};
  char* end = nullptr;
  const double found = strtod(text.c_str(), &end);
  if (end == text.c_str()) return {first, errc::invalid_argument};
  value = found;
  return {first + (end - text.c_str()), errc()};
}

/// The fewest digits that represent this number exactly; without an exponent unless that form is longer.
inline to_chars_result to_chars(char* first, char* last, double value) {
  char scientific[64], fixed[512];
  int digits = 0;
  do snprintf(scientific, sizeof scientific, "%.*e", digits, value);
  while (strtod(scientific, nullptr) != value && ++digits < 17);
  const char* const exponent = strchr(scientific, 'e');
  const int places = exponent == nullptr ? 0 : digits - atoi(exponent + 1);
  snprintf(fixed, sizeof fixed, "%.*f", places > 0 ? places : 0, value);
  const char* const text = strlen(fixed) <= strlen(scientific) ? fixed : scientific;
  const size_t length = strlen(text);
  if (length > static_cast<size_t>(last - first)) return {last, errc::value_too_large};
  memcpy(first, text, length);
  return {first + length, errc()};
}

template <class T, size_t count>
constexpr strong_ordering operator<=>(const array<T, count>& a, const array<T, count>& b) {
  for (size_t i = 0; i < count; ++i) {
    if (const strong_ordering order = a[i] <=> b[i]; order != 0) return order;
  }
  return strong_ordering::equal;
}

template <class T, class Allocator>
constexpr strong_ordering operator<=>(const vector<T, Allocator>& a, const vector<T, Allocator>& b) {
  for (size_t i = 0; i < min(a.size(), b.size()); ++i) {
    if (const strong_ordering order = a[i] <=> b[i]; order != 0) return order;
  }
  return a.size() <=> b.size();
}

template <class Character, class Traits, class Allocator>
constexpr strong_ordering operator<=>(const basic_string<Character, Traits, Allocator>& a,
                                      const basic_string<Character, Traits, Allocator>& b) {
  return a.compare(b) <=> 0;
}

/// There is only one thread, so the work of another one is done immediately.
class jthread {
 public:
  jthread() = default;
  template <class Work, class... Arguments>
  explicit jthread(Work&& work, Arguments&&... arguments) {
    invoke(forward<Work>(work), forward<Arguments>(arguments)...);
  }
  void join() {}
};

namespace ranges {

struct projected_less {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a < b;
  }
};
/// {} for the comparison means the default one.
template <class Range, class Less = projected_less, class Projection = identity>
void sort(Range&& range, Less less = {}, Projection projection = {}) {
  std::sort(std::begin(range), std::end(range),
            [&](const auto& a, const auto& b) { return less(invoke(projection, a), invoke(projection, b)); });
}
template <class Range, class Less = projected_less, class Projection = identity>
void stable_sort(Range&& range, Less less = {}, Projection projection = {}) {
  std::stable_sort(std::begin(range), std::end(range),
                   [&](const auto& a, const auto& b) { return less(invoke(projection, a), invoke(projection, b)); });
}
template <class A, class B>
bool equal(const A& a, const B& b) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b));
}
template <class Range, class Predicate>
bool any_of(const Range& range, Predicate predicate) {
  return std::any_of(std::begin(range), std::end(range), [&](const auto& each) { return invoke(predicate, each); });
}
template <class Range, class Value>
auto find(Range&& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value);
}
template <class Range, class Predicate>
auto find_if(Range&& range, Predicate predicate) {
  return std::find_if(std::begin(range), std::end(range), [&](const auto& each) { return invoke(predicate, each); });
}

}  // namespace ranges
}  // namespace std
