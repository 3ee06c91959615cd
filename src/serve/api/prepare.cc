#include "serve/api/prepare.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "grammar/grammar.h"
#include "grammar/grammar_filter.h"
#include "serve/openai/tools/forced_call.h"
#include "serve/openai/tools/template_variables.h"

namespace foretoken::openai {
namespace {

using Grammar = std::shared_ptr<const Automaton>;

ApiError Invalid(std::string message, std::string param, const char* code = "invalid_value") {
  return {.message = std::move(message), .param = std::move(param), .code = code};
}

// Ends a sentence with a full stop: errors of templates and grammars lack one.
std::string Sentence(std::string text) {
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

ApiResult<ToolStyle> StyleFor(const ServedModel& served, const Request& request) {
  if (request.tools.empty() || request.tool_choice.kind == ToolChoice::Kind::kNone)
    return ToolStyle::kNone;
  if (served.tools != ToolStyle::kNone) return served.tools;
  return Invalid(
      "Unsupported value for 'tools': the model's chat template has no tool calls, or a format "
      "that this server does not support. Expected a template of Qwen2.5, Qwen3, Hermes, Llama 3.1 "
      "or Mistral.",
      "tools", "unsupported_value");
}

Result<Grammar> GrammarOf(const Constraint& constraint) {
  switch (constraint.kind) {
    case Constraint::Kind::kNone:
      return Grammar();
    case Constraint::Kind::kJsonObject:
      return GrammarOfJsonObject();
    case Constraint::Kind::kJsonSchema:
      return GrammarOfSchema(*constraint.schema, constraint.param);
    case Constraint::Kind::kGrammar:
      return GrammarOfGbnf(constraint.text, constraint.param);
  }
  return Grammar();
}

// The grammar that a request's answers must match. For a forced call, also sets prepared->opening.
ApiResult<Grammar> ConstraintOf(const Request& request, Prepared* prepared) {
  if (prepared->tools != ToolStyle::kNone && MustCall(request.tool_choice)) {
    Result<ForcedCall> forced =
        ForceCall(prepared->tools, request.tools, request.tool_choice, request.parallel_tool_calls);
    if (!forced.ok()) return Invalid(Sentence(forced.error().message), "tools");
    prepared->opening = std::move(forced->prefix);
    Result<Grammar> grammar = GrammarOfSchema(*forced->schema, "tools");
    if (!grammar.ok()) return Invalid(Sentence(grammar.error().message), "tools");
    return *std::move(grammar);
  }
  Result<Grammar> grammar = GrammarOf(request.constraint);
  if (grammar.ok()) return *std::move(grammar);
  return Invalid(Sentence(grammar.error().message), request.constraint.param);
}

// Error for a text that cannot fit into the context even if every token is as long as possible, so
// that it need not be encoded.
std::optional<ApiError> TooLong(const ServedModel& served, std::string_view text,
                                const char* param) {
  const size_t least = text.size() / served.longest_piece;
  if (least < static_cast<size_t>(served.info.context)) return std::nullopt;
  return ContextLengthError(static_cast<int>(least), served.info.context, param);
}

// The tokens of every prompt.
ApiResult<std::vector<std::vector<Token>>> EncodePrompts(const ServedModel& served,
                                                         const Request& request,
                                                         const std::string& opening) {
  std::vector<std::vector<Token>> prompts;
  if (request.endpoint == Endpoint::kChat) {
    const ApiResult<std::string> text = RenderChat(served, request);
    if (!text.ok()) return text.error();
    if (auto error = TooLong(served, text.value(), PromptField(request))) return *error;
    prompts.push_back(
        EncodePrompt(served.tokenizer(), text.value() + opening, /*parse_special=*/true));
  }
  for (const Prompt& prompt : request.prompts) {
    if (auto error = TooLong(served, prompt.text, PromptField(request))) return *error;
    prompts.push_back(prompt.is_tokens ? prompt.tokens
                                       : EncodePrompt(served.tokenizer(), prompt.text,
                                                      /*parse_special=*/true));
  }
  for (const std::vector<Token>& tokens : prompts) {
    if (tokens.empty()) return Invalid("The prompt has no tokens.", PromptField(request));
    if (std::ssize(tokens) >= served.info.context) {
      return ContextLengthError(static_cast<int>(tokens.size()), served.info.context,
                                PromptField(request));
    }
  }
  return prompts;
}

int NewTokens(const Request& request, const ServiceOptions& options) {
  const int asked = request.max_tokens.value_or(0), most = options.most_new_tokens;
  if (asked == 0 || most == 0) return std::max(asked, most);
  return std::min(asked, most);
}

// The tokens of the prediction, limited to the length that an answer can have.
std::vector<Token> PredictionOf(const ServedModel& served, const Request& request) {
  const auto most = static_cast<size_t>(served.info.context);
  std::string text = request.prediction.substr(0, most * served.longest_piece);
  text.resize(ValidUtf8Prefix(text));
  if (text.empty()) return {};
  std::vector<Token> tokens =
      served.tokenizer().Encode(text, {.add_bos = false, .parse_special = false});
  if (tokens.size() > most) tokens.resize(most);
  return tokens;
}

}  // namespace

const char* PromptField(const Request& request) {
  return request.endpoint == Endpoint::kChat ? "messages" : "prompt";
}

ApiResult<std::string> RenderChat(const ServedModel& served, const Request& request) {
  const Json messages = TemplateMessages(request.messages, served.tools);
  const Json tools = TemplateTools(request.tools, request.tool_choice);
  const Json variables = TemplateKeywords(request);
  Result<std::string> text =
      served.prompter->Render({.messages = &messages,
                               .tools = tools.is_null() ? nullptr : &tools,
                               .variables = &variables,
                               .open_answer = request.add_generation_prompt});
  if (text.ok()) return *std::move(text);
  return Invalid(
      Sentence("The model's chat template rejects the conversation: " + text.error().message),
      "messages", "template_error");
}

ApiResult<Prepared> Prepare(const ServedModel& served, const Request& request,
                            const ServiceOptions& options, uint64_t seed) {
  Prepared prepared;
  const ApiResult<ToolStyle> style = StyleFor(served, request);
  if (!style.ok()) return style.error();
  prepared.tools = style.value();
  const ApiResult<Grammar> grammar = ConstraintOf(request, &prepared);
  if (!grammar.ok()) return grammar.error();
  auto prompts = EncodePrompts(served, request, prepared.opening);
  if (!prompts.ok()) return prompts.error();
  foretoken::Request common{.max_new = NewTokens(request, options),
                            .sampling = request.sampling,
                            .answers = request.n,
                            .stop_strings = request.stop,
                            .ignore_eos = request.ignore_eos,
                            .logprobs = request.logprobs.value_or(-1),
                            .keeps_text = request.cache_prompt,
                            .drafter = served.DrafterNumber(request.drafter)};
  if (!request.seed) common.sampling.seed = seed;
  if (prepared.tools != ToolStyle::kNone) common.shown = served.call_marks;
  common.prediction = PredictionOf(served, request);
  for (std::vector<Token>& tokens : prompts.value()) {
    foretoken::Request asked = common;
    asked.prompt = std::move(tokens);
    // Answer i of prompt p draws with seed + p n + i.
    asked.sampling.seed +=
        static_cast<uint64_t>(prepared.requests.size()) * static_cast<uint64_t>(request.n);
    if (grammar.value() != nullptr) {
      // One filter per prompt. A filter and its forks share a cache and belong to one thread;
      // prompts need not share one.
      Result<std::unique_ptr<LogitFilter>> filter = NewGrammarFilter(grammar.value(), served.trie);
      if (!filter.ok()) return Invalid(Sentence(filter.error().message), request.constraint.param);
      asked.filter = *std::move(filter);
    }
    prepared.requests.push_back(std::move(asked));
  }
  return prepared;
}

}  // namespace foretoken::openai
