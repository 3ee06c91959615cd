// Questions in Spec-Bench's format: a line is {"question_id", "category", "turns": [...]}.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct SpecQuestion {
  std::string id;  // the JSON text of question_id
  std::string category;
  std::vector<std::string> turns;  // the user's messages; at least one
  // The category, or "mt_bench" for MT-bench's eight categories, which are one task in Spec-Bench's
  // tables.
  std::string task;
};

// Reads at most `limit` questions (0: all), evenly spaced in the file. If the file is sorted by
// category, each category keeps about its share. Errors: an unreadable file; a malformed line (the
// message has its number); no questions.
Result<std::vector<SpecQuestion>> ReadSpecQuestions(const std::string& path, int limit);

// Returns at most `limit` evenly spaced elements of `all`; 0: no limit.
template <typename Question>
std::vector<Question> TakeEvenly(std::vector<Question> all, int limit) {
  const size_t count = limit > 0 ? std::min(static_cast<size_t>(limit), all.size()) : all.size();
  std::vector<Question> taken;
  taken.reserve(count);
  for (size_t i = 0; i < count; ++i) taken.push_back(std::move(all[i * all.size() / count]));
  return taken;
}

}  // namespace foretoken
