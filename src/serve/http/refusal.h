// Answers to requests that do not reach the handler.
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

// Makes a refusal. `status`: HTTP status of the answer. `code`: code of the error object.
HttpRefusal Refuse(int status, std::string code, std::string message);
// Makes a refusal with the HTTP status of the error's kind.
HttpRefusal Refuse(openai::ApiError error);
// A refusal of bytes that are not a valid HTTP request.
HttpRefusal Malformed(std::string message);

// The refusal as a reply, with the error object of the OpenAI API.
HttpReply ReplyOf(const HttpRefusal& refusal);

}  // namespace foretoken
