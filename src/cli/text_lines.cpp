// Splits a mapped file into lines.
#include "cli/text_lines.h"

#include "base/mapped_file.h"

#include <algorithm>
#include <string_view>

namespace sinter::cli {

Result<std::vector<std::string>> readTextLines(const std::string &path) {
  SINTER_ASSIGN(const MappedFile file, MappedFile::open(path));
  std::string_view rest(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
  std::vector<std::string> lines;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos)
      lines.emplace_back(line);
  }
  if (lines.empty())
    return fail(Code::InvalidArgument, "'" + path + "' has no line with a text");
  return lines;
}

} // namespace sinter::cli
