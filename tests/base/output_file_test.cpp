// Files that appear when they are whole, and what is left when they are not.
#include "base/output_file.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

namespace sinter {
namespace {

constexpr std::array<uint8_t, 4> kBytes = {'n', 'e', 'w', '!'};

class OutputFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sinter-output-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/file";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t filesInFolder() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::string folder_, path_;
};

TEST_F(OutputFileTest, AppearsWholeAtItsCommit) {
  auto file = OutputFile::create(path_);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_TRUE(file->reserve(6).has_value());
  ASSERT_TRUE(file->writeAt(kBytes, 2).has_value());
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(file->commit().has_value());
  EXPECT_EQ(read(path_), std::string("\0\0new!", 6));
  EXPECT_EQ(filesInFolder(), 1u);
}

TEST_F(OutputFileTest, ReplacesWhatWasThereOnlyAtItsCommit) {
  std::ofstream(path_) << "old";
  {
    auto dropped = OutputFile::create(path_);
    ASSERT_TRUE(dropped.has_value() && dropped->writeAt(kBytes, 0).has_value());
  }
  EXPECT_EQ(read(path_), "old");
  EXPECT_EQ(filesInFolder(), 1u);
  auto file = OutputFile::create(path_);
  ASSERT_TRUE(file.has_value() && file->writeAt(kBytes, 0) && file->commit());
  EXPECT_EQ(read(path_), "new!");
  EXPECT_EQ(filesInFolder(), 1u);
}

TEST_F(OutputFileTest, ObeysTheProcesssMask) {
  const mode_t before = umask(027);
  auto file = OutputFile::create(path_);
  umask(before);
  ASSERT_TRUE(file.has_value() && file->commit());
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(OutputFileTest, MoreThanTheDiskHasIsExhaustedAndLeavesNothing) {
  {
    auto file = OutputFile::create(path_);
    ASSERT_TRUE(file.has_value());
    const auto reserved = file->reserve(uint64_t{1} << 60);
    ASSERT_FALSE(reserved.has_value());
    EXPECT_EQ(reserved.error().code, Code::Exhausted) << reserved.error().message;
    EXPECT_NE(reserved.error().message.find("1152921504606846976 bytes"), std::string::npos);
  }
  EXPECT_EQ(filesInFolder(), 0u);
}

TEST_F(OutputFileTest, FoldersAndDevicesAreNotReplaced) {
  for (const std::string &path : {folder_, std::string("/dev/null")}) {
    const auto file = OutputFile::create(path);
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().code, Code::InvalidArgument);
  }
}

TEST_F(OutputFileTest, AFolderThatIsMissingIsNotFound) {
  const auto file = OutputFile::create(folder_ + "/nowhere/file");
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, Code::NotFound);
}

TEST_F(OutputFileTest, NamesWithoutTextOrWithZeroBytesAreRefused) {
  for (const std::string &path : {std::string(), std::string("a\0b", 3)})
    EXPECT_EQ(OutputFile::create(path).error().code, Code::InvalidArgument);
}

} // namespace
} // namespace sinter
