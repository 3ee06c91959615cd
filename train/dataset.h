// Renders documents as ChatML, the format of models trained here.
#pragma once

#include <string>
#include <vector>

#include "text/documents.h"

namespace foretoken::train {

inline constexpr const char* kEndOfText = "<|endoftext|>";
inline constexpr const char* kTurnStart = "<|im_start|>";
inline constexpr const char* kTurnEnd = "<|im_end|>";

// The Jinja chat template that is equivalent to RenderChatMl.
extern const char* const kChatTemplate;

// Text without control tokens, and the control token that follows it ("": none).
struct Segment {
  std::string text;
  std::string control;
  bool from_user = false;
};

struct Document {
  std::vector<Segment> segments;
};

// Renders a conversation as ChatML; a plain text only gets a newline. Both end in <|endoftext|>.
Document RenderChatMl(const TextDocument& document);

}  // namespace foretoken::train
