// Answers of registries, as they are and as a hostile one would write them.
#include "store/pull.h"

#include "store/loopback_server.h"
#include "store/store_test.h"

namespace sinter::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Remote : public StoreTest, public PullObserver {
protected:
  void onStep(const std::string &step) override { steps_.push_back(step); }
  void onBlob(const Layer &layer, uint64_t done) override { EXPECT_LE(done, layer.bytes); }
  void onNote(const std::string &line) override { notes_.push_back(line); }

  static std::string layer(const std::string &kind, std::string_view bytes) {
    return "{\"mediaType\":\"application/vnd.ollama.image." + kind + "\",\"digest\":\"" +
           digestText(digestOf(bytes)) + "\",\"size\":" + std::to_string(bytes.size()) + "}";
  }
  static std::string manifestOf(const std::string &layers) {
    return "{\"schemaVersion\":2,\"layers\":[" + layers + "]}";
  }
  static std::string errorOf(const Result<RemoteModel> &model) {
    return model ? "" : model.error().message;
  }
  std::string registryError(const std::string &text) {
    return errorOf(readRegistryManifest(text, nameOf("a"), endpoints_));
  }
  static std::string file(const std::string &path, const std::string &bytes = "weights") {
    return "{\"rfilename\":\"" + path +
           "\",\"size\":1,\"lfs\":{\"size\":" + std::to_string(bytes.size()) + ",\"sha256\":\"" +
           digestOf(bytes).hex() + "\"}}";
  }
  static std::string repositoryOf(const std::vector<std::string> &files) {
    std::string text;
    for (const std::string &each : files)
      text += (text.empty() ? "" : ",") + each;
    return "{\"sha\":\"0123abc\",\"siblings\":[" + text + "]}";
  }
  Result<RemoteModel> repository(const std::vector<std::string> &files, const std::string &tag) {
    return readRepository(repositoryOf(files), nameOf("hf.co/o/r:" + tag), endpoints_);
  }
  // Paths behind the revision.
  std::string chosen(const std::vector<std::string> &files, const std::string &tag) {
    const auto model = repository(files, tag);
    if (!model)
      return model.error().message;
    std::string paths;
    for (const RemoteLayer &each : model->layers)
      paths += (paths.empty() ? "" : " ") + each.url.substr(each.url.find("0123abc/") + 8);
    return paths;
  }

  Endpoints endpoints_{"https://registry.test", "https://hub.test", "token"};
  std::vector<std::string> steps_, notes_;
  std::atomic<bool> cancel_ = false;
};

TEST_F(Remote, LayersOfARegistryHaveRoles) {
  const auto model = readRegistryManifest(
      manifestOf(layer("model", "weights") + "," + layer("template", "{{ .Prompt }}") + "," +
                 layer("license", "free") + "," + layer("projector", "eyes")),
      nameOf("a:1"), endpoints_);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->layers.size(), 3u);
  EXPECT_EQ(model->layers[1].layer.role, Role::Template);
  EXPECT_EQ(model->layers[0].url,
            "https://registry.test/v2/library/a/blobs/" + digestText(digestOf("weights")));
  EXPECT_EQ(model->layers[0].bearer, "");
  EXPECT_THAT(model->notes, ElementsAre(HasSubstr("projector")));
}

TEST_F(Remote, AnAdapterIsRefusedByName) {
  EXPECT_THAT(registryError(manifestOf(layer("model", "w") + "," + layer("adapter", "x"))),
              HasSubstr("adapter (LoRA)"));
}

