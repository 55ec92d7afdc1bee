// Prompts of words or token numbers, and the JSON around them.
#include "cli/load/workload.h"

#include "base/system_error.h"

#include <fstream>

namespace sinter::cli {
namespace {

using Json = nlohmann::ordered_json;

// With a space before them, one token each in the vocabularies of most models.
constexpr const char *kWords[] = {
    "time",  "river",  "stone", "light",  "paper",  "north", "garden", "engine",
    "water", "road",   "music", "field",  "winter", "house", "market", "school",
    "story", "bridge", "train", "window", "summer", "table", "letter", "number",
    "green", "small",  "early", "often",  "under",  "again", "always", "before"};

std::string wordsOf(LoadRandom &random, uint32_t count, std::string before) {
  for (uint32_t i = 0; i < count; ++i) {
    before += before.empty() ? "" : " ";
    before += kWords[random.below(std::size(kWords))];
  }
  return before;
}

// The first message of a person.
const Json *questionOf(const Json &conversation) {
  for (const Json &turn : conversation) {
    const auto from = turn.find("from"), value = turn.find("value");
    if (from != turn.end() && value != turn.end() && value->is_string() &&
        (*from == "human" || *from == "user"))
      return &*value;
  }
  return nullptr;
}

std::optional<DatasetEntry> entryOf(const Json &object) {
  DatasetEntry entry;
  if (!object.is_object())
    return std::nullopt;
  const auto member = [&](const char *name) {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
  };
  const Json *prompt = member("prompt"), *messages = member("messages"),
             *conversation = member("conversations"), *tokens = member("output_tokens");
  if (prompt && prompt->is_string())
    entry.prompt = *prompt;
  else if (messages && messages->is_array())
    entry.prompt = *messages;
  else if (const Json *asked =
               conversation && conversation->is_array() ? questionOf(*conversation) : nullptr)
    entry.prompt = *asked;
  else
    return std::nullopt;
  if (tokens && tokens->is_number_unsigned())
    entry.outputTokens =
        static_cast<uint32_t>(std::min<uint64_t>(tokens->get<uint64_t>(), kMostLength));
  return entry;
}

Fail badEntry(const std::string &path, const std::string &where) {
  return fail(Code::InvalidArgument, "'" + path + "', " + where +
                                         ": expected a JSON object with prompt, messages or "
                                         "conversations");
}

// One JSON list, as ShareGPT's file is. An entry without a person's message is passed over.
Result<std::vector<DatasetEntry>> readList(const std::string &path, std::istream &file,
                                           uint64_t most) {
  const Json list = Json::parse(file, nullptr, false);
  if (!list.is_array())
    return fail(Code::InvalidArgument, "'" + path + "' begins as a JSON list and is none");
  std::vector<DatasetEntry> entries;
  for (const Json &object : list)
    if (auto entry = entryOf(object); entry && entries.size() < most)
      entries.push_back(std::move(*entry));
  if (entries.empty())
    return badEntry(path, "all entries");
  return entries;
}

} // namespace

Result<std::vector<DatasetEntry>> readDataset(const std::string &path, uint64_t most) {
  errno = 0;
  std::ifstream file(path);
  if (!file)
    return systemFailed("cannot read '" + path + "'", errno);
  if ((file >> std::ws).peek() == '[')
    return readList(path, file, most);
  std::vector<DatasetEntry> entries;
  std::string line;
  for (uint64_t number = 1; entries.size() < most && std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == line.npos)
      continue;
    auto entry = entryOf(Json::parse(line, nullptr, false));
    if (!entry)
      return badEntry(path, "line " + std::to_string(number));
    entries.push_back(std::move(*entry));
  }
  if (entries.empty())
    return fail(Code::InvalidArgument, "'" + path + "' has no prompt");
  return entries;
}

Result<Workload> Workload::create(const LoadArguments &arguments, std::string model) {
  Workload made;
  made.isChat_ = arguments.isChat;
  made.outputGiven_ = arguments.outputGiven;
  made.seed_ = arguments.seed;
  made.input_ = arguments.input;
  made.output_ = arguments.output;
  made.sharedPrefix_ = arguments.sharedPrefix;
  made.firstId_ = arguments.firstId;
  made.lastId_ = arguments.lastId;
  made.base_ = {
      {"model", std::move(model)}, {"stream", true}, {"stream_options", {{"include_usage", true}}}};
  if (arguments.ignoresEnd)
    made.base_["ignore_eos"] = true;
  if (!arguments.extraBody.empty()) {
    const Json extra = Json::parse(arguments.extraBody, nullptr, false);
    if (!extra.is_object())
      return fail(Code::InvalidArgument, "--extra-body is '" + arguments.extraBody +
                                             "', expected a JSON object such as "
                                             "{\"temperature\": 0}");
    made.base_.update(extra);
  }
  if (!arguments.dataset.empty()) {
    constexpr uint64_t kMostEntries = 1'000'000;
    SINTER_ASSIGN(made.dataset_,
                  readDataset(arguments.dataset, std::min(arguments.requests, kMostEntries)));
    for (const DatasetEntry &entry : made.dataset_)
      if (entry.prompt.is_array() && !made.isChat_)
        return fail(Code::InvalidArgument, "the data set has messages; they need --endpoint chat");
  }
  return made;
}

Json Workload::madeUp(uint64_t number, uint32_t tokens) const {
  LoadRandom shared(seed_, LoadPurpose::SharedPrefix), own(seed_, LoadPurpose::Prompt, number);
  if (lastId_ == 0)
    return wordsOf(own, tokens, wordsOf(shared, sharedPrefix_, ""));
  Json ids = Json::array();
  const auto add = [&](LoadRandom &random, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      ids.push_back(firstId_ +
                    static_cast<int32_t>(random.below(static_cast<uint32_t>(lastId_ - firstId_))));
  };
  add(shared, sharedPrefix_);
  add(own, tokens);
  return ids;
}

std::string Workload::body(uint64_t number) const {
  LoadRandom lengths(seed_, LoadPurpose::Lengths, number);
  const uint32_t input = input_.draw(lengths);
  uint32_t output = output_.draw(lengths);
  Json prompt;
  if (dataset_.empty()) {
    prompt = madeUp(number, input);
  } else {
    const DatasetEntry &entry = dataset_[number % dataset_.size()];
    prompt = entry.prompt;
    if (entry.outputTokens > 0 && !outputGiven_)
      output = entry.outputTokens;
  }
  Json body = base_;
  if (!isChat_)
    body["prompt"] = std::move(prompt);
  else if (prompt.is_array())
    body["messages"] = std::move(prompt);
  else
    body["messages"] = Json::array({Json{{"role", "user"}, {"content", std::move(prompt)}}});
  if (!body.contains("max_tokens"))
    body["max_tokens"] = output;
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace sinter::cli
