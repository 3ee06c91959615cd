// One call as models write it, {"name": "f", "arguments": {...}}, read byte by byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "serve/openai/tools/json_scanner.h"
#include "serve/openai/tools/tool.h"

namespace foretoken::openai {

// Keys may come in any order; "parameters" stands for "arguments"; others are passed over.
// Arguments that are a string are taken for their JSON, missing ones for {}.
class CallObject {
 public:
  enum class State : uint8_t { kReading, kDone, kBad };

  // `tools` outlives this; a call names one of them.
  explicit CallObject(std::span<const Tool> tools) : tools_(tools) {}

  // The next byte. kBad: it is no call of one of the tools. REQUIRES: kReading so far.
  State Add(char c);
  // Whether it is certain to be a call: its name is one of the tools', its arguments have begun.
  bool is_open() const { return has_name_ && has_arguments_; }
  const std::string& name() const { return name_; }
  // The text of the arguments that arrived since the last call of this. REQUIRES: is_open().
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
  std::string text_;  // of the key or value being read
  std::string key_;
  bool is_streamed_ = false;  // the value is the arguments' object
  bool has_name_ = false, has_arguments_ = false;
  std::string name_;
  std::string arguments_;  // not yet taken
};

}  // namespace foretoken::openai
