// SentencePiece BPE (llama in GGUF): spaces become U+2581, a text starts as its characters, pieces
// merge by score (or by rank, where the file lists merges), and what is not in the vocabulary falls
// back to byte tokens.
#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace foretoken {

// REQUIRES: the sizes and ids of `data` agree. Errors: see Tokenizer::Create.
Result<std::shared_ptr<const Tokenizer>> NewSentencePiece(TokenizerData data,
                                                          std::string_view origin);

}  // namespace foretoken
