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

// Files behind `pattern`: a file, a directory (its *.jsonl, *.txt and *.md), or a glob; sorted. A
// relative pattern is looked up under `base` unless that is "". Errors: nothing there.
Result<std::vector<std::string>> ListDataFiles(const std::string& pattern, const std::string& base);

// Reads "*.jsonl" as one conversation a line ({"conversations": [{"from", "value"}]} or
// {"messages": [{"role", "content"}]}), anything else as text whose documents are separated by a
// line <|endoftext|>. Errors: unreadable file; a malformed line, with its number.
Result<std::vector<Document>> ReadDocuments(const std::string& path);

}  // namespace foretoken::train
