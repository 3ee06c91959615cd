#include "eval/questions/spec_questions.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/json_lines.h"
#include "base/mapped_file.h"

namespace foretoken {
namespace {

constexpr std::array<std::string_view, 8> kMtBenchCategories = {
    "writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"};

std::string TaskOf(const std::string& category) {
  const bool is_mt_bench =
      std::ranges::find(kMtBenchCategories, category) != kMtBenchCategories.end();
  return is_mt_bench ? "mt_bench" : category;
}

Result<SpecQuestion> ReadQuestion(const Json& line, const std::string& where) {
  const auto expected_error = [&where](const std::string& field, const std::string& expected) {
    return Error{where + ": " + field + ": expected " + expected};
  };
  if (!line.is_object()) return Error{where + ": expected a JSON object"};
  for (const char* field : {"question_id", "category", "turns"}) {
    if (line.contains(field)) continue;
    return Error{where + ": " + field +
                 " is missing, expected question_id, category and turns; "
                 "a draft's run has such questions in heldout.jsonl"};
  }
  if (!line["category"].is_string()) return expected_error("category", "a string");
  SpecQuestion question{.id = JsonText(line["question_id"]),
                        .category = line["category"].get<std::string>()};
  if (!line["turns"].is_array() || line["turns"].empty())
    return expected_error("turns", "a non-empty list");
  for (const Json& turn : line["turns"]) {
    if (!turn.is_string()) return expected_error("turns", "strings");
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
  if (all.empty()) return Error{path + ": contains no questions"};
  return TakeEvenly(std::move(all), limit);
}

}  // namespace foretoken
