// Documents for training, as text: chats (ShareGPT JSONL) and plain text.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

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

// The documents of a file (text/documents.h). Errors: unreadable file; a malformed line, with its
// number.
Result<std::vector<Document>> ReadDocuments(const std::string& path);

}  // namespace foretoken::train
