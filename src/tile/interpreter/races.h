// Finding programs of a grid whose accesses make the outcome depend on the order in which they run.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace sinter::tile {

/// Who read and who wrote each unit (element, or block of them) of one view's memory, by the number
/// of the program, from 1 on. The interpreter runs programs one after the other; on a device they
/// run in any order. Writing what is there already changes no outcome, and is no conflict.
class AccessLog {
public:
  struct Conflict {
    int64_t unit = 0;
    uint32_t other = 0; // the earlier program; kMany: several
    bool otherWrote = false;
  };
  static constexpr uint32_t kMany = UINT32_MAX;

  /// `program`: the one that runs, which outlives the log. Memory is taken as units are used.
  AccessLog(std::string name, uint64_t units, bool isRead, const uint32_t &program)
      : name_(std::move(name)), program_(program), writers_(make(units)),
        readers_(isRead ? make(units) : nullptr), whole_(writers_ && (readers_ || !isRead)) {}

  /// Of the argument, for messages.
  const std::string &name() const { return name_; }
  /// Whether there was memory for it.
  bool whole() const { return whole_; }

  void read(int64_t unit) {
    const uint32_t writer = writers_[unit];
    if (!conflict_ && (writer & kChanged) && (writer & ~kChanged) != program_)
      conflict_ = {unit, writer & ~kChanged, true};
    if (readers_)
      readers_[unit] = readers_[unit] == 0 || readers_[unit] == program_ ? program_ : kMany;
  }
  /// `changes`: whether other bytes stood there.
  void write(int64_t unit, bool changes) {
    const uint32_t writer = writers_[unit] & ~kChanged, reader = readers_ ? readers_[unit] : 0;
    if (!conflict_ && changes && writer && writer != program_)
      conflict_ = {unit, writer, true};
    else if (!conflict_ && changes && reader && reader != program_)
      conflict_ = {unit, reader, false};
    const uint32_t changed = (writer == program_ ? writers_[unit] : 0) & kChanged;
    writers_[unit] = program_ | changed | (changes ? kChanged : 0);
  }
  /// The first one.
  const std::optional<Conflict> &conflict() const { return conflict_; }

private:
  static constexpr uint32_t kChanged = uint32_t(1) << 31; // programs are far fewer
  struct Free {
    void operator()(uint32_t *memory) const { std::free(memory); }
  };
  using Numbers = std::unique_ptr<uint32_t[], Free>;
  static Numbers make(uint64_t units) {
    return Numbers(static_cast<uint32_t *>(std::calloc(units ? units : 1, sizeof(uint32_t))));
  }

  std::string name_;
  const uint32_t &program_;
  Numbers writers_, readers_;
  bool whole_;
  std::optional<Conflict> conflict_;
};

} // namespace sinter::tile
