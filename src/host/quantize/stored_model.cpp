// The file is written beside the blobs, and becomes one when its digest is known.
#include "host/quantize/stored_model.h"

#include "hal/cpu/host_cpu.h"
#include "host/quantize/model_file.h"

#include <algorithm>
#include <unistd.h>

namespace sinter::host {
namespace {

// Removed at the end, when the blob has a name of its own.
class ScratchName {
public:
  explicit ScratchName(const store::Store &models) {
    static std::atomic<uint64_t> count = 0;
    path_ = models.folder() + "/blobs/copy-quantized-" + std::to_string(getpid()) + "-" +
            std::to_string(count++);
  }
  ~ScratchName() { unlink(path_.c_str()); }
  ScratchName(const ScratchName &) = delete;
  ScratchName &operator=(const ScratchName &) = delete;

  const std::string &path() const { return path_; }

private:
  std::string path_;
};

Result<void> writeFile(const GgufFile &model, const QuantizeTypes &types, const std::string &path,
                       store::PullObserver &observer, const std::atomic<bool> &cancel) {
  const std::string step = "quantizing to " + std::string(types.scheme->name);
  SINTER_ASSIGN(const QuantizedFile quantized, quantizedFileOf(model, types));
  SINTER_ASSIGN(OutputFile file, OutputFile::create(path, 0600));
  const auto tell = [&](uint64_t done, uint64_t total) { observer.onPart(step, done, total); };
  SINTER_TRY(writeQuantized(model, quantized, {hal::usableCpus(), cancel, tell}, file));
  return file.commit();
}

} // namespace

Result<void> checkUnquantized(const store::Store &models, const store::Manifest &manifest) {
  SINTER_ASSIGN(const std::string path, models.modelPath(manifest));
  SINTER_ASSIGN(const GgufFile model, GgufFile::openModel(path));
  for (const GgufTensor &tensor : model.tensors())
    if (!tensor.format->isPlain())
      return fail(Code::InvalidArgument, "tensor '" + std::string(tensor.name) + "' is " +
                                             std::string(tensor.format->name) +
                                             " already, expected a model of F16, BF16 or F32");
  return {};
}

Result<void> quantizeModel(const store::Store &models, const QuantizeTypes &types,
                           store::Manifest &manifest, store::PullObserver &observer,
                           const std::atomic<bool> &cancel) {
  SINTER_TRY(checkUnquantized(models, manifest));
  SINTER_ASSIGN(const std::string path, models.modelPath(manifest));
  SINTER_ASSIGN(const GgufFile model, GgufFile::openModel(path));
  const ScratchName scratch(models);
  SINTER_TRY(writeFile(model, types, scratch.path(), observer, cancel));
  observer.onStep("creating new layer");
  SINTER_ASSIGN(store::Layer layer,
                models.addFile(store::Role::Model, scratch.path(), true, nullptr, &cancel));
  std::erase_if(manifest.layers,
                [](const store::Layer &each) { return each.role == store::Role::Model; });
  manifest.layers.insert(manifest.layers.begin(), std::move(layer));
  return {};
}

} // namespace sinter::host
