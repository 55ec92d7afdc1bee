// Kernels of another architecture, run by the emulated runner (emulated_runner.cpp) under qemu in
// user mode: one process for as long as the object lives.
#pragma once

#include "hal/kernel_case.h"
#include "targets/framed_bytes.h"
#include "targets/guarded_memory.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>

namespace sinter::targets::cpu {

inline constexpr const char *kEmulator = "qemu-aarch64-static";
inline constexpr const char *kEmulatedLibraries = "/usr/aarch64-linux-gnu"; // the C library's

inline std::string runnerPath() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path().parent_path() / "lib" / "aarch64_runner").string();
}

// Why nothing can be emulated here; empty where it can.
inline std::string emulatorMissing() {
  if (access(runnerPath().c_str(), X_OK) != 0)
    return "the compiler had no C++ library for aarch64 when the tests were built";
  std::string_view path = std::getenv("PATH") ? std::getenv("PATH") : "";
  while (!path.empty()) {
    const std::string_view folder = path.substr(0, path.find(':'));
    if (access((std::string(folder) + "/" + kEmulator).c_str(), X_OK) == 0)
      return {};
    path.remove_prefix(std::min(path.size(), folder.size() + 1));
  }
  return std::string("there is no ") + kEmulator;
}

class EmulatedRunner {
public:
  // `cpu` is a processor that the emulator knows; `argument` may be null.
  EmulatedRunner(const std::string &cpu, const char *argument) {
    int to[2], from[2];
    SINTER_CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    std::string runner = runnerPath();
    const char *words[] = {kEmulator,   "-L",           kEmulatedLibraries, "-cpu",
                           cpu.c_str(), runner.c_str(), argument,           nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    signal(SIGPIPE, SIG_IGN);
    SINTER_CHECK(posix_spawnp(&process_, kEmulator, &actions, nullptr,
                              const_cast<char *const *>(words), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  ~EmulatedRunner() {
    close(to_);
    close(from_);
    waitpid(process_, nullptr, 0);
  }
  EmulatedRunner(const EmulatedRunner &) = delete;
  EmulatedRunner &operator=(const EmulatedRunner &) = delete;

  // What the kernel leaves in each view.
  Result<std::vector<std::vector<uint8_t>>> run(const hal::KernelCase &kernel, GuardedEnd end) {
    hal::KernelCase sent = kernel;
    sent.label = end == GuardedEnd::Front ? "front" : "back";
    std::optional<std::vector<uint8_t>> reply;
    if (writeFrame(to_, hal::writeBundle({&sent, 1})))
      reply = readFrame(from_);
    if (!reply)
      return fail(Code::Internal, "the emulated runner ended before it answered");
    SINTER_ASSIGN(std::vector<hal::KernelCase> cases, hal::readBundle(*reply));
    SINTER_CHECK(cases.size() == 1);
    if (!cases[0].label.empty())
      return fail(Code::Unsupported, cases[0].label);
    std::vector<std::vector<uint8_t>> views;
    for (hal::CaseView &view : cases[0].views)
      views.push_back(std::move(view.contents));
    return views;
  }

  // All that it says on its own; for arguments with which it ends by itself.
  std::string text() {
    std::string all;
    char part[512];
    for (ssize_t got; (got = read(from_, part, sizeof part)) > 0;)
      all.append(part, static_cast<size_t>(got));
    return all;
  }

private:
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
};

} // namespace sinter::targets::cpu
