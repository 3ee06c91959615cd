#include "draft/prediction.h"

#include <algorithm>
#include <cmath>

#include "draft/copy_confidence.h"

namespace foretoken {
namespace {

// Confidence in each token of a run: kFromTheBeginning while the answer has matched the prediction
// from its beginning on, kWellMatched after a match of kLongestMatch tokens or more (B-34). Both
// are higher than the confidence of any copy of the text, so acceptance tables keep separate rates
// for them.
constexpr float kFromTheBeginning = 0.96f, kWellMatched = 0.995f;

}  // namespace

void Prediction::Begin(int prompt) {
  begin_ = followed_ = static_cast<size_t>(given_begin_ < 0 ? prompt : given_begin_);
  cursor_ = matched_ = anchor_ = 0;
  has_diverged_ = false;
}

void Prediction::Follow(std::span<const Token> text) {
  if (tokens_ == nullptr || tokens_->empty()) return;
  while (followed_ < text.size()) Take(text.first(++followed_).subspan(begin_));
}

PredictedRun Prediction::Next() const {
  if (tokens_ == nullptr || (has_diverged_ && matched_ == 0) || cursor_ >= size()) return {};
  float log_q = std::log(kWellMatched);
  if (matched_ < kLongestMatch) {
    log_q = has_diverged_ ? MatchConfidence(matched_) : std::log(kFromTheBeginning);
  }
  return {std::span(*tokens_).subspan(static_cast<size_t>(cursor_)), log_q, cursor_};
}

bool Prediction::Expects(Token token) const {
  const bool is_aligned = !has_diverged_ || matched_ > 0;
  return is_aligned && cursor_ < size() && (*tokens_)[static_cast<size_t>(cursor_)] == token;
}

void Prediction::Take(std::span<const Token> answer) {
  constexpr int kCertainMatch = 3;  // a match of this many tokens is no coincidence
  if (Expects(answer.back())) {
    ++cursor_;
    ++matched_;
  } else {
    has_diverged_ = true;
    Realign(answer);
  }
  if (!has_diverged_ || matched_ >= kCertainMatch) anchor_ = cursor_;
}

void Prediction::Realign(std::span<const Token> answer) {
  const std::span<const Token> predicted = *tokens_;
  cursor_ = anchor_;
  matched_ = 0;
  // The place after the prediction's last token is left out: nothing follows there.
  for (int place = 1; place < size(); ++place) {
    if (predicted[static_cast<size_t>(place) - 1] != answer.back()) continue;
    const auto most = std::min({static_cast<size_t>(place), answer.size(), size_t{kLongestMatch}});
    size_t matched = 1;
    while (matched < most && predicted[static_cast<size_t>(place) - 1 - matched] ==
                                 answer[answer.size() - 1 - matched]) {
      ++matched;
    }
    const int length = static_cast<int>(matched);
    const bool is_nearer = length == matched_ && DistanceOf(place) < DistanceOf(cursor_);
    if (length > matched_ || is_nearer) matched_ = length, cursor_ = place;
  }
}

int Prediction::DistanceOf(int place) const {
  return place > anchor_ ? place - anchor_ : size() + anchor_ - place;
}

}  // namespace foretoken
