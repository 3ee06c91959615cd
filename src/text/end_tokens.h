// Determines which tokens end an answer, from all of a model's files.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer_data.h"

namespace foretoken {

// Whether existing vocabularies use this name for the end of a turn or of an answer.
bool IsEndName(std::string_view piece);

// The token that the chat template writes directly after an answer; kNoToken if there is no
// template, if it rejects a question with its answer, or if it writes no special token there.
Token TemplateEnd(const TokenizerData& data);

// Adds to data.eog the tokens that end an answer by their name or by the chat template. End tokens
// stored as ordinary text become control tokens, so that the text of a chat template is tokenized
// as intended; a warning, prefixed by `origin`, says so.
void CompleteEnds(const std::string& origin, TokenizerData& data);

}  // namespace foretoken
