// What tests of this layer share: a place of their own for caches, a stand-in for the compiler and
// an observer that remembers.
#pragma once

#include "host/observer.h"
#include "llm/tiny_model.h"

#include <gmock/gmock.h>

#include <map>

namespace sinter::host {

// Remembers what it hears, and cancels where a test wants it.
class Recorder : public Observer {
public:
  void note(const std::string &line) override {
    notes.push_back(line);
    cancelled = cancelled || cancelsAtNote;
  }
  void beginBuild() override {
    ++begun;
    if (whenBuildBegins)
      whenBuildBegins();
  }
  void showBuild(const CompilerProgress &progress) override {
    shown.push_back(progress.text);
    cancelled = cancelled || cancelsAtProgress;
  }
  void endBuild() override { ++ended; }
  const std::atomic<bool> &cancel() const override { return cancelled; }

  std::vector<std::string> notes, shown;
  int begun = 0, ended = 0;
  std::function<void()> whenBuildBegins;
  bool cancelsAtProgress = false, cancelsAtNote = false;
  std::atomic<bool> cancelled = false;
};

// With a cache folder of its own; environment variables are as before at the end.
class HostTest : public testing::Test {
protected:
  void SetUp() override { setVariable("XDG_CACHE_HOME", folder_.file("cache")); }
  void TearDown() override {
    for (const auto &[name, value] : former_)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }

  void setVariable(const std::string &name, const std::optional<std::string> &value) {
    const char *old = std::getenv(name.c_str());
    former_.emplace(name, old ? std::optional<std::string>(old) : std::nullopt);
    value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  std::string write(const std::string &name, std::string_view bytes) const {
    std::ofstream(folder_.file(name), std::ios::binary).write(bytes.data(), std::ssize(bytes));
    return folder_.file(name);
  }
  // A shell script that stands in for the compiler; $4 is the file to write.
  std::string useCompiler(const std::string &script) {
    const std::string program = write("compiler", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    setVariable("SINTER_COMPILER", program);
    return program;
  }
  const ScratchFolder folder_;

private:
  std::map<std::string, std::optional<std::string>> former_;
};

// A model file with a tokenizer, one for all tests of a process.
inline const std::string &modelFile() {
  static const ScratchFolder folder;
  static const std::string path = [] {
    RandomLlama model;
    model.vocabularyFile = std::string(SINTER_TEST_DIR) + "/data/vocab/smollm2.gguf.vocab";
    const std::vector<uint8_t> bytes = randomLlama(model);
    std::ofstream(folder.file("model.gguf"), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), std::ssize(bytes));
    return folder.file("model.gguf");
  }();
  return path;
}

} // namespace sinter::host
