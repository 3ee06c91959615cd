// Divides what a model writes into content and calls of tools, while it is being written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/openai/tools/call_object.h"
#include "serve/openai/tools/tool.h"
#include "serve/openai/tools/tool_style.h"

namespace foretoken::openai {

// What a piece of text turned out to hold.
struct ToolText {
  std::string content;
  std::vector<CallDelta> calls;  // by index, at most one entry each
};

// Holds back what may become a call until that is certain: until a name that was offered and the
// beginning of arguments are there. What turns out to be none becomes content, byte for byte;
// spaces around calls, and a closing tag that the end of the text cuts off, belong to neither.
// However the text is divided into pieces, the sums of content and of each call's arguments are the
// same. Time: linear in the text.
class ToolCallParser {
 public:
  // `tools` outlives this. Without `parallel` the text ends with the first call. Ids are drawn from
  // `seed`, which is to be another one for each answer.
  ToolCallParser(ToolStyle style, std::span<const Tool> tools, bool parallel, uint64_t seed);

  ToolText Add(std::string_view text);
  // To be called when the text ends: what was held back.
  ToolText Finish();

  // Calls that have been opened.
  int calls() const { return next_index_; }
  // Whether more text would be ignored: one call was asked for, and is whole.
  bool is_finished() const { return is_finished_; }

 private:
  enum class Part : uint8_t {
    kContent,
    kArray,    // before the '[' of Mistral
    kObject,   // in a call, or in spaces before
    kBetween,  // after a call, in its block
  };

  void AddByte(char c, ToolText& out);
  void InContent(char c, ToolText& out);
  bool BeginsBare(char c, ToolText& out);
  void EnterBlock(std::string_view text);
  void InArray(char c, ToolText& out);
  void InObject(char c, ToolText& out);
  void Between(char c, ToolText& out);
  void AfterTagged(char c, ToolText& out);
  // The block is none, or ends without its mark before `c`.
  void LeaveBlock(char c, ToolText& out);
  void CloseBlock();
  // What of the block becomes content where it holds no call: all of it, but for the spaces that
  // follow a call.
  std::string TakeBlock();
  // Another call of the block is to follow.
  void NextObject();
  void EmitCall(ToolText& out);
  void EmitContent(std::string_view text, ToolText& out);

  ToolStyle style_;
  std::span<const Tool> tools_;
  bool parallel_;
  uint64_t seed_;
  std::string_view mark_;

  Part part_ = Part::kContent;
  std::string spaces_;        // of content, not told yet
  std::string mark_seen_;     // the beginning of the mark
  std::string fence_seen_;    // of a fence, which may open calls at the start
  std::string_view closing_;  // of the block: what ends it, or "" where nothing does
  std::string block_;         // of a block, what becomes content if it is no call
  std::optional<CallObject> object_;
  bool is_open_ = false;  // the object is told to be a call
  bool at_start_ = true;  // nothing but spaces so far
  bool follows_call_ = false;
  bool is_finished_ = false;
  int next_index_ = 0;
};

// The id of an answer's call `index`; nine letters and digits where Mistral's template is strict.
std::string CallId(ToolStyle style, uint64_t seed, int index);

}  // namespace foretoken::openai
