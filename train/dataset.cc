#include "dataset.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/mapped_file.h"

namespace foretoken::train {
namespace {

namespace fs = std::filesystem;

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

Result<Document> ReadConversation(const Json& line, const std::string& where) {
  const Json* turns = nullptr;
  for (const char* key : {"conversations", "messages"}) {
    if (line.is_object() && line.contains(key) && line[key].is_array()) turns = &line[key];
  }
  if (turns == nullptr) return Error{where + ": no list 'conversations' or 'messages'"};
  Document document;
  for (const Json& turn : *turns) {
    const std::string name = turn.is_object() ? TextField(turn, "from", "role") : "";
    const std::string role = Role(name);
    if (role.empty()) {
      return Error{where + ": a turn is from '" + name + "', expected human or gpt"};
    }
    const bool from_user = role != "assistant";
    const std::string gap = document.segments.empty() ? "" : "\n";
    document.segments.push_back({gap, kTurnStart, from_user});
    std::string text = role;
    text += '\n';
    text += TextField(turn, "value", "content");
    document.segments.push_back({std::move(text), kTurnEnd, from_user});
  }
  if (document.segments.empty()) return Error{where + ": a conversation without turns"};
  document.segments.push_back({"\n", kEndOfText, false});
  return document;
}

Result<std::vector<Document>> ReadChats(const MappedFile& file) {
  std::vector<Document> documents;
  std::string_view rest = file.text();
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = file.path() + ":" + std::to_string(number);
    FT_ASSIGN_OR_RETURN(const Json json, ParseJson(line, where));
    FT_ASSIGN_OR_RETURN(Document document, ReadConversation(json, where));
    documents.push_back(std::move(document));
  }
  return documents;
}

void AddText(std::string_view text, std::vector<Document>& documents) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  while (!text.empty() && text.front() == '\n') text.remove_prefix(1);
  if (!text.empty()) documents.push_back({{{std::string(text) + "\n", kEndOfText, false}}});
}

std::vector<Document> ReadTexts(const MappedFile& file) {
  std::vector<Document> documents;
  std::string_view rest = file.text();
  size_t begin = 0, at = 0;
  while ((at = rest.find(kEndOfText, at)) != std::string_view::npos) {
    const size_t end = at + std::string_view(kEndOfText).size();
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

const char* const kChatTemplate =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|im_start|>assistant\\n' }}{% endif %}";

Result<std::vector<std::string>> ListDataFiles(const std::string& pattern,
                                               const std::string& base) {
  const bool joined = !base.empty() && fs::path(pattern).is_relative();
  const std::string full = joined ? (fs::path(base) / pattern).string() : pattern;
  std::vector<std::string> files;
  std::error_code fault;
  if (fs::is_directory(full, fault)) {
    for (const auto& entry : fs::directory_iterator(full, fault)) {
      if (entry.is_regular_file() && IsData(entry.path())) files.push_back(entry.path().string());
    }
  } else {
    glob_t found{};
    if (glob(full.c_str(), 0, nullptr, &found) == 0) {
      files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    globfree(&found);
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) return Error{full + ": no training data there (*.jsonl, *.txt, *.md)"};
  return files;
}

Result<std::vector<Document>> ReadDocuments(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  if (fs::path(path).extension() == ".jsonl") return ReadChats(file);
  return ReadTexts(file);
}

}  // namespace foretoken::train
