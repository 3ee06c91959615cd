// The schemas of /openapi.json that are not generated from the field table: parts of requests, and
// answers.
#include "base/json.h"
#include "serve/openai/openapi.h"

namespace foretoken::openai {
namespace {

constexpr const char* kRequestParts = R"json({
  "Content": {"anyOf": [
    {"type": "string"},
    {"type": "array", "items": {"$ref": "#/components/schemas/ContentPart"}}]},
  "ContentPart": {"anyOf": [
    {"type": "object", "required": ["type", "text"],
     "properties": {"type": {"const": "text"}, "text": {"type": "string"}}},
    {"type": "object", "required": ["type", "refusal"],
     "properties": {"type": {"const": "refusal"}, "refusal": {"type": "string"}}}]},
  "Message": {"anyOf": [
    {"type": "object", "required": ["role", "content"],
     "properties": {"role": {"enum": ["system", "developer", "user"]},
                    "content": {"$ref": "#/components/schemas/Content"},
                    "name": {"type": ["string", "null"], "maxLength": 256}}},
    {"type": "object", "required": ["role", "content"],
     "properties": {"role": {"const": "tool"},
                    "content": {"$ref": "#/components/schemas/Content"},
                    "name": {"type": ["string", "null"], "maxLength": 256},
                    "tool_call_id": {"type": ["string", "null"], "maxLength": 256}}},
    {"type": "object", "required": ["role"],
     "properties": {"role": {"const": "assistant"},
                    "content": {"anyOf": [{"$ref": "#/components/schemas/Content"},
                                          {"type": "null"}]},
                    "name": {"type": ["string", "null"], "maxLength": 256},
                    "reasoning_content": {"type": ["string", "null"]},
                    "audio": {"type": "null"},
                    "function_call": {"type": "null"},
                    "tool_calls": {"anyOf": [{"type": "null"},
                      {"type": "array", "maxItems": 1024,
                       "items": {"$ref": "#/components/schemas/WrittenCall"}}]}}}]},
  "WrittenCall": {"type": "object", "required": ["function"], "properties": {
    "id": {"type": ["string", "null"], "maxLength": 256},
    "type": {"enum": ["function", null]},
    "function": {"type": "object", "required": ["name", "arguments"], "properties": {
      "name": {"type": "string", "maxLength": 256},
      "arguments": {"type": ["string", "object"]}}}}},
  "Prompt": {"anyOf": [
    {"type": "string"},
    {"$ref": "#/components/schemas/TokenIds"},
    {"type": "array", "minItems": 1, "maxItems": "$most_prompts", "items": {"anyOf": [
      {"type": "string"}, {"$ref": "#/components/schemas/TokenIds"}]}}]},
  "TokenIds": {"type": "array", "minItems": 1,
    "items": {"type": "integer", "minimum": 0, "maximum": "$vocab_last"}},
  "LogitBias": {"type": "object", "propertyNames": {"pattern": "^[0-9]+$"},
    "additionalProperties": {"anyOf": [
      {"type": "number", "minimum": -100, "maximum": 100}, {"const": false}]}},
  "ResponseFormat": {"anyOf": [
    {"type": "object", "required": ["type"], "properties": {"type": {"const": "text"}}},
    {"type": "object", "required": ["type"],
     "properties": {"type": {"const": "json_object"}, "schema": {"type": ["object", "null"]}}},
    {"type": "object", "required": ["type", "json_schema"],
     "properties": {"type": {"const": "json_schema"},
       "json_schema": {"type": "object", "required": ["schema"], "properties": {
         "name": {"type": ["string", "null"], "maxLength": 256},
         "strict": {"type": ["boolean", "null"]},
         "schema": {"type": "object"}}}}}]},
  "Tool": {"type": "object", "required": ["type", "function"], "properties": {
    "type": {"const": "function"},
    "function": {"type": "object", "required": ["name"], "properties": {
      "name": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$"},
      "description": {"type": ["string", "null"]},
      "parameters": {"type": ["object", "null"]}}}}},
  "ToolChoice": {"anyOf": [
    {"enum": ["none", "auto", "required"]},
    {"type": "object", "required": ["type", "function"], "properties": {
      "type": {"const": "function"},
      "function": {"type": "object", "required": ["name"],
                   "properties": {"name": {"type": "string"}}}}}]},
  "Prediction": {"type": "object", "required": ["type", "content"], "properties": {
    "type": {"const": "content"}, "content": {"$ref": "#/components/schemas/Content"}}},
  "TokenizeRequest": {"type": "object", "required": ["content"], "properties": {
    "content": {"type": "string"},
    "add_special": {"type": ["boolean", "null"]},
    "parse_special": {"type": ["boolean", "null"]},
    "with_pieces": {"type": ["boolean", "null"]}}},
  "DetokenizeRequest": {"type": "object", "required": ["tokens"], "properties": {
    "tokens": {"type": "array",
               "items": {"type": "integer", "minimum": 0, "maximum": "$vocab_last"}}}}
})json";

