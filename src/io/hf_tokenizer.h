// The tokenizer files of a Hugging Face directory.
#pragma once

#include <string>

#include "base/result.h"
#include "io/hf_config.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// Reads tokenizer.json or tokenizer.model, then special_tokens_map.json, tokenizer_config.json and
// chat_template.jinja; special ids that they do not give come from `config`. The result has no
// tokens if the directory has no tokenizer, and is otherwise padded with unused tokens to
// config.model.vocab. Errors name the file: unreadable, more tokens than the model has.
Result<TokenizerData> ReadHfTokenizer(const std::string& directory, const HfConfig& config);

}  // namespace foretoken
