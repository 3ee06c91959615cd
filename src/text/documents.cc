#include "text/documents.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "base/brief.h"
#include "base/foreign_content.h"
#include "base/json_lines.h"
#include "base/mapped_file.h"
#include "base/warning.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSeparator = "<|endoftext|>";
constexpr size_t kBinaryHead = 8192;  // bytes; a file with a zero among them is not text

struct RoleName {
  std::string_view name, role;
};
// Names of roles in data sets, in lower case.
constexpr RoleName kRoleNames[] = {{"user", "user"},
                                   {"human", "user"},
                                   {"prompter", "user"},
                                   {"assistant", "assistant"},
                                   {"gpt", "assistant"},
                                   {"bot", "assistant"},
                                   {"chatbot", "assistant"},
                                   {"model", "assistant"},
                                   {"ai", "assistant"},
                                   {"chatgpt", "assistant"},
                                   {"system", "system"},
                                   {"developer", "system"},
                                   {"tool", "tool"},
                                   {"function", "tool"},
                                   {"observation", "tool"},
                                   {"tool_response", "tool"},
                                   {"function_response", "tool"}};

// The role of a speaker; "" for an unknown one.
std::string RoleOf(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  const auto found = std::ranges::find(kRoleNames, name, &RoleName::name);
  return found == std::end(kRoleNames) ? "" : std::string(found->role);
}

// The field `first`, or else the field `second`; null if both are missing. A field that holds null
// counts only if the other is missing or null, too. Sets `key` to the name of the field found.
const Json* EitherField(const Json& object, const char* first, const char* second,
                        std::string& key) {
  const auto one = object.find(first), other = object.find(second);
  const bool is_first =
      one != object.end() && (!one->is_null() || other == object.end() || other->is_null());
  key = is_first ? first : second;
  if (is_first) return &*one;
  return other == object.end() ? nullptr : &*other;
}

Error Unlike(const std::string& field, const Json* found, const std::string& expected) {
  constexpr size_t kShown = 60;
  const std::string shown = found == nullptr ? "is missing" : "is " + JsonText(*found);
  return Error{field + " " + Brief(shown, kShown) + ", expected " + expected};
}

// The content of a message: a text, or the texts of a list of parts, joined. Errors: any other
// value; they name `field`.
Result<std::string> MessageText(const Json* content, const std::string& field) {
  constexpr const char* kExpected = "text or a list of text parts";
  if (content != nullptr && content->is_string()) return content->get<std::string>();
  if (content == nullptr || !content->is_array()) return Unlike(field, content, kExpected);
  std::string joined;
  for (size_t i = 0; i < content->size(); ++i) {
    const Json& part = (*content)[i];
    const bool is_typed = part.is_object() && part.contains("type");
    const bool is_text = !is_typed || part["type"] == "text";
    const Json* text = &part;
    if (part.is_object()) text = part.contains("text") ? &part["text"] : nullptr;
    if (!is_text || text == nullptr || !text->is_string()) {
      return Unlike(field + "[" + std::to_string(i) + "]", &part, "a text part");
    }
    joined += text->get<std::string>();
  }
  return joined;
}

Result<DocumentTurn> ReadTurn(const Json& turn, const std::string& field) {
  if (!turn.is_object()) return Unlike(field, &turn, "an object");
  std::string key;
  const Json* name = EitherField(turn, "from", "role", key);
  std::string role = name != nullptr && name->is_string() ? RoleOf(name->get<std::string>()) : "";
  if (role.empty()) {
    return Unlike(field + "." + key, name, "user, assistant, system, tool or another usual name");
  }
  const Json* content = EitherField(turn, "value", "content", key);
  FT_ASSIGN_OR_RETURN(std::string text, MessageText(content, field + "." + key));
  return DocumentTurn{std::move(role), std::move(text)};
}

// Reads a list of turns. `where`: path of the value, for errors.
Result<TextDocument> ReadConversation(const Json& turns, const std::string& where) {
  if (!turns.is_array() || turns.empty()) return Unlike(where, &turns, "a list of turns");
  TextDocument document;
  for (size_t i = 0; i < turns.size(); ++i) {
    FT_ASSIGN_OR_RETURN(DocumentTurn turn,
                        ReadTurn(turns[i], where + "[" + std::to_string(i) + "]"));
    document.turns.push_back(std::move(turn));
  }
  return document;
}