constexpr const char* kChoices = R"json({
  "FinishReason": {"enum": ["stop", "length", "tool_calls"]},
  "Cycles": {"type": "array", "items": {"type": "object",
    "required": ["characters", "tokens", "drafted", "accepted"],
    "properties": {"characters": {"type": "integer"}, "tokens": {"type": "integer"},
                   "drafted": {"type": "integer"}, "accepted": {"type": "integer"},
                   "copies": {"type": "array", "items": {"type": "object",
     "required": ["offset", "characters", "from", "before", "text", "after"], "properties": {
     "offset": {"type": "integer", "minimum": 0}, "characters": {"type": "integer", "minimum": 1},
     "from": {"enum": ["prompt", "answer", "prediction"]}, "before": {"type": "string"},
     "text": {"type": "string"}, "after": {"type": "string"}}}}}}},
  "CallBody": {"type": "object", "required": ["id", "type", "function"], "properties": {
    "id": {"type": "string"}, "type": {"const": "function"},
    "function": {"type": "object", "required": ["name", "arguments"], "properties": {
      "name": {"type": "string"}, "arguments": {"type": "string"}}}}},
  "CallDelta": {"type": "object", "required": ["index", "function"], "properties": {
    "index": {"type": "integer"}, "id": {"type": "string"}, "type": {"const": "function"},
    "function": {"type": "object", "required": ["arguments"], "properties": {
      "name": {"type": "string"}, "arguments": {"type": "string"}}}}},
  "TokenShare": {"type": "object", "required": ["token", "logprob", "bytes"], "properties": {
    "token": {"type": "string"}, "logprob": {"type": "number"},
    "bytes": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}},
    "top_logprobs": {"type": "array", "items": {"$ref": "#/components/schemas/TokenShare"}}}},
  "ChatLogprobs": {"type": "object", "required": ["content"], "properties": {
    "content": {"type": "array", "items": {"$ref": "#/components/schemas/TokenShare"}},
    "refusal": {"type": "null"}}},
  "TextLogprobs": {"type": "object",
    "required": ["tokens", "token_logprobs", "top_logprobs", "text_offset"], "properties": {
      "tokens": {"type": "array", "items": {"type": "string"}},
      "token_logprobs": {"type": "array", "items": {"type": "number"}},
      "top_logprobs": {"type": "array",
        "items": {"type": "object", "additionalProperties": {"type": "number"}}},
      "text_offset": {"type": "array", "items": {"type": "integer"}}}},
  "ChatChoice": {"type": "object", "required": ["index", "message", "logprobs", "finish_reason"],
    "properties": {
      "index": {"type": "integer"},
      "message": {"type": "object", "required": ["role", "content"], "properties": {
        "role": {"const": "assistant"}, "content": {"type": ["string", "null"]},
        "refusal": {"type": "null"},
        "tool_calls": {"type": "array", "items": {"$ref": "#/components/schemas/CallBody"}}}},
      "logprobs": {"anyOf": [{"$ref": "#/components/schemas/ChatLogprobs"}, {"type": "null"}]},
      "finish_reason": {"$ref": "#/components/schemas/FinishReason"},
      "cycles": {"$ref": "#/components/schemas/Cycles"}}},
  "TextChoice": {"type": "object", "required": ["index", "text", "logprobs", "finish_reason"],
    "properties": {
      "index": {"type": "integer"}, "text": {"type": "string"},
      "logprobs": {"anyOf": [{"$ref": "#/components/schemas/TextLogprobs"}, {"type": "null"}]},
      "finish_reason": {"anyOf": [{"$ref": "#/components/schemas/FinishReason"},
                                  {"type": "null"}]},
      "cycles": {"$ref": "#/components/schemas/Cycles"}}},
  "ChatDelta": {"type": "object", "required": ["index", "delta", "finish_reason"], "properties": {
    "index": {"type": "integer"},
    "delta": {"type": "object", "properties": {
      "role": {"const": "assistant"}, "content": {"type": "string"},
      "tool_calls": {"type": "array", "items": {"$ref": "#/components/schemas/CallDelta"}}}},
    "logprobs": {"anyOf": [{"$ref": "#/components/schemas/ChatLogprobs"}, {"type": "null"}]},
    "finish_reason": {"anyOf": [{"$ref": "#/components/schemas/FinishReason"}, {"type": "null"}]},
    "cycles": {"$ref": "#/components/schemas/Cycles"}}}
})json";

