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
  float log_q = 0;  // confidence in each of them
  Pos at = 0;       // of tokens[0] in the predicted text
};

// Follows one answer through the predicted text: a cursor moves on with every token that comes true
// and is set anew where one does not (B-33). It belongs to a session, not to a drafter's state, so
// that nothing of it is left in what texts share. Thread-safety: one thread.
class Prediction {
 public:
  // Nothing is predicted.
  Prediction() = default;
  // `tokens`: may be null. `begin`: the position of the sequence at which the answer begins; below
  // 0: behind the prompt. It differs from that where a prompt ends with a part of the answer.
  explicit Prediction(std::shared_ptr<const std::vector<Token>> tokens, int begin = -1)
      : tokens_(std::move(tokens)), asked_begin_(begin) {}

  // A text begins, with a prompt of so many tokens.
  void Begin(int prompt);
  // Takes the tokens by which `text`, prompt included, is longer than at the last call. The others
  // are those of that call.
  void Follow(std::span<const Token> text);
  // What follows the last token if the answer goes on as predicted; empty where it is not known
  // where in the prediction the answer is. Valid until the next call of the other functions.
  PredictedRun Next() const;

 private:
  int size() const { return static_cast<int>(tokens_->size()); }
  bool Expects(Token token) const;
  // Takes the last token of `answer`.
  void Take(std::span<const Token> answer);
  // Sets the cursor behind the place that most tokens at the end of `answer` match.
  void Realign(std::span<const Token> answer);
  // How far a place is from the anchor: those ahead of it come first.
  int DistanceOf(int place) const;

  std::shared_ptr<const std::vector<Token>> tokens_;
  int asked_begin_ = -1;
  size_t begin_ = 0;     // of the answer in the text
  size_t followed_ = 0;  // tokens of the text that were taken, the prompt's included
  int cursor_ = 0;       // the predicted token that comes next
  int matched_ = 0;      // tokens before the cursor that are the last of the answer
  int anchor_ = 0;       // the last cursor that was beyond doubt
  bool has_diverged_ = false;
};

}  // namespace foretoken
