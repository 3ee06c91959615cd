// Cache of text prefixes, from finished or running texts, for later texts that begin with the same
// tokens: the target's keys and values, and drafter states.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "engine/prefix_tree.h"
#include "engine/text_prefix.h"

namespace foretoken {

// How many of the first `common` tokens of a stored text can serve a session whose `drafter` is to
// read its text from position `read_from` on (see PrefixCache::Find). `kept`, `kept_from`: the
// drafter whose state is stored with the text, and the first position that this state has read.
int UsablePrefix(int common, const Drafter* kept, int kept_from, const Drafter* drafter,
                 int read_from);

// There is one for each pair of target and cache type. An entry is dropped once a longer entry that
// begins with it can serve every session in its place. Eviction is LRU: the least recently used
// entry loses its second half first, and the rest when it is the least recently used again.
//
// Entries are handed out as forks. A session that adopts a fork writes the text, and drafts the
// guesses, that it would if it had computed everything itself.
//
// Thread-safety: one thread. The drafters and the target must outlive this.
class PrefixCache {
 public:
  // `budget`: maximum bytes of all entries.
  explicit PrefixCache(size_t budget) : budget_(budget) {}

  // Stores `left` as the most recently used entry, unless Covers finds an entry that makes this
  // unnecessary. If the budget is exceeded, older entries are evicted, and finally `left` itself if
  // it alone exceeds the budget.
  void Keep(TextPrefix left);
  // Whether a stored entry makes it unnecessary to store `tokens` with a state of `drafter` that
  // has read them from position `read_from` on. If so, marks that entry as used.
  bool Covers(std::span<const Token> tokens, const Drafter* drafter, int read_from);

  // Forks the longest stored prefix of `prompt`, without the prompt's last token, which must be
  // scored for its logits; nullopt if there is none. `drafter`: the drafter of the state that the
  // session needs; null: the session needs no state, and any entry will do. `read_from`: the first
  // token of the prompt that the drafter is to read (Generator::ReadFrom). An entry whose state has
  // not read everything from there on is used only up to `read_from`, so that the drafter never
  // misses tokens that it would have read without the cache. Errors: out of memory; the cache is
  // unchanged, and the session can continue without the prefix.
  Result<std::optional<TextPrefix>> Find(std::span<const Token> prompt, const Drafter* drafter,
                                         int read_from = 0);
  // Returns the length of the prefix that Find would return, 0 if none, and marks its entry as
  // used.
  int Touch(std::span<const Token> prompt, const Drafter* drafter, int read_from = 0);

  // Evicts entries until at most `bytes` are held.
  void ShrinkTo(size_t bytes);

  size_t bytes() const;
  int size() const { return static_cast<int>(entries_.size()); }

 private:
  struct Entry {
    TextPrefix text;
    uint64_t used = 0;  // time of last use, as a count of uses
  };

  // An entry (null: none) and the length of it that can be used.
  struct Match {
    Entry* entry = nullptr;
    int length = 0;
  };

  Match LongestMatch(std::span<const Token> prompt, const Drafter* drafter, int read_from);
  void Drop(int id);
  void Shorten(int id);
  bool IsCovered(const TextPrefix& text, int length, int except) const;
  int Oldest() const;

  size_t budget_;
  uint64_t uses_ = 0;
  int next_id_ = 0;
  std::map<int, Entry> entries_;
  PrefixTree tree_;  // over the entries' tokens
};

}  // namespace foretoken
