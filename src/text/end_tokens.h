// Which tokens end an answer, by all that a model's files say of it.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer_data.h"

namespace foretoken {

// Whether vocabularies in use name the end of a turn or of an answer like this.
bool IsEndName(std::string_view piece);

// The token that the chat template writes right behind an answer; kNoToken where there is no
// template, where it refuses a question with its answer, or writes no special token there.
Token TemplateEnd(const TokenizerData& data);

// Adds to data.eog the tokens that end an answer by their name or by the chat template. Tokens that
// end answers but are stored as ordinary text become control tokens, so that the text of a chat
// template is read as they are meant; a warning, opened by `origin`, says so.
void CompleteEnds(const std::string& origin, TokenizerData& data);

}  // namespace foretoken
