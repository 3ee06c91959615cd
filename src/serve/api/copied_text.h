// Where parts of an answer were copied from, as text.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "serve/openai/answer.h"
#include "serve/request.h"
#include "text/tokenizer.h"

namespace foretoken::openai {

// Follows one answer. Thread-safety: one thread. Borrows the tokenizer.
class CopiedText {
 public:
  CopiedText(const Tokenizer& tokenizer, std::vector<Token> prompt, std::vector<Token> prediction)
      : tokenizer_(tokenizer),
        prompt_(prompt.size()),
        text_(std::move(prompt)),
        prediction_(std::move(prediction)) {}

  // Takes an event's tokens and copies. `characters`: code points of the answer that became text
  // with it. Returns the copies in these characters.
  std::vector<AnswerCopy> Take(const AnswerEvent& event, int characters);

 private:
  // A copied part of the answer, in code points from its beginning.
  struct Run {
    int begin, end;
    AnswerCopy source;
  };
  Run RunOf(const CopiedRun& copied) const;
  // Some of the text before position `at`, or after it, to the next control token.
  std::string Before(std::span<const Token> text, size_t at) const;
  std::string After(std::span<const Token> text, size_t at) const;

  const Tokenizer& tokenizer_;
  size_t prompt_;
  std::vector<Token> text_;  // prompt and answer
  std::vector<Token> prediction_;
  std::vector<int> begins_ = {0};  // [tokens of the answer + 1] code points before each
  std::deque<Run> pending_;        // whose text has not come yet
  int shown_ = 0;                  // code points of the answer so far
};

}  // namespace foretoken::openai
