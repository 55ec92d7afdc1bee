// Lays out tables.
#include "cli/table.h"

#include <algorithm>
#include <cctype>

namespace sinter::cli {
namespace {

bool isNumeric(const std::string &cell) {
  return !cell.empty() && std::isdigit(static_cast<unsigned char>(cell[0]));
}

} // namespace

std::string Table::text() const {
  std::vector<size_t> widths(rows_[0].size());
  std::vector<bool> right(rows_[0].size(), rows_.size() > 1);
  for (size_t row = 0; row < rows_.size(); ++row)
    for (size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], rows_[row][i].size());
      right[i] = right[i] && (row == 0 || isNumeric(rows_[row][i]) || rows_[row][i].empty());
    }
  std::string out;
  for (const auto &row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      const bool last = i + 1 == row.size();
      out += right[i] ? padding + row[i] : last ? row[i] : row[i] + padding;
      out += last ? "\n" : "  ";
    }
  }
  return out;
}

} // namespace sinter::cli
