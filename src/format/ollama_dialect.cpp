// Rows change the parsed values and tensors. The file's bytes and its digest do not change.
#include "format/ollama_dialect.h"
#include "format/byte_cursor.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

namespace sinter {
namespace {

constexpr std::string_view kArchitecture = "general.architecture";
constexpr std::string_view kEmbedding = "token_embd.weight";

// Whether `text` is one of the parts of `list`, with '|' between.
bool isOneOf(std::string_view text, std::string_view list) {
  while (true) {
    const size_t bar = list.find('|');
    if (text == list.substr(0, bar))
      return true;
    if (bar == list.npos)
      return false;
    list.remove_prefix(bar + 1);
  }
}

std::vector<uint8_t> bytesOf(std::string_view text) {
  return {text.begin(), text.end()};
}

template <typename T> void append(std::vector<uint8_t> &bytes, T value) {
  const auto *raw = reinterpret_cast<const uint8_t *>(&value);
  bytes.insert(bytes.end(), raw, raw + sizeof value);
}

} // namespace

class DialectReader {
public:
  explicit DialectReader(GgufFile &file) : file_(file) {}

  Result<void> read() {
    for (const DialectRow &row : ollamaDialect()) {
      if (!isOneOf(architecture(), row.architecture) || !isMarked(row))
        continue;
      SINTER_TRY(apply(row));
      if (std::exchange(changed_, false))
        sortAgain();
    }
    return {};
  }

private:
  std::string architecture() const {
    return std::string(file_.getString(kArchitecture).value_or(""));
  }
  std::string keyOf(std::string_view name) const {
    return name.starts_with("tokenizer.") ? std::string(name)
                                          : architecture() + "." + std::string(name);
  }

  // Found by walking: a row that is being applied has changed names since they were sorted.
  GgufValue *findValue(std::string_view key) {
    const auto found = std::ranges::find(file_.values_, key, &GgufValue::key);
    return found == file_.values_.end() ? nullptr : &*found;
  }
  const GgufTensor *findTensor(std::string_view name) const {
    const auto found = std::ranges::find(file_.tensors_, name, &GgufTensor::name);
    return found == file_.tensors_.end() ? nullptr : &*found;
  }

  std::span<const uint8_t> keep(std::vector<uint8_t> bytes) {
    changed_ = true;
    file_.own_.push_back(std::make_unique<std::vector<uint8_t>>(std::move(bytes)));
    return *file_.own_.back();
  }
  std::string_view keepName(const std::string &name) {
    const auto bytes = keep(bytesOf(name));
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
  }
  void set(const std::string &key, GgufType type, std::vector<uint8_t> bytes) {
    GgufValue *value = findValue(key);
    if (!value) {
      file_.values_.push_back({});
      value = &file_.values_.back();
      value->key = keepName(key);
    }
    value->type = value->elementType = type;
    value->count = 1;
    value->bytes = keep(std::move(bytes));
  }
  void setText(const std::string &key, std::string_view text) {
    std::vector<uint8_t> bytes;
    append(bytes, static_cast<uint64_t>(text.size()));
    bytes.insert(bytes.end(), text.begin(), text.end());
    set(key, GgufType::String, std::move(bytes));
  }
  void setWhole(const std::string &key, uint64_t whole) {
    std::vector<uint8_t> bytes;
    append(bytes, static_cast<uint32_t>(std::min<uint64_t>(whole, UINT32_MAX)));
    set(key, GgufType::U32, std::move(bytes));
  }
  void setNumber(const std::string &key, std::string_view text) {
    float number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    std::vector<uint8_t> bytes;
    append(bytes, number);
    set(key, GgufType::F32, std::move(bytes));
  }

  bool isMarked(const DialectRow &row) const {
    switch (row.marker) {
    case DialectMarker::None:
      return true;
    case DialectMarker::HasTensor:
      return std::ranges::any_of(file_.tensors_, [&](const GgufTensor &tensor) {
        return tensor.name.starts_with(row.when);
      });
    case DialectMarker::LacksTensor:
      return !findTensor(row.when);
    case DialectMarker::HasLlama3Token: {
      constexpr size_t kToken = 128009;
      // The list is long, so it is read where something depends on it alone.
      if (!isOneOf(file_.getStringOr(row.from, "").value_or("no text"), "|default"))
        return false;
      const auto tokens = file_.getStrings("tokenizer.ggml.tokens");
      return tokens && tokens->size() > kToken && (*tokens)[kToken] == "<|eot_id|>";
    }
    }
    return false;
  }

  Result<void> apply(const DialectRow &row);
  void renameArchitecture(std::string_view to);
  void renameKey(std::string_view from, std::string_view to);
  void renameTensors(std::string_view from, std::string_view to);
  Result<void> takeLargest(const std::string &key);
  Result<void> takeSections(const std::string &from, const std::string &to);
  Result<void> cut(const std::string &key);
  void sortAgain();

