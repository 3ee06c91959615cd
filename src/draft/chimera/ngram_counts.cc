#include "draft/chimera/ngram_counts.h"

#include <charconv>
#include <string_view>
#include <unordered_map>

#include "base/mapped_file.h"

namespace foretoken {
namespace {

// Removes spaces and a number from the beginning of `text` and returns the number; -1 if there is
// none.
int64_t TakeNumber(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool ReadLine(std::string_view line, int n, int vocab, Ngram& ngram) {
  if (TakeNumber(line) < 0) return false;
  for (int i = 0; i < n; ++i) {
    const int64_t token = TakeNumber(line);
    if (token < 0 || token >= vocab) return false;
    ngram[static_cast<size_t>(i)] = static_cast<Token>(token);
  }
  return line.find_first_not_of(" \r") == std::string_view::npos;
}

}  // namespace

std::string CountNgrams(std::span<const std::vector<Token>> documents, int n, size_t most) {
  std::unordered_map<Ngram, int64_t, NgramHash> counts;
  for (const std::vector<Token>& document : documents) {
    for (Pos p = 0; p < std::ssize(document); ++p) {
      ++counts[NgramAt(n, p, [&](Pos at) { return document[static_cast<size_t>(at)]; })];
    }
  }
  std::vector<std::pair<Ngram, int64_t>> ranked(counts.begin(), counts.end());
  const auto kept = ranked.begin() + std::min(std::ssize(ranked), static_cast<ptrdiff_t>(most));
  std::ranges::partial_sort(ranked, kept, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text;
  for (auto it = ranked.begin(); it != kept; ++it) {
    text += std::to_string(it->second);
    for (int i = 0; i < n; ++i) text.append(" ").append(std::to_string(it->first[i]));
    text += '\n';
  }
  return text;
}

Result<std::vector<Ngram>> ReadNgramCounts(const std::string& path, int n, int vocab, int most) {
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  std::vector<Ngram> ngrams;
  std::string_view rest = file.text();
  while (!rest.empty() && std::ssize(ngrams) < most) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!ReadLine(line, n, vocab, ngrams.emplace_back())) {
      return Error{path + ": line " + std::to_string(ngrams.size()) +
                   ": expected a count and the ids of " + std::to_string(n) + " tokens below " +
                   std::to_string(vocab)};
    }
  }
  return ngrams;
}

}  // namespace foretoken
