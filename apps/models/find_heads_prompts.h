// What find-heads asks when it is given no prompts of its own.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

// 32 requests to summarise a short text: eight texts, asked for in four ways.
std::vector<std::string> DefaultHeadPrompts();

}  // namespace foretoken
