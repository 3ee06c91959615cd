// Byte-level BPE (gpt2 in GGUF): a pre-tokenizer splits the text, each piece starts as its bytes,
// and ranked merges combine them.
#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace foretoken {

// REQUIRES: the sizes and ids of `data` agree. Errors: see Tokenizer::Create.
Result<std::shared_ptr<const Tokenizer>> NewByteBpe(TokenizerData data, std::string_view origin);

}  // namespace foretoken
