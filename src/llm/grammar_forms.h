// Forms of answers that were asked for before.
#pragma once

#include "llm/grammar_constraint.h"

#include <list>
#include <map>
#include <string>

namespace sinter {

// Of one model: forms by the texts of their grammars. Those that were asked for last stay, within
// `mostBytes`, and so do the names of the last kMostNames requests. Safe from several threads.
class GrammarForms {
public:
  static constexpr size_t kMostBytes = size_t{64} << 20;
  static constexpr size_t kMostNames = 1024;

  explicit GrammarForms(size_t mostBytes = kMostBytes) : mostBytes_(mostBytes) {}

  // Of these forms and of those that answers alone have.
  const std::shared_ptr<GrammarBudget> &budget() const { return budget_; }
  // Null where there is none, or a worn one, which goes.
  std::shared_ptr<GrammarForm> find(const std::string &text);
  void add(const std::string &text, std::shared_ptr<GrammarForm> form);
  // The same by a request's name, so that its grammar need not be made again to find the form; both
  // are digests, so names take little.
  std::shared_ptr<GrammarForm> findNamed(const std::string &name);
  void name(const std::string &name, const std::string &text);
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
  std::list<std::pair<std::string, std::string>> names_; // with texts, the one used last is first
  std::map<std::string_view, decltype(names_)::iterator> byName_;
};

} // namespace sinter
