// Renders templates in one line, for the tests of the engine.
#pragma once

#include "jinja/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sinter::jinja {

// Friday, 26 July 2024, which strftime_now gives.
inline std::tm testTime() {
  std::tm time{};
  time.tm_year = 124;
  time.tm_mon = 6;
  time.tm_mday = 26;
  time.tm_wday = 5;
  time.tm_yday = 207;
  return time;
}

inline Result<Text> render(std::string_view source, std::string_view json = "{}",
                           const Limits &limits = {}) {
  SINTER_ASSIGN(const Template parsed, Template::parse(source, limits));
  SINTER_ASSIGN(const Input variables, inputFromJson(json));
  return parsed.render(*variables.object(), testTime());
}

inline std::string rendered(std::string_view source, std::string_view json = "{}") {
  const auto text = render(source, json);
  EXPECT_TRUE(text.has_value()) << source << "\n" << (text ? "" : text.error().toString());
  return text ? text->bytes() : "";
}

inline Status refusal(std::string_view source, std::string_view json = "{}",
                      const Limits &limits = {}) {
  const auto text = render(source, json, limits);
  EXPECT_FALSE(text.has_value()) << source << "\n" << (text ? text->bytes().substr(0, 1000) : "");
  return text ? Status{Code::Internal, "no error"} : text.error();
}

} // namespace sinter::jinja