constexpr const char* kUsageParts = R"json({
  "Usage": {"type": "object", "required": ["prompt_tokens", "completion_tokens", "total_tokens"],
    "properties": {
      "prompt_tokens": {"type": "integer"}, "completion_tokens": {"type": "integer"},
      "total_tokens": {"type": "integer"},
      "prompt_tokens_details": {"type": "object",
        "properties": {"cached_tokens": {"type": "integer"}}},
      "completion_tokens_details": {"type": "object", "properties": {
        "accepted_prediction_tokens": {"type": "integer"},
        "rejected_prediction_tokens": {"type": "integer"}}}}},
  "Metrics": {"type": "object", "properties": {"speculative_decoding": {"anyOf": [
    {"type": "null"},
    {"type": "object", "properties": {
      "mean_acceptance_length": {"type": "number"}, "draft_acceptance_rate": {"type": "number"},
      "acceptance_histogram": {"type": "array", "items": {"type": "integer"}},
      "acceptance_histogram_by_draft_length": {"type": "object", "additionalProperties":
        {"type": "array", "items": {"type": "integer"}}},
      "num_spec_steps": {"type": "integer"}, "num_accepted_draft_tokens": {"type": "integer"},
      "num_draft_tokens": {"type": "integer"}, "num_spec_tokens": {"type": "integer"},
      "per_step_accepted": {"type": "array", "items": {"type": "integer"}},
      "per_step_drafted": {"type": "array", "items": {"type": "integer"}}}}]}}},
  "Timings": {"type": "object", "properties": {
    "cache_n": {"type": "integer"}, "prompt_n": {"type": "integer"},
    "prompt_ms": {"type": "number"}, "prompt_per_token_ms": {"type": "number"},
    "prompt_per_second": {"type": "number"}, "predicted_n": {"type": "integer"},
    "predicted_ms": {"type": "number"}, "predicted_per_token_ms": {"type": "number"},
    "predicted_per_second": {"type": "number"}, "draft_n": {"type": "integer"},
    "draft_n_accepted": {"type": "integer"}}},
  "Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "object",
    "required": ["message", "type", "param", "code"], "properties": {
      "message": {"type": "string"}, "type": {"type": "string"},
      "param": {"type": ["string", "null"]}, "code": {"type": ["string", "null"]}}}}}
})json";

