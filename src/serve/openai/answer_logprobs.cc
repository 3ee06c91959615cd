// Log-probabilities in the formats of both endpoints.
#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"
#include "serve/openai/answer.h"
#include "serve/openai/code_points.h"

namespace foretoken::openai {
namespace {

constexpr float kLeastLogprob = -9999;  // JSON has no -infinity; OpenAI and vLLM use this value

float Finite(float logprob) { return std::max(logprob, kLeastLogprob); }

Json BytesOf(const std::string& text) {
  Json bytes = Json::array();
  for (char c : text) bytes.push_back(static_cast<uint8_t>(c));
  return bytes;
}

// Incomplete UTF-8 is shown as U+FFFD.
Json ShareBody(const TokenShare& share) {
  return {{"token", ReplaceInvalidUtf8(share.bytes)},
          {"logprob", Finite(share.logprob)},
          {"bytes", BytesOf(share.bytes)}};
}

Json ChatLogprobs(std::span<const ScoredToken> tokens) {
  Json content = Json::array();
  for (const ScoredToken& token : tokens) {
    Json entry = ShareBody(token.chosen);
    Json top = Json::array();
    for (const TokenShare& share : token.top) top.push_back(ShareBody(share));
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

// Alternatives by their text, including the chosen token. Of tokens with equal text, the most
// probable counts.
Json Alternatives(const ScoredToken& token) {
  Json shares = Json::object();
  const auto add = [&](const TokenShare& share) {
    shares.emplace(ReplaceInvalidUtf8(share.bytes), Finite(share.logprob));
  };
  for (const TokenShare& share : token.top) add(share);
  add(token.chosen);
  return shares;
}

Json TextLogprobs(std::span<const ScoredToken> tokens, int text_offset) {
  Json texts = Json::array(), logprobs = Json::array(), tops = Json::array(),
       offsets = Json::array();
  for (const ScoredToken& token : tokens) {
    texts.push_back(ReplaceInvalidUtf8(token.chosen.bytes));
    logprobs.push_back(Finite(token.chosen.logprob));
    tops.push_back(Alternatives(token));
    offsets.push_back(text_offset);
    if (token.is_shown) text_offset += CodePoints(token.chosen.bytes);
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

}  // namespace

Json LogprobsBody(Endpoint endpoint, std::span<const ScoredToken> tokens, int text_offset) {
  return endpoint == Endpoint::kChat ? ChatLogprobs(tokens) : TextLogprobs(tokens, text_offset);
}

}  // namespace foretoken::openai
