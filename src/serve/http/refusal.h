// What a client is told where its request does not reach the handler.
#pragma once

#include <string>

#include "serve/http/message.h"
#include "serve/openai/error.h"

namespace foretoken {

struct HttpRefusal {
  int status = 400;
  openai::ApiError error;
  HttpHeaders headers;
};

// `status`: of the answer. `code`: of the error object.
HttpRefusal Refuse(int status, std::string code, std::string message);
// With the status that is the error's own.
HttpRefusal Refuse(openai::ApiError error);
// What was sent is no request of HTTP.
HttpRefusal Malformed(std::string message);

// The refusal as an answer: the error object of the OpenAI API.
HttpReply ReplyOf(const HttpRefusal& refusal);

}  // namespace foretoken
