// The text of one sequence, as drafters that look something up in it keep it.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "draft/drafter.h"

namespace foretoken {

struct TextState : DraftState {
  std::vector<Token> text;  // committed tokens, then the root
  int committed = 0;
  int prompt = 0;  // leading tokens that were given

  void Append(const Observation& seen) {
    text.resize(static_cast<size_t>(committed));  // the root is now seen.committed[0]
    text.insert(text.end(), seen.committed.begin(), seen.committed.end());
    committed = static_cast<int>(text.size());
    if (seen.prompt) prompt = committed;
    text.push_back(seen.next);
  }

  void Truncate(int length) {
    text.resize(static_cast<size_t>(length));
    committed = length;
    prompt = std::min(prompt, length);
  }
};

}  // namespace foretoken
