// Files of text as documents: conversations (ShareGPT JSONL), lines that hold a text, plain text.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct DocumentTurn {
  std::string role;  // "user", "assistant" or "system"; empty where the document is no conversation
  std::string text;
};

struct TextDocument {
  std::vector<DocumentTurn> turns;  // not empty; one where the document is no conversation
};

// Files behind `pattern`: a file, a directory (its *.jsonl, *.txt and *.md), or a glob; sorted. A
// relative pattern is looked up under `base` unless that is "". Errors: nothing there.
Result<std::vector<std::string>> ListDataFiles(const std::string& pattern, const std::string& base);

// Reads "*.jsonl" as one document a line ({"conversations": [{"from", "value"}]},
// {"messages": [{"role", "content"}]}, {"text"}, or questions without answers: {"turns": [text]},
// {"prompt"} or {"question"}), anything else as text whose documents are
// separated by a line <|endoftext|>; newlines around them are left out. Errors: unreadable file; a
// malformed line, with its number.
Result<std::vector<TextDocument>> ReadTextDocuments(const std::string& path);

// All documents of files, directories and globs, in order. Errors: see above.
Result<std::vector<TextDocument>> ReadDocuments(const std::vector<std::string>& data);

}  // namespace foretoken
