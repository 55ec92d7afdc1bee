// Giving pages of a mapped file back leaves its bytes readable.
#include "runtime/weight_source.h"

#include "base/mapped_file.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sinter::runtime {
namespace {

constexpr std::size_t kPages = 8;

class DropMappedPages : public ::testing::Test {
protected:
  void SetUp() override {
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    path_ = ::testing::TempDir() + "sinter-pages-" + std::to_string(getpid());
    const std::string content(kPages * page_, 'w');
    std::ofstream(path_, std::ios::binary) << content;
    auto file = MappedFile::open(path_);
    ASSERT_TRUE(file.has_value()) << file.error().toString();
    file_.emplace(std::move(*file));
    ASSERT_TRUE(allAsWritten());
  }
  void TearDown() override { unlink(path_.c_str()); }
  bool allAsWritten() const {
    return std::ranges::all_of(file_->bytes(), [](uint8_t byte) { return byte == 'w'; });
  }

  std::size_t page_ = 0;
  std::string path_;
  std::optional<MappedFile> file_;
};

TEST_F(DropMappedPages, BytesAreReadFromTheFileAgain) {
  dropMappedPages(file_->bytes());
  EXPECT_TRUE(allAsWritten());
}

TEST_F(DropMappedPages, ARangeInsideOfOnePageDropsNothing) {
  dropMappedPages(file_->bytes().subspan(1, page_ - 2));
  dropMappedPages(file_->bytes().subspan(page_ - 1, 2));
  dropMappedPages({});
  EXPECT_TRUE(allAsWritten());
}

TEST_F(DropMappedPages, AnUnalignedRangeKeepsItsPartialPages) {
  // An anonymous page loses its contents when it is dropped, so the edges show what was.
  const std::size_t bytes = 4 * page_;
  void *raw = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(raw, MAP_FAILED);
  const std::span<uint8_t> memory(static_cast<uint8_t *>(raw), bytes);
  std::ranges::fill(memory, 1);
  dropMappedPages(memory.subspan(1, bytes - 2));
  EXPECT_EQ(memory[page_ - 1], 1);
  EXPECT_EQ(memory[page_], 0);
  EXPECT_EQ(memory[3 * page_ - 1], 0);
  EXPECT_EQ(memory[3 * page_], 1);
  munmap(raw, bytes);
}

} // namespace
} // namespace sinter::runtime
