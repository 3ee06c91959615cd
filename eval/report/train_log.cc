#include "eval/report/train_log.h"

#include <algorithm>
#include <filesystem>

#include "base/json_lines.h"
#include "base/legible.h"
#include "base/mapped_file.h"

namespace foretoken {
namespace {

Error WrongField(const std::string& where, const std::string& field, const Json* found,
                 const char* expected) {
  const std::string shown = found == nullptr ? "nothing" : Printable(JsonText(*found));
  return Error{where + ": " + field + ": found " + shown + ", expected " + expected};
}

const Json* FindField(const Json& line, const std::string& field) {
  const auto found = line.find(field);
  return found == line.end() ? nullptr : &*found;
}

Status AddValue(const Json& line, const std::string& where, const std::string& field, double step,
                StepValues* values) {
  const Json* found = FindField(line, field);
  if (found == nullptr || found->is_null()) return {};
  if (!found->is_number()) return WrongField(where, field, found, "a number");
  values->emplace_back(step, found->get<double>());
  return {};
}

// Adds the line's fields `prefix`1, `prefix`2, ... up to the first that is missing, to the series
// of draft steps 1, 2, ...
Status AddByDraftStep(const Json& line, const std::string& where, const std::string& prefix,
                      double step, std::vector<StepValues>* series) {
  for (size_t n = 0;; ++n) {
    const std::string field = prefix + std::to_string(n + 1);
    if (!line.contains(field)) return {};
    if (series->size() == n) series->emplace_back();
    FT_RETURN_IF_ERROR(AddValue(line, where, field, step, &(*series)[n]));
  }
}

// Adds a line's values to `log` and returns its step.
Result<double> AddLine(const Json& line, const std::string& where, TrainLog* log) {
  if (!line.is_object()) {
    return Error{where + ": found " + Printable(JsonText(line)) + ", expected an object"};
  }
  const Json* found = FindField(line, "step");
  if (found == nullptr || !found->is_number_integer() || found->get<int64_t>() < 0) {
    return WrongField(where, "step", found, "a non-negative integer");
  }
  const auto step = found->get<double>();
  FT_RETURN_IF_ERROR(AddValue(line, where, "loss", step, &log->loss));
  FT_RETURN_IF_ERROR(AddValue(line, where, "heldout_loss", step, &log->heldout_loss));
  FT_RETURN_IF_ERROR(AddValue(line, where, "lr", step, &log->lr));
  FT_RETURN_IF_ERROR(AddByDraftStep(line, where, "teacher_forced_alpha_", step, &log->alpha));
  // Older runs call these fields alpha_1, alpha_2, ...
  FT_RETURN_IF_ERROR(AddByDraftStep(line, where, "alpha_", step, &log->alpha));
  FT_RETURN_IF_ERROR(AddByDraftStep(line, where, "top1_", step, &log->top1));
  return step;
}

// Drops the last line unless it is complete, that is, valid JSON.
std::string_view WithoutIncompleteLine(std::string_view text) {
  const size_t begin = text.rfind('\n') + 1;  // 0 if there is no newline
  return ParseJson(text.substr(begin), "").ok() ? text : text.substr(0, begin);
}

}  // namespace

Result<TrainLog> ParseTrainLog(std::string_view text, const std::string& path) {
  TrainLog log;
  const auto add = [&log](const Json& line, const std::string& where) {
    return AddLine(line, where, &log);
  };
  FT_ASSIGN_OR_RETURN(const auto steps,
                      ReadJsonLines<double>(WithoutIncompleteLine(text), path, add));
  if (steps.empty()) return Error{path + ": contains no training steps yet"};
  if (log.loss.empty()) {
    return Error{path + ": no finite loss in " + std::to_string(steps.size()) + " lines"};
  }
  log.last_step = *std::max_element(steps.begin(), steps.end());
  return log;
}

Result<TrainLog> ReadTrainLog(const std::string& run) {
  const std::string path = (std::filesystem::path(run) / "log.jsonl").string();
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  FT_ASSIGN_OR_RETURN(TrainLog log, ParseTrainLog(file.text(), path));
  log.run = run;
  return log;
}

}  // namespace foretoken
