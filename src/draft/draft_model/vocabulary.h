// Checks that two models agree on what their token ids mean.
#pragma once

#include <string>

#include "base/result.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// Compares the vocabularies piece by piece. Padding pieces (the padding token, kUnused, or named
// like
// "[PAD7]") may differ, and one vocabulary may be longer by them. Errors: the first difference; a
// draft without a vocabulary. The message begins with `path`, the draft model's file.
Status CheckSameVocabulary(const TokenizerData& target, const TokenizerData& draft,
                           const std::string& path);

}  // namespace foretoken
