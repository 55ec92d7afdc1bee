// Objects that several schemas allow: members in the order of their names' list, then others.
#include "grammar/regex.h"
#include "grammar/schema_compiler.h"
#include "grammar/schema_parts.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

// Patterns of names that can hold side by side: each name has or has not each of them.
constexpr size_t kMostPatterns = 6;
constexpr size_t kMostNames = 4'000;

bool has(const std::vector<std::string> &names, const std::string &name) {
  return std::ranges::find(names, name) != names.end();
}

} // namespace

Result<void> SchemaCompiler::addNames(const Schema &schema, Shape &shape) const {
  SINTER_ASSIGN(const jinja::Input::Object *properties, doc_.objectAt(schema, "properties"));
  if (properties && shape.names.size() + properties->size() > kMostNames)
    return doc_.error(schema, "properties",
                      std::to_string(shape.names.size() + properties->size()) +
                          " properties, expected at most " + std::to_string(kMostNames),
                      Code::Unsupported);
  for (size_t i = 0; properties && i < properties->size(); ++i)
    if (!has(shape.names, (*properties)[i].first))
      shape.names.push_back((*properties)[i].first);
  SINTER_ASSIGN(const jinja::Input::Object *patterns, doc_.objectAt(schema, "patternProperties"));
  for (size_t i = 0; patterns && i < patterns->size(); ++i) {
    const std::string &pattern = (*patterns)[i].first;
    auto found =
        std::ranges::find(shape.patterns, pattern, &std::pair<std::string, SchemaSet>::first);
    if (found == shape.patterns.end())
      found = shape.patterns.insert(found, {pattern, {}});
    found->second.push_back(&schema);
  }
  if (const Schema *names = schema.find("propertyNames"))
    shape.nameRules.push_back(names);
  return {};
}

Result<void> SchemaCompiler::addMember(const Schema &schema, Shape &shape) const {
  const jinja::Input *found = doc_.ownKeyword(schema, kMember);
  if (!found)
    return {};
  if (shape.member)
    return doc_.error(schema, "additionalProperties",
                      "it and others must all fail, which is supported for one at a time",
                      Code::Unsupported);
  shape.member = {found->find("name"), found->find("value")};
  return {};
}

Result<SchemaCompiler::Shape> SchemaCompiler::shapeOf(const SchemaSet &all) const {
  Shape shape;
  for (const Schema *schema : all) {
    SINTER_TRY(addNames(*schema, shape));
    SINTER_TRY(addMember(*schema, shape));
    SINTER_ASSIGN(const std::optional<uint32_t> least, doc_.countAt(*schema, "minProperties"));
    SINTER_ASSIGN(const std::optional<uint32_t> most, doc_.countAt(*schema, "maxProperties"));
    shape.least = std::max(shape.least, least.value_or(0));
    shape.most = std::min(shape.most, most.value_or(kUnbounded));
  }
  for (const Schema *schema : all) {
    SINTER_ASSIGN(const jinja::Input::List *required, doc_.listAt(*schema, "required"));
    if (required && required->size() > kMostNames)
      return doc_.error(*schema, "required",
                        std::to_string(required->size()) + " names, expected at most " +
                            std::to_string(kMostNames),
                        Code::Unsupported);
    for (size_t i = 0; required && i < required->size(); ++i) {
      const std::string *name = (*required)[i].text();
      if (!name)
        return doc_.error(*schema, "required", "expected a list of names");
      if (!has(shape.required, *name))
        shape.required.push_back(*name);
      if (!has(shape.names, *name))
        shape.names.push_back(*name);
    }
  }
  return shape;
}

ExprId SchemaCompiler::member(ExprId key, ExprId value, const ObjectWriting &writing) {
  return g_.sequence({{key, text_.space(), g_.text(writing.assign), text_.space(), value}});
}

const Schema &SchemaCompiler::anyText() const {
  return doc_.keep(doc_.root(), objectOf({{"type", textOf("string")}}));
}

