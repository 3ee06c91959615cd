// Predictions of an answer as clients may send them: the answer itself, an altered copy of it or
// of its end, or random tokens.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"
#include "dice.h"

namespace foretoken {

inline std::vector<Token> RandomPrediction(Dice& dice, std::span<const Token> answer, int vocab) {
  const auto any = [&] { return static_cast<Token>(dice.Roll(vocab)); };
  std::vector<Token> predicted;
  const int kind = dice.Roll(4);
  if (kind == 0) {  // random tokens
    for (int left = dice.Between(1, 40); left > 0; --left) predicted.push_back(any());
    return predicted;
  }
  const int percent = kind == 1 ? 0 : 12;  // of tokens that are replaced by 0 to 3 random ones
  const auto begin =
      kind == 3 ? static_cast<size_t>(dice.Roll(static_cast<int>(answer.size()) + 1)) : 0;
  for (const Token token : answer.subspan(begin)) {
    if (dice.Chance(percent)) {
      for (int more = dice.Roll(4); more > 0; --more) predicted.push_back(any());
    } else {
      predicted.push_back(token);
    }
  }
  return predicted;
}

}  // namespace foretoken