// Reads questions without answers: a list of the user's turns (Spec-Bench), or one text. `where`:
// path of the value, for errors.
Result<TextDocument> ReadQuestions(const Json& said, const std::string& where) {
  const bool is_list = said.is_array() && !said.empty();
  TextDocument asked;
  for (size_t i = 0; i < (is_list ? said.size() : 1); ++i) {
    const Json& turn = is_list ? said[i] : said;
    const std::string field = is_list ? where + "[" + std::to_string(i) + "]" : where;
    if (!turn.is_string()) return Unlike(field, &turn, "text");
    asked.turns.push_back({"user", turn.get<std::string>()});
  }
  return asked;
}

// Adds the answer that some data sets have beside a question. Answers to several turns are ignored.
Status AddAnswer(const Json& line, const std::string& where, TextDocument& asked) {
  for (const char* key : {"completion", "response", "answer", "output"}) {
    const auto found = line.find(key);
    if (found == line.end() || found->is_null()) continue;
    const std::string field = where + ": " + key;
    if (asked.turns.size() != 1) return Unlike(field, &*found, "no answer to several turns");
    FT_ASSIGN_OR_RETURN(std::string text, MessageText(&*found, field));
    asked.turns.push_back({"assistant", std::move(text)});
    return {};
  }
  return {};
}

Result<TextDocument> ReadDocumentLine(const Json& line, const std::string& where) {
  const auto holds = [&](const char* key) {
    return line.is_object() && line.contains(key) && !line[key].is_null();
  };
  for (const std::string key : {"conversations", "messages"}) {
    if (!holds(key.c_str()) || (!line[key].is_array() && holds("text"))) continue;
    return ReadConversation(line[key], where + ": " + key);
  }
  if (holds("text")) {
    if (!line["text"].is_string()) return Unlike(where + ": text", &line["text"], "text");
    return TextDocument{{{"", line["text"].get<std::string>()}}};
  }
  for (const std::string key : {"turns", "prompt", "question"}) {
    if (!holds(key.c_str())) continue;
    FT_ASSIGN_OR_RETURN(TextDocument asked, ReadQuestions(line[key], where + ": " + key));
    FT_RETURN_IF_ERROR(AddAnswer(line, where, asked));
    return asked;
  }
  return Error{
      where +
      ": no list 'conversations', 'messages' or 'turns', and no 'text', 'prompt' or 'question'"};
}

Result<std::vector<TextDocument>> ReadLines(const MappedFile& file) {
  std::vector<TextDocument> documents;
  std::string first;
  size_t left_out = 0;
  VisitJsonLines(file.text(), file.path(), [&](const Result<Json>& json, const std::string& where) {
    Result<TextDocument> document =
        json.ok() ? ReadDocumentLine(*json, where) : Result<TextDocument>(json.error());
    if (document.ok()) {
      documents.push_back(*std::move(document));
    } else if (left_out++ == 0) {
      first = document.error().message;
    }
    return true;
  });
  if (left_out > 0 && documents.empty()) return Error{first};
  if (left_out > 0) {
    const size_t lines = documents.size() + left_out;
    Warn(file.path() + ": " + std::to_string(left_out) + " of " + std::to_string(lines) +
         " lines cannot be read and are left out; the first: " + first);
  }
  return documents;
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
  if (files.empty() && full.find_first_of("*?[") == std::string::npos && !fs::exists(full, fault)) {
    return Error{full + ": does not exist"};
  }
  if (files.empty()) return Error{full + ": no text data there (*.jsonl, *.txt, *.md)"};
  return files;
}

Result<std::vector<TextDocument>> ReadTextDocuments(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  if (fs::path(path).extension() == ".jsonl") return ReadLines(file);
  if (IsLfsPointer(file.text())) return Error{path + ": " + ForeignContent(file.text())};
  if (const size_t zero = file.text().substr(0, kBinaryHead).find('\0');
      zero != std::string_view::npos) {
    return Error{path + ": is not text: byte " + std::to_string(zero) +
                 " is 0; expected conversations (*.jsonl) or text"};
  }
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
