#include "serve/openai/tools/call_object.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/json_depth.h"

namespace foretoken::openai {
namespace {

using Verdict = JsonScanner::Verdict;

bool IsArgumentsKey(const std::string& key) { return key == "arguments" || key == "parameters"; }

constexpr int kMostWrittenLevels = 64;

// Parses `text`; the result is_discarded() if it is not valid JSON.
Json Decoded(const std::string& text) {
  if (NestsDeeper(text, kMostWrittenLevels)) return Json(Json::value_t::discarded);
  return Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
}

// Equivalent to Decoded(text).is_object(), but in linear time for any keys.
bool IsObjectText(const std::string& text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  return start != text.npos && text[start] == '{' && !NestsDeeper(text, kMostWrittenLevels) &&
         Json::accept(text);
}

}  // namespace

CallObject::State CallObject::Add(char c) {
  if (part_ == Part::kKey) return InKey(c);
  if (part_ == Part::kValue) return InValue(c);
  return IsJsonSpace(c) ? State::kReading : AddOutside(c);
}

CallObject::State CallObject::AddOutside(char c) {
  switch (part_) {
    case Part::kStart:
      part_ = Part::kFirstKey;
      return c == '{' ? State::kReading : State::kBad;
    case Part::kFirstKey:
      if (c == '}') return End();
      [[fallthrough]];
    case Part::kNextKey:
      return c == '"' ? BeginText(c, Part::kKey) : State::kBad;
    case Part::kColon:
      part_ = Part::kValueStart;
      return c == ':' ? State::kReading : State::kBad;
    case Part::kValueStart:
      return BeginText(c, Part::kValue);
    default:  // kAfter
      part_ = Part::kNextKey;
      if (c == '}') return End();
      return c == ',' ? State::kReading : State::kBad;
  }
}

CallObject::State CallObject::BeginText(char c, Part part) {
  part_ = part;
  scanner_ = JsonScanner();
  text_.clear();
  is_streamed_ = part == Part::kValue && c == '{' && IsArgumentsKey(key_);
  if (part == Part::kKey) return InKey(c);
  if (is_streamed_ && std::exchange(has_arguments_, true)) return State::kBad;  // twice
  return InValue(c);
}

CallObject::State CallObject::InKey(char c) {
  text_ += JsonScanner::Escaped(c);
  const Verdict verdict = scanner_.Add(c);
  if (verdict == Verdict::kMore) return State::kReading;
  if (verdict != Verdict::kDone) return State::kBad;
  const Json key = Decoded(text_);
  if (!key.is_string()) return State::kBad;
  key_ = key.get<std::string>();
  part_ = Part::kColon;
  return State::kReading;
}

CallObject::State CallObject::InValue(char c) {
  const Verdict verdict = scanner_.Add(c);
  if (verdict == Verdict::kBad) return State::kBad;
  if (verdict == Verdict::kEnded) {
    const State state = ValueEnds();
    return state == State::kReading ? Add(c) : state;
  }
  std::string& text = is_streamed_ ? arguments_ : text_;
  if (scanner_.in_string())
    text += JsonScanner::Escaped(c);
  else
    text += c;
  return verdict == Verdict::kDone ? ValueEnds() : State::kReading;
}

CallObject::State CallObject::ValueEnds() {
  part_ = Part::kAfter;
  if (is_streamed_) return State::kReading;
  if (key_ == "name" && !TakeName()) return State::kBad;
  if (IsArgumentsKey(key_) && !TakeWrittenArguments()) return State::kBad;
  return State::kReading;
}

bool CallObject::TakeName() {
  if (!text_.starts_with('"')) return false;
  const Json name = Decoded(text_);
  if (has_name_ || !name.is_string()) return false;
  name_ = name.get<std::string>();
  has_name_ = std::any_of(tools_.begin(), tools_.end(),
                          [&](const Tool& tool) { return tool.name == name_; });
  return has_name_;
}

// Takes arguments that are not written as an object: a string that contains one, or null for {}.
bool CallObject::TakeWrittenArguments() {
  if (has_arguments_ || text_.starts_with('[') || text_.starts_with('{')) return false;
  const Json value = Decoded(text_);
  if (value.is_null()) return true;
  if (!value.is_string() || !IsObjectText(value.get_ref<const std::string&>())) return false;
  arguments_ = value.get<std::string>();
  has_arguments_ = true;
  return true;
}

CallObject::State CallObject::End() {
  if (!has_name_) return State::kBad;
  if (!has_arguments_) arguments_ = "{}";
  has_arguments_ = true;
  return State::kDone;
}

std::string CallObject::TakeArguments() { return std::exchange(arguments_, {}); }

}  // namespace foretoken::openai
