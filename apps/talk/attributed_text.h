// Shows an answer with what it copied from the prompt in colour.
#pragma once

#include <cstdio>
#include <span>

#include "insight/attribution.h"

namespace foretoken {

// Writes the answer to `out`, every stretch of `spans` in a colour of its own, and to `legend`
// where in the prompt each stands. `whole`: the text of prompt and answer.
void PrintAttributed(const TokenText& whole, int prompt, std::span<const CopiedSpan> spans,
                     std::FILE* out, std::FILE* legend);

}  // namespace foretoken
