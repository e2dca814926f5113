#include "common/base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace base {
namespace {

using Layout = JsonWriter::Layout;

template <typename Write>
std::string written(Write&& write) {
  std::string text;
  JsonWriter json(text);
  write(json);
  return text;
}

std::string quoted(std::string_view text) {
  return written([&](JsonWriter& json) { json.value(text); });
}

TEST(Json, Numbers) {
  const auto text = written([](JsonWriter& json) {
    json.array([&] {
      json.value(7);
      json.value(std::numeric_limits<std::int64_t>::min());
      json.value(std::numeric_limits<std::uint64_t>::max());
      json.value(true);
      json.value(0.1);
      json.value(2.0 / 3, 5);
      json.value(std::nan(""));
      json.value(HUGE_VAL, 5);
    });
  });
  EXPECT_EQ(text, "[7, -9223372036854775808, 18446744073709551615, true, 0.1, 0.66667, null, null]");
}

TEST(Json, Strings) {
  EXPECT_EQ(quoted(""), R"("")");
  EXPECT_EQ(quoted("a \"b\" \\ c"), R"("a \"b\" \\ c")");
  EXPECT_EQ(quoted("1\n\t\x1f\x7f"), "\"1\\n\\u0009\\u001f\x7f\"");
  EXPECT_EQ(quoted(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(Json, StringsAreUtf8) {
  for (const char* good : {"\u00e9", "\u20ac", "\ud7ff", "\ue000", "\U0001f600", "\U0010ffff"}) {
    EXPECT_EQ(quoted(good), '"' + std::string(good) + '"');
  }
  EXPECT_EQ(quoted("a\x80z"), R"("a\ufffdz")");                            // a byte from a character's middle
  EXPECT_EQ(quoted("\xe2\x82"), R"("\ufffd\ufffd")");                      // cut off
  EXPECT_EQ(quoted("\xe2\x82z"), R"("\ufffd\ufffdz")");                    // cut off by another
  EXPECT_EQ(quoted("\xc0\xaf"), R"("\ufffd\ufffd")");                      // '/' the long way
  EXPECT_EQ(quoted("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");            // a surrogate
  EXPECT_EQ(quoted("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");  // beyond the last character
  EXPECT_EQ(quoted("\xf0\x80\x80\x80z"), R"("\ufffd\ufffd\ufffd\ufffdz")");
}

TEST(Json, Nested) {
  const auto text = written([](JsonWriter& json) {
    json.object([&] {
      json.member("level", "level01");
      json.array("sizes", [&] {
        for (int size : {1024, 2048}) json.value(size);
      });
      json.object("none", [] {});
      json.member("ratio", 0.98765, 3);
    });
  });
  EXPECT_EQ(text, R"({"level": "level01", "sizes": [1024, 2048], "none": {}, "ratio": 0.988})");
}

TEST(Json, Lines) {
  const auto text = written([](JsonWriter& json) {
    json.object(
        [&] {
          json.member("a", 1);
          json.array("b", [&] { json.value(2), json.value(3); });
          json.array(
              "c", [&] { json.object([&] { json.member("d", 4); }), json.value(5); }, Layout::lines);
          json.array(
              "e", [] {}, Layout::lines);
        },
        Layout::lines);
  });
  EXPECT_EQ(text, R"({
  "a": 1,
  "b": [2, 3],
  "c": [
    {"d": 4},
    5
  ],
  "e": []
})");
}

TEST(Json, ThePartsCanBeTakenAway) {
  std::string text, file;
  JsonWriter json(text);
  json.array([&] {
    for (int i = 0; i < 3; ++i) {
      json.value(i);
      file += std::exchange(text, "");
    }
  });
  EXPECT_EQ(file + text, "[0, 1, 2]");
}

}  // namespace
}  // namespace base
