#include "serve/openai/tools/json_scanner.h"

#include <cstdio>
#include <cstring>

#include "base/json.h"

namespace foretoken::openai {
namespace {

constexpr size_t kMostLevels = 64;
constexpr size_t kMostScalarBytes = 400;  // no double needs a longer number

bool IsIn(char c, const char* set) { return c != '\0' && std::strchr(set, c) != nullptr; }

}  // namespace

std::string JsonScanner::Escaped(char c) {
  if (static_cast<uint8_t>(c) >= 0x20) return std::string(1, c);
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '\r') return "\\r";
  char text[8];
  std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(c));
  return text;
}

JsonScanner::Verdict JsonScanner::Add(char c) {
  in_string_ = state_ == State::kText;
  if (state_ == State::kText) return InText(c);
  if (state_ == State::kEscape) {
    state_ = c == 'u' ? State::kHex : State::kText;
    hex_ = 4;
    return IsIn(c, "\"\\/bfnrtu") ? Verdict::kMore : Verdict::kBad;
  }
  if (state_ == State::kHex) {
    if (--hex_ == 0) state_ = State::kText;
    return IsIn(c, "0123456789abcdefABCDEF") ? Verdict::kMore : Verdict::kBad;
  }
  if (state_ == State::kScalar) {
    if (!IsJsonSpace(c) && !IsIn(c, ",]}")) {
      scalar_ += c;
      return scalar_.size() <= kMostScalarBytes ? Verdict::kMore : Verdict::kBad;
    }
    if (!Json::accept(scalar_)) return Verdict::kBad;
    if (open_.empty()) return Verdict::kEnded;
    state_ = State::kBetween;
  }
  if (IsJsonSpace(c)) return Verdict::kMore;
  switch (state_) {
    case State::kValue:
      return BeginValue(c);
    case State::kFirstElement:
      return c == ']' ? Close(c) : BeginValue(c);
    case State::kFirstKey:
      if (c == '}') return Close(c);
      [[fallthrough]];
    case State::kKey:
      is_key_ = true;
      state_ = State::kText;
      return c == '"' ? Verdict::kMore : Verdict::kBad;
    case State::kColon:
      state_ = State::kValue;
      return c == ':' ? Verdict::kMore : Verdict::kBad;
    default:
      return Between(c);
  }
}

JsonScanner::Verdict JsonScanner::BeginValue(char c) {
  if (c == '{') return Open(c, State::kFirstKey);
  if (c == '[') return Open(c, State::kFirstElement);
  if (c == '"') {
    is_key_ = false;
    state_ = State::kText;
    return Verdict::kMore;
  }
  if (!IsIn(c, "-0123456789tfn")) return Verdict::kBad;
  scalar_ = c;
  state_ = State::kScalar;
  return Verdict::kMore;
}

JsonScanner::Verdict JsonScanner::Open(char c, State next) {
  open_ += c;
  state_ = next;
  return open_.size() <= kMostLevels ? Verdict::kMore : Verdict::kBad;
}

JsonScanner::Verdict JsonScanner::InText(char c) {
  if (c == '\\') state_ = State::kEscape;
  if (c != '"') return Verdict::kMore;
  if (!is_key_) return ValueEnds();
  state_ = State::kColon;
  return Verdict::kMore;
}

JsonScanner::Verdict JsonScanner::Between(char c) {
  if (c != ',') return Close(c);
  state_ = open_.back() == '{' ? State::kKey : State::kValue;
  return Verdict::kMore;
}

JsonScanner::Verdict JsonScanner::Close(char c) {
  if (c != (open_.back() == '{' ? '}' : ']')) return Verdict::kBad;
  open_.pop_back();
  return ValueEnds();
}

JsonScanner::Verdict JsonScanner::ValueEnds() {
  if (open_.empty()) return Verdict::kDone;
  state_ = State::kBetween;
  return Verdict::kMore;
}

}  // namespace foretoken::openai
