// A model's tokenizer.chat_template: a Jinja template that formats a conversation as the text the
// model was trained on. Renders the same text as transformers (Jinja's immutable sandbox with
// trim_blocks, lstrip_blocks and loop controls), for the part of Jinja that such templates use.
#pragma once

#include <cstddef>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"

namespace foretoken {

struct ChatMessage {
  std::string role;
  std::string content;
};

// Immutable once parsed; cheap to copy. Thread-safety: Render may run on any number of threads.
class ChatTemplate {
 public:
  struct Options {
    // The conversation: `messages` (an array, with tool calls etc.) or, if it is null, `chat`.
    const Json* messages = nullptr;
    std::span<const ChatMessage> chat;
    // Whether to append the opening of the assistant's answer.
    bool add_generation_prompt = true;
    std::string bos_token;
    std::string eos_token;
    const Json* tools = nullptr;      // an array; null: the template sees none
    const Json* variables = nullptr;  // an object of additional variables, such as enable_thinking
    std::optional<std::time_t> now;   // the time for strftime_now; the clock's if absent
    size_t max_output_bytes = size_t{64} << 20;
    size_t max_work = 50'000'000;  // one or two seconds; a conversation needs thousands
  };

  // `origin` (a file and field) prefixes every error message. Errors: a syntax error in the
  // template, with the line and what was expected there.
  static Result<ChatTemplate> Parse(std::string source, std::string_view origin);

  // Errors, with the line: raise_exception in the template, use of undefined values, types that do
  // not fit; a template that exceeds the limits of work, memory or output.
  Result<std::string> Render(const Options& options) const;

  const std::string& source() const;

 private:
  struct Parsed;
  explicit ChatTemplate(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}

  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace foretoken
