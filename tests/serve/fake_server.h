// A model, a worker and a client without a device or a socket: what is submitted is kept, what is
// said is what the test says.
#pragma once

#include "format/gguf_writer.h"
#include "serve/api/api_context.h"
#include "serve/http/routes.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace sinter::serve {

using nlohmann::json;

// Letters, a few words and control tokens; the template writes roles and texts in a row.
inline constexpr const char *kChatTemplate =
    "{% for tool in tools or [] %}[{{ tool.function.name }}]{% endfor %}"
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}"
    "{% for call in message.tool_calls or [] %}!{{ call.function.name }}"
    "{{ call.function.arguments.x }}{% endfor %}{% endfor %}"
    "{% if enable_thinking is defined %}{{ '<think>' if enable_thinking else '' }}{% endif %}>";

// `fillsIn`: there are tokens around the parts of a text.
inline std::vector<uint8_t> fakeModel(const std::string &chatTemplate, bool fillsIn = false) {
  std::vector<std::string> tokens;
  for (int byte = 0x21; byte < 0x7f; ++byte)
    tokens.push_back(std::string(1, static_cast<char>(byte)));
  tokens.push_back("Ġ"); // a space
  tokens.push_back("ab");
  const size_t firstControl = tokens.size();
  if (fillsIn)
    tokens.insert(tokens.end(), {"<PRE>", "<SUF>", "<MID>"});
  tokens.push_back("<end>");
  GgufWriter file;
  file.header(0, chatTemplate.empty() ? 7 : 8);
  file.text("general.architecture", "test").value("test.context_length", GgufType::U32, 4096u);
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  file.array("tokenizer.ggml.tokens", GgufType::String, tokens.size());
  for (const std::string &token : tokens)
    file.string(token);
  file.array("tokenizer.ggml.token_type", GgufType::I32, tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i)
    file.put<int32_t>(i >= firstControl ? 3 : 1);
  file.array("tokenizer.ggml.merges", GgufType::String, 1).string("a b");
  if (!chatTemplate.empty())
    file.text("tokenizer.chat_template", chatTemplate);
  return file.bytes();
}

inline ModelFile fakeModelFile(const std::string &chatTemplate = kChatTemplate,
                               bool fillsIn = false) {
  std::string name = (std::filesystem::temp_directory_path() / "sinter-serve-XXXXXX").string();
  const int file = mkstemp(name.data());
  EXPECT_GE(file, 0) << name;
  close(file);
  const std::vector<uint8_t> bytes = fakeModel(chatTemplate, fillsIn);
  std::ofstream(name, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  auto opened = ModelFile::open(name);
  std::filesystem::remove(name); // mapped
  EXPECT_TRUE(opened.has_value()) << opened.error().toString();
  return std::move(*opened);
}

// Keeps jobs; a test speaks for the model.
class FakeWorker : public ModelWorker {
public:
  explicit FakeWorker(ModelFile file) : file_(std::move(file)) {}

  const ModelFile &file() const override { return file_; }
  uint32_t contextTokens() const override { return context; }
  Result<JobId> submit(GenerationJob job) override {
    const std::lock_guard lock(mutex_);
    if (refusal)
      return Fail(*refusal);
    if (!answers_.empty()) {
      speaker_.postAlways([this, job = std::make_shared<GenerationJob>(std::move(job))] {
        speak(std::move(*job));
      });
      return JobId{1};
    }
    jobs_.push_back(std::move(job));
    changed_.notify_all();
    return JobId{jobs_.size()};
  }
  void cancel(JobId id) override {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(id.number);
    changed_.notify_all();
  }
  WorkerState state() const override { return {}; }
  uint32_t retrySeconds(const std::string &) const override { return retryAfter; }
  // Vectors (count of tokens, 1, 0), scores that fall with the length.
  Result<JobId> submitVectors(VectorJob job) override {
    pooling = job.pooling;
    VectorAnswer answer;
    answer.width = job.ranks ? 1 : 3;
    for (const TextTokens &text : job.texts) {
      const auto length = static_cast<float>(text.size());
      answer.rows.push_back(job.ranks ? std::vector<float>{-length}
                                      : std::vector<float>{length, 1, 0});
      answer.promptTokens += text.size();
    }
    job.onEnd(std::move(answer));
    return JobId{1};
  }
  Result<void> checkContext(uint32_t) const override { return {}; }

  // Answers every job from now on.
  void answers(std::vector<std::string> texts) { answers_ = std::move(texts); }

  // Waits for that many jobs.
  void waitForJobs(size_t count) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kMostWait, [&] { return jobs_.size() >= count; }));
  }
  void waitForCancel(size_t count) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kMostWait, [&] { return cancelled_.size() >= count; }));
  }
  GenerationJob &job(size_t i = 0) { return jobs_[i]; }
  size_t jobCount() const { return jobs_.size(); }

  // The prompt as a text.
  std::string promptOf(size_t i = 0) const {
    std::string text;
    for (const TokenId id : jobs_[i].prompt)
      text += file_.tokenizer().piece(id);
    return text;
  }
  bool say(const std::string &text, size_t i = 0) { return sayTo(jobs_[i], text); }
  void end(AnswerEnd why = AnswerEnd::EndToken, size_t i = 0) { endOf(jobs_[i], why); }
  void failWith(Status status, size_t i = 0) {
    jobs_[i].sink->onEnd(Fail(std::move(status)));
    jobs_[i].sink.reset();
  }

  std::optional<Status> refusal;
  uint32_t retryAfter = 1;
  std::optional<Pooling> pooling; // of the last vectors
  uint32_t context = 4096;

