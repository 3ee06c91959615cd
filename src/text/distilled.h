// Conversations whose answers a model has written itself, as training data for its drafts (L-7):
// the lines of the file, and which questions and answers are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/types.h"
#include "jinja/chat_template.h"
#include "text/documents.h"

namespace foretoken {

// The line of one conversation, with its newline: {"source": `source`, "messages": [{"role",
// "content"}, ...]}. `source`: index of the conversation in the data.
std::string DistilledLine(size_t source, std::span<const ChatMessage> messages);

// Hash of all turns but the assistant's. Conversations with the same hash are answered once.
uint64_t HashOfAsked(std::span<const DocumentTurn> turns);

// Whether the text ends in at least four repetitions of a sequence of up to 64 tokens, at least 32
// tokens in total.
bool IsRepetitive(std::span<const Token> text);

}  // namespace foretoken
