// Checks that two models agree on what their token ids mean.
#pragma once

#include <string>

#include "base/result.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// Compares the vocabularies piece by piece. One vocabulary may be longer by padding: pieces that
// stand for no text (kUnused, or named like "[PAD7]"). Errors: the first difference. The message
// begins with `path`, the draft model's file.
Status CheckSameVocabulary(const TokenizerData& target, const TokenizerData& draft,
                           const std::string& path);

}  // namespace foretoken
