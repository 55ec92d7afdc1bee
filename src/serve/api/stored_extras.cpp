// Settings of a model are read as a request's are; those that make no sense here are passed over,
// since the client did not send them.
#include "serve/api/stored_extras.h"

#include "host/stored_settings.h"
#include "serve/api/json_text.h"

#include <algorithm>

namespace sinter::serve {
namespace {

using jinja::Input;

bool isSystem(const Input &message) {
  const Input *role = message.find("role");
  return role && role->text() && (*role->text() == "system" || *role->text() == "developer");
}

} // namespace

ApiResult<void> addStoredMessages(const ApiContext &context, const std::string &model,
                                  Input::List &messages) {
  const auto extras = context.extrasOf(model);
  if (!extras)
    return tl::unexpected(ApiError(extras.error()));
  Input::List first;
  if (!extras->system.empty() && std::ranges::none_of(messages, isSystem))
    first.push_back(Input(
        Input::Object{{"role", Input(std::string("system"))}, {"content", Input(extras->system)}}));
  if (!extras->messages.empty()) {
    const auto read = jinja::inputFromJson("{\"messages\":" + extras->messages + "}");
    if (!read)
      return tl::unexpected(
          ApiError(read.error().code, "the messages of the stored model '" + model +
                                          "' are damaged: " + read.error().message));
    RequestProblem problem;
    ChatRequest stored;
    readMessages(RequestReader(*read, "messages", problem), stored);
    if (problem.first)
      return tl::unexpected(*problem.first);
    std::ranges::move(stored.messages, std::back_inserter(first));
  }
  messages.insert(messages.begin(), std::make_move_iterator(first.begin()),
                  std::make_move_iterator(first.end()));
  return {};
}

ApiResult<void> addStoredSettings(const ApiContext &context, GenerationRequest &request) {
  const auto extras = context.extrasOf(request.model);
  if (!extras)
    return tl::unexpected(ApiError(extras.error()));
  if (extras->params.empty())
    return {};
  const auto params = jinja::inputFromJson(extras->params);
  if (!params)
    return tl::unexpected(
        ApiError(params.error().code, "the settings of the stored model '" + request.model +
                                          "' are damaged: " + params.error().message));
  RequestProblem passedOver;
  const RequestReader reader(*params, "parameters", passedOver);
  GenerationWishes &wishes = request.wishes;
  const auto seed = wishes.seed;
  readSampler(reader, wishes); // what was asked for stays
  if (seed)
    wishes.seed = seed;
  SINTER_ASSIGN(host::StoredAnswers answers, host::storedAnswers(extras->params));
  if (wishes.stops.empty())
    wishes.stops = std::move(answers.stops);
  if (request.load.context == 0)
    request.load.context = answers.context;
  if (wishes.maxTokens == UINT64_MAX && answers.tokens)
    wishes.maxTokens = *answers.tokens;
  return {};
}

LoadWishes withStoredContext(const ApiContext &context, const std::string &model, LoadWishes load) {
  const auto extras = context.extrasOf(model);
  const auto answers = extras ? host::storedAnswers(extras->params) : Fail(extras.error());
  if (load.context == 0 && answers)
    load.context = answers->context;
  return load;
}

std::string parameterLines(const std::string &params) {
  constexpr size_t kColumn = 30;
  const auto read = jinja::inputFromJson(params);
  if (!read || !read->object())
    return "";
  std::string lines;
  const auto add = [&](const std::string &name, const Input &value) {
    lines += (lines.empty() ? "" : "\n") + name +
             std::string(kColumn - std::min(name.size(), kColumn - 1), ' ') +
             jsonText(jsonOf(value));
  };
  for (const auto &[name, value] : *read->object()) {
    if (!value.list())
      add(name, value);
    else
      for (const Input &each : *value.list())
        add(name, each);
  }
  return lines;
}

} // namespace sinter::serve