TEST_F(Remote, HostileManifestsAreErrors) {
  const std::string deep(100'000, '[');
  const std::string digest = digestText(digestOf("w"));
  for (const std::string &text :
       {std::string(), std::string("null"), std::string("[]"), deep, std::string("{\"layers\":{}}"),
        std::string("{\"layers\":[1]}"), manifestOf(""), manifestOf("{}"),
        manifestOf(layer("model", "a") + "," + layer("model", "b")),
        manifestOf("{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":\"sha256:../"
                   "../x\",\"size\":1}"),
        manifestOf("{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":\"" + digest +
                   "\",\"size\":-1}"),
        manifestOf("{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":\"" + digest +
                   "\",\"size\":1e99}"),
        std::string("{\"layers\":[\xff]}")})
    EXPECT_NE(registryError(text), "") << text.substr(0, 200);
  std::string many = layer("model", "w");
  for (int i = 0; i < 600; ++i)
    many += "," + layer("license", std::to_string(i));
  EXPECT_THAT(registryError(manifestOf(many)), HasSubstr("at most 512 layers"));
}

TEST_F(Remote, SizesBeyondAnyModelAreErrors) {
  const std::string digest = digestText(digestOf("w"));
  for (const uint64_t bytes : {kMostLayerBytes + 1, uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_THAT(registryError(manifestOf("{\"mediaType\":\"application/vnd.ollama.image.model\","
                                         "\"digest\":\"" +
                                         digest + "\",\"size\":" + std::to_string(bytes) + "}")),
                HasSubstr(std::to_string(bytes) + " bytes"));
    const std::string large =
        "{\"rfilename\":\"m-Q8_0.gguf\",\"lfs\":{\"size\":" + std::to_string(bytes) +
        ",\"sha256\":\"" + digestOf("w").hex() + "\"}}";
    EXPECT_THAT(errorOf(repository({large}, "Q8_0")), HasSubstr(std::to_string(bytes) + " bytes"));
  }
}

// Of two sizes for one digest the larger one counts.
TEST_F(Remote, ADigestOfTwoSizesHidesNoBytes) {
  const auto part = [](int number, uint64_t bytes) {
    return "{\"rfilename\":\"m-Q8_0-0000" + std::to_string(number) +
           "-of-00002.gguf\",\"lfs\":{\"size\":" + std::to_string(bytes) + ",\"sha256\":\"" +
           digestOf("w").hex() + "\"}}";
  };
  LoopbackServer server([&](const Request &) {
    return answer(200, repositoryOf({part(1, 1), part(2, kMostLayerBytes)}));
  });
  const auto pulled =
      pull(*store_, nameOf("hf.co/o/r:Q8_0"), {{server.url(), server.url(), ""}}, *this, cancel_);
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, Code::Exhausted);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(Remote, ATagChoosesAQuantization) {
  const std::vector<std::string> files = {file("model-Q4_K_M.gguf"),  file("model-Q4_K_S.gguf"),
                                          file("model.q8_0.gguf"),    file("mmproj-model-f16.gguf"),
                                          file("model-imatrix.gguf"), file("README.md")};
  EXPECT_EQ(chosen(files, "Q4_K_M"), "model-Q4_K_M.gguf");
  EXPECT_EQ(chosen(files, "q4_k_s"), "model-Q4_K_S.gguf");
  EXPECT_EQ(chosen(files, "Q8_0"), "model.q8_0.gguf");
  EXPECT_EQ(chosen(files, "latest"), "model-Q4_K_M.gguf");
  EXPECT_EQ(chosen(files, "model.q8_0.gguf"), "model.q8_0.gguf");
  EXPECT_THAT(chosen(files, "F16"),
              AllOf(HasSubstr("no GGUF file"), HasSubstr("'model.q8_0.gguf'")));
  EXPECT_THAT(chosen(files, "4_K_M"), HasSubstr("no GGUF file"));
}

TEST_F(Remote, PartsComeInOrderOrNotAtAll) {
  const std::vector<std::string> parts = {file("Q8_0/m-Q8_0-00002-of-00002.gguf", "b"),
                                          file("Q8_0/m-Q8_0-00001-of-00002.gguf", "a")};
  EXPECT_EQ(chosen(parts, "Q8_0"),
            "Q8_0/m-Q8_0-00001-of-00002.gguf Q8_0/m-Q8_0-00002-of-00002.gguf");
  EXPECT_EQ(repository(parts, "Q8_0")->layers[1].layer.file, "m-Q8_0-00002-of-00002.gguf");
  EXPECT_THAT(chosen({parts[1]}, "Q8_0"), HasSubstr("should have 2 parts, found 1"));
}

TEST_F(Remote, SeveralFilesOfATagAreListed) {
  EXPECT_THAT(chosen({file("a-Q8_0.gguf"), file("b-Q8_0.gguf")}, "Q8_0"),
              AllOf(HasSubstr("fits several files"), HasSubstr("'a-Q8_0.gguf', 'b-Q8_0.gguf'")));
}

TEST_F(Remote, PathsThatLeadElsewhereAreNotTaken) {
  for (const char *path : {"../x-Q8_0.gguf", "/x-Q8_0.gguf", "a/../../x-Q8_0.gguf", ".x-Q8_0.gguf",
                           "a\\\\x-Q8_0.gguf", "a//x-Q8_0.gguf"})
    EXPECT_THAT(chosen({file(path)}, "Q8_0"), HasSubstr("has no GGUF file")) << path;
  EXPECT_EQ(chosen({file("a b?#-Q8_0.gguf")}, "Q8_0"), "a%20b%3F%23-Q8_0.gguf");
}

TEST_F(Remote, AFileWithoutADigestIsRefused) {
  EXPECT_THAT(chosen({"{\"rfilename\":\"a-Q8_0.gguf\",\"size\":7}"}, "Q8_0"),
              HasSubstr("no SHA-256 digest"));
}

TEST_F(Remote, HostileRepositoriesAreErrors) {
  for (const std::string text :
       {"", "{}", "{\"sha\":\"../..\",\"siblings\":[]}", "{\"sha\":\"0123\"}",
        "{\"sha\":\"0123\",\"siblings\":[1,null,{}]}"})
    EXPECT_NE(errorOf(readRepository(text, nameOf("hf.co/o/r"), endpoints_)), "") << text;
}

TEST_F(Remote, APullStoresWhatTheRegistrySays) {
  const std::string weights(3000, 'w'), system = "be brief";
  LoopbackServer server([&](const Request &request) {
    if (request.path == "/v2/library/a/manifests/1")
      return answer(200, manifestOf(layer("model", weights) + "," + layer("system", system)));
    if (request.path.ends_with(digestText(digestOf(weights))))
      return rangeAnswer(request, weights);
    return request.path.ends_with(digestText(digestOf(system))) ? answer(200, system)
                                                                : answer(404, "");
  });
  const PullOptions options{{server.url(), server.url(), ""}};
  const auto pulled = pull(*store_, nameOf("a:1"), options, *this, cancel_);
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(store_->find(nameOf("a:1"))->layers, pulled->layers);
  EXPECT_EQ(readAll(*store_->modelPath(*pulled)), weights);
  EXPECT_EQ(steps_.front(), "pulling manifest");
  EXPECT_EQ(steps_.back(), "success");
  EXPECT_THAT(pull(*store_, nameOf("a:2"), options, *this, cancel_).error().message,
              HasSubstr("has no model 'a:2'"));
}

TEST_F(Remote, APullOfARepositorySendsItsTokenThere) {
  const std::string weights = "weights";
  LoopbackServer server([&](const Request &request) {
    EXPECT_EQ(request.header("authorization"), "bearer token");
    if (request.path.starts_with("/api/models/o/r/"))
      return answer(200, repositoryOf({file("m-Q8_0.gguf", weights)}));
    return request.path == "/o/r/resolve/0123abc/m-Q8_0.gguf" ? answer(200, weights)
                                                              : answer(404, "");
  });
  const PullOptions options{{server.url(), server.url(), "token"}};
  const auto pulled = pull(*store_, nameOf("hf.co/o/r:Q8_0"), options, *this, cancel_);
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(readAll(*store_->modelPath(*pulled)), weights);
  EXPECT_THAT(names(), ElementsAre("hf.co/o/r:Q8_0"));
}

TEST_F(Remote, AModelThatNoDiskHoldsIsRefusedBeforeItIsFetched) {
  const std::string digest = digestText(digestOf("w"));
  LoopbackServer server([&](const Request &) {
    return answer(200, manifestOf("{\"mediaType\":\"application/vnd.ollama.image.model\","
                                  "\"digest\":\"" +
                                  digest + "\",\"size\":" + std::to_string(kMostLayerBytes) + "}"));
  });
  const auto pulled =
      pull(*store_, nameOf("a"), {{server.url(), server.url(), ""}}, *this, cancel_);
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, Code::Exhausted);
  EXPECT_THAT(pulled.error().message, HasSubstr("are to be fetched, and the disk of"));
  EXPECT_EQ(server.requests().size(), 1u);
}

} // namespace
} // namespace sinter::store
