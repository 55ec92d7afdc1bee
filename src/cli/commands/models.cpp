// sinter pull, list, rm, cp: the models that are kept here.
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "host/model_changes.h"

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

std::string bytesOf(uint64_t bytes) {
  return bytesText(static_cast<double>(bytes));
}

// One line a blob; on a terminal with how much of it there is and how fast more comes.
class PullLines final : public store::PullObserver {
public:
  void onStep(const std::string &step) override {
    const std::lock_guard lock(mutex_);
    line_.reset();
    if (step != "success" && step != last_)
      sayOnStderr(step);
    last_ = step;
  }
  void onNote(const std::string &line) override { sayOnStderr(line); }
  void onBlob(const store::Layer &layer, uint64_t done) override {
    // The others are texts of a few hundred bytes.
    if (layer.role != store::Role::Model)
      return;
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!line_ || layer.digest != digest_) {
      line_.emplace("pulling " + layer.digest.hex().substr(0, 12) + ", " + bytesOf(layer.bytes) +
                    " (" + std::string(roleName(layer.role)) + ")");
      digest_ = layer.digest;
      firstBytes_ = done;
      begin_ = now;
      shown_ = {};
    }
    constexpr auto kInterval = std::chrono::milliseconds(100);
    if (now - shown_ < kInterval && done < layer.bytes)
      return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    const double speed =
        seconds > 0 ? static_cast<double>(done - std::min(done, firstBytes_)) / seconds : 0;
    line_->show(layer.bytes ? done * 100 / layer.bytes : 100, 100,
                bytesOf(done) + ", " + bytesText(speed) + "/s");
  }

private:
  std::mutex mutex_;
  std::optional<ProgressLine> line_;
  std::string last_; // step
  Sha256Digest digest_;
  uint64_t firstBytes_ = 0;
  std::chrono::steady_clock::time_point begin_, shown_;
};

std::string listJson(const std::vector<host::StoredModel> &models) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const host::StoredModel &model : models)
    list.push_back({{"name", model.name},
                    {"bytes", model.bytes},
                    {"digest", model.digest},
                    {"source", model.source}});
  return nlohmann::ordered_json({{"models", std::move(list)}})
             .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

} // namespace

Result<int> pullCommand(const PullArguments &arguments, Interrupts &interrupts) {
  const Interrupts::Guard guard(interrupts);
  PullLines lines;
  const auto pulled = host::pullModel(arguments.model, lines, interrupts.flag());
  if (!pulled && pulled.error().code == Code::Cancelled)
    sayOnStderr("interrupted; what came is kept, and `sinter pull " + arguments.model +
                "` goes on from there");
  SINTER_TRY(pulled);
  SINTER_TRY(writeStdout("pulled " + withoutControls(arguments.model) + "\n"));
  return kExitOk;
}

Result<int> listCommand(const ListArguments &arguments) {
  const std::vector<host::StoredModel> models = host::listModels();
  if (arguments.json)
    return writeStdout(listJson(models)).map([] { return int{kExitOk}; });
  if (models.empty()) {
    sayOnStderr("no models are here; `sinter pull smollm2` fetches a small one");
    return kExitOk;
  }
  Table table({"name", "size", "digest", "from"});
  for (const host::StoredModel &model : models)
    table.addRow({model.name, bytesOf(model.bytes), model.digest.empty() ? "-" : model.digest,
                  withoutControls(model.source)});
  SINTER_TRY(writeStdout(table.text()));
  return kExitOk;
}

Result<int> removeCommand(const RemoveArguments &arguments) {
  for (const std::string &model : arguments.models) {
    SINTER_ASSIGN(const uint64_t bytes, host::removeModel(model));
    SINTER_TRY(
        writeStdout("removed " + withoutControls(model) + ", " + bytesOf(bytes) + " freed\n"));
  }
  return kExitOk;
}

Result<int> copyCommand(const CopyArguments &arguments, Interrupts &interrupts) {
  const Interrupts::Guard guard(interrupts);
  SINTER_TRY(host::copyModel(arguments.from, arguments.to, interrupts.flag()));
  return kExitOk;
}

} // namespace sinter::cli
