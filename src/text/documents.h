// Reading of text files as documents: conversations (ShareGPT JSONL), JSON lines that hold a text,
// plain text.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct DocumentTurn {
  // "user", "assistant", "system" or "tool"; empty if the document is not a conversation
  std::string role;
  std::string text;
};

struct TextDocument {
  std::vector<DocumentTurn> turns;  // not empty; exactly one if the document is not a conversation
};

// Files that match `pattern`: a file, a directory (its *.jsonl, *.txt and *.md), or a glob; sorted.
// A relative pattern is resolved against `base` unless `base` is "". Errors: no match.
Result<std::vector<std::string>> ListDataFiles(const std::string& pattern, const std::string& base);

// Reads the documents of a file. "*.jsonl" holds one document per line: {"conversations": [{"from",
// "value"}]}, {"messages": [{"role", "content"}]}, {"text"}, or questions: {"turns": [text]}, or
// {"prompt"} or {"question"}, a single text, with an optional answer under "completion",
// "response", "answer" or "output". Any other file is text whose documents are separated by lines
// <|endoftext|>; newlines around them are stripped. Roles may have any of their usual names; a
// turn's content is a text or a list of text parts. Unreadable lines are skipped: a warning counts
// them and gives file, line and field of the first. Errors: an unreadable file; a file in which no
// line is readable.
Result<std::vector<TextDocument>> ReadTextDocuments(const std::string& path);

// All documents of files, directories and globs, in order. Errors: those of ListDataFiles and
// ReadTextDocuments.
Result<std::vector<TextDocument>> ReadDocuments(const std::vector<std::string>& data);

}  // namespace foretoken
