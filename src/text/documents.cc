#include "text/documents.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "base/json_lines.h"
#include "base/mapped_file.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSeparator = "<|endoftext|>";

std::string Role(const std::string& name) {
  if (name == "human" || name == "user") return "user";
  if (name == "gpt" || name == "assistant") return "assistant";
  if (name == "system") return "system";
  return "";
}

std::string TextField(const Json& object, const char* first, const char* second) {
  for (const char* key : {first, second}) {
    const auto it = object.find(key);
    if (it != object.end() && it->is_string()) return it->get<std::string>();
  }
  return "";
}

Result<TextDocument> ReadConversation(const Json& turns, const std::string& where) {
  const auto unknown = [&where](const std::string& name) {
    return Error{where + ": a turn is from '" + name + "', expected human or gpt"};
  };
  TextDocument document;
  for (const Json& turn : turns) {
    const std::string name = turn.is_object() ? TextField(turn, "from", "role") : "";
    std::string role = Role(name);
    if (role.empty()) return unknown(name);
    document.turns.push_back({std::move(role), TextField(turn, "value", "content")});
  }
  if (document.turns.empty()) return Error{where + ": a conversation without turns"};
  return document;
}

// Questions without answers: Spec-Bench's list 'turns' of what the user says, or one text 'prompt'
// or 'question'. No turns where the line has none of them.
TextDocument ReadQuestions(const Json& line) {
  TextDocument asked;
  for (const char* key : {"turns", "prompt", "question"}) {
    if (!line.contains(key) || !asked.turns.empty()) continue;
    const Json& said = line[key];
    const Json list = said.is_array() ? said : Json::array({said});
    for (const Json& turn : list) {
      if (!turn.is_string()) return {};
      asked.turns.push_back({"user", turn.get<std::string>()});
    }
  }
  return asked;
}

Result<TextDocument> ReadLine(const Json& line, const std::string& where) {
  if (line.is_object()) {
    for (const char* key : {"conversations", "messages"}) {
      if (line.contains(key) && line[key].is_array()) return ReadConversation(line[key], where);
    }
    if (line.contains("text") && line["text"].is_string()) {
      return TextDocument{{{"", line["text"].get<std::string>()}}};
    }
    if (TextDocument asked = ReadQuestions(line); !asked.turns.empty()) return asked;
  }
  return Error{
      where +
      ": no list 'conversations', 'messages' or 'turns', and no 'text', 'prompt' or 'question'"};
}

void AddText(std::string_view text, std::vector<TextDocument>& documents) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  while (!text.empty() && text.front() == '\n') text.remove_prefix(1);
  if (!text.empty()) documents.push_back({{{"", std::string(text)}}});
}

std::vector<TextDocument> ReadTexts(const MappedFile& file) {
  std::vector<TextDocument> documents;
  const std::string_view rest = file.text();
  size_t begin = 0, at = 0;
  while ((at = rest.find(kSeparator, at)) != std::string_view::npos) {
    const size_t end = at + kSeparator.size();
    const bool is_line =
        (at == 0 || rest[at - 1] == '\n') && (end == rest.size() || rest[end] == '\n');
    if (is_line) {
      AddText(rest.substr(begin, at - begin), documents);
      begin = end;
    }
    at = end;
  }
  AddText(rest.substr(begin), documents);
  return documents;
}

bool IsData(const fs::path& path) {
  const std::string ext = path.extension();
  return ext == ".jsonl" || ext == ".txt" || ext == ".md";
}

}  // namespace

Result<std::vector<std::string>> ListDataFiles(const std::string& pattern,
                                               const std::string& base) {
  const bool joined = !base.empty() && fs::path(pattern).is_relative();
  const std::string full = joined ? (fs::path(base) / pattern).string() : pattern;
  std::vector<std::string> files;
  std::error_code fault;
  if (fs::is_directory(full, fault)) {
    fs::directory_iterator entry(full, fault);
    for (; !fault && entry != fs::directory_iterator(); entry.increment(fault)) {
      std::error_code unknown;
      const bool is_file = entry->is_regular_file(unknown);
      if (is_file && IsData(entry->path())) files.push_back(entry->path().string());
    }
    if (fault) return Error{full + ": cannot be listed: " + fault.message()};
  } else {
    glob_t found{};
    if (glob(full.c_str(), 0, nullptr, &found) == 0) {
      files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    globfree(&found);
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) return Error{full + ": no text data there (*.jsonl, *.txt, *.md)"};
  return files;
}

Result<std::vector<TextDocument>> ReadTextDocuments(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  if (fs::path(path).extension() == ".jsonl")
    return ReadJsonLines<TextDocument>(file.text(), file.path(), ReadLine);
  return ReadTexts(file);
}

Result<std::vector<TextDocument>> ReadDocuments(const std::vector<std::string>& data) {
  std::vector<TextDocument> all;
  for (const std::string& pattern : data) {
    FT_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListDataFiles(pattern, ""));
    for (const std::string& file : files) {
      FT_ASSIGN_OR_RETURN(std::vector<TextDocument> part, ReadTextDocuments(file));
      all.insert(all.end(), std::make_move_iterator(part.begin()),
                 std::make_move_iterator(part.end()));
    }
  }
  return all;
}

}  // namespace foretoken
