// Builds the racers of each table, checks their results, races them and prints.
#include "suites.h"

#include "engine/choice/matmul.h"
#include "generated.h"
#include "operands.h"
#include "peaks.h"
#include "peers.h"
#include "race.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace sinter::bench {
namespace {

constexpr double kFloatBar = 0.85, kPeerBar = 1.0, kBlockBar = 0.7;
constexpr uint64_t kPeakTrips = 200'000;
constexpr int64_t kPrefillRows = 512;
// Weights of one row's product: as many as a small model has, read over and over as decoding does.
constexpr int64_t kStreamedBytes = int64_t{96} << 20;
constexpr int64_t kReadParts = 64;
constexpr int64_t kDistinctRows = 1536; // of those weights; the rest repeats them

// ---- racers ----

// A racer over something that must not move while it is raced.
template <class Runnable> Racer racer(std::string name, double work, Runnable &runnable) {
  return {std::move(name), work, [&runnable] { return runnable.run(); }, {}};
}

struct PeakTask {
  const PeakLoop *loop;
  static void run(void *context, int64_t) {
    static_cast<PeakTask *>(context)->loop->run(kPeakTrips);
  }
};

// The loop on every thread of the device at once.
std::vector<Racer> peakRacers(hal::Device &device, const std::vector<PeakLoop> &loops) {
  std::vector<Racer> racers;
  for (const PeakLoop &loop : loops) {
    const int64_t threads = device.info().computeUnits;
    const double work = loop.operationsPerTrip * kPeakTrips * static_cast<double>(threads);
    racers.push_back({loop.name,
                      work,
                      [&device, &loop, threads]() -> Result<void> {
                        PeakTask task{&loop};
                        device.parallelFor(threads, PeakTask::run, &task);
                        return {};
                      },
                      {}});
  }
  return racers;
}

struct ReadTask {
  std::span<const uint64_t> words;
  int64_t parts;
  std::vector<uint64_t> sums;
  static void run(void *context, int64_t index) {
    auto &task = *static_cast<ReadTask *>(context);
    const size_t part = task.words.size() / static_cast<size_t>(task.parts);
    task.sums[index] = readAll(task.words.subspan(static_cast<size_t>(index) * part, part));
  }
};

Racer readRacer(hal::Device &device, ReadTask &task) {
  return {"plain read",
          static_cast<double>(task.words.size_bytes()),
          [&device, &task]() -> Result<void> {
            device.parallelFor(task.parts, ReadTask::run, &task);
            return {};
          },
          {}};
}

// ---- products ----

// The engine's choice for a format, with what the command line sets on top.
Result<kernels::Gemm> chosen(const BenchOptions &options, const std::string &a,
                             const std::string &b, int64_t m, int64_t n, int64_t k) {
  auto element = [](const std::string &name) {
    const bool plain = name == "f32" || name == "f16" || name == "bf16";
    return plain ? kernel::Element(name) : kernel::block(name);
  };
  kernels::Gemm gemm = engine::chooseGemm(element(a), element(b), n, k,
                                          m == 1 ? engine::MBucket::One : engine::MBucket::Prefill);
  engine::joinRows(gemm);
  SINTER_TRY(applySettings(gemm, options.set));
  return gemm;
}

Result<void> check(GeneratedGemm &product, const Matrix &a, const Matrix &b, int64_t n,
                   const std::string &who) {
  SINTER_TRY(product.run());
  SINTER_ASSIGN(const std::vector<float> out, product.output());
  return checkGemm(a, b, n, out.data(), who);
}

// b as the settings want it: packed, or plain rows of [N, K].
Result<std::vector<uint8_t>> weightsFor(hal::Device &device, const kernels::Gemm &gemm,
                                        const Matrix &b) {
  if (gemm.interleave)
    return interleaved(b, gemm.interleave, device);
  return gemm.transposeB ? b.bytes : transposed(b).bytes;
}

double operations(int64_t m, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

// ---- printing ----

void printRate(const Racer &racer, const char *unit) {
  std::printf("  %-34s %9.1f %s\n", racer.name.c_str(), median(racer.rates) / 1e9, unit);
}

void printBar(const std::string &what, double found, double bar) {
  std::printf("  %-34s %9.3f   bar %.2f  %s\n", what.c_str(), found, bar,
              found >= bar ? "PASS" : "FAIL");
}

std::vector<const Racer *> slice(const std::vector<Racer> &racers, size_t from, size_t count) {
  std::vector<const Racer *> list;
  for (size_t i = from; i < from + count; ++i)
    list.push_back(&racers[i]);
  return list;
}

} // namespace

// ---- f32 ----

namespace {

/// Everything of the f32 table, alive while it is raced.
struct FloatTable {
  Matrix a, b; // b is [N, K]
  std::vector<float> plainB, out;
  std::optional<GeneratedGemm> plain, packed;
  std::vector<std::unique_ptr<PeerGemm>> peers;
};

Result<void> addPeers(FloatTable &table, const Gemm &product) {
  table.peers.push_back(openBlasGemm(product));
  SINTER_ASSIGN(auto oneDnn, oneDnnGemm(product));
  table.peers.push_back(std::move(oneDnn));
  SINTER_ASSIGN(auto packed, oneDnnPackedGemm(product));
  table.peers.push_back(std::move(packed));
  for (auto &peer : table.peers) {
    std::fill(table.out.begin(), table.out.end(), -1.0f);
    SINTER_TRY(peer->run());
    SINTER_TRY(checkGemm(table.a, table.b, product.n, table.out.data(), "a peer"));
  }
  return {};
}

Result<void> addGenerated(hal::Device &device, const BenchOptions &options, FloatTable &table) {
  SINTER_ASSIGN(kernels::Gemm gemm, chosen(options, "f32", "f32", options.m, options.n, options.k));
  for (bool packed : {true, false}) {
    if (!packed) {
      gemm.interleave = 0;
      gemm.transposeB = false;
    }
    SINTER_ASSIGN(const std::vector<uint8_t> weights, weightsFor(device, gemm, table.b));
    auto made = GeneratedGemm::create(device, gemm, options.m, options.n, options.k, table.a.bytes,
                                      weights);
    if (!made)
      return tl::unexpected(made.error());
    auto &slot = packed ? table.packed : table.plain;
    slot.emplace(std::move(*made));
    SINTER_TRY(check(*slot, table.a, table.b, options.n, "the generated product"));
  }
  std::printf("f32 %ld x %ld x %ld, generated with %s\n", options.m, options.n, options.k,
              blockText(gemm).c_str());
  return {};
}

void printFloat(const std::vector<Racer> &racers, size_t peaks) {
  for (const Racer &racer : racers)
    printRate(racer, "GFLOP/s");
  const Racer &peak = fastest(slice(racers, 0, peaks));
  const Racer &plain = racers[peaks], &packed = racers[peaks + 1];
  const Racer &peer = fastest(slice(racers, peaks + 2, 2)), &packedPeer = racers[peaks + 4];
  printBar("plain over the FMA rate", ratio(plain, peak), kFloatBar);
  printBar("plain over " + peer.name, ratio(plain, peer), kPeerBar);
  printBar("prepacked over the FMA rate", ratio(packed, peak), kFloatBar);
  printBar("prepacked over " + packedPeer.name, ratio(packed, packedPeer), kPeerBar);
}

} // namespace

Result<void> benchFloat(hal::Device &device, const BenchOptions &options) {
  FloatTable table;
  SINTER_ASSIGN(table.a, randomMatrix(options.m, options.k, "f32", 1));
  SINTER_ASSIGN(table.b, randomMatrix(options.n, options.k, "f32", 2));
  table.plainB = transposed(table.b).values;
  table.out.resize(options.m * options.n);
  setPeerThreads(static_cast<int>(options.threads));
  SINTER_TRY(addPeers(table, {options.m, options.n, options.k, table.a.values.data(),
                              table.plainB.data(), table.out.data()}));
  SINTER_TRY(addGenerated(device, options, table));
  const std::vector<PeakLoop> loops = fmaLoops();
  std::vector<Racer> racers = peakRacers(device, loops);
  const double work = operations(options.m, options.n, options.k);
  racers.push_back(racer("Sinter, b [K, N]", work, *table.plain));
  racers.push_back(racer("Sinter, b prepacked", work, *table.packed));
  racers.push_back(racer("OpenBLAS, " + openBlasKernels(), work, *table.peers[0]));
  racers.push_back(racer("oneDNN", work, *table.peers[1]));
  racers.push_back(racer("oneDNN, b prepacked", work, *table.peers[2]));
  SINTER_TRY(race(racers, options.rounds));
  printFloat(racers, loops.size());
  return {};
}

// ---- 512 rows of block formats ----

constexpr const char *kBlockFormats[] = {"q4_1", "q8_0", "q5_0",   "q4_k",  "q6_k",
                                         "q3_k", "q2_k", "iq4_xs", "mxfp4", "nvfp4"};

// The activation format for such weights, its scales whole; empty where rows of k are no whole
// blocks.
static std::string activationBeside(std::string_view weights, int64_t k) {
  const BlockFormat *format = findBlockFormat(llvm::StringRef(weights).upper());
  if (!format || k % format->blockLength)
    return {};
  const engine::MatmulPrecision rules{engine::TargetKind::Cpu};
  const ActivationFormat *asked = engine::activationFor(format, rules);
  const uint64_t length = std::gcd<uint64_t>(asked->scaleLength, k);
  return llvm::StringRef(activationFormatFor(asked->partLength, length).name).lower();
}

Result<void> benchBlocks(hal::Device &device, const BenchOptions &options) {
  std::vector<PeakLoop> loops = byteDotLoops();
  if (loops.empty())
    return fail(Code::Unsupported, "this processor has no AVX-512 VNNI to compare with");
  for (PeakLoop &loop : scaledDotLoops())
    loops.push_back(std::move(loop));
  std::printf("dots of %ld rows of rounded activations, b prepacked\n", kPrefillRows);
  for (const char *format : kBlockFormats)
    for (int64_t k : {576, 1536}) {
      const std::string activation = activationBeside(format, k);
      if (activation.empty())
        continue;
      SINTER_ASSIGN(const Matrix a, randomMatrix(kPrefillRows, k, activation, 1));
      std::vector<GeneratedGemm> products;
      std::vector<Racer> racers = peakRacers(device, loops);
      const std::vector<int64_t> widths = {576, 1536, 3072};
      products.reserve(widths.size());
      for (int64_t n : widths) {
        SINTER_ASSIGN(const Matrix b, randomMatrix(n, k, format, 2));
        SINTER_ASSIGN(const kernels::Gemm gemm,
                      chosen(options, activation, format, kPrefillRows, n, k));
        SINTER_ASSIGN(const std::vector<uint8_t> weights, weightsFor(device, gemm, b));
        auto made = GeneratedGemm::create(device, gemm, kPrefillRows, n, k, a.bytes, weights);
        if (!made)
          return tl::unexpected(made.error());
        products.push_back(std::move(*made));
        const std::string name = std::string(format) + " k=" + std::to_string(k) +
                                 " n=" + std::to_string(n) + " " + blockText(gemm);
        SINTER_TRY(check(products.back(), a, b, n, name));
        racers.push_back(racer(name, operations(kPrefillRows, n, k), products.back()));
      }
      SINTER_TRY(race(racers, options.rounds));
      printRate(racers[0], "GOP/s");
      for (size_t i = 1; i < racers.size(); ++i) {
        printRate(racers[i], "GOP/s");
        if (i < loops.size())
          continue;
        printBar("  over the VNNI rate", ratio(racers[i], racers[0]), kBlockBar);
      }
    }
  return {};
}

// ---- one row ----

constexpr const char *kOneRowFormats[] = {"q4_1", "q8_0",   "q5_0",  "q4_k",  "q6_k", "q3_k",
                                          "q2_k", "iq4_xs", "mxfp4", "nvfp4", "f16",  "f32"};

Result<void> benchOneRow(hal::Device &device, const BenchOptions &options) {
  SINTER_ASSIGN(const auto memory, device.allocate(kStreamedBytes));
  std::fill(memory->host().begin(), memory->host().end(), uint8_t{1}); // else one page of zeros
  ReadTask read{{reinterpret_cast<const uint64_t *>(memory->host().data()),
                 kStreamedBytes / sizeof(uint64_t)},
                kReadParts,
                std::vector<uint64_t>(kReadParts)};
  std::printf("one row over about %ld MiB of weights\n", kStreamedBytes >> 20);
  for (const char *format : kOneRowFormats)
    for (int64_t k : {576, 1536}) {
      const bool plain = format[0] == 'f';
      const std::string activation = plain ? "f32" : activationBeside(format, k);
      if (activation.empty())
        continue;
      SINTER_ASSIGN(const Matrix a, randomMatrix(1, k, activation, 1));
      SINTER_ASSIGN(const Matrix b, randomMatrix(kDistinctRows, k, format, 2));
      const int64_t copies = kStreamedBytes / static_cast<int64_t>(b.bytes.size());
      const int64_t n = kDistinctRows * copies;
      SINTER_ASSIGN(const kernels::Gemm gemm, chosen(options, a.format, format, 1, n, k));
      SINTER_ASSIGN(const std::vector<uint8_t> weights, weightsFor(device, gemm, b));
      auto made = GeneratedGemm::create(device, gemm, 1, n, k, a.bytes, weights);
      if (!made)
        return tl::unexpected(made.error());
      const std::string name =
          std::string(format) + " k=" + std::to_string(k) + " " + blockText(gemm);
      SINTER_TRY(check(*made, a, b, n, name));
      std::vector<Racer> racers = {readRacer(device, read),
                                   racer(name, static_cast<double>(made->weightBytes()), *made)};
      SINTER_TRY(race(racers, options.rounds, 0.05));
      printRate(racers[0], "GB/s");
      printRate(racers[1], "GB/s");
      std::printf("  %-34s %9.3f\n", "  over the plain read", ratio(racers[1], racers[0]));
    }
  return {};
}

// ---- sweep ----

namespace {

using Settings = std::map<std::string, int64_t>;

// Every combination of the values to try.
std::vector<Settings> combinations(const std::map<std::string, std::vector<int64_t>> &sweeps) {
  std::vector<Settings> list = {{}};
  for (const auto &[name, values] : sweeps) {
    std::vector<Settings> next;
    for (const Settings &settings : list)
      for (int64_t value : values) {
        next.push_back(settings);
        next.back()[name] = value;
      }
    list = std::move(next);
  }
  return list;
}

} // namespace

Result<void> benchSweep(hal::Device &device, const BenchOptions &options) {
  SINTER_ASSIGN(const Matrix a, randomMatrix(options.m, options.k, options.a, 1));
  const int64_t distinct = std::min<int64_t>(options.n, kDistinctRows);
  SINTER_ASSIGN(const Matrix b, randomMatrix(distinct, options.k, options.b, 2));
  std::vector<GeneratedGemm> products;
  const std::vector<PeakLoop> loops = a.format.starts_with("q8a") ? byteDotLoops() : fmaLoops();
  std::vector<Racer> racers = peakRacers(device, loops);
  const std::vector<Settings> list = combinations(options.sweeps);
  products.reserve(list.size());
  for (const Settings &settings : list) {
    SINTER_ASSIGN(kernels::Gemm gemm,
                  chosen(options, options.a, options.b, options.m, options.n, options.k));
    SINTER_TRY(applySettings(gemm, settings));
    SINTER_ASSIGN(const std::vector<uint8_t> weights, weightsFor(device, gemm, b));
    auto made =
        GeneratedGemm::create(device, gemm, options.m, options.n, options.k, a.bytes, weights);
    std::string name = blockText(gemm) + " interleave=" + std::to_string(gemm.interleave) +
                       " transpose_b=" + std::to_string(gemm.transposeB);
    if (!made) {
      std::printf("  %s: %s\n", name.c_str(), made.error().toString().c_str());
      continue;
    }
    products.push_back(std::move(*made));
    SINTER_TRY(check(products.back(), a, b, options.n, name));
    racers.push_back(
        racer(std::move(name), operations(options.m, options.n, options.k), products.back()));
  }
  SINTER_TRY(race(racers, options.rounds, 0.005));
  const Racer peak = loops.empty() ? Racer{} : fastest(slice(racers, 0, loops.size()));
  std::sort(racers.begin(), racers.end(),
            [](const Racer &x, const Racer &y) { return median(x.rates) > median(y.rates); });
  std::printf("%s x %s, m=%ld n=%ld k=%ld, %u threads\n", options.a.c_str(), options.b.c_str(),
              options.m, options.n, options.k, options.threads);
  for (const Racer &entry : racers)
    std::printf("  %-64s %8.1f GOP/s %10.1f us  %.3f of the peak\n", entry.name.c_str(),
                median(entry.rates) / 1e9, entry.work / median(entry.rates) * 1e6,
                ratio(entry, peak));
  return {};
}

} // namespace sinter::bench
