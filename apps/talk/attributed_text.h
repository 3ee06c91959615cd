// Printing of an answer with its copies from the prompt in colour.
#pragma once

#include <cstdio>
#include <span>

#include "insight/attribution.h"

namespace foretoken {

// Writes the answer to `out`, each of `spans` in a different colour, and to `legend` the location
// of each in the prompt. `whole`: the text of prompt and answer.
void PrintAttributed(const TokenText& whole, int prompt, std::span<const CopiedSpan> spans,
                     std::FILE* out, std::FILE* legend);

}  // namespace foretoken
