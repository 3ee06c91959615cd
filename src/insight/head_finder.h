// Finds a model's induction heads for PLD+(a), offline (P-15). Such a head attends to the place in
// the input that the next token is copied from, in the step that writes this token.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace foretoken {

// Which columns of an attention row compete for its maximum.
enum class RowDomain : uint8_t {
  kInput,        // the input but for BOS, which would win as an attention sink
  kFull,         // everything before the token
  kOccurrences,  // the token's places in the input
};

struct HeadSearch {
  int max_new = 128;        // tokens written for each prompt, greedily
  int capacity = 2048;      // longest sequence
  std::vector<Token> stop;  // end of generation
  Token bos = kNoToken;
  RowDomain domain = RowDomain::kInput;
};

struct HeadHits {
  int layer, head;
  int64_t hits;
};
struct HeadReport {
  std::vector<HeadHits> heads;  // every head, most hits first; equals by layer, then head
  int64_t trials = 0;           // written tokens that occur in their input
};

// `progress` is called after each prompt with how many are done. Errors: a prompt that does not
// fit, out of memory.
Result<HeadReport> FindHeads(Model& target, std::span<const std::vector<Token>> prompts,
                             const HeadSearch& search, const std::function<void(int)>& progress);

// The position in text[0, input) that the last token of `text` was most likely copied from: the
// same token, with the longest match between the tokens before it and those before the last token.
// The lowest of equals; -1 where the input does not hold the token.
int CopySource(std::span<const Token> text, int input);

}  // namespace foretoken