constexpr const char* kServerParts = R"json({
  "Model": {"type": "object", "required": ["id", "object", "created", "owned_by"], "properties": {
    "id": {"type": "string"}, "object": {"const": "model"}, "created": {"type": "integer"},
    "owned_by": {"type": "string"}, "max_model_len": {"type": "integer"},
    "meta": {"type": "object", "properties": {
      "n_vocab": {"type": "integer"}, "n_ctx_train": {"type": "integer"},
      "n_embd": {"type": "integer"}, "n_params": {"type": "integer"},
      "size": {"type": "integer"}}}}},
  "Models": {"type": "object", "required": ["object", "data"], "properties": {
    "object": {"const": "list"},
    "data": {"type": "array", "items": {"$ref": "#/components/schemas/Model"}}}},
  "Health": {"type": "object", "required": ["status"], "properties": {"status": {"const": "ok"}}},
  "Props": {"type": "object", "required": ["total_slots"], "properties": {
    "default_generation_settings": {"type": "object", "properties": {
      "n_ctx": {"type": "integer"}, "speculative": {"type": "boolean"},
      "params": {"type": "object", "additionalProperties": {"type": "number"}}}},
    "total_slots": {"type": "integer"}, "model_alias": {"type": "string"},
    "model_path": {"type": "string"}, "chat_template": {"type": "string"},
    "modalities": {"type": "object", "additionalProperties": {"type": "boolean"}},
    "build_info": {"type": "string"}, "drafter": {"type": "string"},
    "drafters": {"type": "array", "items": {"type": "string"}}}},
  "Slots": {"type": "array", "items": {"type": "object", "required": ["id"], "properties": {
    "id": {"type": "integer"}, "id_task": {"type": "integer"}, "n_ctx": {"type": "integer"},
    "speculative": {"type": "boolean"}, "drafter": {"type": "string"},
    "is_processing": {"type": "boolean"}, "n_prompt_tokens": {"type": "integer"},
    "n_prompt_tokens_cache": {"type": "integer"},
    "next_token": {"type": "array", "items": {"type": "object",
      "properties": {"n_decoded": {"type": "integer"}}}}}}},
  "Tokens": {"type": "object", "required": ["tokens"], "properties": {"tokens": {"type": "array",
    "items": {"anyOf": [{"type": "integer"}, {"type": "object", "required": ["id", "piece"],
      "properties": {"id": {"type": "integer"}, "piece": {"anyOf": [{"type": "string"},
        {"type": "array", "items": {"type": "integer"}}]}}}]}}}},
  "Text": {"type": "object", "required": ["content"],
    "properties": {"content": {"type": "string"}}},
  "AppliedTemplate": {"type": "object", "required": ["prompt"],
    "properties": {"prompt": {"type": "string"}}}
})json";

// The schema of an answer or a chunk: the common members, and choices.
Json AnswerSchema(const char* object, const char* choice, bool is_chunk) {
  const auto reference = [](const char* name) {
    return Json{{"$ref", std::string("#/components/schemas/") + name}};
  };
  const Json text = {{"type", "string"}};
  Json usage = reference("Usage");
  if (is_chunk) usage = {{"anyOf", Json::array({reference("Usage"), {{"type", "null"}}})}};
  Json schema = {{"type", "object"},
                 {"required", {"id", "object", "created", "model", "choices"}},
                 {"properties",
                  {{"id", text},
                   {"object", {{"const", object}}},
                   {"created", {{"type", "integer"}}},
                   {"model", text},
                   {"system_fingerprint", text},
                   {"choices", {{"type", "array"}, {"items", reference(choice)}}},
                   {"usage", std::move(usage)},
                   {"metrics", reference("Metrics")},
                   {"timings", reference("Timings")}}}};
  if (!is_chunk) schema["required"].push_back("usage");
  return schema;
}

}  // namespace

Json OpenApiSchemas() {
  Json schemas = Json::object();
  for (const char* part : {kRequestParts, kChoices, kUsageParts, kServerParts})
    schemas.update(Json::parse(part));
  schemas["ChatAnswer"] = AnswerSchema("chat.completion", "ChatChoice", false);
  schemas["ChatChunk"] = AnswerSchema("chat.completion.chunk", "ChatDelta", true);
  schemas["TextAnswer"] = AnswerSchema("text_completion", "TextChoice", false);
  schemas["TextChunk"] = AnswerSchema("text_completion", "TextChoice", true);
  return schemas;
}

}  // namespace foretoken::openai
