#include "serve/openai/request_fields.h"

#include <algorithm>
#include <limits>

#include "base/json.h"

namespace foretoken::openai {
namespace {

constexpr int64_t kMostInt = std::numeric_limits<int32_t>::max();

// Readers of one number, flag or string. Each stores it in a member of the request.

template <bool Request::*member>
void ReadFlag(const Json& value, FieldContext& c) {
  if (const auto flag = c.reader.Bool(value, c.param)) c.request.*member = *flag;
}

template <std::string Request::*member>
void ReadText(const Json& value, FieldContext& c) {
  if (auto text = c.reader.Text(value, c.param, 256)) c.request.*member = *std::move(text);
}

void ReadTemperature(const Json& value, FieldContext& c) {
  if (const auto x = c.reader.Number(value, c.param, 0, 100))
    c.request.sampling.temperature = static_cast<float>(*x);
}

// Reads a probability mass. 0, which means greedy decoding on other servers, becomes the least
// value that sampling accepts.
template <float SamplingParams::*member>
void ReadMass(const Json& value, FieldContext& c) {
  if (const auto x = c.reader.Number(value, c.param, 0, 1))
    c.request.sampling.*member = std::max(static_cast<float>(*x), 1e-8f);
}

void ReadMinP(const Json& value, FieldContext& c) {
  if (const auto x = c.reader.Number(value, c.param, 0, 1))
    c.request.sampling.min_p = static_cast<float>(*x);
}

void ReadTopK(const Json& value, FieldContext& c) {
  if (const auto k = c.reader.Integer(value, c.param, -1, kMostInt))
    c.request.sampling.top_k = static_cast<int>(std::max<int64_t>(*k, 0));
}

template <float SamplingParams::*member>
void ReadPenalty(const Json& value, FieldContext& c) {
  if (const auto x = c.reader.Number(value, c.param, -2, 2))
    c.request.sampling.*member = static_cast<float>(*x);
}

void ReadRepeatPenalty(const Json& value, FieldContext& c) {
  if (const auto x = c.reader.Number(value, c.param, 0.01, 100))
    c.request.sampling.repetition_penalty = static_cast<float>(*x);
}

void ReadRepeatLastN(const Json& value, FieldContext& c) {
  if (const auto count = c.reader.Integer(value, c.param, -1, kMostInt))
    c.request.sampling.penalty_last_n = static_cast<int>(*count);
}

// Accepts signed seeds as in OpenAI's API and unsigned ones as in this server; -1 asks for a random
// seed, as in llama.cpp.
void ReadSeed(const Json& value, FieldContext& c) {
  if (value.is_number_unsigned()) {
    c.request.seed = value.get<uint64_t>();
    return;
  }
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const auto seed = c.reader.Integer(value, c.param, kLeast, std::numeric_limits<int64_t>::max());
  if (seed && *seed != -1) c.request.seed = static_cast<uint64_t>(*seed);
}

// Several fields set this limit; the smallest value counts. -1: no limit, as in llama.cpp.
void ReadMaxTokens(const Json& value, FieldContext& c) {
  const auto count = c.reader.Integer(value, c.param, -1, kMostInt);
  if (!count || *count == -1) return;
  if (*count == 0)
    return c.reader.WrongValue(c.param, "at least 1, or -1 for no limit", Describe(value));
  const int most = static_cast<int>(*count);
  c.request.max_tokens = std::min(most, c.request.max_tokens.value_or(most));
}

void ReadN(const Json& value, FieldContext& c) {
  if (const auto n = c.reader.Integer(value, c.param, 1, c.rules.most_choices))
    c.request.n = static_cast<int>(*n);
}

void ReadWantsLogprobs(const Json& value, FieldContext& c) {
  if (const auto flag = c.reader.Bool(value, c.param)) c.wants_logprobs = *flag;
}

void ReadTopLogprobs(const Json& value, FieldContext& c) {
  if (const auto count = c.reader.Integer(value, c.param, 0, c.rules.most_logprobs))
    c.top_logprobs = static_cast<int>(*count);
}

void ReadTextLogprobs(const Json& value, FieldContext& c) {
  if (const auto count = c.reader.Integer(value, c.param, 0, c.rules.most_logprobs))
    c.request.logprobs = static_cast<int>(*count);
}

void ReadDrafter(const Json& value, FieldContext& c) {
  const auto name = c.reader.Text(value, c.param);
  if (!name) return;
  const std::vector<std::string>& known = c.rules.drafters;
  if (*name != "none" && std::find(known.begin(), known.end(), *name) == known.end()) {
    std::string expected = "'none'";
    for (const std::string& other : known) expected += ", '" + other + "'";
    return c.reader.WrongValue(c.param, expected, Describe(value));
  }
  c.request.drafter = *name;
}

void ReadDetail(const Json& value, FieldContext& c) {
  const auto name = c.reader.OneOf(value, c.param, {"none", "summary", "detailed"});
  if (!name) return;
  c.request.detail = *name == "none"      ? SpeculationDetail::kNone
                     : *name == "summary" ? SpeculationDetail::kSummary
                                          : SpeculationDetail::kDetailed;
}

constexpr uint8_t kChat = static_cast<uint8_t>(Endpoint::kChat);
constexpr uint8_t kText = static_cast<uint8_t>(Endpoint::kText);
constexpr uint8_t kBoth = kChat | kText;

constexpr const char* kFlag = R"({"type": "boolean"})";
constexpr const char* kShare = R"({"type": "number", "minimum": 0, "maximum": 1})";
constexpr const char* kPenalty = R"({"type": "number", "minimum": -2, "maximum": 2})";
constexpr const char* kRepeat = R"({"type": "number", "minimum": 0.01, "maximum": 100})";
constexpr const char* kName = R"({"type": "string", "maxLength": 256})";
constexpr const char* kMaxTokens =
    R"({"type": "integer", "minimum": -1, "maximum": 2147483647, "not": {"const": 0}})";
constexpr const char* kAlternatives =
    R"({"type": "integer", "minimum": 0, "maximum": "$most_logprobs"})";
constexpr const char* kNull = R"({"enum": []})";
constexpr const char* kFalse = R"({"enum": [false]})";
constexpr const char* kZero = R"({"enum": [0]})";
constexpr const char* kOne = R"({"enum": [1]})";
constexpr const char* kEmpty = R"({"enum": [[]]})";
constexpr const char* kEmptyObject = R"({"enum": [{}]})";
constexpr const char* kAny = "{}";

constexpr FieldUse kUsed = FieldUse::kUsed;
constexpr FieldUse kIgnored = FieldUse::kIgnored;
constexpr FieldUse kRefused = FieldUse::kRefused;

constexpr Field kFields[] = {
    {"model", kBoth, kUsed, kName, "The model; any name stands for the loaded one.",
     ReadText<&Request::model>},
    {"messages", kChat, kUsed,
     R"({"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Message"}})",
     "The conversation.", ReadMessages},
    {"prompt", kText, kUsed, R"({"$ref": "#/components/schemas/Prompt"})",
     "One prompt or several, as text or tokens.", ReadPrompt},

    // Length.
    {"max_tokens", kBoth, kUsed, kMaxTokens, "Maximum number of tokens in an answer; -1: no limit.",
     ReadMaxTokens},
    {"max_completion_tokens", kChat, kUsed, kMaxTokens, "Same as max_tokens.", ReadMaxTokens},
    {"n_predict", kBoth, kUsed, kMaxTokens, "Same as max_tokens.", ReadMaxTokens},
    {"n", kBoth, kUsed, R"({"type": "integer", "minimum": 1, "maximum": "$most_choices"})",
     "Number of answers for each prompt.", ReadN},
    {"stop", kBoth, kUsed, R"({"anyOf": [
        {"type": "string", "minLength": 1, "maxLength": "$most_stop_length"},
        {"type": "array", "maxItems": "$most_stops",
         "items": {"type": "string", "minLength": 1, "maxLength": "$most_stop_length"}}]})",
     "Strings that end an answer; the answer does not include them.", ReadStop},
    {"ignore_eos", kBoth, kUsed, kFlag,
     "Continue after end tokens. Not with response_format, json_schema or grammar, nor if "
     "tool_choice requires a call.",
     ReadFlag<&Request::ignore_eos>},

    // Sampling.
    {"temperature", kBoth, kUsed, R"({"type": "number", "minimum": 0, "maximum": 100})",
     "Sampling temperature; below 0.00001: the likeliest token.", ReadTemperature},
    {"top_p", kBoth, kUsed, kShare, "Keep the likeliest tokens with this total probability.",
     ReadMass<&SamplingParams::top_p>},
    {"top_k", kBoth, kUsed, R"({"type": "integer", "minimum": -1, "maximum": 2147483647})",
     "Keep this many of the likeliest tokens; 0 or -1: all.", ReadTopK},
    {"min_p", kBoth, kUsed, kShare,
     "Keep tokens with at least this fraction of the likeliest token's probability.", ReadMinP},
    {"typical_p", kBoth, kUsed, kShare, "Keep the most typical tokens with this total probability.",
     ReadMass<&SamplingParams::typical_p>},
    {"presence_penalty", kBoth, kUsed, kPenalty,
     "Subtracted from the logits of tokens that have occurred.",
     ReadPenalty<&SamplingParams::presence_penalty>},
    {"frequency_penalty", kBoth, kUsed, kPenalty,
     "Subtracted from the logits of tokens for each time they have occurred.",
     ReadPenalty<&SamplingParams::frequency_penalty>},
    {"repeat_penalty", kBoth, kUsed, kRepeat, "Divides the logits of tokens that have occurred.",
     ReadRepeatPenalty},
    {"repetition_penalty", kBoth, kUsed, kRepeat, "Same as repeat_penalty.", ReadRepeatPenalty},
    {"repeat_last_n", kBoth, kUsed, R"({"type": "integer", "minimum": -1, "maximum": 2147483647})",
     "Number of recent tokens that the penalties count; -1: all.", ReadRepeatLastN},
    {"logit_bias", kBoth, kUsed, R"({"$ref": "#/components/schemas/LogitBias"})",
     "Added to the logits of tokens.", ReadLogitBias},
    {"seed", kBoth, kUsed,
     R"({"type": "integer", "minimum": -9223372036854775808, "maximum": 18446744073709551615})",
     "Equal requests with the same seed get the same answer; -1: a random seed.", ReadSeed},

    // Constraints.
    {"response_format", kBoth, kUsed, R"({"$ref": "#/components/schemas/ResponseFormat"})",
     "Text, any JSON object, or JSON that meets a schema. With tools only if tool_choice is none, "
     "as the format would rule out calls.",
     ReadResponseFormat},
    {"json_schema", kBoth, kUsed, R"({"type": "object"})",
     "A schema, as in response_format (llama.cpp). With tools only if tool_choice is none.",
     ReadJsonSchema},
    {"grammar", kBoth, kUsed, R"({"type": "string", "maxLength": 262144})",
     "A GBNF grammar that the answer must match. With tools only if tool_choice is none.",
     ReadGrammar},
    {"tools", kChat, kUsed, R"({"type": "array", "maxItems": "$most_tools",
        "items": {"$ref": "#/components/schemas/Tool"}})",
     "Functions that the model may call.", ReadTools},
    {"tool_choice", kChat, kUsed, R"({"$ref": "#/components/schemas/ToolChoice"})",
     "Whether the model may, must or must not call functions, or which one it must call.",
     ReadToolChoice},
    {"parallel_tool_calls", kChat, kUsed, kFlag, "Whether an answer may contain several calls.",
     ReadFlag<&Request::parallel_tool_calls>},
    {"prediction", kBoth, kUsed, R"({"$ref": "#/components/schemas/Prediction"})",
     "A text that the answer is expected to repeat; drafts are copied from it.", ReadPrediction},

    // Construction of the prompt.
    {"chat_template_kwargs", kChat, kUsed,
     R"({"type": "object", "propertyNames": {"not": {"enum":
        ["messages", "tools", "add_generation_prompt", "bos_token", "eos_token"]}}})",
     "Variables for the model's chat template.", ReadTemplateVariables},
    {"add_generation_prompt", kChat, kUsed, kFlag, "Whether the prompt opens the assistant's turn.",
     ReadFlag<&Request::add_generation_prompt>},
    {"cache_prompt", kBoth, kUsed, kFlag,
     "Whether to reuse cached parts of the prompt, and to cache it.",
     ReadFlag<&Request::cache_prompt>},

    // Contents of the reply.
    {"stream", kBoth, kUsed, kFlag, "Send the answer while it is generated, as server-sent events.",
     ReadFlag<&Request::stream>},
    {"stream_options", kBoth, kUsed, R"({"type": "object",
        "properties": {"include_usage": {"type": ["boolean", "null"]}}})",
     "include_usage: send a last chunk with the usage. Only with stream.", ReadStreamOptions},
    {"logprobs", kChat, kUsed, kFlag, "Whether to return the log probabilities of tokens.",
     ReadWantsLogprobs},
    {"top_logprobs", kChat, kUsed, kAlternatives,
     "Number of alternatives returned for each token. Only with logprobs.", ReadTopLogprobs},
    {"logprobs", kText, kUsed, kAlternatives,
     "Return the log probability of each token and of this many alternatives.", ReadTextLogprobs},
    {"user", kBoth, kUsed, R"({"type": "string", "maxLength": 256})",
     "An identifier of the client's user.", ReadText<&Request::user>},

    // Details of speculation; extensions of this server, except timings_per_token (llama.cpp).
    {"drafter", kBoth, kUsed, R"({"enum": "$drafters"})",
     "One of the server's drafters, or none. The text does not depend on it.", ReadDrafter},
    {"cycles", kBoth, kUsed, kFlag, "Whether to return which characters each cycle wrote.",
     ReadFlag<&Request::cycles>},
    {"speculation_metrics", kBoth, kUsed, R"({"enum": ["none", "summary", "detailed"]})",
     "How much of metrics.speculative_decoding to return.", ReadDetail},
    {"timings_per_token", kBoth, kUsed, kFlag, "Whether every chunk of a stream has timings.",
     ReadFlag<&Request::timings_per_token>},

    {"metadata", kBoth, kIgnored, kAny, "Ignored.", nullptr},
    {"store", kBoth, kIgnored, kAny, "Ignored: nothing is stored.", nullptr},
    {"service_tier", kBoth, kIgnored, kAny, "Ignored.", nullptr},
    {"safety_identifier", kBoth, kIgnored, kAny, "Ignored.", nullptr},
    {"prompt_cache_key", kBoth, kIgnored, kAny, "Ignored: prefixes are shared automatically.",
     nullptr},
    {"prompt_cache_retention", kBoth, kIgnored, kAny, "Ignored.", nullptr},
    {"reasoning_effort", kChat, kIgnored, kAny,
     "Ignored; use chat_template_kwargs to set variables of the template.", nullptr},
    {"verbosity", kChat, kIgnored, kAny, "Ignored.", nullptr},

    {"audio", kChat, kRefused, kNull, "there is no audio output", nullptr},
    {"modalities", kChat, kRefused, R"({"enum": [["text"]]})", "only text is generated", nullptr},
    {"functions", kChat, kRefused, kEmpty, "use tools", nullptr},
    {"function_call", kChat, kRefused, R"({"enum": ["none"]})", "use tool_choice", nullptr},
    {"web_search_options", kChat, kRefused, kNull, "there is no web search", nullptr},
    {"continue_final_message", kChat, kRefused, kFalse, "use /v1/completions", nullptr},
    {"chat_template", kChat, kRefused, kNull, "the model's template is used", nullptr},
    {"documents", kChat, kRefused, kEmpty, "put them into messages", nullptr},
    {"best_of", kBoth, kRefused, kOne, "answers are not ranked; use n", nullptr},
    {"echo", kBoth, kRefused, kFalse, "the prompt is not part of the answer", nullptr},
    {"suffix", kText, kRefused, R"({"enum": [""]})", "there is no infilling", nullptr},
    {"use_beam_search", kBoth, kRefused, kFalse, "there is no beam search", nullptr},
    {"length_penalty", kBoth, kRefused, kOne, "there is no beam search", nullptr},
    {"min_tokens", kBoth, kRefused, kZero, "use ignore_eos", nullptr},
    {"stop_token_ids", kBoth, kRefused, kEmpty, "use stop", nullptr},
    {"bad_words", kBoth, kRefused, kEmpty, "use logit_bias", nullptr},
    {"allowed_token_ids", kBoth, kRefused, kNull, "use grammar", nullptr},
    {"prompt_logprobs", kBoth, kRefused, kNull, "only answers have log probabilities", nullptr},
    {"n_probs", kBoth, kRefused, kZero, "use logprobs", nullptr},
    {"guided_json", kBoth, kRefused, kNull, "use response_format", nullptr},
    {"guided_regex", kBoth, kRefused, kNull, "use grammar", nullptr},
    {"guided_choice", kBoth, kRefused, kNull, "use grammar", nullptr},
    {"guided_grammar", kBoth, kRefused, kNull, "use grammar", nullptr},
    {"structured_outputs", kBoth, kRefused, kNull, "use response_format or grammar", nullptr},
    {"samplers", kBoth, kRefused, kNull, "the server sets the order of samplers", nullptr},
    {"mirostat", kBoth, kRefused, kZero, "there is no such sampler", nullptr},
    {"dynatemp_range", kBoth, kRefused, kZero, "there is no such sampler", nullptr},
    {"xtc_probability", kBoth, kRefused, kZero, "there is no such sampler", nullptr},
    {"dry_multiplier", kBoth, kRefused, kZero, "there is no such sampler", nullptr},
    {"lora", kBoth, kRefused, kEmpty, "adapters are not loaded", nullptr},
    // Of Ollama's own API, whose clients are pointed here.
    {"options", kBoth, kRefused, kEmptyObject,
     "put temperature and the like into the request itself", nullptr},
    {"format", kBoth, kRefused, kNull, "use response_format", nullptr},
    {"num_predict", kBoth, kRefused, kNull, "use max_tokens", nullptr},
    {"num_ctx", kBoth, kRefused, kNull, "the server's --context limits all requests", nullptr},
    {"keep_alive", kBoth, kIgnored, kAny, "Ignored: the model stays loaded.", nullptr},
};