  GgufFile &file_;
  bool changed_ = false;
};

Result<void> DialectReader::apply(const DialectRow &row) {
  const std::string from = keyOf(row.from);
  switch (row.change) {
  case DialectChange::Architecture:
    renameArchitecture(row.to);
    return {};
  case DialectChange::Key:
    renameKey(from, keyOf(row.to));
    return {};
  case DialectChange::TensorEnd:
    renameTensors(row.from, row.to);
    return {};
  case DialectChange::DefaultNumber:
    if (!findValue(from))
      setNumber(from, row.to);
    return {};
  case DialectChange::DefaultText:
    if (!findValue(from))
      setText(from, row.to);
    return {};
  case DialectChange::Text:
    setText(from, row.to);
    return {};
  case DialectChange::TextInPlace:
    if (isOneOf(file_.getStringOr(from, "").value_or("no text"), row.when))
      setText(from, row.to);
    return {};
  case DialectChange::SizeOfTensor:
    if (const GgufTensor *tensor = findTensor(row.to))
      setWhole(from, tensor->dims[1]);
    return {};
  case DialectChange::Largest:
    return takeLargest(from);
  case DialectChange::FourSections:
    return takeSections(from, keyOf(row.to));
  case DialectChange::CutToEmbedding:
    return cut(from);
  case DialectChange::ListLength:
    if (const GgufValue *list = findValue(keyOf(row.to)); list && !findValue(from))
      setWhole(from, list->isArray() ? list->count : 0);
    return {};
  }
  return {};
}

void DialectReader::renameArchitecture(std::string_view to) {
  const std::string prefix = architecture() + ".";
  for (GgufValue &value : file_.values_)
    if (value.key.starts_with(prefix))
      value.key = keepName(std::string(to) + "." + std::string(value.key.substr(prefix.size())));
  setText(std::string(kArchitecture), to);
}

void DialectReader::renameKey(std::string_view from, std::string_view to) {
  GgufValue *value = findValue(from);
  if (value && !findValue(to))
    value->key = keepName(std::string(to));
}

void DialectReader::renameTensors(std::string_view from, std::string_view to) {
  for (GgufTensor &tensor : file_.tensors_) {
    if (from.starts_with('.') ? !tensor.name.ends_with(from) : tensor.name != from)
      continue;
    const std::string_view stem = tensor.name.substr(0, tensor.name.size() - from.size());
    const std::string name = std::string(stem) + std::string(to);
    if (!findTensor(name))
      tensor.name = keepName(name);
  }
}

Result<void> DialectReader::takeLargest(const std::string &key) {
  const GgufValue *value = findValue(key);
  if (!value || !value->isArray())
    return {};
  SINTER_ASSIGN(const std::vector<uint64_t> all, file_.getU64s(key));
  if (!all.empty())
    setWhole(key, *std::ranges::max_element(all));
  return {};
}

Result<void> DialectReader::takeSections(const std::string &from, const std::string &to) {
  const GgufValue *value = findValue(from);
  if (!value || !value->isArray() || value->count != 3 || (from != to && findValue(to)))
    return {};
  SINTER_ASSIGN(const std::vector<int64_t> sections, file_.getI64s(from));
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < 4; ++i)
    append(bytes, static_cast<int32_t>(i < sections.size() ? sections[i] : 0));
  set(to, GgufType::I32, std::move(bytes));
  GgufValue *made = findValue(to);
  made->type = GgufType::Array;
  made->count = 4;
  return {};
}

Result<void> DialectReader::cut(const std::string &key) {
  GgufValue *value = findValue(key);
  const GgufTensor *embedding = findTensor(kEmbedding);
  if (!value || !value->isArray() || !embedding || value->count <= embedding->dims[1])
    return {};
  const uint64_t count = embedding->dims[1];
  if (value->elementType == GgufType::String) {
    ByteCursor cursor(value->bytes);
    for (uint64_t i = 0; i < count; ++i) {
      SINTER_ASSIGN(const uint64_t length, cursor.number<uint64_t>("a string's length"));
      SINTER_TRY(cursor.take(length, "a string"));
    }
    value->bytes = value->bytes.first(cursor.offset());
  } else {
    value->bytes = value->bytes.first(count * (value->bytes.size() / value->count));
  }
  value->count = count;
  changed_ = true;
  return {};
}

void DialectReader::sortAgain() {
  const auto sort = [](std::vector<uint32_t> &order, size_t count, const auto &nameOf) {
    order.resize(count);
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {}, nameOf);
  };
  sort(file_.valuesByKey_, file_.values_.size(), [&](uint32_t i) { return file_.values_[i].key; });
  sort(file_.tensorsByName_, file_.tensors_.size(),
       [&](uint32_t i) { return file_.tensors_[i].name; });
}

Result<void> readDialect(GgufFile &file) {
  return DialectReader(file).read();
}

} // namespace sinter
