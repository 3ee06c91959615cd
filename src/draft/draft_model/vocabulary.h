// Checks that two models agree on what their token ids mean.
#pragma once

#include <string>

#include "base/result.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// Compares the vocabularies piece by piece. One may be longer by padding, which stands for no text
// (kUnused, or named like "[PAD7]"). Errors: the first difference; the message begins with `path`,
// the draft model's file.
Status CheckSameVocabulary(const TokenizerData& target, const TokenizerData& draft,
                           const std::string& path);

}  // namespace foretoken
