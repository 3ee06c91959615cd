// Sources of the copied parts of an answer, as text.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "serve/openai/answer.h"
#include "serve/request.h"
#include "text/tokenizer.h"

namespace foretoken::openai {

// Converts the token-level copies of one answer into code point ranges and source passages.
// Thread-safety: one thread. Borrows the tokenizer.
class CopiedText {
 public:
  CopiedText(const Tokenizer& tokenizer, std::vector<Token> prompt, std::vector<Token> prediction)
      : tokenizer_(tokenizer),
        prompt_(prompt.size()),
        text_(std::move(prompt)),
        prediction_(std::move(prediction)) {}

  // Takes an event's tokens and copies. `characters`: number of code points that the event added to
  // the answer's text. Returns the copies within these characters.
  std::vector<AnswerCopy> Take(const AnswerEvent& event, int characters);

 private:
  // A copied part of the answer, as a code point range of the answer.
  struct Run {
    int begin, end;
    AnswerCopy source;
  };
  Run RunOf(const CopiedRun& copied) const;
  // A short excerpt of the text before or after position `at`, limited by the next control token.
  std::string Before(std::span<const Token> text, size_t at) const;
  std::string After(std::span<const Token> text, size_t at) const;

  const Tokenizer& tokenizer_;
  size_t prompt_;
  std::vector<Token> text_;  // prompt and answer
  std::vector<Token> prediction_;
  std::vector<int> begins_ = {0};  // [answer tokens + 1] code points before each token
  std::deque<Run> pending_;        // copies whose text has not arrived yet
  int shown_ = 0;                  // code points of the answer that have arrived
};

}  // namespace foretoken::openai
