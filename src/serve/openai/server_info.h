// What the server tells of itself: /v1/models, /health, /props, /slots, and the answers of
// /tokenize, /detokenize and /apply-template. No path of the machine is among it.
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
  std::string model;                  // the name that answers bear
  int64_t created = 0;                // when it was loaded, seconds since 1970
  std::string build;                  // "foretoken 0.1.0"
  std::string drafter;                // the default, "none" without one
  std::vector<std::string> drafters;  // that requests may name
  int context = 0;                    // tokens a request and its answer may have
  int train_context = 0;
  int vocab = 0;
  int width = 0;  // of hidden states
  int64_t parameters = 0;
  int64_t bytes = 0;  // of the weights
  int slots = 0;      // requests computed at a time
  std::string chat_template;
  SamplingParams sampling;  // where requests are silent
};

struct SlotInfo {
  int id = 0;
  bool is_busy = false;
  int task = -1;        // number of the request; -1: none
  std::string drafter;  // "none" where nothing is drafted
  int prompt_tokens = 0;
  int cached_tokens = 0;  // of the prompt
  int decoded_tokens = 0;
};

Json ModelBody(const ServerInfo& info);
Json ModelsBody(const ServerInfo& info);
Json HealthBody();
Json PropsBody(const ServerInfo& info);
Json SlotsBody(const ServerInfo& info, std::span<const SlotInfo> slots);

// {"tokens": [...]}; with `pieces` (one a token, bytes) objects of id and piece, a piece that is
// not UTF-8 as an array of bytes (llama.cpp).
Json TokenizeBody(std::span<const Token> tokens, std::span<const std::string> pieces);
Json DetokenizeBody(std::string_view text);
Json ApplyTemplateBody(std::string_view prompt);

}  // namespace foretoken::openai
