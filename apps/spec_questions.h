// Questions in Spec-Bench's format: a line is {"question_id", "category", "turns": [...]}.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct SpecQuestion {
  std::string id;  // as the file has it, in JSON
  std::string category;
  std::vector<std::string> turns;  // what the user says; not empty
  // The category, or "mt_bench" for the eight of MT-bench, as Spec-Bench's tables group them.
  std::string task;
};

// At most `limit` questions (0: all), taken evenly from the file so that every category has its
// share. Errors: unreadable file; a malformed line, with its number; no questions.
Result<std::vector<SpecQuestion>> ReadSpecQuestions(const std::string& path, int limit);

// `limit` of them (0: all), evenly.
std::vector<SpecQuestion> TakeEvenly(std::vector<SpecQuestion> all, int limit);

}  // namespace foretoken
