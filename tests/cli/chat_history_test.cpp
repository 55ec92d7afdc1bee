// The file of what was typed in chats: private, bounded, and the same text back.
#include "cli/chat/history.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace sinter::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ChatHistoryTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sinter-history-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/history"; }
  ChatHistory history() const { return ChatHistory(path()); }

  std::string folder_;
};

TEST_F(ChatHistoryTest, EntriesOfAnyTextComeBackInOrder) {
  const std::vector<std::string> entries = {"one", "two\nlines \\n \\", "#1234", "\\",
                                            "caf\xc3\xa9 \xff"};
  EXPECT_THAT(*history().read(), IsEmpty());
  for (const std::string &entry : entries)
    ASSERT_TRUE(history().append(entry).has_value());
  EXPECT_EQ(*history().read(), entries);
}

TEST_F(ChatHistoryTest, TheFileIsTheUsersAloneWhateverItWas) {
  std::ofstream(path()) << "old\n";
  ASSERT_EQ(chmod(path().c_str(), 0644), 0);
  ASSERT_TRUE(history().append("new").has_value());
  struct stat info;
  ASSERT_EQ(stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_THAT(*history().read(), ElementsAre("old", "new"));
}

TEST_F(ChatHistoryTest, TheOldestEntriesGoWhereThereAreTooMany) {
  std::ofstream file(path());
  for (size_t i = 0; i < kMostHistoryEntries + 10; ++i)
    file << i << "\n";
  file.close();
  const auto entries = history().read();
  ASSERT_EQ(entries->size(), kMostHistoryEntries);
  EXPECT_EQ(entries->front(), "10");
  EXPECT_EQ(*history().read(), *entries); // of the file too
  file.open(path(), std::ios::app);
  for (size_t i = 0; i < 20; ++i)
    file << std::string(kMostHistoryEntryBytes, 'x') << "\n";
  file.close();
  EXPECT_EQ(history().read()->size(), kMostHistoryBytes / (kMostHistoryEntryBytes + 1));
  EXPECT_LE(std::filesystem::file_size(path()), kMostHistoryBytes);
}

TEST_F(ChatHistoryTest, HugeEntriesAreNotKept) {
  ASSERT_TRUE(history().append(std::string(kMostHistoryEntryBytes + 1, 'x')).has_value());
  EXPECT_THAT(*history().read(), IsEmpty());
  std::ofstream(path()) << "old\n" << std::string(kMostHistoryBytes, 'x') << "\nnew\n";
  EXPECT_THAT(*history().read(), testing::ElementsAre("old", "new"));
  EXPECT_LE(std::filesystem::file_size(path()), 10u);
}

TEST_F(ChatHistoryTest, WhatIsNoFileIsAnErrorAndIsLeftAlone) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(history().read().has_value());
  EXPECT_FALSE(history().append("x").has_value());
  EXPECT_TRUE(std::filesystem::is_fifo(path()));
}

} // namespace
} // namespace sinter::cli