Result<bool> SchemaCompiler::hasPattern(const Schema &owner, const std::string &pattern,
                                        const std::string &name) {
  const auto [known, isNew] = patterns_.try_emplace(pattern);
  if (isNew) {
    Grammar grammar;
    const Result<ExprId> match = parseRegex(grammar, pattern, RegexUse::Found);
    if (!match)
      return doc_.error(owner, "patternProperties", match.error().toString(), match.error().code);
    grammar.setRoot(*match);
    SINTER_ASSIGN(known->second, matcherOf(std::move(grammar)));
  }
  return matches(known->second, name);
}

// Of each schema what it says of this name: by the name, by patterns, else of additional ones.
Result<SchemaSet> SchemaCompiler::propertySchemas(const SchemaSet &all, const std::string &name) {
  SchemaSet schemas;
  for (const Schema *schema : all) {
    const jinja::Input *properties = schema->find("properties");
    const Schema *own = properties ? properties->find(name) : nullptr;
    bool isKnown = own != nullptr;
    if (own)
      schemas.push_back(own);
    const jinja::Input *patterns = schema->find("patternProperties");
    for (size_t i = 0; patterns && patterns->object() && i < patterns->object()->size(); ++i) {
      const auto &[pattern, value] = (*patterns->object())[i];
      SINTER_ASSIGN(const bool isHit, hasPattern(*schema, pattern, name));
      if (isHit)
        schemas.push_back(&value);
      isKnown = isKnown || isHit;
    }
    if (const Schema *others = schema->find("additionalProperties"); others && !isKnown)
      schemas.push_back(others);
  }
  return schemas;
}

// What values satisfy whose names have the patterns of `kind`, as bits, and no other; nothing where
// there are none.
Result<std::optional<SchemaSet>>
SchemaCompiler::schemasOfKind(const SchemaSet &all, const Shape &shape, size_t kind) const {
  SchemaSet schemas, hit;
  for (size_t i = 0; i < shape.patterns.size(); ++i) {
    if (!(kind >> i & 1))
      continue;
    for (const Schema *owner : shape.patterns[i].second) {
      schemas.push_back(owner->find("patternProperties")->find(shape.patterns[i].first));
      hit.push_back(owner);
    }
  }
  for (const Schema *schema : all)
    if (const Schema *others = schema->find("additionalProperties");
        others && std::ranges::find(hit, schema) == hit.end())
      schemas.push_back(others);
  const bool isOut = std::ranges::any_of(schemas, [](const Schema *schema) {
    const bool *truth = std::get_if<bool>(&schema->content());
    return truth && !*truth;
  });
  return isOut ? std::nullopt : std::optional(std::move(schemas));
}

// A key of that content, such as the rules of names want it.
Result<ExprId> SchemaCompiler::keyOf(const Shape &shape, const Member *member, ExprId content,
                                     const ObjectWriting &writing) {
  const ExprId key = text_.anyKey(content, writing);
  SchemaSet names = shape.nameRules;
  if (member)
    names.push_back(member->name);
  if (names.empty())
    return key;
  if (!writing.quotesKeys)
    return doc_.error(*names.front(), "propertyNames",
                      "it is not supported where a call's keys stand without quotes",
                      Code::Unsupported);
  names.push_back(&anyText());
  SINTER_ASSIGN(const ExprId allowed, valueOf(names));
  return g_.both(key, allowed);
}

