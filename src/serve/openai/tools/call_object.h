// An incremental parser of one tool call as models write it: {"name": "f", "arguments": {...}}.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "serve/openai/tools/json_scanner.h"
#include "serve/openai/tools/tool.h"

namespace foretoken::openai {

// Keys may come in any order; "parameters" is an alias of "arguments"; other keys are skipped.
// Arguments given as a string are parsed as JSON; missing ones mean {}.
class CallObject {
 public:
  enum class State : uint8_t { kReading, kDone, kBad };

  // Borrows `tools`. A call must name one of them.
  explicit CallObject(std::span<const Tool> tools) : tools_(tools) {}

  // Takes the next byte. Returns kBad if the text is not a call of one of the tools. REQUIRES:
  // kReading so far.
  State Add(char c);
  // Whether this is certainly a call: its name is a tool's and its arguments have begun.
  bool is_open() const { return has_name_ && has_arguments_; }
  const std::string& name() const { return name_; }
  // The argument text that arrived since the previous call. REQUIRES: is_open().
  std::string TakeArguments();

 private:
  enum class Part : uint8_t {
    kStart,
    kFirstKey,
    kNextKey,
    kKey,
    kColon,
    kValueStart,
    kValue,
    kAfter
  };

  State AddOutside(char c);
  State BeginText(char c, Part part);
  State InKey(char c);
  State InValue(char c);
  State ValueEnds();
  State End();
  bool TakeName();
  bool TakeWrittenArguments();

  std::span<const Tool> tools_;
  Part part_ = Part::kStart;
  JsonScanner scanner_;
  std::string text_;  // text of the key or value being read
  std::string key_;
  bool is_streamed_ = false;  // the value being read is the arguments object
  bool has_name_ = false, has_arguments_ = false;
  std::string name_;
  std::string arguments_;  // not returned by TakeArguments yet
};

}  // namespace foretoken::openai
