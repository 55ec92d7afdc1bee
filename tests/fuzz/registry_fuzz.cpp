// libFuzzer target: any bytes as what a registry answers, as a manifest of the store and as a name
// give a model that stays what it is when it is written and read again, or an error.
#include "base/check.h"
#include "store/remote.h"

using namespace sinter;
using namespace sinter::store;

static void checkModel(const Result<RemoteModel> &model, const ModelName &name) {
  if (!model)
    return;
  Manifest manifest{name, model->source, {}};
  for (const RemoteLayer &remote : model->layers) {
    SINTER_CHECK(remote.url.starts_with("https://test/"));
    SINTER_CHECK(remote.url.find("/../") == std::string::npos);
    manifest.layers.push_back(remote.layer);
  }
  const auto again = Manifest::parse(manifest.text());
  SINTER_CHECK(again && again->layers == manifest.layers && again->name == name);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const Endpoints endpoints{"https://test", "https://test", ""};
  for (const char *known : {"a:1", "hf.co/o/r:Q8_0", "hf.co/o/r"}) {
    const ModelName name = *ModelName::parse(known);
    checkModel(readRegistryManifest(text, name, endpoints), name);
    checkModel(readRepository(text, name, endpoints), name);
  }
  if (const auto manifest = Manifest::parse(text))
    SINTER_CHECK(Manifest::parse(manifest->text()).has_value());
  if (const auto name = ModelName::parse(text)) {
    SINTER_CHECK(name->text().find("..") == std::string::npos);
    SINTER_CHECK(*ModelName::parse(name->text()) == *name);
  }
  return 0;
}
