// Ollama's routes that fetch, make and remove models, over a store in a folder of its own.
#include "host/model_changes.h"
#include "llm/tiny_model.h"
#include "serve/api/ollama/ollama.h"
#include "serve/api/openai/openai.h"
#include "serve/api/stored_extras.h"
#include "serve/fake_server.h"

#include <gmock/gmock.h>

#include <set>

namespace sinter::serve {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A fetch that goes on when the test says so.
class SlowFetch {
public:
  Result<void> operator()(const std::string &name, store::PullObserver &observer,
                          const std::atomic<bool> &cancel) {
    ++begun;
    observer.onStep("pulling manifest");
    store::Layer layer{store::Role::Model, {}, 100};
    observer.onBlob(layer, 40);
    for (int i = 0; i < 1000 && !goesOn && !cancel; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ++ended;
    if (cancel)
      return fail(Code::Cancelled, "interrupted");
    if (name == "broken")
      return fail(Code::NotFound, "the registry has no model 'broken:latest'");
    observer.onBlob(layer, 100);
    observer.onStep("success");
    return {};
  }
  std::atomic<int> begun = 0, ended = 0;
  std::atomic<bool> goesOn = false;
};

class ApiStore : public testing::Test {
protected:
  ApiStore() {
    std::string name = (std::filesystem::temp_directory_path() / "sinter-api-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    const char *former = std::getenv("XDG_CACHE_HOME");
    former_ = former ? std::optional<std::string>(former) : std::nullopt;
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    server_.context.pulls = &pulls_;
    server_.context.extrasOf = host::modelExtras;
  }
  ~ApiStore() override {
    fetch_.goesOn = true;
    server_.tasks.drain();
    former_ ? setenv("XDG_CACHE_HOME", former_->c_str(), 1) : unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }

  std::shared_ptr<FakeResponder> done(const std::string &method, const std::string &path,
                                      const std::string &body) {
    auto client = server_.send(method, path, body);
    client->waitForEnd();
    return client;
  }
  std::shared_ptr<FakeResponder> posted(const std::string &path, const json &body) {
    return done("POST", path, body.dump());
  }
  // Puts a model's file into the store as clients do; its digest.
  std::string upload(const std::string &bytes) {
    const std::string digest = store::digestText(
        *sha256({{reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}}));
    EXPECT_LE(done("POST", "/api/blobs/" + digest, bytes)->status(), 201);
    return digest;
  }
  static std::string modelBytes() {
    const std::vector<uint8_t> bytes = fakeModel(kChatTemplate);
    return {bytes.begin(), bytes.end()};
  }
  void makeTiny(json more) {
    more["model"] = "tiny";
    more["files"] = {{"tiny.gguf", upload(modelBytes())}};
    const auto client = posted("/api/create", more);
    ASSERT_THAT(client->body(), HasSubstr("success"));
    server_.pool.known = host::storedModels();
  }
  static std::vector<std::string> statusesOf(const std::string &body) {
    std::vector<std::string> found;
    std::istringstream in(body);
    for (std::string line; std::getline(in, line);) {
      const json parsed = json::parse(line);
      found.push_back(parsed.value("status", parsed.value("error", "")));
    }
    return found;
  }
  void waitUntil(const std::function<bool()> &isSo) {
    for (int i = 0; i < 1000 && !isSo(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(isSo());
  }

  std::string folder_;
  std::optional<std::string> former_;
  SlowFetch fetch_;
  FakeServer server_{ollamaRoutes};
  Pulls pulls_{std::ref(fetch_), 2}; // before the server: it uses the context
};

TEST_F(ApiStore, APullStreamsItsSteps) {
  fetch_.goesOn = true;
  const auto client = posted("/api/pull", {{"model", "a"}});
  EXPECT_EQ(client->head().contentType, "application/x-ndjson");
  EXPECT_THAT(statusesOf(client->body()), ElementsAre("pulling manifest", "pulling 000000000000",
                                                      "pulling 000000000000", "success"));
  EXPECT_THAT(client->body(), HasSubstr("\"total\":100,\"completed\":40}"));
  EXPECT_THAT(server_.pool.forgotten, ElementsAre("a:latest"));
}

TEST_F(ApiStore, APullAnswersAtItsEndWhereAskedTo) {
  fetch_.goesOn = true;
  EXPECT_EQ(posted("/api/pull", {{"model", "a"}, {"stream", false}})->parsed()["status"],
            "success");
  const auto client = posted("/api/pull", {{"name", "broken"}, {"stream", false}});
  EXPECT_EQ(client->status(), 404);
  EXPECT_THAT(client->body(), HasSubstr("has no model 'broken:latest'"));
}

TEST_F(ApiStore, AnErrorIsTheLastLineOfAStream) {
  fetch_.goesOn = true;
  EXPECT_THAT(statusesOf(posted("/api/pull", {{"model", "broken"}})->body()).back(),
              HasSubstr("has no model"));
}

TEST_F(ApiStore, TwoPullsOfAModelShareOneFetch) {
  const auto first = server_.post("/api/pull", {{"model", "a"}});
  waitUntil([&] { return fetch_.begun == 1; });
  const auto second = server_.post("/api/pull", {{"model", "library/a:latest"}});
  second->waitForHead();
  waitUntil([&] { return second->body().find("pulling") != std::string::npos; });
  fetch_.goesOn = true;
  first->waitForEnd();
  second->waitForEnd();
  EXPECT_EQ(fetch_.begun, 1);
  EXPECT_EQ(statusesOf(second->body()).back(), "success");
}

TEST_F(ApiStore, APullEndsWhenTheLastClientGoes) {
  const auto first = server_.post("/api/pull", {{"model", "a"}});
  const auto second = server_.post("/api/pull", {{"model", "a"}});
  waitUntil([&] { return second->body().find("pulling") != std::string::npos; });
  first->leave();
  server_.tasks.drain();
  EXPECT_EQ(fetch_.ended, 0);
  second->leave();
  waitUntil([&] { return fetch_.ended == 1; });
  fetch_.goesOn = true;
  EXPECT_EQ(statusesOf(posted("/api/pull", {{"model", "a"}})->body()).back(), "success");
}

TEST_F(ApiStore, ManyPullsAreRefused) {
  server_.post("/api/pull", {{"model", "a"}});
  server_.post("/api/pull", {{"model", "b"}});
  waitUntil([&] { return fetch_.begun == 2; });
  EXPECT_THAT(posted("/api/pull", {{"model", "c"}})->body(), HasSubstr("fetched already"));
}

TEST_F(ApiStore, NamesThatArePathsAreRefused) {
  for (const char *name : {"../a", "/etc/passwd", "a/../../b", ""})
    EXPECT_EQ(posted("/api/pull", {{"model", name}})->status(), 400) << name;
  EXPECT_EQ(fetch_.begun, 0);
  for (const char *name : {"../a", "/etc/passwd"}) {
    EXPECT_EQ(posted("/api/copy", {{"source", name}, {"destination", "b"}})->status(), 404);
    EXPECT_EQ(done("DELETE", "/api/delete", json{{"model", name}}.dump())->status(), 404);
    EXPECT_EQ(posted("/api/create", {{"model", "b"}, {"from", name}})->status(), 404);
  }
}

TEST_F(ApiStore, ABlobIsKeptUnderItsDigestAlone) {
  const std::string digest = upload("some bytes");
  EXPECT_EQ(done("GET", "/api/blobs/" + digest, "")->status(), 200);
  const auto other = done("POST", "/api/blobs/" + digest, "other bytes");
  EXPECT_EQ(other->status(), 400);
  EXPECT_THAT(other->body(), HasSubstr("digest mismatch"));
  EXPECT_EQ(done("GET", "/api/blobs/sha256:" + std::string(64, '0'), "")->status(), 404);
  EXPECT_EQ(done("GET", "/api/blobs/sha256:..", "")->status(), 400);
}

TEST_F(ApiStore, AModelIsMadeShownCopiedAndRemoved) {
  makeTiny({{"system", "be brief"},
            {"license", {"free"}},
            {"parameters", {{"temperature", 0.5}, {"stop", {"x", "y"}}}}});
  EXPECT_THAT(host::storedModels(), ElementsAre("tiny:latest"));
  server_.context.pathOf = host::modelPath;
  const json shown = posted("/api/show", {{"model", "tiny"}})->parsed();
  EXPECT_EQ(shown["system"], "be brief");
  EXPECT_EQ(shown["license"], "free");
  EXPECT_EQ(shown["template"], kChatTemplate);
  EXPECT_THAT(shown["parameters"].get<std::string>(),
              AllOf(HasSubstr("temperature                   0.5"), HasSubstr("\"y\"")));
  EXPECT_THAT(shown["modelfile"].get<std::string>(), HasSubstr("SYSTEM \"\"\"be brief\"\"\""));
  EXPECT_EQ(posted("/api/copy", {{"source", "tiny"}, {"destination", "two"}})->status(), 200);
  EXPECT_EQ(done("DELETE", "/api/delete", json{{"model", "tiny"}}.dump())->status(), 200);
  EXPECT_THAT(host::storedModels(), ElementsAre("two:latest"));
  EXPECT_TRUE(host::modelPath("two"));
}

TEST_F(ApiStore, AModelMadeOfAnotherKeepsItsFile) {
  makeTiny({{"system", "be brief"}});
  EXPECT_THAT(
      posted("/api/create", {{"model", "loud"}, {"from", "tiny"}, {"system", "shout"}})->body(),
      HasSubstr("success"));
  EXPECT_EQ(*host::modelPath("loud"), *host::modelPath("tiny"));
  EXPECT_EQ(host::modelExtras("loud")->system, "shout");
  EXPECT_EQ(host::modelExtras("tiny")->system, "be brief");
}

TEST_F(ApiStore, ATemplateIsTakenWhereChatsFollowIt) {
  makeTiny({{"template", kChatTemplate}}); // as /api/show gives it
  const std::vector<uint8_t> bare = fakeModel("");
  const json files = {{"a.gguf", upload({bare.begin(), bare.end()})}};
  const std::string chatMl = "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content "
                             "}}<|im_end|>\n{{ end }}<|im_start|>assistant\n";
  EXPECT_THAT(
      posted("/api/create", {{"model", "b"}, {"files", files}, {"template", chatMl}})->body(),
      HasSubstr("success"));
  EXPECT_EQ(host::modelExtras("b")->goTemplate, chatMl);
  EXPECT_THAT(posted("/api/create", {{"model", "c"}, {"from", "b"}, {"template", chatMl}})->body(),
              HasSubstr("success"));
  EXPECT_EQ(
      posted("/api/create", {{"model", "c"}, {"from", "tiny"}, {"template", chatMl}})->status(),
      400);
}

// The types of a stored model's matrices.
std::set<std::string_view> typesOf(const std::string &name) {
  const GgufFile file = GgufFile::openModel(host::modelPath(name).value()).value();
  std::set<std::string_view> types;
  for (const GgufTensor &tensor : file.tensors())
    if (tensor.rank > 1)
      types.insert(tensor.format->name);
  return types;
}

TEST_F(ApiStore, AModelIsQuantizedAsItIsMade) {
  const std::vector<uint8_t> bytes =
      randomLlama({.matrices = TensorType::F16, .embedding = TensorType::F16});
  const json files = {{"a.gguf", upload({bytes.begin(), bytes.end()})}};
  const auto client =
      posted("/api/create",
             {{"model", "small"}, {"files", files}, {"system", "be brief"}, {"quantize", "q8_0"}});
  EXPECT_EQ(client->head().contentType, "application/x-ndjson");
  const std::vector<std::string> statuses = statusesOf(client->body());
  EXPECT_EQ(statuses.front(), "quantizing to Q8_0");
  EXPECT_THAT(std::vector(statuses.end() - 3, statuses.end()),
              ElementsAre("creating new layer", "writing manifest", "success"));
  EXPECT_THAT(typesOf("small"), ElementsAre("Q8_0"));
  EXPECT_EQ(host::modelExtras("small")->system, "be brief");
  EXPECT_THAT(server_.pool.forgotten, ElementsAre("small:latest"));

  // Once more would lose more, whatever the type.
  const auto again =
      posted("/api/create", {{"model", "b"}, {"from", "small"}, {"quantize", "Q4_0"}});
  EXPECT_EQ(again->status(), 400);
  EXPECT_THAT(again->body(), HasSubstr("expected a model of F16, BF16 or F32"));
  EXPECT_THAT(host::storedModels(), ElementsAre("small:latest"));
}

TEST_F(ApiStore, AModelThatIsBeingMadeIsNotMadeTwice) {
  const auto pull = server_.send("POST", "/api/pull", json{{"model", "small"}}.dump());
  const std::vector<uint8_t> bytes =
      randomLlama({.matrices = TensorType::F16, .embedding = TensorType::F16});
  const json files = {{"a.gguf", upload({bytes.begin(), bytes.end()})}};
  const auto client =
      posted("/api/create",
             {{"model", "small"}, {"files", files}, {"stream", false}, {"quantize", "q8_0"}});
  EXPECT_THAT(client->body(), HasSubstr("model 'small:latest' is being made already"));
  fetch_.goesOn = true;
  pull->waitForEnd();
}

TEST_F(ApiStore, CreateRefusesByName) {
  makeTiny({});
  for (const auto &[field, value] : std::vector<std::pair<const char *, json>>{
           {"template", "{{ .Prompt }}"},
           {"quantize", "q4_K_XXL"},
           {"adapters", {{"a", "b"}}},
           {"modelfile", "FROM tiny"},
           {"parameters", {{"temperature", "hot"}}},
           {"messages", {{{"role", "user"}, {"content", 7}}}}}) {
    const auto client = posted("/api/create", {{"model", "b"}, {"from", "tiny"}, {field, value}});
    EXPECT_EQ(client->status(), 400) << field;
    EXPECT_THAT(client->body(), HasSubstr(field));
  }
  EXPECT_EQ(posted("/api/create", {{"model", "b"}})->status(), 400);
  const auto noModel =
      posted("/api/create", {{"model", "b"}, {"files", {{"a", upload("no model")}}}});
  EXPECT_EQ(noModel->status(), 400);
  EXPECT_THAT(noModel->body(), Not(HasSubstr("blobs"))) << "a path of the host";
  EXPECT_THAT(host::storedModels(), ElementsAre("tiny:latest"));
}

TEST_F(ApiStore, ChatsBeginAsTheModelSays) {
  server_.context.extrasOf = [](const std::string &) {
    host::ModelExtras extras;
    extras.system = "be brief";
    extras.messages = R"([{"role":"user","content":"x"},{"role":"assistant","content":"y"}])";
    extras.params = R"({"temperature":0.25,"top_k":7,"seed":5,"stop":["!"],"num_predict":9,
                        "num_ctx":256,"num_gpu":1})";
    return extras;
  };
  const json chat = {{"model", "tiny"},
                     {"messages", {{{"role", "user"}, {"content", "hi"}}}},
                     {"options", {{"top_k", 3}}}};
  server_.answered("/api/chat", chat, {"a"});
  const GenerationJob &job = server_.worker().job();
  EXPECT_EQ(server_.worker().promptOf(), "<system>be brief<user>x<assistant>y<user>hi>");
  EXPECT_EQ(job.sampler.temperature, 0.25f);
  EXPECT_EQ(job.sampler.topK, 3) << "the request's own";
  EXPECT_EQ(job.sampler.seed, 5u);
  EXPECT_EQ(job.maxTokens, 9u);
  EXPECT_THAT(job.stops, ElementsAre("!"));
  EXPECT_EQ(server_.pool.wishes.context, 256u);
}

TEST_F(ApiStore, AModelIsLoadedWithItsContextWhateverItIsLoadedFor) {
  server_.context.extrasOf = [](const std::string &) {
    host::ModelExtras extras;
    extras.params = R"({"num_ctx":256})";
    return extras;
  };
  posted("/api/chat", {{"model", "tiny"}});
  EXPECT_EQ(server_.pool.wishes.context, 256u);
  posted("/api/generate", {{"model", "tiny"}, {"options", {{"num_ctx", 128}}}});
  EXPECT_EQ(server_.pool.wishes.context, 128u) << "the request's own";
  posted("/api/embed", {{"model", "tiny"}, {"input", "ab"}});
  EXPECT_EQ(server_.pool.wishes.context, 256u);
}

TEST_F(ApiStore, ASystemMessageOfTheRequestIsTheOnlyOne) {
  server_.context.extrasOf = [](const std::string &) {
    return host::ModelExtras{.system = "be brief"};
  };
  server_.answered(
      "/api/chat",
      {{"model", "tiny"},
       {"messages",
        {{{"role", "system"}, {"content", "shout"}}, {{"role", "user"}, {"content", "hi"}}}}},
      {"a"});
  EXPECT_EQ(server_.worker().promptOf(), "<system>shout<user>hi>");
}

TEST_F(ApiStore, ModelsMayBeFixed) {
  server_.context.whyModelsAreFixed = [] { return "so it is"; };
  for (const auto &[method, path] : {std::pair("POST", "/api/pull"),
                                     {"POST", "/api/create"},
                                     {"POST", "/api/copy"},
                                     {"DELETE", "/api/delete"},
                                     {"POST", "/api/blobs/sha256:00"}}) {
    const auto client = done(method, path, "{}");
    EXPECT_EQ(client->status(), 403) << path;
    EXPECT_THAT(client->body(), HasSubstr("so it is"));
  }
}

} // namespace
} // namespace sinter::serve
