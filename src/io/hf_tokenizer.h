// The tokenizer files of a Hugging Face directory.
#pragma once

#include <string>

#include "base/result.h"
#include "io/hf_config.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// tokenizer.json or tokenizer.model, then tokenizer_config.json and chat_template.jinja, with the
// special ids of `config` where those say nothing. No tokens where the directory has no tokenizer;
// padded with unused tokens to config.model.vocab. Errors name the file: unreadable, more tokens
// than the model has.
Result<TokenizerData> ReadHfTokenizer(const std::string& directory, const HfConfig& config);

}  // namespace foretoken
