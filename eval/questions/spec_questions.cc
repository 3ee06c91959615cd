#include "eval/questions/spec_questions.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/json_lines.h"
#include "base/mapped_file.h"

namespace foretoken {
namespace {

constexpr std::array<std::string_view, 8> kMtBench = {
    "writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"};

std::string TaskOf(const std::string& category) {
  return std::ranges::find(kMtBench, category) != kMtBench.end() ? "mt_bench" : category;
}

Result<SpecQuestion> ReadQuestion(const Json& line, const std::string& where) {
  const auto mistake = [&where](const std::string& field, const std::string& expected) {
    return Error{where + ": " + field + ": expected " + expected};
  };
  if (!line.is_object()) return mistake("line", "an object");
  for (const char* field : {"question_id", "category", "turns"}) {
    if (!line.contains(field)) return Error{where + ": " + field + " is missing"};
  }
  if (!line["category"].is_string()) return mistake("category", "a string");
  SpecQuestion question{.id = JsonText(line["question_id"]),
                        .category = line["category"].get<std::string>()};
  if (!line["turns"].is_array() || line["turns"].empty())
    return mistake("turns", "a non-empty list");
  for (const Json& turn : line["turns"]) {
    if (!turn.is_string()) return mistake("turns", "strings");
    question.turns.push_back(turn.get<std::string>());
  }
  question.task = TaskOf(question.category);
  return question;
}

}  // namespace

Result<std::vector<SpecQuestion>> ReadSpecQuestions(const std::string& path, int limit) {
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  FT_ASSIGN_OR_RETURN(std::vector<SpecQuestion> all,
                      ReadJsonLines<SpecQuestion>(file.text(), path, ReadQuestion));
  if (all.empty()) return Error{path + ": holds no questions"};
  return TakeEvenly(std::move(all), limit);
}

}  // namespace foretoken