private:
  static constexpr std::chrono::seconds kMostWait{10};

  static bool sayTo(GenerationJob &job, const std::string &text) {
    AnswerPiece piece{.text = text, .tokens = {1}};
    if (job.likelihoods) {
      piece.likelihoods.push_back({{1, text, -0.5f}});
      for (uint32_t each = 0; each < *job.likelihoods; ++each)
        piece.likelihoods.back().push_back({TokenId(each), "t" + std::to_string(each), -1.5f});
    }
    return job.sink->onPiece(std::move(piece));
  }
  static void endOf(GenerationJob &job, AnswerEnd why) {
    job.sink->onEnd(AnswerSummary{.end = why,
                                  .promptTokens = job.prompt.size(),
                                  .reusedTokens = 2,
                                  .answerTokens = 3,
                                  .prefillSeconds = 0.25,
                                  .decodeSeconds = 0.5});
    job.sink.reset();
  }
  void speak(GenerationJob job) const {
    for (const std::string &text : answers_)
      if (!sayTo(job, text))
        break;
    endOf(job, AnswerEnd::EndToken);
  }

  ModelFile file_;
  std::vector<std::string> answers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<GenerationJob> jobs_;
  std::vector<uint64_t> cancelled_;
  TaskPool speaker_{1, 1};
};

class FakePool : public ModelPool {
public:
  explicit FakePool(std::string chatTemplate = kChatTemplate)
      : worker(std::make_shared<FakeWorker>(fakeModelFile(chatTemplate))) {}

  void get(const std::string &name, const LoadWishes &asked, OnModel then) override {
    wishes = asked;
    asked_.push_back(name);
    if (name == "tiny")
      return then(std::shared_ptr<ModelWorker>(worker));
    then(fail(Code::NotFound, "there is no model '" + name + "' (did you mean 'tiny'?)"));
  }
  std::vector<std::string> names() const override { return known; }
  const std::vector<std::string> &asked() const { return asked_; }
  std::vector<LoadedModel> loaded() const override { return loads; }
  bool unload(const std::string &name) override {
    unloaded.push_back(name);
    return name == "tiny";
  }
  void forget(const std::string &name) override { forgotten.push_back(name); }

  std::shared_ptr<FakeWorker> worker;
  LoadWishes wishes;
  std::vector<LoadedModel> loads = {{.name = "tiny", .bytes = 1000}};
  std::vector<std::string> unloaded, forgotten;
  std::vector<std::string> known = {"tiny", "gone"}; // the second cannot be loaded

private:
  std::vector<std::string> asked_;
};

