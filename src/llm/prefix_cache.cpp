// A radix tree over pages, and which of them go first.
#include "llm/prefix_cache.h"

#include "base/check.h"

#include <algorithm>
#include <numeric>

namespace sinter {

struct PrefixCache::Node {
  Node *parent = nullptr; // null: a root
  uint64_t count = 0;     // pages from the first on to this one
  PageId page = {};
  std::optional<StateSlot> state = {};
  Children children = {};
  Children::iterator self = {}; // among the parent's
  std::map<std::string, std::unique_ptr<Node>, std::less<>>::iterator root = {}; // of a root
  uint64_t used = 0;
};

bool PrefixCache::Less::operator()(const KeyView &a, const KeyView &b) const {
  if (a.prefillRows != b.prefillRows)
    return a.prefillRows < b.prefillRows;
  return std::ranges::lexicographical_compare(a.tokens, b.tokens);
}

Result<void> PrefixCache::check(const RunnerLimits &limits) {
  if (limits.kvGroups.size() == 1 && !limits.kvGroups.front().isRing())
    return {};
  return fail(Code::Unsupported, "the model has layers that look back over a window alone, whose "
                                 "pages are filled in turn");
}

PrefixCache::PrefixCache(PagePool &pool, const RunnerLimits &limits)
    : pool_(pool), pageRows_(limits.pageRows), phasesAgree_(limits.phasesAgree),
      hasStates_(limits.stateSlots > 0),
      unitRows_(std::lcm(uint64_t{limits.pageRows}, uint64_t{limits.chunkRows})) {
  SINTER_CHECK(check(limits));
  pool_.setKeeper(this);
}

PrefixCache::~PrefixCache() {
  while (!leaves_.empty())
    remove(*leaves_.begin()->second);
  pool_.setKeeper(nullptr);
}

uint64_t PrefixCache::rowsOf(Place place) const {
  return place ? place->count * pageRows_ : 0;
}

PrefixCache::KeyView PrefixCache::keyOf(const PrefixRows &rows, uint64_t page) const {
  const uint64_t first = page * pageRows_;
  const uint64_t prefilled = rows.prefillRows - std::min(rows.prefillRows, first);
  return {phasesAgree_ ? 0 : std::min(prefilled, pageRows_), rows.tokens.subspan(first, pageRows_)};
}

PrefixCache::Node *PrefixCache::find(const PrefixRows &rows, uint64_t page, Place parent) const {
  if (!parent) {
    const auto root = roots_.find(rows.scope);
    if (root == roots_.end())
      return nullptr;
    parent = root->second.get();
  }
  const auto found = parent->children.find(keyOf(rows, page));
  return found == parent->children.end() ? nullptr : found->second.get();
}

bool PrefixCache::canAdoptState(const Node &node, const SequencePages &pages) const {
  if (!node.state)
    return false;
  // A slot to write beside the one that is read.
  return pages.hasState() || pool_.availableStates() > uint32_t{pool_.isIdle(*node.state)};
}

PrefixCache::Found PrefixCache::adopt(const PrefixRows &rows, uint64_t heldRows, uint64_t mostRows,
                                      Place &place, SequencePages &pages) {
  const uint64_t most = std::min<uint64_t>(mostRows, rows.tokens.size()) / pageRows_;
  uint64_t count = rowsOf(place) / pageRows_;
  std::vector<Node *> walked;
  for (Node *at = place; count < most && (at = find(rows, count, at)); ++count)
    walked.push_back(at);
  Found found{heldRows, count * pageRows_};
  const auto goesOnFrom = [&](const Node &node) {
    return node.count * pageRows_ % unitRows_ == 0 && (!hasStates_ || canAdoptState(node, pages));
  };
  while (!walked.empty() && !goesOnFrom(*walked.back()))
    walked.pop_back();
  if (walked.empty() || rowsOf(walked.back()) <= heldRows)
    return found;
  for (const Node *node : walked)
    pages.adopt(node->count - 1, node->page);
  place = walked.back();
  if (hasStates_)
    pages.adoptState(*place->state);
  setUsed(*place, ++clock_);
  found.rows = rowsOf(place);
  return found;
}

PrefixCache::Node *PrefixCache::add(const PrefixRows &rows, uint64_t page, Place parent,
                                    PageId id) {
  if (!parent) {
    const auto [root, isNew] = roots_.try_emplace(std::string(rows.scope), nullptr);
    if (isNew) {
      root->second = std::make_unique<Node>();
      root->second->root = root;
    }
    parent = root->second.get();
  }
  leaves_.erase({parent->used, parent});
  const KeyView key = keyOf(rows, page);
  const auto [at, isNew] = parent->children.emplace(
      Key{key.prefillRows, {key.tokens.begin(), key.tokens.end()}}, std::make_unique<Node>());
  SINTER_CHECK(isNew);
  Node *node = at->second.get();
  node->parent = parent;
  node->count = page + 1;
  node->page = id;
  node->self = at;
  leaves_.emplace(node->used, node);
  pool_.keep(id);
  ++pages_;
  return node;
}

// Where there are states, only rows count that a state may follow.
void PrefixCache::insert(const PrefixRows &rows, uint64_t heldRows, Place &place,
                         SequencePages &pages) {
  if (hasStates_)
    heldRows = std::min(heldRows, rows.prefillRows) / unitRows_ * unitRows_;
  for (uint64_t page = rowsOf(place) / pageRows_; page < heldRows / pageRows_; ++page) {
    Node *known = find(rows, page, place);
    if (known)
      pages.adopt(page, known->page);
    else
      known = add(rows, page, place, pages.page(page));
    place = known;
  }
  if (place)
    setUsed(*place, ++clock_);
}

void PrefixCache::keepState(Place place, SequencePages &pages) {
  if (!place || place->state)
    return;
  const std::optional<StateSlot> slot = pages.splitState();
  if (!slot)
    return;
  pool_.keepState(*slot);
  place->state = slot;
  states_.emplace(place->used, place);
}

bool PrefixCache::sharesNextPage(const PrefixRows &first, Place firstPlace,
                                 const PrefixRows &second, Place secondPlace) const {
  if (firstPlace != secondPlace || first.scope != second.scope)
    return false;
  const uint64_t page = rowsOf(firstPlace) / pageRows_, end = (page + 1) * pageRows_;
  if (end > std::min<uint64_t>(first.prefillRows, first.tokens.size()) ||
      end >= second.tokens.size())
    return false;
  const KeyView a = keyOf(first, page), b = keyOf(second, page);
  return a.prefillRows == b.prefillRows && std::ranges::equal(a.tokens, b.tokens);
}

// ---- what goes ----

void PrefixCache::setUsed(Node &node, uint64_t when) {
  const bool isLeaf = leaves_.erase({node.used, &node}) > 0;
  const bool hasState = states_.erase({node.used, &node}) > 0;
  node.used = when;
  if (isLeaf)
    leaves_.emplace(when, &node);
  if (hasState)
    states_.emplace(when, &node);
}

void PrefixCache::loseState(Node &node) {
  states_.erase({node.used, &node});
  pool_.dropState(*std::exchange(node.state, std::nullopt));
}

// Its parent was used no less recently.
void PrefixCache::remove(Node &leaf) {
  SINTER_CHECK(leaf.children.empty());
  leaves_.erase({leaf.used, &leaf});
  if (leaf.state)
    loseState(leaf);
  pool_.drop(leaf.page);
  --pages_;
  ++evicted_;
  Node *parent = leaf.parent;
  const uint64_t used = leaf.used;
  parent->children.erase(leaf.self);
  if (!parent->children.empty())
    return;
  if (!parent->parent) {
    roots_.erase(parent->root);
    return;
  }
  setUsed(*parent, std::max(parent->used, used));
  leaves_.emplace(parent->used, parent);
}

// Leaves that sequences hold are in use, so they are not met again soon.
void PrefixCache::dropPage() {
  while (true) {
    SINTER_CHECK(!leaves_.empty());
    Node &node = *leaves_.begin()->second;
    if (pool_.isIdle(node.page))
      return remove(node);
    setUsed(node, ++clock_);
  }
}

void PrefixCache::dropState() {
  while (true) {
    SINTER_CHECK(!states_.empty());
    Node &node = *states_.begin()->second;
    if (pool_.isIdle(*node.state))
      return loseState(node);
    setUsed(node, ++clock_);
  }
}

void PrefixCache::clear() {
  const uint64_t all = pages_;
  for (uint64_t i = 0; i < all && pool_.idlePages() > 0; ++i)
    dropPage();
}

} // namespace sinter
