// The access log.
#include "serve/http/access_log.h"
#include "serve/http/line_writer.h"

#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

namespace sinter::serve {
namespace {

TEST(AccessLog, WritesOneJsonObjectALine) {
  RequestRecord record;
  record.received = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'500));
  record.client = "127.0.0.1";
  record.keyName = "ana";
  record.method = "GET";
  record.path = "/a\nb\xff\x1b";
  record.route = "/{x}";
  record.userAgent = std::string(1000, 'u');
  record.answer = {200, 7, true, false};
  record.seconds = 0.25;
  const std::string line = accessLogLine(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  const auto json = nlohmann::json::parse(line, nullptr, false);
  ASSERT_TRUE(json.is_object()) << line;
  EXPECT_EQ(json["time"], "1970-01-01T00:00:01.500Z");
  EXPECT_EQ(json["key"], "ana");
  EXPECT_EQ(json["status"], 200);
  EXPECT_EQ(json["response_bytes"], 7);
  EXPECT_EQ(json["end"], "gone");
  EXPECT_EQ(json["user_agent"].get<std::string>().size(), 512u);
}

TEST(LineWriter, AppendsWholeLinesToAFile) {
  const std::string path = testing::TempDir() + "sinter-log-" + std::to_string(getpid());
  for (const char *line : {"one", "two"}) {
    auto writer = LineWriter::open(path);
    ASSERT_TRUE(writer);
    (*writer)->write(line);
  }
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), "one\ntwo\n");
  unlink(path.c_str());
}

TEST(LineWriter, SaysWhyItCannotWrite) {
  const auto writer = LineWriter::open("/no/such/folder/log");
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.error().message.find("/no/such/folder/log"), std::string::npos);
}

TEST(LineWriter, DropsLinesOfASlowReaderAndSaysSo) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  auto writer = LineWriter::to(ends[1]);
  ASSERT_TRUE(writer);
  const std::string line(100'000, 'x');
  for (int i = 0; i < 50; ++i) // returns at once, though nobody reads
    (*writer)->write(line);
  std::string text;
  char bytes[65536];
  while (text.find("dropped_lines") == std::string::npos) {
    const ssize_t count = read(ends[0], bytes, sizeof bytes);
    ASSERT_GT(count, 0);
    text.append(bytes, static_cast<size_t>(count));
  }
  close(ends[0]);
  writer->reset();
  close(ends[1]);
}

} // namespace
} // namespace sinter::serve
