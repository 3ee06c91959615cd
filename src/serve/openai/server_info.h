// Bodies of /v1/models, /health, /props, /slots, /tokenize, /detokenize and /apply-template. They
// never contain paths of the machine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/types.h"
#include "serve/openai/request.h"

namespace foretoken::openai {

struct ServerInfo {
  std::string model;                  // the name in answers
  int64_t created = 0;                // Unix time of loading, in seconds
  std::string build;                  // "foretoken 0.1.0"
  std::string drafter;                // the default drafter, or "none"
  std::vector<std::string> drafters;  // drafters that requests may name
  int context = 0;                    // maximum tokens of a prompt and its answer
  int train_context = 0;              // the model's own context
  int vocab = 0;
  int width = 0;  // of hidden states
  int64_t parameters = 0;
  int64_t bytes = 0;  // of the weights
  int slots = 0;      // answers computed at the same time
  std::string chat_template;
  SamplingParams sampling;  // defaults for requests
};

struct SlotInfo {
  int id = 0;
  bool is_busy = false;
  int task = -1;        // number of the request; -1: none
  std::string drafter;  // "none" if nothing is drafted
  int prompt_tokens = 0;
  int cached_tokens = 0;  // of the prompt
  int decoded_tokens = 0;
};

Json ModelBody(const ServerInfo& info);
Json ModelsBody(const ServerInfo& info);
Json HealthBody();
Json PropsBody(const ServerInfo& info);
Json SlotsBody(const ServerInfo& info, std::span<const SlotInfo> slots);

// {"tokens": [...]}. With `pieces` (the bytes of each token), objects of id and piece; a piece that
// is not UTF-8 is an array of bytes (llama.cpp).
Json TokenizeBody(std::span<const Token> tokens, std::span<const std::string> pieces);
Json DetokenizeBody(std::string_view text);
Json ApplyTemplateBody(std::string_view prompt);

}  // namespace foretoken::openai
