// A trie of a vocabulary's tokens by their bytes, so that many tokens are matched together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "text/tokenizer.h"

namespace foretoken {

// Immutable. Contains the tokens that represent bytes; control and unknown tokens represent none.
class TokenTrie {
 public:
  // A node represents the bytes on the path from the root. Nodes are in depth-first order: the
  // descendants of a node come directly after it, up to its `end`.
  struct Node {
    uint32_t end;                     // index after its last descendant
    uint32_t first_token, end_token;  // tokens of exactly these bytes; see TokensAt
    uint16_t depth;                   // bytes
    uint8_t byte;                     // the last byte
  };

  // `ends`: the tokens that end an answer, which never represent text.
  static std::shared_ptr<const TokenTrie> Build(const Tokenizer& tokenizer,
                                                std::span<const Token> ends);

  int vocab() const { return static_cast<int>(pieces_.size()) - 1; }
  // The bytes of a token; "" for tokens that represent no text.
  std::string_view Piece(Token token) const;
  bool IsEnd(Token token) const { return is_end_[static_cast<size_t>(token)]; }
  // All end tokens; may be empty.
  std::span<const Token> ends() const { return ends_; }
  // All nodes except the root.
  std::span<const Node> nodes() const { return nodes_; }
  // The tokens whose bytes are exactly those of `node`.
  std::span<const Token> TokensAt(const Node& node) const {
    return std::span(tokens_).subspan(node.first_token, node.end_token - node.first_token);
  }

 private:
  std::string bytes_;                 // bytes of all tokens, concatenated
  std::vector<size_t> pieces_;        // [vocab + 1] into bytes_
  std::vector<bool> is_end_;          // [vocab]
  std::vector<Token> ends_, tokens_;  // tokens_: sorted by their bytes
  std::vector<Node> nodes_;
};

}  // namespace foretoken
