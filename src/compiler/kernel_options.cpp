// The values of the kernel command's options.
#include "tile/mlir_pch.h"

#include "compiler/kernel_options.h"

#include <cmath>

using namespace mlir;

namespace sinter::compiler {

static Result<kernels::Settings> parseSettings(const std::vector<std::string> &list) {
  kernels::Settings settings;
  for (StringRef item : list) {
    auto [name, value] = item.split('=');
    if (value.empty())
      return fail(Code::InvalidArgument, "found --set " + item.str() + ", expected name=value");
    settings[name.str()] = value.str();
  }
  return settings;
}

// start[+step | -step][/each][%modulus]
static std::optional<FillTerm> parseTerm(StringRef text) {
  FillTerm term;
  if (text.consumeInteger(10, term.start))
    return std::nullopt;
  for (auto [sign, number] :
       {std::pair('+', &term.step), {'/', &term.each}, {'%', &term.modulus}}) {
    bool down = sign == '+' && text.starts_with("-");
    if (!down && !text.consume_front(StringRef(&sign, 1)))
      continue;
    if (text.consumeInteger(10, *number) || (sign != '+' && *number < 1))
      return std::nullopt;
  }
  return text.empty() ? std::optional(term) : std::nullopt;
}

static Result<void> parseFill(StringRef item, ArgumentRequest &request) {
  auto [name, text] = item.split('=');
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  std::vector<FillTerm> terms;
  for (StringRef part : parts)
    if (std::optional<FillTerm> term = parseTerm(part))
      terms.push_back(*term);
    else
      return fail(Code::InvalidArgument,
                  "found --fill " + item.str() +
                      ", expected name=start[+step][/each][%modulus], one term a column");
  request.fills[name.str()] = std::move(terms);
  return {};
}

static Result<ArgumentRequest> parseRequest(const KernelOptions &options) {
  ArgumentRequest request;
  request.size = options.size;
  if (options.size < 0)
    return fail(Code::InvalidArgument,
                "found --size " + std::to_string(options.size) + ", expected 0 or more");
  for (StringRef item : options.shape) {
    auto [name, text] = item.split('=');
    SmallVector<StringRef> parts;
    text.split(parts, 'x');
    std::vector<int64_t> extents;
    for (StringRef part : parts)
      if (int64_t extent; part.getAsInteger(10, extent) || extent < 0)
        return fail(Code::InvalidArgument,
                    "found --shape " + item.str() + ", expected name=AxB with whole numbers");
      else
        extents.push_back(extent);
    request.shapes[name.str()] = extents;
  }
  for (StringRef item : options.fill)
    SINTER_TRY(parseFill(item, request));
  for (StringRef item : options.scalar) {
    auto [name, text] = item.split('=');
    if (double value; text.getAsDouble(value))
      return fail(Code::InvalidArgument, "found --scalar " + item.str() + ", expected name=number");
    else
      request.scalars[name.str()] = value;
  }
  return request;
}

Result<void> readValues(KernelOptions &options) {
  if (!(std::isfinite(options.floor) && options.floor >= 0))
    return fail(Code::InvalidArgument,
                "--floor is " + std::to_string(options.floor) + ", expected a share of at least 0");
  if (options.action == KernelAction::Pack && (options.output.empty() || options.target.empty()))
    return fail(Code::InvalidArgument, "pack takes --target and -o FILE");
  SINTER_ASSIGN(options.settings, parseSettings(options.set));
  SINTER_ASSIGN(options.request, parseRequest(options));
  return {};
}

tl::expected<KernelOptions, KernelUsage> parseKernelOptions(int argc, const char *const *argv) {
  auto options = splitKernelOptions(argc, argv);
  if (!options)
    return options;
  if (Result<void> read = readValues(*options); !read)
    return tl::unexpected(KernelUsage{2, "sinter kernel: " + read.error().toString() + "\n"});
  return options;
}

} // namespace sinter::compiler
