// MappedFile: what it shows, what it refuses, and that a changed file is noticed.
#include "base/mapped_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter {
namespace {

class MappedFileTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "sinter-map-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string &name, const std::string &content) {
    std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  Code codeOf(const std::string &path) {
    auto file = MappedFile::open(path);
    EXPECT_FALSE(file.has_value());
    return file ? Code::Internal : file.error().code;
  }
  std::string folder_;
};

TEST_F(MappedFileTest, ShowsEveryByteOfTheFile) {
  std::string content("a\0b\xff", 4);
  auto file = MappedFile::open(write("f", content));
  ASSERT_TRUE(file.has_value()) << file.error().toString();
  EXPECT_EQ(std::string(file->bytes().begin(), file->bytes().end()), content);
}

TEST_F(MappedFileTest, AMoveKeepsTheAddressOfTheBytes) {
  auto file = MappedFile::open(write("f", "hello"));
  ASSERT_TRUE(file.has_value());
  const uint8_t *before = file->bytes().data();
  MappedFile moved = std::move(*file);
  EXPECT_EQ(moved.bytes().data(), before);
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(MappedFileTest, AMissingFileIsNotFound) {
  EXPECT_EQ(codeOf(folder_ + "/none"), Code::NotFound);
}

TEST_F(MappedFileTest, ADirectoryIsAnInvalidArgument) {
  EXPECT_EQ(codeOf(folder_), Code::InvalidArgument);
}

TEST_F(MappedFileTest, AnEmptyFileIsTruncated) {
  EXPECT_EQ(codeOf(write("f", "")), Code::Truncated);
}

TEST_F(MappedFileTest, APipeIsRefusedWithoutWaitingForAWriter) {
  std::string path = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(codeOf(path), Code::InvalidArgument);
}

TEST_F(MappedFileTest, ANameWithAZeroByteIsAnInvalidArgument) {
  EXPECT_EQ(codeOf(write("f", "x") + std::string("\0tail", 5)), Code::InvalidArgument);
}

TEST_F(MappedFileTest, AnUntouchedFileIsIntact) {
  auto file = MappedFile::open(write("f", "hello"));
  ASSERT_TRUE(file.has_value());
  EXPECT_TRUE(file->stillIntact());
}

TEST_F(MappedFileTest, AShrunkenFileIsNotIntact) {
  std::string path = write("f", "hello");
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file.has_value());
  ASSERT_EQ(::truncate(path.c_str(), 2), 0);
  EXPECT_FALSE(file->stillIntact());
}

TEST_F(MappedFileTest, AFileRewrittenInPlaceIsNotIntact) {
  std::string path = write("f", "hello");
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file.has_value());
  std::filesystem::last_write_time(path, std::filesystem::file_time_type{});
  EXPECT_FALSE(file->stillIntact());
}

TEST_F(MappedFileTest, TheMessageNamesTheFile) {
  auto file = MappedFile::open(folder_ + "/none");
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find(folder_ + "/none"), std::string::npos);
}

// What was changed just now could be changed again at the same time as file systems tell it.
TEST_F(MappedFileTest, IdentityIsThatOfAFileThatHasSettled) {
  const std::string a = write("a", "same"), b = write("b", "same");
  const auto young = MappedFile::open(a);
  ASSERT_TRUE(young);
  EXPECT_EQ(young->settledIdentity(), "");
  ::usleep(2'100'000);
  const auto first = MappedFile::open(a), again = MappedFile::open(a), other = MappedFile::open(b);
  ASSERT_TRUE(first && again && other);
  EXPECT_NE(first->settledIdentity(), "");
  EXPECT_EQ(first->settledIdentity(), again->settledIdentity());
  EXPECT_NE(first->settledIdentity(), other->settledIdentity());
  const std::string before = first->settledIdentity();
  write("a", "eman"); // of the same size
  EXPECT_EQ(first->settledIdentity(), "") << "it is not the file that was mapped";
  ::usleep(2'100'000);
  const auto changed = MappedFile::open(a);
  ASSERT_TRUE(changed);
  EXPECT_NE(changed->settledIdentity(), before);
}

} // namespace
} // namespace sinter
