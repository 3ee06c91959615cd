// Reader of tokenizer.model, a SentencePiece model in protocol buffer format.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// Reads a BPE model. Normalisation that the model may specify (a character map, removal of repeated
// spaces) is not applied. `origin` (a file name) prefixes errors: truncated data, a unigram model,
// no pieces.
Result<TokenizerData> ReadSentencePieceModel(std::span<const std::byte> bytes,
                                             std::string_view origin);

}  // namespace foretoken
