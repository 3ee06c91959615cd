// Search for special tokens spelled out in text: added tokens always, control tokens on request.
// Matches are leftmost first, then longest.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// Thread-safety: const methods on any thread.
class SpecialTokens {
 public:
  explicit SpecialTokens(const TokenizerData& data);

  struct Match {
    size_t begin, end;  // the matched text, including the white space it swallows
    Token token;
  };
  // The first match in `text` at or after `from`. The white space that it swallows begins at `from`
  // or later.
  std::optional<Match> Find(std::string_view text, size_t from, bool with_control) const;

 private:
  struct Node {
    std::vector<std::pair<uint8_t, int32_t>> children;
    Token token = kNoToken;
    bool control = false;
  };
  void Add(std::string_view text, Token token, bool control);
  const Node* Child(const Node& node, uint8_t byte) const;
  // The length in bytes and the id of the longest token at the start of `text`; the length is 0 if
  // there is none.
  std::pair<size_t, Token> LongestAt(std::string_view text, bool with_control) const;

  std::vector<Node> nodes_;
  std::array<bool, 256> starts_{};
  std::vector<Token> lstrip_, rstrip_;  // sorted
};

}  // namespace foretoken
