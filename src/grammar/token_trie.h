// A vocabulary's tokens by their bytes, so that many are tried together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "text/tokenizer.h"

namespace foretoken {

// Immutable. Holds the tokens that stand for bytes; control and unknown tokens stand for none.
class TokenTrie {
 public:
  // A node is the bytes from the root to it. Nodes lie in depth-first order: a node's descendants
  // are those up to its end.
  struct Node {
    uint32_t end;                     // behind its last descendant
    uint32_t first_token, end_token;  // those that stand for just these bytes; see TokensAt
    uint16_t depth;                   // bytes
    uint8_t byte;                     // the last of them
  };

  // `ends`: the tokens that end an answer, which never stand for text.
  static std::shared_ptr<const TokenTrie> Build(const Tokenizer& tokenizer,
                                                std::span<const Token> ends);

  int vocab() const { return static_cast<int>(pieces_.size()) - 1; }
  // The bytes of a token: none for those that stand for no text.
  std::string_view Piece(Token token) const;
  bool IsEnd(Token token) const { return is_end_[static_cast<size_t>(token)]; }
  // Of them all; at least one.
  std::span<const Token> ends() const { return ends_; }
  // Without the root, which has no byte.
  std::span<const Node> nodes() const { return nodes_; }
  // Tokens whose bytes are those of `node`.
  std::span<const Token> TokensAt(const Node& node) const {
    return std::span(tokens_).subspan(node.first_token, node.end_token - node.first_token);
  }

 private:
  std::string bytes_;                 // of all tokens, end to end
  std::vector<size_t> pieces_;        // [vocab + 1] into bytes_
  std::vector<bool> is_end_;          // [vocab]
  std::vector<Token> ends_, tokens_;  // tokens_: sorted by their bytes
  std::vector<Node> nodes_;
};

}  // namespace foretoken
