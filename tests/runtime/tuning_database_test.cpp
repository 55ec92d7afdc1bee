// The tuning database: what is written is read back, damage is said and survived, and several
// writers lose nothing.
#include "runtime/tuning_database.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sinter::runtime {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TuningEntry entry(const std::string &machine, const std::string &content, uint64_t ns = 900) {
  return {machine,      content,
          "gemm(n=64)", {{{"block_m", 120}, {"vectors", 2}}},
          12,           {{512, 1000, ns}, {1, 7, 9}}};
}

std::vector<uint8_t> sampleFile() {
  const TuningEntry entries[] = {entry("one core", "0a"), entry("two cores", "0b")};
  return serializeTunings(entries);
}

TEST(TuningFile, ReadsBackWhatWasWritten) {
  const std::vector<TuningEntry> entries = {
      entry("m", "a"), {.content = "0"}, entry("", "f", UINT64_MAX)};
  auto back = parseTunings(serializeTunings(entries));
  ASSERT_TRUE(back) << back.error().toString();
  EXPECT_EQ(*back, entries);
}

TEST(TuningFile, EveryFlippedByteIsFound) {
  const std::vector<uint8_t> whole = sampleFile();
  for (size_t i = 0; i < whole.size(); ++i) {
    std::vector<uint8_t> bytes = whole;
    bytes[i] ^= 0x10;
    EXPECT_FALSE(parseTunings(bytes)) << "byte " << i;
  }
}

TEST(TuningFile, EveryShorterFileIsTruncated) {
  const std::vector<uint8_t> whole = sampleFile();
  for (size_t size = 0; size < whole.size(); ++size) {
    auto parsed = parseTunings(std::span(whole).first(size));
    ASSERT_FALSE(parsed) << size;
    EXPECT_EQ(parsed.error().code, Code::Truncated) << size;
  }
}

TEST(TuningFile, AnotherVersionIsUnsupported) {
  std::vector<uint8_t> bytes = sampleFile();
  bytes[kTuningMagic.size()] = kTuningVersion + 1;
  sealTunings(bytes);
  auto parsed = parseTunings(bytes);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::Unsupported);
  EXPECT_EQ(parsed.error().message, "found version 3, expected 2");
}

// Damage under a right checksum.
TEST(TuningFile, HostileCountsAndSchedulesAreCorrupt) {
  std::vector<uint8_t> many = sampleFile();
  many[kTuningHeaderBytes + 3] = 0x7f;
  sealTunings(many);
  auto parsed = parseTunings(many);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::Corrupt);
  EXPECT_THAT(parsed.error().message, HasSubstr("entries"));

  std::vector<uint8_t> schedule = sampleFile();
  const std::string word = "vectors";
  auto at = std::search(schedule.begin(), schedule.end(), word.begin(), word.end());
  ASSERT_NE(at, schedule.end());
  *at = ' ';
  sealTunings(schedule);
  parsed = parseTunings(schedule);
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, HasSubstr("found ' ectors=2' in a schedule"));
}

// Contents become arguments of the compiler.
TEST(TuningFile, ContentsAreDigestsInHexadecimal) {
  for (const char bad : {'=', 'g', 'A', '\0', '-'}) {
    std::vector<uint8_t> bytes = sampleFile();
    const std::string content = "0b";
    auto at = std::search(bytes.begin(), bytes.end(), content.begin(), content.end());
    ASSERT_NE(at, bytes.end());
    *at = static_cast<uint8_t>(bad);
    sealTunings(bytes);
    auto parsed = parseTunings(bytes);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, Code::Corrupt);
    EXPECT_THAT(parsed.error().message, HasSubstr("expected 1 to 64 characters of 0-9 and a-f"));
  }
  EXPECT_TRUE(isTuningContent(std::string(kMaxTuningContent, 'f')));
  EXPECT_FALSE(isTuningContent(std::string(kMaxTuningContent + 1, 'f')));
  EXPECT_FALSE(isTuningContent(""));
}

class Database : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sinter-tuning-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  TuningLookup lookup() const {
    auto found = TuningDatabase(folder_).read();
    EXPECT_TRUE(found) << found.error().toString();
    return found ? *found : TuningLookup{};
  }
  void merge(const std::vector<TuningEntry> &entries) const {
    auto merged = TuningDatabase(folder_).merge(entries);
    EXPECT_TRUE(merged) << merged.error().toString();
  }
  void write(const std::string &bytes) const {
    std::ofstream(TuningDatabase(folder_).path(), std::ios::binary) << bytes;
  }

  std::string folder_;
};

TEST_F(Database, IsEmptyBeforeItIsWritten) {
  EXPECT_THAT(lookup().entries, IsEmpty());
  EXPECT_EQ(lookup().damage, "");
}

