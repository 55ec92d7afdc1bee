// The cases of requests through a whole connection: which answer each gets, and whether the
// connection goes on behind it.
#include "serve/connection_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::serve {
namespace {

using testing::AnyOf;

std::vector<std::string> partsOf(std::string_view expected) {
  constexpr std::string_view kBetween = "; ";
  std::vector<std::string> parts;
  while (!expected.empty()) {
    const std::string_view part = expected.substr(0, expected.find(kBetween));
    expected.remove_prefix(std::min(part.size() + kBetween.size(), expected.size()));
    if (part != "more")
      parts.emplace_back(part);
  }
  return parts;
}

bool isStatus(const std::string &part) {
  return part.size() == 3 && part.find_first_not_of("0123456789") == std::string::npos;
}

// A request that is well read may still have no route, or a host that is none.
void expectAnswers(const HttpCase &each, size_t atOnce) {
  SCOPED_TRACE(each.name + " by " + std::to_string(atOnce));
  const Conversation found = converse(each.bytes, [atOnce] { return atOnce; });
  const std::vector<std::string> parts = partsOf(each.expected);
  EXPECT_TRUE(found.ended);
  ASSERT_EQ(found.statuses.size(), parts.size()) << found.sent;
  for (size_t i = 0; i < parts.size(); ++i)
    if (isStatus(parts[i]))
      EXPECT_EQ(std::to_string(found.statuses[i]), parts[i]);
    else
      EXPECT_THAT(found.statuses[i], AnyOf(200, 204, 400, 404, 405)) << found.sent;
  const bool closes =
      !parts.empty() && (isStatus(parts.back()) || parts.back().ends_with(" close"));
  EXPECT_EQ(found.closes(), closes) << found.sent;
}

TEST(HttpConnection, AnswersEachCaseAndGoesOnWhereItMay) {
  for (const HttpCase &each : httpCases())
    for (const size_t atOnce : {size_t{8192}, size_t{1}})
      expectAnswers(each, atOnce);
}

TEST(HttpConnection, ReadsItsCasesAlikeInPieces) {
  for (const HttpCase &each : httpCases())
    EXPECT_EQ(conversationInconsistencyOf(each.bytes), "") << each.name;
}

} // namespace
} // namespace sinter::serve
