// Tables of text in columns.
#pragma once

#include <string>
#include <vector>

namespace sinter::cli {

// Columns as wide as their widest cell; numbers stand at the right, everything else at the left,
// the last column unpadded.
class Table {
public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}

  // As many cells as the header has.
  void addRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // One line a row, the header first.
  std::string text() const;

private:
  std::vector<std::vector<std::string>> rows_;
};

} // namespace sinter::cli
