// Attribution of copied spans: which tokens of an answer were copied, and from where in the prompt
// (PLD+, appendix D).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/types.h"
#include "text/tokenizer.h"

namespace foretoken {

// Tokens [begin, end) of the answer are tokens [source, source + end - begin) of the prompt.
struct CopiedSpan {
  int begin, end;
  Pos source;
  int length() const { return end - begin; }
  bool operator==(const CopiedSpan&) const = default;
};

// Returns the copied spans of at least `least` tokens, in order, each as long as possible. A draft
// that continues where the previous draft ended belongs to the span of that draft, and so does the
// bonus between them if it is the next token of the source. If a token was copied from the answer,
// its source is that of the token it copies. `tokens`: prompt, then answer; `sources`:
// Session::sources.
std::vector<CopiedSpan> CopiedSpans(std::span<const Token> tokens, int prompt,
                                    std::span<const Pos> sources, int least);

// The text of a sequence of tokens, and where each token ends in it.
struct TokenText {
  std::string text;
  std::vector<size_t> end;  // [tokens] in bytes; never inside a character

  size_t begin(size_t token) const { return token == 0 ? 0 : end[token - 1]; }
  std::string_view of(size_t first, size_t last) const {  // tokens [first, last)
    const std::string_view all = text;
    return all.substr(begin(first), begin(last) - begin(first));
  }
};
TokenText TextOf(const Tokenizer& tokenizer, std::span<const Token> tokens);

// {"min_tokens", "prompt", "text", "spans": [{"begin", "end", "source_begin", "source_end",
// "tokens", "text"}]}. Offsets count characters (code points): "begin" and "end" within "text", the
// source's within "prompt". `whole`: the text of prompt and answer.
Json AttributionJson(const TokenText& whole, int prompt, std::span<const CopiedSpan> spans,
                     int least);

}  // namespace foretoken