// Members whose names the schemas do not list: one kind for each set of patterns that a name has.
// `wanted`: such as there must be one.
Result<std::optional<ExprId>> SchemaCompiler::otherMember(const SchemaSet &all, const Shape &shape,
                                                          const Member *wanted,
                                                          const ObjectWriting &writing) {
  if (shape.patterns.size() > kMostPatterns)
    return doc_.error(*shape.patterns.front().second.front(), "patternProperties",
                      std::to_string(shape.patterns.size()) +
                          " patterns of names hold together, expected at most " +
                          std::to_string(kMostPatterns),
                      Code::Unsupported);
  std::vector<std::string> known;
  std::vector<ExprId> matching, ways;
  for (const std::string &name : shape.names)
    known.push_back(text_.contentText(name));
  for (const auto &[pattern, owners] : shape.patterns) {
    const Result<ExprId> match = parseRegex(g_, pattern, RegexUse::Found, text_.characters());
    if (!match)
      return doc_.error(*owners.front(), "patternProperties", match.error().toString(),
                        match.error().code);
    matching.push_back(*match);
  }
  for (size_t kind = 0; kind < size_t{1} << matching.size(); ++kind) {
    ExprId key = text_.anyCharacters(0, kUnbounded);
    if (!known.empty())
      key = g_.except(key, textsExpr(g_, known));
    for (size_t i = 0; i < matching.size(); ++i)
      key = kind >> i & 1 ? g_.both(key, matching[i]) : g_.except(key, matching[i]);
    SINTER_ASSIGN(auto schemas, schemasOfKind(all, shape, kind));
    if (!schemas)
      continue;
    if (wanted)
      schemas->push_back(wanted->value);
    SINTER_ASSIGN(const ExprId name, keyOf(shape, wanted, key, writing));
    SINTER_ASSIGN(const ExprId value, valueOf(*schemas));
    ways.push_back(member(name, value, writing));
  }
  return ways.empty() ? std::nullopt : std::optional(g_.choice(ways));
}

// What may follow is told by the number of names that were passed, by whether the member that there
// must be was written, and, as far as counts matter, by the number of members that were. Others may
// have equal names, of which readers take the last one: so the member that there must be is the
// last, and all of them together are sure to count as one.
class SchemaCompiler::ObjectWriter {
public:
  ObjectWriter(SchemaCompiler &compiler, const SchemaSet &all, const Shape &shape,
               const ObjectWriting &writing)
      : c_(compiler), g_(compiler.g_), all_(all), shape_(shape), writing_(writing),
        wanted_(shape.member ? &*shape.member : nullptr),
        counts_(shape.least > 0 || shape.most != kUnbounded),
        cap_(counts_ ? std::max<size_t>(shape.names.size(), 1) : 1) {
    comma_ = g_.sequence({{c_.text_.space(), g_.text(","), c_.text_.space()}});
  }

  Result<ExprId> write() {
    SINTER_TRY(prepare());
    if (shape_.least > shape_.names.size() && !other_)
      return g_.choice({});
    for (const bool isDone : {false, true})
      for (size_t written = 0; written <= cap_; ++written)
        after_[isDone].push_back(isDone || wanted_ ? othersAfter(written, isDone) : ExprId());
    for (size_t i = shape_.names.size(); i-- > 0;)
      SINTER_TRY(addName(i));
    return g_.sequence({{g_.text(writing_.open), c_.text_.space(), after_[!wanted_][0],
                         c_.text_.space(), g_.text(writing_.close)}});
  }

private:
  Result<void> prepare() {
    SINTER_ASSIGN(other_, c_.otherMember(all_, shape_, nullptr, writing_));
    if (wanted_) {
      SINTER_ASSIGN(last_, c_.otherMember(all_, shape_, wanted_, writing_));
      SINTER_ASSIGN(wantedNames_, c_.matcherOf({wanted_->name}));
    }
    if (!shape_.nameRules.empty()) {
      SINTER_ASSIGN(names_, c_.matcherOf(shape_.nameRules));
    }
    if (other_ && shape_.least > shape_.required.size() + 1)
      return c_.doc_.error(*all_.front(), "minProperties",
                           "it is supported up to one more than what is required, unless "
                           "additionalProperties is false, since other names may come twice",
                           Code::Unsupported);
    return {};
  }

  ExprId after(size_t written, ExprId one) {
    return written > 0 ? g_.sequence({{comma_, one}}) : one;
  }
  ExprId some(size_t written, uint32_t more) {
    return g_.sequence(
        {{after(written, *other_), g_.repeat(g_.sequence({{comma_, *other_}}), 0, more)}});
  }

