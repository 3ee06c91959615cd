// Reader for tokenizer.model: a SentencePiece model as a protocol buffer.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// Of BPE models only. Normalisation the model may ask for (a character map, removal of repeated
// spaces) is not applied. `origin` (a file name) opens error messages: truncated data, a unigram
// model, no pieces.
Result<TokenizerData> ReadSentencePieceModel(std::span<const std::byte> bytes,
                                             std::string_view origin);

}  // namespace foretoken
