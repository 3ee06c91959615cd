// The default prompts of find-heads.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

// 32 requests to summarise a short text: eight texts, each with four phrasings.
std::vector<std::string> DefaultHeadPrompts();

}  // namespace foretoken