// What a client gets.
class FakeResponder : public Responder {
public:
  void respond(HttpResponse response) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(isEnded_) << "answered twice: " << response.body;
    head_ = response;
    body_ = std::move(response.body);
    isEnded_ = true;
    changed_.notify_all();
  }
  void begin(HttpResponse head) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(isEnded_ || isStreamed_);
    head_ = std::move(head);
    isStreamed_ = true;
    changed_.notify_all();
  }
  bool write(std::string bytes) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(isStreamed_ && !isEnded_);
    EXPECT_FALSE(bytes.empty());
    if (isGone_)
      return false;
    body_ += bytes;
    changed_.notify_all();
    return true;
  }
  void end() override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(isStreamed_ && !isEnded_);
    isEnded_ = true;
    changed_.notify_all();
  }
  void onGone(std::function<void()> callback) override {
    const std::lock_guard lock(mutex_);
    gone_ = std::move(callback);
    changed_.notify_all();
  }

  void leave() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kMostWait, [&] { return gone_ != nullptr; }));
    isGone_ = true;
    auto gone = std::move(gone_);
    lock.unlock();
    gone();
  }
  void waitForEnd() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kMostWait, [&] { return isEnded_; })) << body_;
  }
  void waitForHead() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kMostWait, [&] { return isStreamed_ || isEnded_; }));
  }
  uint16_t status() const { return head_.status; }
  const HttpResponse &head() const { return head_; }
  std::string body() const {
    const std::lock_guard lock(mutex_);
    return body_;
  }
  json parsed() const { return json::parse(body()); }

private:
  static constexpr std::chrono::seconds kMostWait{10};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  HttpResponse head_;
  std::string body_;
  std::function<void()> gone_;
  bool isStreamed_ = false, isEnded_ = false, isGone_ = false;
};

// The routes of one family over a fake pool.
class FakeServer {
public:
  using MakeRoutes = std::vector<Route> (*)(ApiContext &);
  explicit FakeServer(MakeRoutes make, std::string chatTemplate = kChatTemplate)
      : pool(std::move(chatTemplate)) {
    context.extrasOf = [](const std::string &) { return host::ModelExtras(); };
    for (Route &route : make(context))
      routes_.add(std::move(route));
  }
  FakeServer(void (*add)(Routes &, ApiContext &), std::string chatTemplate)
      : pool(std::move(chatTemplate)) {
    context.extrasOf = [](const std::string &) { return host::ModelExtras(); };
    add(routes_, context);
  }

  std::shared_ptr<FakeResponder> send(const std::string &method, const std::string &path,
                                      const std::string &body = "") {
    auto responder = std::make_shared<FakeResponder>();
    const auto found = routes_.find(method, path);
    const auto *route = std::get_if<Routes::Found>(&found);
    EXPECT_NE(route, nullptr) << method << " " << path;
    if (!route)
      return responder;
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.client = "127.0.0.1";
    request.account = "someone";
    request.keyName = keyName;
    request.parameters = route->parameters;
    route->route->handler(std::move(request), responder);
    return responder;
  }
  std::shared_ptr<FakeResponder> post(const std::string &path, const json &body) {
    return send("POST", path, body.dump());
  }
  // Sends, says one text, ends.
  std::shared_ptr<FakeResponder> answered(const std::string &path, const json &body,
                                          const std::vector<std::string> &texts) {
    auto responder = post(path, body);
    pool.worker->waitForJobs(1);
    for (const std::string &text : texts)
      pool.worker->say(text);
    pool.worker->end();
    responder->waitForEnd();
    return responder;
  }
  FakeWorker &worker() { return *pool.worker; }
  // Of a model that fills texts in.
  void useInfillModel() {
    pool.worker = std::make_shared<FakeWorker>(fakeModelFile(kChatTemplate, true));
  }

  FakePool pool;
  std::string keyName; // of the requests that come next
  TaskPool tasks{1, 16};
  ApiContext context{pool, tasks, "0.1.0"};

private:
  Routes routes_;
};

// The data of server-sent events, "[DONE]" as a text.
inline std::vector<json> eventsOf(const std::string &body) {
  std::vector<json> events;
  size_t at = 0;
  while (at < body.size()) {
    const size_t end = body.find("\n\n", at);
    EXPECT_NE(end, body.npos);
    std::string event = body.substr(at, end - at);
    if (const size_t data = event.find("data: "); data != event.npos)
      event = event.substr(data + 6);
    events.push_back(event == "[DONE]" ? json(event) : json::parse(event));
    at = end + 2;
  }
  return events;
}

} // namespace sinter::serve