  ExprId othersAfter(size_t written, bool isDone) {
    const uint32_t left = shape_.most == kUnbounded
                              ? kUnbounded
                              : shape_.most - std::min<uint32_t>(shape_.most, uint32_t(written));
    const bool isShort = written + 1 < shape_.least; // by more than one
    if (!isDone) {
      if (!last_ || left == 0 || isShort)
        return g_.choice({});
      const ExprId alone = after(written, *last_);
      if (left == 1)
        return alone;
      const ExprId before = some(written, left == kUnbounded ? left : left - 2);
      return g_.choice({{alone, g_.sequence({{before, comma_, *last_}})}});
    }
    if (!other_ || left == 0)
      return written < shape_.least ? g_.choice({}) : g_.empty();
    const ExprId others = some(written, left == kUnbounded ? left : left - 1);
    if (isShort)
      return g_.choice({});
    return written < shape_.least ? others : g_.repeat(others, 0, 1);
  }

  // Ways to write a name's member: as the schemas say, and such as there must be one.
  struct Ways {
    ExprId any, wanted;
    bool isRequired;
  };
  Result<Ways> waysOf(const std::string &name) {
    const std::string quoted = jsonLiteral(jinja::Input(name));
    const ExprId key = c_.text_.key(name, writing_);
    Ways ways{g_.choice({}), {}, has(shape_.required, name)};
    if (!shape_.nameRules.empty()) {
      SINTER_ASSIGN(const bool isAllowed, matches(names_, quoted));
      if (!isAllowed)
        return ways;
    }
    SINTER_ASSIGN(SchemaSet schemas, c_.propertySchemas(all_, name));
    SINTER_ASSIGN(const ExprId value, c_.valueOf(schemas));
    ways.any = c_.member(key, value, writing_);
    SINTER_ASSIGN(const bool isWanted, matches(wantedNames_, quoted));
    if (!isWanted)
      return ways;
    schemas.push_back(wanted_->value);
    SINTER_ASSIGN(const ExprId wanted, c_.valueOf(schemas));
    ways.wanted = c_.member(key, wanted, writing_);
    return ways;
  }

  Result<void> addName(size_t i) {
    SINTER_ASSIGN(const Ways ways, waysOf(shape_.names[i]));
    std::vector<ExprId> before[2];
    for (const bool isDone : {false, true})
      for (size_t written = 0; written <= cap_; ++written) {
        const bool isReached = (isDone || wanted_) && (!counts_ || written <= i);
        before[isDone].push_back(isReached ? nameAfter(ways, written, isDone) : ExprId());
      }
    after_[0] = std::move(before[0]);
    after_[1] = std::move(before[1]);
    return {};
  }

  ExprId nameAfter(const Ways &ways, size_t written, bool isDone) {
    const size_t next = std::min(written + 1, cap_);
    std::vector<ExprId> all;
    if (written < shape_.most) {
      all.push_back(g_.sequence({{after(written, ways.any), after_[isDone][next]}}));
      if (!isDone && ways.wanted != ExprId())
        all.push_back(g_.sequence({{after(written, ways.wanted), after_[1][next]}}));
    }
    if (!ways.isRequired)
      all.push_back(after_[isDone][written]);
    return g_.choice(all);
  }

  SchemaCompiler &c_;
  Grammar &g_;
  const SchemaSet &all_;
  const Shape &shape_;
  const ObjectWriting &writing_;
  const Member *wanted_;
  const bool counts_;
  const size_t cap_; // counts beyond it are alike: a member was written, so a comma comes
  ExprId comma_;
  std::optional<ExprId> other_, last_;
  Matcher names_, wantedNames_;
  std::vector<ExprId> after_[2]; // by whether the wanted one was written, and by members written
};

Result<ExprId> SchemaCompiler::object(const SchemaSet &all, const ObjectWriting &writing) {
  SINTER_ASSIGN(const Shape shape, shapeOf(all));
  return ObjectWriter(*this, all, shape, writing).write();
}

} // namespace sinter::grammar
