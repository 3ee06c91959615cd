// Running estimate of the length of answers, to decide about work that saves time only over a whole
// answer.
#pragma once

#include <algorithm>

#include "base/json.h"

namespace foretoken {

class AnswerLengths {
 public:
  // Expected number of tokens of an answer that is limited to `limit` tokens.
  double Expected(int limit) const { return std::min<double>(limit, typical_); }
  // Records an answer of `tokens` tokens. The full length of an answer that was cut off is unknown,
  // so such an answer only raises the estimate.
  void Observe(int tokens, bool cut_off) {
    if (cut_off && tokens < typical_) return;
    typical_ += kNewest * (tokens - typical_);
  }

  Json ToJson() const { return typical_; }
  // Restores what ToJson wrote. Returns false, and changes nothing, for anything else.
  bool Restore(const Json& json) {
    if (!json.is_number() || !(json.get<double>() >= 0 && json.get<double>() < 1e9)) return false;
    typical_ = json.get<double>();
    return true;
  }

 private:
  static constexpr double kGuess = 256, kNewest = 0.2;

  double typical_ = kGuess;
};

}  // namespace foretoken
