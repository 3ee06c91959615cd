// A cache of the tokens of frequent words for the duration of one call. Keys and values are views
// into the text and the output of that call, so nothing is copied. Its size is bounded: a new word
// replaces the previous one in its slot.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace foretoken {

class WordCache {
 public:
  // `text_bytes`: size of the text that words will be views of. The text must stay valid while the
  // cache lives.
  explicit WordCache(size_t text_bytes)
      : slots_(std::bit_ceil(std::clamp(text_bytes / 16, kMinSlots, kMaxSlots))) {}

  // Appends the tokens of `word` to `out`, from the cache or by calling `encode(word, out)`, which
  // appends. Every call must pass the same `out`, which must only be appended to.
  template <typename Encode>
  void Append(std::string_view word, std::vector<Token>& out, Encode&& encode) {
    Slot& slot = slots_[Hash(word) & (slots_.size() - 1)];
    if (slot.word == word) {
      const size_t end = out.size();
      out.resize(end + slot.count);
      std::copy_n(out.begin() + slot.begin, slot.count, out.begin() + end);
      return;
    }
    const size_t begin = out.size();
    encode(word, out);
    if (word.size() <= kMaxWordBytes) slot = {word, begin, out.size() - begin};
  }

 private:
  static constexpr size_t kMinSlots = 16, kMaxSlots = 32768, kMaxWordBytes = 96;

  struct Slot {
    std::string_view word;
    size_t begin = 0, count = 0;  // position of its tokens in `out`
  };

  static uint64_t Hash(std::string_view word) {
    uint64_t hash = word.size() * 0x9E3779B97F4A7C15ull;
    while (!word.empty()) {
      uint64_t chunk = 0;
      const size_t n = std::min(word.size(), sizeof(chunk));
      std::memcpy(&chunk, word.data(), n);
      hash = (hash ^ chunk) * 0xD6E8FEB86659FD93ull;
      hash ^= hash >> 32;
      word.remove_prefix(n);
    }
    return hash;
  }

  std::vector<Slot> slots_;
};

}  // namespace foretoken