Json LimitOf(const std::string& name, const RequestRules& rules) {
  if (name == "$most_logprobs") return rules.most_logprobs;
  if (name == "$most_choices") return rules.most_choices;
  if (name == "$most_stops") return rules.most_stops;
  if (name == "$most_tools") return rules.most_tools;
  if (name == "$most_prompts") return rules.most_prompts;
  if (name == "$most_stop_length") return rules.most_stop_length;
  if (name == "$vocab_last") return rules.vocab > 0 ? rules.vocab - 1 : kMostInt;
  FT_CHECK(name == "$drafters");
  Json names = Json::array({"none"});
  for (const std::string& drafter : rules.drafters) names.push_back(drafter);
  return names;
}

}  // namespace

std::span<const Field> RequestFields() { return kFields; }

void FillLimits(Json& schema, const RequestRules& rules) {
  if (schema.is_string()) {
    const auto& text = schema.get_ref<const std::string&>();
    if (text.starts_with("$")) schema = LimitOf(text, rules);
  } else if (schema.is_structured()) {
    for (Json& inner : schema) FillLimits(inner, rules);
  }
}

Json SchemaOf(const Field& field, const RequestRules& rules) {
  Json schema = Json::parse(field.schema);
  FillLimits(schema, rules);
  return schema;
}

}  // namespace foretoken::openai
