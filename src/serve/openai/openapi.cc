#include "serve/openai/openapi.h"

#include <string>
#include <utility>

#include "base/json.h"
#include "serve/openai/request_fields.h"

namespace foretoken::openai {
namespace {

Json Reference(const std::string& schema) { return {{"$ref", "#/components/schemas/" + schema}}; }

Json JsonContent(const std::string& schema) {
  return {{"application/json", {{"schema", Reference(schema)}}}};
}

Json Response(const std::string& about, Json content) {
  return {{"description", about}, {"content", std::move(content)}};
}

// The schema, or null, which is equivalent to a missing field.
Json OrNull(Json schema) {
  return {{"anyOf", Json::array({std::move(schema), {{"type", "null"}}})}};
}

// The schema of an endpoint's request body, generated from the table of fields.
Json RequestSchema(Endpoint endpoint, const RequestRules& rules) {
  const char* needed = endpoint == Endpoint::kChat ? "messages" : "prompt";
  Json properties = Json::object();
  for (const Field& field : RequestFields()) {
    if (!IsFieldOf(field, endpoint)) continue;
    Json schema = SchemaOf(field, rules);
    if (std::string_view(field.name) != needed) schema = OrNull(std::move(schema));
    std::string about = field.use == FieldUse::kRefused ? "Not supported: " : "";
    about += field.about;
    if (field.use == FieldUse::kRefused) about += ". Only values that have no effect are accepted.";
    schema["description"] = std::move(about);
    properties[field.name] = std::move(schema);
  }
  return {{"type", "object"},
          {"required", Json::array({needed})},
          {"properties", std::move(properties)}};
}

Json Errors(std::initializer_list<const char*> statuses) {
  Json responses = Json::object();
  for (const char* status : statuses)
    responses[status] = Response("An error.", JsonContent("Error"));
  return responses;
}

Json Get(const char* about, Json content) {
  Json responses = {{"200", Response(about, std::move(content))}};
  responses.update(Errors({"400", "401", "403", "429", "503"}));
  return {{"get", {{"summary", about}, {"responses", std::move(responses)}}}};
}

Json Post(const char* about, const char* request, Json content) {
  Json responses = {{"200", Response(about, std::move(content))}};
  responses.update(Errors({"400", "401", "403", "408", "413", "415", "429", "500", "503"}));
  return {{"post",
           {{"summary", about},
            {"requestBody", {{"required", true}, {"content", JsonContent(request)}}},
            {"responses", std::move(responses)}}}};
}

// The content of a reply: a whole answer, or events whose data are `chunk` objects. The second
// schema describes one event.
Json Streamed(const char* answer, const char* chunk) {
  const Json data = {{"type", "string"},
                     {"description", std::string("An object of type ") + chunk + ", or [DONE]."}};
  Json content = JsonContent(answer);
  content["text/event-stream"] = {
      {"schema",
       {{"type", "object"},
        {"description",
         "With \"stream\": true: server-sent events; the data of the last one are [DONE]."},
        {"required", {"data"}},
        {"properties", {{"data", data}}}}}};
  return content;
}

Json Lacking(const char* path) {
  return {{"post",
           {{"summary", std::string(path) + " is not offered."},
            {"responses", Errors({"401", "403", "501"})}}}};
}

Json Paths() {
  Json paths = {
      {"/v1/chat/completions",
       Post("Answers a conversation.", "ChatRequest", Streamed("ChatAnswer", "ChatChunk"))},
      {"/v1/completions",
       Post("Continues texts.", "TextRequest", Streamed("TextAnswer", "TextChunk"))},
      {"/v1/models", Get("The loaded model.", JsonContent("Models"))},
      {"/health", Get("Whether the server is ready.", JsonContent("Health"))},
      {"/metrics",
       Get("Metrics for Prometheus.", {{"text/plain", {{"schema", {{"type", "string"}}}}}})},
      {"/props", Get("The server's settings.", JsonContent("Props"))},
      {"/slots", Get("The requests being processed, by slot.", JsonContent("Slots"))},
      {"/openapi.json",
       Get("This document.", {{"application/json", {{"schema", {{"type", "object"}}}}}})},
      {"/tokenize", Post("Converts text to tokens.", "TokenizeRequest", JsonContent("Tokens"))},
      {"/detokenize", Post("Converts tokens to text.", "DetokenizeRequest", JsonContent("Text"))},
      {"/apply-template", Post("Renders the prompt of a conversation.", "ChatRequest",
                               JsonContent("AppliedTemplate"))},
  };
  for (const char* path : {"/v1/embeddings", "/v1/responses", "/v1/messages"})
    paths[path] = Lacking(path);
  return paths;
}

}  // namespace

Json OpenApiDocument(const RequestRules& rules, const std::string& version) {
  Json schemas = OpenApiSchemas();
  FillLimits(schemas, rules);
  schemas["ChatRequest"] = RequestSchema(Endpoint::kChat, rules);
  schemas["TextRequest"] = RequestSchema(Endpoint::kText, rules);
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "foretoken"},
            {"version", version},
            {"description",
             "The OpenAI API, with llama.cpp's and vLLM's extensions. A field that is null is "
             "treated as missing; unknown fields are ignored."}}},
          {"paths", Paths()},
          {"security", Json::array({Json::object(), {{"key", Json::array()}}})},
          {"components",
           {{"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}},
            {"schemas", std::move(schemas)}}}};
}

}  // namespace foretoken::openai
