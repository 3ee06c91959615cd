// Files of text as documents: conversations (ShareGPT JSONL), lines that hold a text, plain text.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct DocumentTurn {
  // "user", "assistant", "system" or "tool"; empty where the document is no conversation
  std::string role;
  std::string text;
};

struct TextDocument {
  std::vector<DocumentTurn> turns;  // not empty; one where the document is no conversation
};

// Files behind `pattern`: a file, a directory (its *.jsonl, *.txt and *.md), or a glob; sorted. A
// relative pattern is looked up under `base` unless that is "". Errors: nothing there.
Result<std::vector<std::string>> ListDataFiles(const std::string& pattern, const std::string& base);

// Reads "*.jsonl" as one document a line ({"conversations": [{"from", "value"}]},
// {"messages": [{"role", "content"}]}, {"text"}, or questions: {"turns": [text]}, {"prompt"} or
// {"question"}, of one text with the answer under "completion", "response", "answer" or "output"
// where there is one), anything else as text whose documents are separated by a line
// <|endoftext|>; newlines around them are left out. Roles have any of their usual names; what a
// turn says is a text or a list of text parts. A line that cannot be read is left out: a warning
// counts them and gives the first one's file, line and field. Errors: an unreadable file; one of
// whose lines none can be read.
Result<std::vector<TextDocument>> ReadTextDocuments(const std::string& path);

// All documents of files, directories and globs, in order. Errors: see above.
Result<std::vector<TextDocument>> ReadDocuments(const std::vector<std::string>& data);

}  // namespace foretoken
