// A streaming parser that splits generated text into content and tool calls.
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

// The content and calls found in a piece of text.
struct ToolText {
  std::string content;
  std::vector<CallDelta> calls;  // in order of index, at most one entry per call
};

// Holds back text that may become a call until a known tool name and the beginning of arguments
// have been seen. Text that turns out not to be a call becomes content, byte for byte. Spaces
// around calls, and a closing tag cut off by the end of the text, belong to neither. The
// concatenated content and arguments do not depend on how the text is divided into pieces. Time:
// linear in the text.
class ToolCallParser {
 public:
  // Borrows `tools`. Without `parallel`, text after the first call is ignored. `seed` generates the
  // call ids and must differ between answers.
  ToolCallParser(ToolStyle style, std::span<const Tool> tools, bool parallel, uint64_t seed);

  ToolText Add(std::string_view text);
  // Must be called at the end of the text. Returns what was held back.
  ToolText Finish();

  // Number of calls opened so far.
  int calls() const { return next_index_; }
  // Whether further text would be ignored: only one call was requested, and it is complete.
  bool is_finished() const { return is_finished_; }

 private:
  enum class Part : uint8_t {
    kContent,
    kArray,    // before Mistral's '['
    kObject,   // in a call, or in spaces before one
    kBetween,  // after a call, inside its block
  };

  void AddByte(char c, ToolText& out);
  void InContent(char c, ToolText& out);
  bool BeginsBare(char c, ToolText& out);
  void EnterBlock(std::string_view text);
  void InArray(char c, ToolText& out);
  void InObject(char c, ToolText& out);
  void Between(char c, ToolText& out);
  void AfterTagged(char c, ToolText& out);
  // Ends a block that holds no call, or that ends before `c` without its closing mark.
  void LeaveBlock(char c, ToolText& out);
  void CloseBlock();
  // The part of the block that becomes content if it holds no call: everything except spaces that
  // follow a call.
  std::string TakeBlock();
  // Prepares for another call in the block.
  void NextObject();
  void EmitCall(ToolText& out);
  void EmitContent(std::string_view text, ToolText& out);

  ToolStyle style_;
  std::span<const Tool> tools_;
  bool parallel_;
  uint64_t seed_;
  std::string_view mark_;

  Part part_ = Part::kContent;
  std::string spaces_;        // trailing spaces of content, not emitted yet
  std::string mark_seen_;     // the part of the opening mark seen so far
  std::string fence_seen_;    // the part of a code fence seen so far; a fence may open calls at the
                              // start of the text
  std::string_view closing_;  // the closing mark of the block, or "" if it has none
  std::string block_;         // text of a block that becomes content if it is not a call
  std::optional<CallObject> object_;
  bool is_open_ = false;  // the object has been emitted as a call
  bool at_start_ = true;  // only spaces so far
  bool follows_call_ = false;
  bool is_finished_ = false;
  int next_index_ = 0;
};

// The id of call `index` of an answer; nine letters and digits for Mistral, whose template requires
// it.
std::string CallId(ToolStyle style, uint64_t seed, int index);

}  // namespace foretoken::openai
