#include "jinja/chat_template.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/brief.h"
#include "base/json.h"
#include "jinja/interpreter.h"
#include "jinja/parser.h"

namespace foretoken {
namespace {

constexpr size_t kMaxSourceBytes = size_t{4} << 20;

constexpr size_t kMostErrorBytes = 400;  // bounds errors, which may quote the template's input

// Variables set from options, which `variables` may not override.
constexpr std::string_view kOwnVariables[] = {"messages", "tools", "add_generation_prompt",
                                              "bos_token", "eos_token"};

using jinja::Heap;
using jinja::Value;

Result<Value> MessagesOf(const ChatTemplate::Options& options, Heap& heap) {
  if (options.messages != nullptr) {
    if (!options.messages->is_array()) return Error{"expected an array as 'messages'"};
    return heap.FromJson(*options.messages);
  }
  Json messages = Json::array();
  for (const ChatMessage& message : options.chat) {
    messages.push_back({{"role", message.role}, {"content", message.content}});
  }
  return heap.FromJson(messages);
}

// Sets the variables that transformers gives every chat template.
Status SetVariables(const ChatTemplate::Options& options, Heap& heap,
                    jinja::Interpreter& interpreter) {
  FT_ASSIGN_OR_RETURN(Value messages, MessagesOf(options, heap));
  interpreter.SetVariable("messages", std::move(messages));
  interpreter.SetVariable("add_generation_prompt", Value::Bool(options.add_generation_prompt));
  FT_ASSIGN_OR_RETURN(Value bos, heap.String(options.bos_token));
  interpreter.SetVariable("bos_token", std::move(bos));
  FT_ASSIGN_OR_RETURN(Value eos, heap.String(options.eos_token));
  interpreter.SetVariable("eos_token", std::move(eos));
  Value tools = Value(jinja::None{});
  if (options.tools != nullptr) {
    FT_ASSIGN_OR_RETURN(tools, heap.FromJson(*options.tools));
  }
  interpreter.SetVariable("tools", std::move(tools));
  interpreter.SetVariable("documents", Value(jinja::None{}));
  if (options.variables == nullptr) return {};
  if (!options.variables->is_object()) return Error{"expected an object as 'variables'"};
  for (const auto& [name, json] : options.variables->items()) {
    if (std::ranges::find(kOwnVariables, name) != std::end(kOwnVariables))
      return Error{"the variable '" + name +
                   "' is set by the conversation or the model; expected others"};
    FT_ASSIGN_OR_RETURN(Value value, heap.FromJson(json));
    interpreter.SetVariable(name, std::move(value));
  }
  return {};
}

}  // namespace

struct ChatTemplate::Parsed {
  std::string source;
  std::string origin;
  jinja::Body body;
};

Result<ChatTemplate> ChatTemplate::Parse(std::string source, std::string_view origin) {
  auto parsed = std::make_shared<Parsed>();
  parsed->origin = origin;
  if (source.size() > kMaxSourceBytes) {
    return Error{parsed->origin + ": the template has " + std::to_string(source.size()) +
                 " bytes; expected at most " + std::to_string(kMaxSourceBytes)};
  }
  Result<jinja::Body> body = jinja::ParseTemplate(source);
  if (!body.ok()) return Error{parsed->origin + ": " + body.error().message};
  parsed->source = std::move(source);
  parsed->body = *std::move(body);
  return ChatTemplate(std::move(parsed));
}

const std::string& ChatTemplate::source() const { return parsed_->source; }

Result<std::string> ChatTemplate::Render(const Options& options) const {
  jinja::Limits limits;
  limits.work = options.max_work;
  limits.value_bytes = options.max_output_bytes;
  Heap heap(limits);
  jinja::Interpreter interpreter(heap, options.now);
  if (Status status = SetVariables(options, heap, interpreter); !status.ok()) {
    return Error{parsed_->origin + ": " + status.error().message};
  }
  Result<std::string> text = interpreter.Run(parsed_->body);
  if (!text.ok()) {
    return Error{parsed_->origin + ": line " + std::to_string(interpreter.line()) + ": " +
                 Brief(text.error().message, kMostErrorBytes)};
  }
  return text;
}

}  // namespace foretoken
