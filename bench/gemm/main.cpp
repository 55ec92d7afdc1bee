// bench_gemm: generated matrix products against this machine's own peaks and against oneDNN and
// OpenBLAS, all in one process and in turns.
#include "disturbance.h"
#include "hal/cpu/cpu_driver.h"
#include "suites.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace {

using namespace sinter;
using bench::BenchOptions;

const char *kUsage =
    "usage: bench_gemm [float] [blocks] [row] [options]   tables to print (all of them)\n"
    "       bench_gemm sweep --try block_m=4,12,96 --try ... [options]\n"
    "  --m N --n N --k N     extents of the f32 table and of a sweep (1024)\n"
    "  --rounds N            rounds of turns; medians are printed (15)\n"
    "  --threads N           threads of Sinter, of the peers and of the peaks (1)\n"
    "  --set name=value      a setting of every generated kernel, over the engine's choice\n"
    "  --a FORMAT --b FORMAT formats of a sweep (q8a, q4_1)\n"
    "  --try name=V,V,...    values of a setting to try in a sweep\n";

struct Request {
  BenchOptions options;
  std::vector<std::string> tables;
};

Result<int64_t> number(std::string_view text, const std::string &option) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    return fail(Code::InvalidArgument,
                "found " + option + " " + std::string(text) + ", expected a whole number");
  return value;
}

// "name=V,V,..."
Result<std::pair<std::string, std::vector<int64_t>>> setting(std::string_view text,
                                                             const std::string &option) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return fail(Code::InvalidArgument,
                "found " + option + " " + std::string(text) + ", expected name=value");
  std::pair<std::string, std::vector<int64_t>> result;
  result.first = text.substr(0, equals);
  for (size_t at = equals + 1; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    SINTER_ASSIGN(const int64_t value, number(text.substr(at, end - at), option));
    result.second.push_back(value);
    at = end + 1;
  }
  return result;
}

Result<void> apply(BenchOptions &options, const std::string &option, std::string_view text) {
  if (option == "--a" || option == "--b") {
    (option == "--a" ? options.a : options.b) = text;
    return {};
  }
  if (option == "--set" || option == "--try") {
    SINTER_ASSIGN(const auto parsed, setting(text, option));
    if (option == "--set")
      options.set[parsed.first] = parsed.second.front();
    else
      options.sweeps[parsed.first] = parsed.second;
    return {};
  }
  SINTER_ASSIGN(const int64_t value, number(text, option));
  if (value < 1 || value > (1 << 28))
    return fail(Code::InvalidArgument,
                "found " + option + " " + std::to_string(value) + ", expected 1 to 268435456");
  if (option == "--m")
    options.m = value;
  else if (option == "--n")
    options.n = value;
  else if (option == "--k")
    options.k = value;
  else if (option == "--rounds")
    options.rounds = static_cast<int>(value);
  else if (option == "--threads")
    options.threads = static_cast<uint32_t>(value);
  else
    return fail(Code::InvalidArgument, "found option '" + option + "', which is unknown");
  return {};
}

Result<Request> parse(int argc, char **argv) {
  Request request;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--", 0) != 0) {
      request.tables.push_back(argument);
      continue;
    }
    if (i + 1 == argc)
      return fail(Code::InvalidArgument, "found no value after " + argument);
    SINTER_TRY(apply(request.options, argument, argv[++i]));
  }
  if (request.tables.empty())
    request.tables = {"float", "blocks", "row"};
  return request;
}

Result<void> run(const Request &request) {
  hal::DriverRegistry registry;
  SINTER_TRY(hal::addCpuDriver(registry));
  SINTER_ASSIGN(hal::Driver * driver, registry.find("cpu"));
  SINTER_ASSIGN(const auto device, driver->open(0, {request.options.threads}));
  std::printf("%s, %u threads\n", device->info().name.c_str(), device->info().computeUnits);
  const bench::Disturbance disturbance;
  for (const std::string &table : request.tables) {
    if (table == "float")
      SINTER_TRY(bench::benchFloat(*device, request.options));
    else if (table == "blocks")
      SINTER_TRY(bench::benchBlocks(*device, request.options));
    else if (table == "row")
      SINTER_TRY(bench::benchOneRow(*device, request.options));
    else if (table == "sweep")
      SINTER_TRY(bench::benchSweep(*device, request.options));
    else
      return fail(Code::InvalidArgument,
                  "found '" + table + "', expected float, blocks, row or sweep");
  }
  std::printf("other processes took %.1f %% of the machine meanwhile\n", disturbance.share() * 100);
  return {};
}

// OpenBLAS chooses its kernels while it is loaded, from a list of processors that newer ones are
// not in: name the family, so that the peer runs at its best.
void restartWithOpenBlasFamily(char **argv) {
  constexpr const char *kVariable = "OPENBLAS_CORETYPE";
  if (std::getenv(kVariable) || !__builtin_cpu_supports("avx2"))
    return;
  setenv(kVariable, __builtin_cpu_supports("avx512f") ? "SkylakeX" : "Haswell", 1);
  execv("/proc/self/exe", argv);
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  restartWithOpenBlasFamily(argv);
  auto request = parse(argc, argv);
  Result<void> done = request ? run(*request) : Result<void>(tl::unexpected(request.error()));
  if (done)
    return 0;
  std::fprintf(stderr, "bench_gemm: %s\n", done.error().toString().c_str());
  return done.error().code == Code::InvalidArgument ? 2 : 1;
}