TEST_F(Database, KeepsOneEntryForEachKernelOnEachMachine) {
  merge({entry("m", "a"), entry("m", "b"), entry("n", "a")});
  merge({entry("m", "a", 800)});
  const TuningLookup found = lookup();
  ASSERT_THAT(found.entries, SizeIs(3));
  EXPECT_EQ(found.entries.back(), entry("m", "a", 800));
  EXPECT_EQ(found.entries.front(), entry("m", "b"));
}

TEST_F(Database, ForgetsTheOldestBeyondItsSize) {
  std::vector<TuningEntry> entries;
  for (size_t i = 0; i < kMostTunings; ++i)
    entries.push_back(entry("m", std::to_string(i)));
  merge(entries);
  merge({entry("m", "abcdef")});
  const TuningLookup found = lookup();
  ASSERT_THAT(found.entries, SizeIs(kMostTunings));
  EXPECT_EQ(found.entries.front().content, "1");
  EXPECT_EQ(found.entries.back().content, "abcdef");
}

TEST_F(Database, DamageIsSaidInOneLineAndBegunAnew) {
  for (const std::string &bytes : {std::string(), std::string("x"), std::string(4096, '\0'),
                                   std::string("SINTRTUN\2\0\0\0", 12) + std::string(100, 'x')}) {
    write(bytes);
    const TuningLookup found = lookup();
    EXPECT_THAT(found.entries, IsEmpty());
    EXPECT_THAT(found.damage, HasSubstr("tuning.db' is damaged: "));
    EXPECT_EQ(found.damage.find('\n'), std::string::npos);
    merge({entry("m", "a")});
    EXPECT_THAT(lookup().entries, SizeIs(1));
    EXPECT_EQ(lookup().damage, "");
  }
}

TEST_F(Database, AnotherVersionIsRefusedAndLeftAsItIs) {
  std::vector<uint8_t> bytes = sampleFile();
  bytes[kTuningMagic.size()] = kTuningVersion + 1;
  sealTunings(bytes);
  write({bytes.begin(), bytes.end()});
  const TuningEntry found[] = {entry("m", "a")};
  const auto read = TuningDatabase(folder_).read();
  const auto merged = TuningDatabase(folder_).merge(found);
  ASSERT_FALSE(read || merged);
  EXPECT_THAT(merged.error().message,
              HasSubstr("tuning.db': found version 3, expected 2; remove it to tune anew"));
  std::ifstream file(TuningDatabase(folder_).path(), std::ios::binary);
  const std::vector<uint8_t> now{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(now, bytes);
}

TEST_F(Database, KeepsWhatComesFromMoreTrials) {
  TuningEntry more = entry("m", "a"), fewer = entry("m", "a", 800);
  fewer.tried = more.tried - 1;
  merge({more});
  merge({fewer});
  EXPECT_THAT(lookup().entries, testing::ElementsAre(more));
}

TEST_F(Database, ForgetsWhatDoesNotFitButNotWhatTookItsPlace) {
  TuningEntry unfit = entry("m", "a"), found = entry("m", "a", 800);
  unfit.tried = UINT32_MAX;
  merge({unfit, entry("m", "b")});
  ASSERT_TRUE(TuningDatabase(folder_).merge(std::vector{found}, std::vector{unfit}));
  ASSERT_TRUE(TuningDatabase(folder_).merge({}, std::vector{unfit}));
  EXPECT_THAT(lookup().entries, testing::ElementsAre(entry("m", "b"), found));
}

TEST_F(Database, OnlyTheUserMayReadIt) {
  merge({entry("m", "a")});
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(TuningDatabase(folder_).path()).permissions(),
            perms::owner_read | perms::owner_write);
}

TEST_F(Database, AFolderInItsPlaceIsDamageThatCannotBeReplaced) {
  std::filesystem::create_directory(TuningDatabase(folder_).path());
  EXPECT_THAT(lookup().damage, HasSubstr("is damaged"));
  const TuningEntry found[] = {entry("m", "a")};
  auto merged = TuningDatabase(folder_).merge(found);
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr("is no regular file"));
}

TEST_F(Database, WritersThatWriteAtOnceLoseNothing) {
  constexpr int kProcesses = 4, kMerges = 20;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      bool all = true;
      for (int k = 0; k < kMerges; ++k) {
        const TuningEntry mine[] = {entry("m" + std::to_string(i), std::to_string(k))};
        all &= TuningDatabase(folder_).merge(mine).has_value();
      }
      _exit(all ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_THAT(lookup().entries, SizeIs(kProcesses * kMerges));
  EXPECT_EQ(lookup().damage, "");
}

TEST_F(Database, AHeldLockIsWaitedForAndThenSaid) {
  merge({entry("m", "a")});
  const int lock = open((TuningDatabase(folder_).path() + ".lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(lock, 0);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  auto merged = TuningDatabase(folder_).merge({}, {}, 20);
  close(lock);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, Code::Timeout);
  EXPECT_THAT(lookup().entries, SizeIs(1));
}

} // namespace
} // namespace sinter::runtime
