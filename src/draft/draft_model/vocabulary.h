// Checks that two models agree on what their token ids mean.
#pragma once

#include <string>

#include "base/result.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// Compares the vocabularies piece by piece. Padding pieces (the padding token, pieces of type
// kUnused and pieces with names like "[PAD7]") may differ, and one vocabulary may have further
// padding pieces at its end. Errors: any other difference, of which the message names the first; a
// draft without a vocabulary. The message begins with `path`, the draft model's file.
Status CheckSameVocabulary(const TokenizerData& target, const TokenizerData& draft,
                           const std::string& path);

}  // namespace foretoken
