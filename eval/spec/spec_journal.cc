#include "eval/spec/spec_journal.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/input_file.h"
#include "base/json.h"
#include "base/json_depth.h"
#include "base/mapped_file.h"

namespace foretoken {
namespace {

constexpr int kMaxCycleNodes = 1 << 20;

Json CycleJson(const Cycle& c) {
  Json guesses = Json::array();
  for (const JudgedGuess& g : c.guesses) guesses.push_back(Json::array({g.confidence, g.accepted}));
  return Json::array({c.n_acc, c.written, c.nodes, c.max_depth, c.drafted_depth, c.draft_seconds,
                      c.verify_seconds, c.weighed, c.overlap, std::move(guesses)});
}

Cycle ReadCycle(const Json& json) {
  Cycle c{.n_acc = json.at(0).get<int>(),
          .written = json.at(1).get<int>(),
          .nodes = json.at(2).get<int>(),
          .max_depth = json.at(3).get<int>(),
          .drafted_depth = json.at(4).get<int>(),
          .draft_seconds = json.at(5).get<double>(),
          .verify_seconds = json.at(6).get<double>(),
          .weighed = json.at(7).get<int>(),
          .overlap = json.at(8).get<double>()};
  for (const Json& g : json.at(9)) c.guesses.push_back({g.at(0).get<float>(), g.at(1).get<bool>()});
  return c;
}

Json AnswerJson(const SpecAnswer& a) {
  Json cycles = Json::array();
  for (const Cycle& c : a.cycles) cycles.push_back(CycleJson(c));
  return {{"turns", a.turns},
          {"cycles", std::move(cycles)},
          {"turn_cycles", a.turn_cycles},
          {"texts", a.texts},
          {"seconds", a.seconds},
          {"prefill", a.prefill},
          {"prompt_tokens", a.prompt_tokens}};
}

SpecAnswer ReadAnswer(const Json& json) {
  SpecAnswer a{.turns = json.at("turns").get<std::vector<std::vector<Token>>>(),
               .turn_cycles = json.at("turn_cycles").get<std::vector<int>>(),
               .texts = json.at("texts").get<std::vector<std::string>>(),
               .seconds = json.at("seconds").get<std::vector<double>>(),
               .prefill = json.at("prefill").get<std::vector<double>>(),
               .prompt_tokens = json.at("prompt_tokens").get<int>()};
  for (const Json& c : json.at("cycles")) a.cycles.push_back(ReadCycle(c));
  return a;
}

// Whether every number is at most 2^30 in magnitude, so that it fits the field that it is read
// into.
bool AreSmallNumbers(const Json& json) {
  constexpr double kMaxMagnitude = 1 << 30;
  if (json.is_number()) return std::abs(json.get<double>()) <= kMaxMagnitude;
  if (!json.is_structured()) return true;
  return std::all_of(json.begin(), json.end(), AreSmallNumbers);
}

bool IsConsistent(const Cycle& c) {
  const auto is_small = [](const JudgedGuess& g) { return std::abs(g.confidence) <= 1000; };
  return c.n_acc >= 0 && c.n_acc <= c.written && c.n_acc <= c.max_depth && c.max_depth <= c.nodes &&
         c.nodes <= kMaxCycleNodes && c.drafted_depth >= 0 && c.weighed >= 0 &&
         std::ranges::all_of(c.guesses, is_small);
}

// Whether all lists have one entry per turn, the cycle counts of the turns add up to the number of
// cycles, and every token is in the vocabulary. Reports rely on all three.
bool IsConsistent(const SpecAnswer& a, int vocab) {
  const size_t turns = a.turns.size();
  int64_t cycles = 0;
  for (const int count : a.turn_cycles) {
    if (count < 0) return false;
    cycles += count;
  }
  const auto is_known = [vocab](Token token) { return token >= 0 && token < vocab; };
  const auto is_text = [&](const auto& turn) { return std::ranges::all_of(turn, is_known); };
  return a.turn_cycles.size() == turns && a.texts.size() == turns && a.seconds.size() == turns &&
         a.prefill.size() == turns && cycles == std::ssize(a.cycles) &&
         std::ranges::all_of(a.turns, is_text) &&
         std::ranges::all_of(a.cycles, [](const Cycle& c) { return IsConsistent(c); });
}

// `where`: the file and line, with which errors begin.
Result<SpecJournalEntry> ReadEntry(const Json& json, const std::string& where, int vocab) {
  const Error malformed{where + ": not the answers to a question"};
  SpecJournalEntry entry;
  if (!AreSmallNumbers(json)) return Error{malformed.message + ": a number is out of range"};
  try {
    entry.place = json.at("question").get<size_t>();
    entry.id = json.at("id").get<std::string>();
    for (const Json& a : json.at("answers")) entry.answers.push_back(ReadAnswer(a));
  } catch (const Json::exception& e) {
    return Error{malformed.message + ": " + std::string(JsonReason(e.what()))};
  }
  for (const SpecAnswer& a : entry.answers) {
    if (!IsConsistent(a, vocab) || a.turns.empty() != entry.answers[0].turns.empty()) {
      return Error{malformed.message + ": turns, cycles and tokens are inconsistent"};
    }
  }
  return entry;
}

// Uses JsonText, which accepts strings that end inside a UTF-8 character, as answers may.
std::string Line(const Json& json) { return JsonText(json) + "\n"; }

Status CheckSameRun(const Json& kept, const Json& run, const std::string& path) {
  for (const auto& [key, value] : run.items()) {
    const Json found = kept.is_object() && kept.contains(key) ? kept[key] : Json();
    if (found == value) continue;
    std::string message = path;
    message.append(": belongs to another run: ").append(key).append(" is ").append(JsonText(found));
    return Error{message.append(", expected ").append(JsonText(value))};
  }
  return {};
}

}  // namespace

Result<SpecJournal> SpecJournal::Open(const std::string& path, const Json& run, int vocab) {
  SpecJournal journal;
  journal.path_ = path;
  const std::string first_line = Line(run);
  size_t kept = 0;  // bytes of complete lines
  if (FileExists(path)) {
    FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path, FileUse::kOwnState));
    // Compares the file with `run` as it would be read back, because writing replaces invalid
    // UTF-8.
    FT_ASSIGN_OR_RETURN(const Json run_as_kept, ParseJson(first_line, path));
    std::string_view text = file.text();
    int number = 0;
    for (size_t end; (end = text.find('\n')) != std::string_view::npos;) {
      const std::string where = path + ":" + std::to_string(++number);
      FT_ASSIGN_OR_RETURN(const Json json, ParseJson(text.substr(0, end), where));
      text.remove_prefix(end + 1);
      kept += end + 1;
      if (number == 1) {
        FT_RETURN_IF_ERROR(CheckSameRun(json, run_as_kept, path));
        continue;
      }
      FT_ASSIGN_OR_RETURN(SpecJournalEntry entry, ReadEntry(json, where, vocab));
      const size_t place = entry.place;
      journal.entries_[place] = std::move(entry);
    }
    // A file whose only line is incomplete is started over if that line is a prefix of
    // `first_line`.
    if (number == 0 && !first_line.starts_with(text)) {
      return Error{path + ": is not a journal of bench spec"};
    }
  }
  FT_ASSIGN_OR_RETURN(journal.out_, AppendedFile::Open(path));
  FT_RETURN_IF_ERROR(journal.out_.Begin(kept));
  if (kept == 0) FT_RETURN_IF_ERROR(journal.out_.Append(first_line));
  return journal;
}

Result<std::optional<std::vector<SpecAnswer>>> SpecJournal::Find(size_t place,
                                                                 const SpecQuestion& question,
                                                                 size_t methods) const {
  using Found = std::optional<std::vector<SpecAnswer>>;
  const auto entry = entries_.find(place);
  if (entry == entries_.end()) return Found();
  if (entry->second.id != question.id || entry->second.answers.size() != methods) {
    return Error{path_ + ": entry " + std::to_string(place) + " has question_id " +
                 entry->second.id + " and " + std::to_string(entry->second.answers.size()) +
                 " answers, expected " + question.id + " and " + std::to_string(methods)};
  }
  return Found(entry->second.answers);
}

Status SpecJournal::Add(size_t place, const SpecQuestion& question,
                        const std::vector<SpecAnswer>& answers) {
  Json list = Json::array();
  for (const SpecAnswer& a : answers) list.push_back(AnswerJson(a));
  return out_.Append(
      Line({{"question", place}, {"id", question.id}, {"answers", std::move(list)}}));
}

}  // namespace foretoken
