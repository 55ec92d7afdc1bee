// What tests of the program `sinter` share: a folder of their own, a tiny model in it, and the
// program as a child.
#pragma once

#include "cli/child.h"
#include "cli/tiny_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/stat.h>

namespace sinter {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

inline const std::string kSinter = SINTER_BIN_DIR "/sinter";

class CliTest : public testing::Test {
protected:
  // A skip said here keeps derived classes from setting anything up.
  CliTest() { skipWithoutCompiler(); }
  void SetUp() override {
    std::string name = testing::TempDir() + "sinter-cli-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    model_ = writeModel("tiny.gguf");
    // Plans of the tiny model serve all tests but those that are about the cache.
    useCache(SINTER_BIN_DIR "/../cli_tests_cache");
    keepCompilations();
    for (const char *ours : {"SINTER_COMPILE_SECONDS", "XDG_STATE_HOME"})
      options_.environment[ours] = std::nullopt;
    options_.environment["HOME"] = folder_;
    options_.environment["TERM"] = "dumb";
    options_.environment["INPUTRC"] = "/dev/null";
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  static void skipWithoutCompiler() {
    if (!std::filesystem::exists(SINTER_BIN_DIR "/sinter-compiler"))
      GTEST_SKIP() << "sinter-compiler was not built";
  }

  // The folder under which plans are kept.
  void useCache(const std::string &folder) {
    std::filesystem::create_directories(folder);
    options_.environment["XDG_CACHE_HOME"] = folder;
    cache_ = folder + "/sinter";
  }
  void useOwnCache() { useCache(folder_ + "/cache"); }

  std::string path(const std::string &name) const { return folder_ + "/" + name; }
  std::string write(const std::string &name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), std::ssize(bytes));
    return path(name);
  }
  std::string writeModel(const std::string &name, const TinyModel &model = {}) const {
    const std::vector<uint8_t> bytes = tinyModel(model);
    return write(name, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  }
  static std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Children that root starts are from now on those of a user without rights, who owns the
  // test's folder. That user may not be able to enter the build's folder, so the programs are
  // copied.
  void loseRights() {
    if (geteuid() != 0)
      return;
    constexpr uid_t kNobody = 65534;
    std::filesystem::create_directory(path("bin"));
    for (const char *name : {"sinter", "sinter-compiler"})
      std::filesystem::copy_file(std::string(SINTER_BIN_DIR "/") + name, path("bin/") + name);
    program_ = path("bin/sinter");
    useRealCompiler();
    for (const auto &entry : std::filesystem::recursive_directory_iterator(folder_))
      ASSERT_EQ(chown(entry.path().c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(chown(folder_.c_str(), kNobody, kNobody), 0);
    options_.before = [] {
      if (setgid(kNobody) != 0 || setuid(kNobody) != 0)
        _exit(125);
    };
    ASSERT_NE(sinter({"--version"}).code, 127)
        << "a user without rights cannot reach " << program_ << ": set TEST_TMPDIR to a folder "
        << "that every user may enter";
  }
  // A shell script that stands in for the compiler from now on.
  void useCompiler(const std::string &script) {
    const std::string program = write("compiler", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    options_.environment["SINTER_COMPILER"] = program;
  }
  // What is compiled from now on is compiled once for all tests: a script keeps what the compiler
  // wrote, by the compiler, the model's bytes and the arguments but for paths and process. The
  // script's name changes with its text, so that plans of the tests' cache do too.
  void keepCompilations() {
    const std::string real = SINTER_BIN_DIR "/sinter-compiler";
    const std::string folder = SINTER_BIN_DIR "/../cli_tests_compilations";
    struct stat info;
    ASSERT_EQ(stat(real.c_str(), &info), 0);
    const std::string version = std::to_string(info.st_size) + "-" +
                                std::to_string(info.st_mtim.tv_sec) + "-" +
                                std::to_string(info.st_mtim.tv_nsec);
    const std::string script =
        "[ \"$1\" = plan ] || exec '" + real + "' \"$@\"\nmodel=$2\nkept='" + folder +
        "/'$( (echo " + version + R"(; cat < "$model"
  shift 2; echo "$@" | sed 's/--end-with [0-9]*//') | sha256sum | cut -c1-64)
if [ ! -e "$kept" ]; then
  ')" + real +
        R"(' "$@" 3>"$kept.$$" && mv "$kept.$$" "$kept" || { code=$?; rm -f "$kept.$$"; exit $code; }
fi
exec cat "$kept" >&3)";
    const std::string program =
        folder + "/compiler-" + std::to_string(std::hash<std::string>()(script));
    if (!std::filesystem::exists(program)) {
      useCompiler(script);
      std::filesystem::create_directories(folder);
      const std::string part = program + "." + std::to_string(getpid());
      std::filesystem::copy_file(path("compiler"), part);
      std::filesystem::rename(part, program); // two processes write the same
    }
    options_.environment["SINTER_COMPILER"] = program;
  }
  void useRealCompiler() { options_.environment["SINTER_COMPILER"] = std::nullopt; }

  std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), program_);
    return arguments;
  }
  Outcome sinter(std::vector<std::string> arguments,
                 const std::optional<std::string> &input = std::nullopt) const {
    return runChild(command(std::move(arguments)), options_, input);
  }
  // A short answer of the tiny model.
  Outcome answer() const { return sinter({"run", model_, "-p", "hi", "-n", "4", "--temp", "0"}); }

  std::string folder_, model_, cache_;
  std::string program_ = kSinter;
  ChildOptions options_;
};

// Names a model's metadata and tensors that nobody knows.
inline bool isAboutUnknownNames(const std::string &line) {
  return line.find(" is not known here and ") != std::string::npos;
}

// Lines on stderr, apart from those that say what is done now and what nobody knows.
inline std::vector<std::string> messages(const Outcome &outcome) {
  std::vector<std::string> lines;
  std::istringstream text(outcome.err);
  for (std::string line; std::getline(text, line);)
    if (line != "sinter: building the plan" && !line.starts_with("sinter: quantising to ") &&
        !isAboutUnknownNames(line))
      lines.push_back(line);
  return lines;
}

inline bool isOneError(const Outcome &outcome, const std::string &text) {
  const std::vector<std::string> lines = messages(outcome);
  return !outcome.late && lines.size() == 1 && lines[0].starts_with("sinter: ") &&
         lines[0].find(text) != std::string::npos;
}

// Ended by itself with that exit code.
MATCHER_P(EndedWith, code, "") {
  return arg.code == code && !arg.late;
}
// The input or the environment is at fault: exit code 1, no result, one line that holds `text`.
MATCHER_P(FailedSaying, text, "") {
  return arg.code == 1 && arg.out.empty() && isOneError(arg, text);
}
// The command line makes no sense: the same with exit code 2.
MATCHER_P(RefusedSaying, text, "") {
  return arg.code == 2 && arg.out.empty() && isOneError(arg, text);
}

} // namespace sinter
