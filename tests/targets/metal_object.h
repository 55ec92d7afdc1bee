// Printed MSL compiled against the shim (tests/metal_shim) into a shared object, and launches of
// the kernels in it between guard pages.
#pragma once

#include "hal/cpu/cpu_module.h"
#include "targets/launch.h"
#include "targets/target.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

namespace sinter::targets::metal {

using cpu::GuardedEnd;
using cpu::LaunchArgument;
using cpu::LaunchArguments;

// As tests/metal_shim/launch.h has it.
struct ShimLaunch {
  const void *arguments;
  int64_t grid[3];
  uint32_t threads;
  uint32_t sharedBytes;
  bool backwards;
};
using ShimFunction = void (*)(const ShimLaunch *);

// A folder that goes away with its files.
class TemporaryFolder {
public:
  TemporaryFolder() { made_ = !llvm::sys::fs::createUniqueDirectory("sinter-metal", path_); }
  ~TemporaryFolder() {
    if (made_)
      llvm::sys::fs::remove_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  std::string file(llvm::StringRef name) const { return (path_ + "/" + name).str(); }

private:
  llvm::SmallString<128> path_;
  bool made_ = false;
};

inline std::string fileText(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

inline void writeFile(const std::string &path, std::string_view text) {
  std::error_code error;
  llvm::raw_fd_ostream(path, error) << text;
  EXPECT_FALSE(error) << path << ": " << error.message();
}

class MetalObject {
public:
  // Compiles `source`, a module's MSL.
  static Result<MetalObject> compile(std::string_view source,
                                     std::span<const EmittedKernel> kernels) {
    auto compiler = llvm::sys::findProgramByName("clang++-22");
    if (!compiler)
      return fail(Code::NotFound, "there is no clang++-22");
    TemporaryFolder folder;
    std::string input = folder.file("kernels.cpp"), output = folder.file("kernels.so");
    std::string text = withoutSharedIndex(source) + "\n#include \"metal_shim/launch.h\"\n";
    for (const EmittedKernel &kernel : kernels)
      text += "SINTER_SHIM_KERNEL(" + kernel.symbol + ")\n";
    writeFile(input, text);
    writeFile(folder.file("metal_stdlib"), "#include \"metal_shim/stdlib.h\"\n");
    writeFile(folder.file("metal_simdgroup"), "#include \"metal_shim/stdlib.h\"\n");
    writeFile(folder.file("metal_simdgroup_matrix"),
              "#include \"metal_shim/simdgroup_matrix.h\"\n");
    std::string log = folder.file("log");
    std::optional<llvm::StringRef> redirects[] = {"", llvm::StringRef(log), llvm::StringRef(log)};
    std::string headers = "-I" + folder.file("");
    std::vector<llvm::StringRef> arguments = {*compiler, input, "-o", output, headers};
    llvm::append_range(arguments, compilerFlags());
    if (llvm::sys::ExecuteAndWait(*compiler, arguments, std::nullopt, redirects) != 0)
      return fail(Code::Internal,
                  "the MSL does not compile: " + fileText(log) + "\n" + std::string(source));
    std::string bytes = fileText(output);
    MetalObject result;
    SINTER_ASSIGN(result.object_,
                  hal::SharedObject::load(std::vector<uint8_t>(bytes.begin(), bytes.end())));
    return result;
  }

  // Runs the kernel as the interface in targets/metal/emit_msl.h has it, the ends of views against
  // unmapped pages; `backwards` runs its threads and programs in the opposite order.
  LaunchArguments launch(LaunchArguments arguments, const EmittedKernel &kernel,
                         std::array<int64_t, 3> grid, GuardedEnd end, bool backwards) const {
    auto function = reinterpret_cast<ShimFunction>(object_->find("run_" + kernel.symbol));
    EXPECT_NE(function, nullptr) << kernel.symbol;
    if (!function)
      return arguments;
    std::vector<std::unique_ptr<cpu::GuardedMemory>> views;
    std::vector<int64_t> words = wordsOf(arguments, kernel, grid, end, views);
    ShimLaunch launch{words.data(),
                      {grid[0], grid[1], grid[2]},
                      static_cast<uint32_t>(kernel.threads),
                      static_cast<uint32_t>(kernel.sharedBytes),
                      backwards};
    int signal = cpu::signalOf([&] { function(&launch); });
    EXPECT_EQ(signal, 0) << "the kernel died of signal " << signal << " (" << strsignal(signal)
                         << ")";
    size_t next = 0;
    for (LaunchArgument &a : arguments) {
      if (!a.view())
        continue;
      cpu::GuardedMemory &here = *views[next++];
      EXPECT_TRUE(here.zonesUntouched()) << "the kernel wrote outside view '" << a.name << "'";
      a.bytes.assign(here.bytes().begin(), here.bytes().end());
    }
    return arguments;
  }

private:
  static constexpr size_t kAlignment = 16; // of views

  // The one attribute that is named as a qualifier, which the shim defines away.
  static std::string withoutSharedIndex(std::string_view source) {
    static constexpr std::string_view kAttribute = " [[threadgroup(0)]]";
    std::string text(source);
    for (size_t at = 0; (at = text.find(kAttribute, at)) != std::string::npos;)
      text.erase(at, kAttribute.size());
    return text;
  }

  static std::vector<llvm::StringRef> compilerFlags() {
    return {"-std=c++20",
            "-O0", // compiling takes far longer than running
            "-fuse-ld=lld",
            "-fPIC",
            "-shared",
            "-march=native",
            "-ffp-contract=off",
            "-fvisibility=hidden",
            "-Werror",
            "-Wno-unknown-attributes",
            "-Wno-unknown-pragmas",
            "-I" SINTER_TEST_DIR};
  }

  static std::vector<int64_t> wordsOf(const LaunchArguments &arguments, const EmittedKernel &kernel,
                                      std::array<int64_t, 3> grid, GuardedEnd end,
                                      std::vector<std::unique_ptr<cpu::GuardedMemory>> &views) {
    std::vector<int64_t> words, scalars;
    for (const LaunchArgument &a : arguments) {
      if (!a.view()) {
        scalars.push_back(a.scalar);
        continue;
      }
      llvm::append_range(scalars, a.shape);
      for (size_t axis = 0; axis + (a.view().getStrided() ? 0 : 1) < a.strides.size(); ++axis)
        scalars.push_back(a.strides[axis]);
      views.push_back(std::make_unique<cpu::GuardedMemory>(a.bytes.size(), end, kAlignment));
      llvm::copy(a.bytes, views.back()->data());
      if (!a.written())
        views.back()->protect();
      words.push_back(reinterpret_cast<intptr_t>(views.back()->data()));
    }
    EXPECT_EQ(static_cast<int64_t>(words.size()), kernel.bufferCount);
    EXPECT_EQ(static_cast<int64_t>(scalars.size()), kernel.scalarCount);
    llvm::append_range(words, scalars);
    llvm::append_range(words, grid);
    return words;
  }

  std::shared_ptr<hal::SharedObject> object_;
};

} // namespace sinter::targets::metal
