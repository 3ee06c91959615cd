// How many tokens answers have, so that work which pays off over an answer can be weighed.
#pragma once

#include <algorithm>

#include "base/json.h"

namespace foretoken {

class AnswerLengths {
 public:
  // Tokens to expect of an answer that may have `limit` at most.
  double Expected(int limit) const { return std::min<double>(limit, typical_); }
  // An answer came to so many tokens, or was cut off at them: then it might have been longer.
  void Observe(int tokens, bool cut_off) {
    if (cut_off && tokens < typical_) return;
    typical_ += kNewest * (tokens - typical_);
  }

  Json ToJson() const { return typical_; }
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
