#include "serve/openai/tools/call_parser.h"

#include <utility>

#include "base/hash.h"

namespace foretoken::openai {
namespace {

constexpr std::string_view kClosingTag = "</tool_call>";
constexpr std::string_view kFence = "```json";
constexpr std::string_view kClosingFence = "```";

constexpr const char* kBlanks = " \t\r\n";

// Whether the text contains only characters that separate calls.
bool IsSeparator(std::string_view text) { return text.find_first_not_of(" \t\r\n,;") == text.npos; }

}  // namespace

std::string CallId(ToolStyle style, uint64_t seed, int index) {
  const uint64_t words[] = {seed, static_cast<uint64_t>(index)};
  const std::string digits = HexDigits(HashBytes(std::as_bytes(std::span(words))));
  return style == ToolStyle::kMistral ? digits.substr(0, 9) : "call_" + digits;
}

ToolCallParser::ToolCallParser(ToolStyle style, std::span<const Tool> tools, bool parallel,
                               uint64_t seed)
    : style_(style), tools_(tools), parallel_(parallel), seed_(seed), mark_(OpeningMark(style)) {}

ToolText ToolCallParser::Add(std::string_view text) {
  ToolText out;
  if (style_ == ToolStyle::kNone) {
    out.content = text;
    return out;
  }
  for (char c : text) {
    if (is_finished_) break;
    AddByte(c, out);
  }
  return out;
}

ToolText ToolCallParser::Finish() {
  ToolText out;
  if (is_finished_) return out;
  if (part_ == Part::kContent) {
    if (!follows_call_) out.content = spaces_;
    out.content += mark_seen_ + fence_seen_;
  } else if (part_ != Part::kBetween && !(follows_call_ && IsSeparator(block_))) {
    out.content = TakeBlock();
  }
  is_finished_ = true;
  return out;
}

void ToolCallParser::AddByte(char c, ToolText& out) {
  switch (part_) {
    case Part::kContent:
      return InContent(c, out);
    case Part::kArray:
      return InArray(c, out);
    case Part::kObject:
      return InObject(c, out);
    case Part::kBetween:
      return Between(c, out);
  }
}

void ToolCallParser::InContent(char c, ToolText& out) {
  if (mark_seen_.empty() && fence_seen_.empty() && IsJsonSpace(c)) {
    spaces_ += c;
    return;
  }
  // The first character of a mark occurs only once in it, so no mark can begin inside a partial
  // match of another.
  if (!mark_seen_.empty() && c != mark_[mark_seen_.size()])
    EmitContent(std::exchange(mark_seen_, {}), out);
  if (mark_seen_.empty() && at_start_ && BeginsBare(c, out)) return;
  if (c == mark_[mark_seen_.size()]) {
    mark_seen_ += c;
    if (mark_seen_ == mark_) EnterBlock(std::exchange(mark_seen_, {}));
  } else if (IsJsonSpace(c)) {
    spaces_ += c;
  } else {
    EmitContent({&c, 1}, out);
  }
}

// Whether `c` belongs to a call without the opening mark, fenced or not. Small models leave the
// mark out.
bool ToolCallParser::BeginsBare(char c, ToolText& out) {
  if (style_ == ToolStyle::kMistral) return false;
  if (fence_seen_.empty() && c == '{') {
    EnterBlock("");
    closing_ = "";
    InObject(c, out);
    return true;
  }
  if (style_ != ToolStyle::kTagged) return false;
  if (c == kFence[fence_seen_.size()]) {
    fence_seen_ += c;
    if (fence_seen_ != kFence) return true;
    EnterBlock(std::exchange(fence_seen_, {}));
    closing_ = kClosingFence;
    return true;
  }
  EmitContent(std::exchange(fence_seen_, {}), out);
  return false;
}

// Emits content, preceded by the pending spaces. Spaces after a call belong to the call.
void ToolCallParser::EmitContent(std::string_view text, ToolText& out) {
  if (text.empty()) return;
  if (!follows_call_) out.content += spaces_;
  spaces_.clear();
  out.content += text;
  follows_call_ = false;
  at_start_ = false;
}

void ToolCallParser::EnterBlock(std::string_view text) {
  block_ = std::exchange(spaces_, {});
  block_ += text;
  object_.emplace(tools_);
  is_open_ = false;
  closing_ = kClosingTag;
  part_ = style_ == ToolStyle::kMistral ? Part::kArray : Part::kObject;
}

void ToolCallParser::InArray(char c, ToolText& out) {
  if (!IsJsonSpace(c) && c != '[') return LeaveBlock(c, out);
  block_ += c;
  if (c == '[') part_ = Part::kObject;
}

void ToolCallParser::InObject(char c, ToolText& out) {
  const CallObject::State state = object_->Add(c);
  if (state == CallObject::State::kBad) return LeaveBlock(c, out);
  block_ += c;
  if (object_->is_open()) EmitCall(out);
  if (state != CallObject::State::kDone) return;
  part_ = Part::kBetween;
  follows_call_ = true;
  at_start_ = false;
  is_finished_ = !parallel_;
}

// Emits the new part of the call, whose text can no longer become content.
void ToolCallParser::EmitCall(ToolText& out) {
  block_.clear();
  std::string arguments = object_->TakeArguments();
  if (!std::exchange(is_open_, true)) {
    const int index = next_index_++;
    out.calls.push_back({index, CallId(style_, seed_, index), object_->name(), ""});
  } else if (arguments.empty()) {
    return;
  } else if (out.calls.empty() || out.calls.back().index != next_index_ - 1) {
    out.calls.push_back({.index = next_index_ - 1});
  }
  out.calls.back().arguments += arguments;
}

void ToolCallParser::Between(char c, ToolText& out) {
  if (style_ == ToolStyle::kTagged) return AfterTagged(c, out);
  const bool is_list = style_ == ToolStyle::kMistral;
  const bool separates = is_list ? c == ',' : c == ';' || c == ',';
  if (IsJsonSpace(c)) {
    block_ += c;
  } else if (separates && block_.find(c) == block_.npos) {
    block_ += c;
    NextObject();
  } else if (is_list && c == ']') {
    CloseBlock();
  } else if (!is_list && c == '{') {
    NextObject();
    InObject(c, out);
  } else {
    LeaveBlock(c, out);
  }
}

void ToolCallParser::AfterTagged(char c, ToolText& out) {
  const size_t spaces = block_.find_first_not_of(kBlanks);
  const size_t seen = spaces == block_.npos ? 0 : block_.size() - spaces;
  const bool is_bare = closing_ != kClosingTag;
  if (seen == 0 && IsJsonSpace(c)) {
    block_ += c;
  } else if (seen == 0 && is_bare && c == '{') {
    NextObject();
    block_.clear();
    InObject(c, out);
  } else if (seen == closing_.size() || c != closing_[seen]) {
    LeaveBlock(c, out);
  } else if (seen + 1 == closing_.size()) {
    CloseBlock();
  } else {
    block_ += c;
  }
}

std::string ToolCallParser::TakeBlock() {
  std::string text = std::exchange(block_, {});
  if (follows_call_) text.erase(0, text.find_first_not_of(kBlanks));
  return text;
}

void ToolCallParser::NextObject() {
  object_.emplace(tools_);
  is_open_ = false;
  part_ = Part::kObject;
}

void ToolCallParser::CloseBlock() {
  block_.clear();
  part_ = Part::kContent;
}

void ToolCallParser::LeaveBlock(char c, ToolText& out) {
  const std::string text = TakeBlock();
  const size_t end = text.find_last_not_of(kBlanks) + 1;  // 0 if there are only spaces
  EmitContent(std::string_view(text).substr(0, end), out);
  spaces_ += text.substr(end);
  part_ = Part::kContent;
  at_start_ = false;
  InContent(c, out);
}

}  // namespace foretoken::openai
