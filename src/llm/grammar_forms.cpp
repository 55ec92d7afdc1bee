// A list in the order of use. Forms grow while answers use them, so sizes are read anew.
#include "llm/grammar_forms.h"

namespace sinter {

std::shared_ptr<GrammarForm> GrammarForms::find(const std::string &text) {
  const std::lock_guard lock(mutex_);
  const auto found = byText_.find(text);
  if (found == byText_.end())
    return nullptr;
  const auto entry = found->second;
  if (entry->form->isWorn()) {
    byText_.erase(found);
    entries_.erase(entry);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  const std::shared_ptr<GrammarForm> form = entry->form;
  trim(); // it may have grown
  return form;
}

void GrammarForms::add(const std::string &text, std::shared_ptr<GrammarForm> form) {
  const std::lock_guard lock(mutex_);
  if (const auto found = byText_.find(text); found != byText_.end()) { // made twice at a time
    found->second->form = std::move(form);
  } else {
    entries_.push_front({text, std::move(form)});
    byText_.emplace(entries_.front().text, entries_.begin());
  }
  trim();
}

std::shared_ptr<GrammarForm> GrammarForms::findNamed(const std::string &name) {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    const auto found = byName_.find(name);
    if (found == byName_.end())
      return nullptr;
    names_.splice(names_.begin(), names_, found->second);
    text = found->second->second;
  }
  return find(text);
}

void GrammarForms::name(const std::string &name, const std::string &text) {
  const std::lock_guard lock(mutex_);
  if (const auto found = byName_.find(name); found != byName_.end()) {
    found->second->second = text;
    return;
  }
  names_.emplace_front(name, text);
  byName_.emplace(names_.front().first, names_.begin());
  if (names_.size() <= kMostNames)
    return;
  byName_.erase(names_.back().first);
  names_.pop_back();
}

size_t GrammarForms::bytesOfAll() const {
  size_t bytes = 0;
  for (const Entry &entry : entries_)
    bytes += entry.text.size() + entry.form->bytes();
  return bytes;
}

void GrammarForms::trim() {
  size_t bytes = bytesOfAll();
  while (bytes > mostBytes_ && !entries_.empty()) {
    const Entry &last = entries_.back();
    bytes -= std::min(bytes, last.text.size() + last.form->bytes());
    byText_.erase(last.text);
    entries_.pop_back();
    ++dropped_;
  }
}

size_t GrammarForms::count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

size_t GrammarForms::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytesOfAll();
}

uint64_t GrammarForms::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

} // namespace sinter
