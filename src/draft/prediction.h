// The text that a request expects its answer to repeat, and how far the answer has followed it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/types.h"

namespace foretoken {

// A part of a predicted text.
struct PredictedRun {
  std::span<const Token> tokens;
  float log_q = 0;  // log-probability of each token
  Pos at = 0;       // position of tokens[0] in the predicted text
};

// Follows one answer through the predicted text: a cursor advances with every token that matches
// and is realigned where one does not (B-33). It belongs to a session and not to a drafter's state,
// so that state shared between texts does not contain it. Thread-safety: one thread.
class Prediction {
 public:
  // Predicts nothing.
  Prediction() = default;
  // `tokens`: may be null. `begin`: position of the sequence at which the answer begins; below 0:
  // right after the prompt. The answer begins before the prompt's end if the prompt already ends
  // with a part of it.
  explicit Prediction(std::shared_ptr<const std::vector<Token>> tokens, int begin = -1)
      : tokens_(std::move(tokens)), given_begin_(begin) {}

  // Begins a text whose prompt has `prompt` tokens.
  void Begin(int prompt);
  // Consumes the tokens by which `text`, prompt included, has grown since the last call. Its
  // earlier tokens must be unchanged.
  void Follow(std::span<const Token> text);
  // The tokens that follow if the answer continues as predicted; empty if the answer's place in the
  // prediction is unknown. Valid until the next call of a non-const member.
  PredictedRun Next() const;

 private:
  int size() const { return static_cast<int>(tokens_->size()); }
  bool Expects(Token token) const;
  // Consumes the last token of `answer`.
  void Take(std::span<const Token> answer);
  // Moves the cursor to the place whose preceding tokens match the longest end of `answer`; among
  // equals, to the one with the smallest DistanceOf.
  void Realign(std::span<const Token> answer);
  // Distance of a place from anchor_. Places up to anchor_ count as farther than all places after
  // it.
  int DistanceOf(int place) const;

  std::shared_ptr<const std::vector<Token>> tokens_;
  int given_begin_ = -1;
  size_t begin_ = 0;     // position in the text at which the answer begins
  size_t followed_ = 0;  // tokens of the text that were consumed, the prompt's included
  int cursor_ = 0;       // index of the predicted token that comes next
  int matched_ = 0;      // tokens before the cursor that equal the end of the answer
  int anchor_ = 0;       // the cursor when its place was last certain
  bool has_diverged_ = false;
};

}  // namespace foretoken
