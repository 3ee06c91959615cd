// The API description served at /openapi.json.
#pragma once

#include "base/json_fwd.h"
#include "serve/openai/request.h"

namespace foretoken::openai {

// An OpenAPI 3.1 document. Request schemas are generated from RequestFields() with the limits of
// `rules`; schemas of answers list every field that may occur.
Json OpenApiDocument(const RequestRules& rules, const std::string& version);

// The document's components.schemas, without the limits filled in.
Json OpenApiSchemas();

}  // namespace foretoken::openai
