// The description of the server that /openapi.json tells.
#pragma once

#include "base/json_fwd.h"
#include "serve/openai/request.h"

namespace foretoken::openai {

// An OpenAPI 3.1 document. The schemas of requests are those of RequestFields(), with the limits of
// `rules`; those of answers have every field that may occur.
Json OpenApiDocument(const RequestRules& rules, const std::string& version);

// The document's components.schemas, limits not filled in yet.
Json OpenApiSchemas();

}  // namespace foretoken::openai
