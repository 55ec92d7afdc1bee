// Forms of answers that were asked for before.
#pragma once

#include "llm/grammar_constraint.h"

#include <list>
#include <map>
#include <string>

namespace sinter {

// Of one model: forms by the texts that ask for them. Those that were asked for last stay, within
// `mostBytes`. Safe from several threads.
class GrammarForms {
public:
  static constexpr size_t kMostBytes = size_t{64} << 20;

  explicit GrammarForms(size_t mostBytes = kMostBytes) : mostBytes_(mostBytes) {}

  // Of these forms and of those that answers alone have.
  const std::shared_ptr<GrammarBudget> &budget() const { return budget_; }
  // Null where there is none, or a worn one, which goes.
  std::shared_ptr<GrammarForm> find(const std::string &text);
  void add(const std::string &text, std::shared_ptr<GrammarForm> form);
  size_t count() const;
  size_t bytes() const;     // about
  uint64_t dropped() const; // to stay within `mostBytes`, since it was made

private:
  struct Entry {
    std::string text;
    std::shared_ptr<GrammarForm> form;
  };
  size_t bytesOfAll() const;
  void trim();

  const size_t mostBytes_;
  const std::shared_ptr<GrammarBudget> budget_ = std::make_shared<GrammarBudget>();
  mutable std::mutex mutex_;
  std::list<Entry> entries_; // the one asked for last is first
  std::map<std::string_view, std::list<Entry>::iterator> byText_;
  uint64_t dropped_ = 0;
};

} // namespace sinter
