// Documents for training as ChatML, which our own models write.
#pragma once

#include <string>
#include <vector>

#include "text/documents.h"

namespace foretoken::train {

inline constexpr const char* kEndOfText = "<|endoftext|>";
inline constexpr const char* kTurnStart = "<|im_start|>";
inline constexpr const char* kTurnEnd = "<|im_end|>";

// The Jinja template that renders conversations exactly as documents are rendered here.
extern const char* const kChatTemplate;

// A stretch between control tokens, followed by a control token ("" = none).
struct Segment {
  std::string text;
  std::string control;
  bool from_user = false;
};

struct Document {
  std::vector<Segment> segments;
};

// A conversation as ChatML, or a text; <|endoftext|> ends both.
Document RenderChatMl(const TextDocument& document);

}  // namespace foretoken::train
