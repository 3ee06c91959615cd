// Offline search for a model's induction heads, for PLD+(a) (P-15): heads that, in the step that
// writes a token, attend to the input position that the token is copied from.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace foretoken {

// The columns of an attention row among which the maximum is taken.
enum class RowDomain : uint8_t {
  kInput,        // the input without BOS, which would win as an attention sink
  kFull,         // all positions before the token
  kOccurrences,  // positions of the token in the input
};

struct HeadSearch {
  int max_new = 128;        // most greedy tokens per prompt
  int capacity = 2048;      // tokens of the longest sequence
  std::vector<Token> stop;  // stop tokens
  Token bos = kNoToken;
  RowDomain domain = RowDomain::kInput;
};

struct HeadHits {
  int layer, head;
  int64_t hits;
};
struct HeadReport {
  std::vector<HeadHits> heads;  // every head, most hits first; ties by layer, then head
  int64_t trials = 0;           // written tokens that occur in their input
};

// Calls `progress` after each prompt with the number done. Errors: a prompt that does not fit, out
// of memory.
Result<HeadReport> FindHeads(Model& target, std::span<const std::vector<Token>> prompts,
                             const HeadSearch& search, const std::function<void(int)>& progress);

// The position in text[0, input) that the last token of `text` was most likely copied from: the
// occurrence of that token with the longest common suffix before it; the first of equals, or -1 if
// the input does not contain the token.
int CopySource(std::span<const Token> text, int input);

}  // namespace foretoken
