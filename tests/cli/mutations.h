// Seeded mutations of files, for tests that whatever a reader is given it ends by itself and says
// why, within memory and time. The same seed gives the same files everywhere.
#pragma once

#include "cli/child.h"

#include <charconv>
#include <random>
#include <sys/resource.h>

namespace sinter {

using MutationRandom = std::mt19937_64;

// How many files a test tries: $SINTER_MUTATIONS, or a sample that takes a second or two.
inline int mutationRounds(int sample) {
  const char *text = std::getenv("SINTER_MUTATIONS");
  int rounds = sample;
  if (text && std::from_chars(text, text + std::strlen(text), rounds).ec != std::errc())
    ADD_FAILURE() << "SINTER_MUTATIONS is '" << text << "', expected a whole number";
  return rounds;
}

inline size_t below(MutationRandom &random, size_t end) {
  return end ? random() % end : 0;
}

// Numbers at which readers go wrong, little-endian in the width asked for.
inline std::string wildNumber(MutationRandom &random, size_t bytes) {
  constexpr uint64_t kWild[] = {0,          1,          0x7f,           0x80,       0xff,
                                0x7fffffff, 0x80000000, 0xffffffff,     1ull << 32, 1ull << 40,
                                1ull << 62, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
  const uint64_t value = random() % 4 ? kWild[below(random, std::size(kWild))] : random();
  std::string text;
  for (size_t i = 0; i < bytes; ++i)
    text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

// Some bytes changed in place, of those that `mayChange`.
inline void changeBytes(std::string &bytes, MutationRandom &random,
                        const std::function<bool(size_t)> &mayChange) {
  constexpr size_t kWidths[] = {1, 1, 4, 8};
  for (size_t left = 1 + random() % 3; left > 0; --left) {
    const std::string number = wildNumber(random, kWidths[random() % 4]);
    const size_t at = below(random, bytes.size());
    for (size_t i = 0; i < number.size() && at + i < bytes.size(); ++i)
      if (mayChange(at + i))
        bytes[at + i] = number[i];
  }
}

// Bytes changed, taken away, repeated or cut off.
inline std::string mutatedBytes(std::string bytes, MutationRandom &random) {
  const size_t at = below(random, bytes.size());
  const size_t count = std::min<size_t>(1 + random() % 64, bytes.size() - at);
  switch (random() % 6) {
  case 0:
    return bytes.erase(at, count);
  case 1:
    return bytes.insert(at, bytes.substr(at, count));
  case 2:
    return bytes.substr(0, at);
  default:
    changeBytes(bytes, random, [](size_t) { return true; });
    return bytes;
  }
}

// The words of a program's text: names, numbers, and single other characters, white space before
// each kept with it.
inline std::vector<std::string> wordsOf(const std::string &text) {
  const auto isName = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '%' || c == '@';
  };
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])))
      ++end;
    const size_t word = end;
    while (end < text.size() && isName(text[end]))
      ++end;
    end = end == word ? std::min(end + 1, text.size()) : end;
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// Words exchanged, dropped, repeated, or numbers changed, so that much of the text still parses.
inline std::string mutatedText(const std::string &text, MutationRandom &random) {
  constexpr const char *kNumbers[] = {
      " 0", " 1", " 3", " 7", " 64", " -1", " 4096", " 2147483648", " 9223372036854775807"};
  std::vector<std::string> words = wordsOf(text);
  for (size_t left = 1 + random() % 2; left > 0 && !words.empty(); --left) {
    const size_t at = below(random, words.size()), other = below(random, words.size());
    const size_t digit = words[at].find_first_of("0123456789");
    switch (random() % 5) {
    case 0:
      words.erase(words.begin() + static_cast<ptrdiff_t>(at));
      break;
    case 1:
      words[at] = words[other];
      break;
    case 2:
      std::swap(words[at], words[other]);
      break;
    case 3:
      words.insert(words.begin() + static_cast<ptrdiff_t>(at), words[other]);
      break;
    default:
      if (digit != std::string::npos)
        words[at].replace(digit, std::string::npos,
                          kNumbers[below(random, std::size(kNumbers))] + 1);
      break;
    }
  }
  std::string mutated;
  for (const std::string &word : words)
    mutated += word;
  return mutated;
}

// A child that reads a mutated file gets no more than this.
inline void limitReader(ChildOptions &options, rlim_t cpuSeconds) {
  options.before = [cpuSeconds] {
    const auto limit = [](__rlimit_resource resource, rlim_t value) {
      const rlimit both = {value, value};
      setrlimit(resource, &both);
    };
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, cpuSeconds);
    limit(RLIMIT_FSIZE, rlim_t(64) << 20);
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer) &&                         \
    !__has_feature(thread_sanitizer) // which reserve terabytes
    limit(RLIMIT_AS, rlim_t(4) << 30);
#endif
  };
}

// It ended by itself, with a documented exit code, and where that is not 0 said why, or which
// results are bad.
inline bool isHeld(const Outcome &outcome) {
  return outcome.signal == 0 && !outcome.late && outcome.code >= 0 && outcome.code <= 2 &&
         (outcome.code == 0 || !outcome.err.empty() || !outcome.out.empty());
}

} // namespace sinter
