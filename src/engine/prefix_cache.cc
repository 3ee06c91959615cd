#include "engine/prefix_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace foretoken {
namespace {

// Entries are shortened to a multiple of this many tokens; an entry that would become shorter than
// this is dropped.
constexpr int kLeastTokens = 64;

size_t BytesOfPrefix(const TextPrefix& text) {
  const size_t draft = text.draft == nullptr ? 0 : text.drafter->StateBytes(*text.draft);
  return text.cache->bytes_share() + draft + text.tokens.capacity() * sizeof(Token);
}

// Forks the first `length` tokens of `text` for a session with `drafter`.
Result<TextPrefix> ForkOf(const TextPrefix& text, int length, const Drafter* drafter) {
  TextPrefix fork{.tokens = {text.tokens.begin(), text.tokens.begin() + length},
                  .cache = nullptr,
                  .drafter = drafter,
                  .draft = nullptr};
  FT_ASSIGN_OR_RETURN(fork.cache, text.cache->Fork(length));
  if (drafter == nullptr) return fork;
  FT_ASSIGN_OR_RETURN(fork.draft, drafter->Fork(*text.draft, length));
  fork.read_from = text.read_from;
  return fork;
}

// Whether `other`, as far as the tokens agree, can replace for every session a text with a state of
// `drafter` that has read the tokens from `read_from` on.
bool Replaces(const TextPrefix& other, const Drafter* drafter, int read_from) {
  if (drafter == nullptr) return true;
  return other.drafter == drafter && other.read_from <= read_from;
}
bool Replaces(const TextPrefix& other, const TextPrefix& text) {
  return Replaces(other, text.drafter, text.read_from);
}

}  // namespace

int UsablePrefix(int common, const Drafter* kept, int kept_from, const Drafter* drafter,
                 int read_from) {
  if (drafter == nullptr) return common;
  if (kept != drafter) return 0;
  return kept_from <= read_from ? common : std::min(common, read_from);
}

void PrefixCache::Keep(TextPrefix left) {
  if (left.tokens.empty() || Covers(left.tokens, left.drafter, left.read_from)) return;
  std::vector<int> replaced;
  tree_.Visit(left.tokens, [&](int id, int common) {
    const TextPrefix& text = entries_.at(id).text;
    if (common == text.length() && Replaces(left, text)) replaced.push_back(id);
    return true;
  });
  for (const int id : replaced) Drop(id);
  const int id = next_id_++;
  tree_.Insert(left.tokens, id);
  entries_.emplace(id, Entry{std::move(left), ++uses_});
  ShrinkTo(budget_);
}

bool PrefixCache::Covers(std::span<const Token> tokens, const Drafter* drafter, int read_from) {
  bool is_known = false;
  tree_.Visit(tokens, [&](int id, int common) {
    if (common < std::ssize(tokens)) return false;
    Entry& entry = entries_.at(id);
    is_known = Replaces(entry.text, drafter, read_from);
    if (is_known) entry.used = ++uses_;
    return !is_known;
  });
  return is_known;
}

PrefixCache::Match PrefixCache::LongestMatch(std::span<const Token> prompt, const Drafter* drafter,
                                             int read_from) {
  Match best;
  if (prompt.empty()) return best;
  tree_.Visit(prompt.first(prompt.size() - 1), [&](int id, int common) {
    if (common < best.length) return false;  // all that follow have no more in common
    Entry& entry = entries_.at(id);
    const int usable =
        UsablePrefix(common, entry.text.drafter, entry.text.read_from, drafter, read_from);
    const bool is_later =
        best.entry != nullptr && usable == best.length && entry.used > best.entry->used;
    if (usable > best.length || is_later) best = {&entry, usable};
    return true;
  });
  if (best.entry != nullptr) best.entry->used = ++uses_;
  return best;
}

Result<std::optional<TextPrefix>> PrefixCache::Find(std::span<const Token> prompt,
                                                    const Drafter* drafter, int read_from) {
  const Match match = LongestMatch(prompt, drafter, read_from);
  if (match.entry == nullptr) return std::optional<TextPrefix>();
  FT_ASSIGN_OR_RETURN(TextPrefix fork, ForkOf(match.entry->text, match.length, drafter));
  return std::optional<TextPrefix>(std::move(fork));
}

int PrefixCache::Touch(std::span<const Token> prompt, const Drafter* drafter, int read_from) {
  return LongestMatch(prompt, drafter, read_from).length;
}

void PrefixCache::ShrinkTo(size_t bytes) {
  while (!entries_.empty() && this->bytes() > bytes) Shorten(Oldest());
}

size_t PrefixCache::bytes() const {
  size_t sum = 0;
  for (const auto& [id, entry] : entries_) sum += BytesOfPrefix(entry.text);
  return sum;
}

int PrefixCache::Oldest() const {
  const auto used = [](const auto& entry) { return entry.second.used; };
  return std::ranges::min_element(entries_, {}, used)->first;
}

void PrefixCache::Drop(int id) {
  const auto found = entries_.find(id);
  tree_.Erase(found->second.text.tokens, id);
  entries_.erase(found);
}

// Halves an entry. Drops it if the half would be short or covered by another entry, or if there is
// no memory for the fork.
void PrefixCache::Shorten(int id) {
  Entry& entry = entries_.at(id);
  const int half = entry.text.length() / 2 / kLeastTokens * kLeastTokens;
  if (half == 0 || IsCovered(entry.text, half, id)) return Drop(id);
  Result<TextPrefix> fork = ForkOf(entry.text, half, entry.text.drafter);
  if (!fork.ok()) return Drop(id);
  tree_.Erase(entry.text.tokens, id);
  entry.text = *std::move(fork);
  tree_.Insert(entry.text.tokens, id);
}

// Whether an entry other than `except` begins with the first `length` tokens of `text` and can
// replace them.
bool PrefixCache::IsCovered(const TextPrefix& text, int length, int except) const {
  bool is_covered = false;
  const auto tokens = std::span(text.tokens).first(static_cast<size_t>(length));
  tree_.Visit(tokens, [&](int id, int common) {
    if (common < length) return false;
    is_covered = id != except && Replaces(entries_.at(id).text, text);
    return !is_covered;
  });
  return is_covered;
}

}  // namespace foretoken
