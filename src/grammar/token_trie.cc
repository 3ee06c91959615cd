#include "grammar/token_trie.h"

#include <algorithm>

#include "base/check.h"

namespace foretoken {

std::shared_ptr<const TokenTrie> TokenTrie::Build(const Tokenizer& tokenizer,
                                                  std::span<const Token> ends) {
  constexpr size_t kLongest = UINT16_MAX;  // bytes of a token; longer tokens are left out
  auto trie = std::make_shared<TokenTrie>();
  const auto vocab = static_cast<size_t>(tokenizer.vocab_size());
  trie->is_end_.resize(vocab);
  for (const Token end : ends) {
    if (end < 0 || static_cast<size_t>(end) >= vocab || trie->is_end_[static_cast<size_t>(end)]) {
      continue;
    }
    trie->is_end_[static_cast<size_t>(end)] = true;
    trie->ends_.push_back(end);
  }
  trie->pieces_.push_back(0);
  for (size_t t = 0; t < vocab; ++t) {
    if (!trie->is_end_[t]) {
      const std::string piece = tokenizer.Piece(static_cast<Token>(t));
      if (piece.size() <= kLongest) trie->bytes_ += piece;
    }
    trie->pieces_.push_back(trie->bytes_.size());
    if (trie->pieces_[t + 1] > trie->pieces_[t]) trie->tokens_.push_back(static_cast<Token>(t));
  }
  std::ranges::stable_sort(trie->tokens_, {}, [&](Token t) { return trie->Piece(t); });

  std::vector<uint32_t> path;  // nodes from the root to the most recent one
  std::string_view last;
  const auto close = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back()) {
      trie->nodes_[path.back()].end = static_cast<uint32_t>(trie->nodes_.size());
    }
  };
  for (size_t i = 0; i < trie->tokens_.size(); ++i) {
    const std::string_view piece = trie->Piece(trie->tokens_[i]);
    const auto common = std::ranges::mismatch(last, piece).in1 - last.begin();
    close(static_cast<size_t>(common));
    for (size_t depth = path.size(); depth < piece.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(trie->nodes_.size()));
      const auto first = static_cast<uint32_t>(i);
      trie->nodes_.push_back(
          {0, first, first, static_cast<uint16_t>(depth + 1), static_cast<uint8_t>(piece[depth])});
    }
    trie->nodes_[path.back()].end_token = static_cast<uint32_t>(i + 1);
    last = piece;
  }
  close(0);
  return trie;
}

std::string_view TokenTrie::Piece(Token token) const {
  const auto t = static_cast<size_t>(token);
  return std::string_view(bytes_).substr(pieces_[t], pieces_[t + 1] - pieces_[t]);
}

}  // namespace foretoken
