// SentencePiece BPE (llama in GGUF): spaces become U+2581, characters merge into pieces by score
// (or by rank if the file lists merges), and characters that are not in the vocabulary become byte
// tokens.
#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace foretoken {

// REQUIRES: the sizes and ids of `data` agree. Errors: see Tokenizer::Create.
Result<std::shared_ptr<const Tokenizer>> NewSentencePiece(TokenizerData data,
                                                          std::string_view origin);

}  // namespace foretoken
