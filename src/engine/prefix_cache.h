// What finished or running texts leave for later ones that begin alike: keys and values of the
// target, and what a drafter has made of the text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "engine/prefix_tree.h"
#include "engine/text_prefix.h"

namespace foretoken {

// One a target and a type of cache. Of a target's texts with one drafter, none that another begins
// with is kept twice. What was used longest ago goes first: the second half of it, and the rest
// when it is the oldest again.
//
// What a later text takes over is a fork: with it the text and every guess are those of a session
// that computed all by itself.
//
// Thread-safety: one thread. The drafters and the target outlive this.
class PrefixCache {
 public:
  explicit PrefixCache(size_t budget) : budget_(budget) {}

  // Keeps what a text has left, the latest of all. Where that exceeds the budget, others go, and it
  // goes itself where it is alone too large.
  void Keep(TextPrefix left);
  // Whether a kept text does for every later one what `tokens` would, with a state of `drafter`
  // that was given those from `read_from` on. If so, it counts as used.
  bool Covers(std::span<const Token> tokens, const Drafter* drafter, int read_from);

  // The longest beginning of `prompt` that there is, without its last token, which must be scored
  // for its logits; nothing where there is none. `drafter`: whose state the session needs; null
  // where it has none, and then what any text left will do. `read_from`: the first token of the
  // prompt that the drafter is to read (Generator::ReadFrom). A state that was not given all tokens
  // from there on is taken up to that token alone: what a drafter knows of a text is then no less
  // than without a hit. Errors: out of memory; what is kept stays, and a session can do without.
  Result<std::optional<TextPrefix>> Find(std::span<const Token> prompt, const Drafter* drafter,
                                         int read_from = 0);
  // How long Find's would be. It counts as used, so that others go before it.
  int Touch(std::span<const Token> prompt, const Drafter* drafter, int read_from = 0);

  // Gives memory back until no more than `bytes` are held.
  void ShrinkTo(size_t bytes);

  size_t bytes() const;
  int size() const { return static_cast<int>(entries_.size()); }

 private:
  struct Entry {
    TextPrefix text;
    uint64_t used = 0;  // when: a count of uses
  };

  // What Find forks: an entry, null where there is none, and how much of it.
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
  PrefixTree tree_;  // of their tokens
};

}  // namespace foretoken
