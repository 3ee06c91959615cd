// Which stretches of an answer were copied, and from where in the prompt (PLD+, appendix D).
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

// The copied stretches of at least `least` tokens, in order, as far as they reach: a draft that
// goes on where the last one ended is one stretch with it, the bonus between them included where it
// is the next token of the source. What was copied from the answer itself counts as copied from
// where that was. `tokens`: prompt, then answer; `sources`: see Session.
std::vector<CopiedSpan> CopiedSpans(std::span<const Token> tokens, int prompt,
                                    std::span<const Pos> sources, int least);

// The text of tokens, and how many of its bytes are complete after each of them.
struct TokenText {
  std::string text;
  std::vector<size_t> end;  // [tokens], never inside a character

  size_t begin(size_t token) const { return token == 0 ? 0 : end[token - 1]; }
  std::string_view of(size_t first, size_t last) const {  // tokens [first, last)
    const std::string_view all = text;
    return all.substr(begin(first), begin(last) - begin(first));
  }
};
TokenText TextOf(const Tokenizer& tokenizer, std::span<const Token> tokens);

// {"min_tokens", "prompt", "text", "spans": [{"begin", "end", "source_begin", "source_end",
// "tokens", "text"}]}: offsets count characters (code points), begin and end those of "text", the
// source's those of "prompt". `whole`: the text of prompt and answer.
Json AttributionJson(const TokenText& whole, int prompt, std::span<const CopiedSpan> spans,
                     int least);

}  // namespace foretoken
