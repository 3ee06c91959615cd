#include "serve/openai/server_info.h"

#include "base/check.h"
#include "base/json.h"
#include "base/utf8.h"

namespace foretoken::openai {
namespace {

Json SamplingBody(const SamplingParams& sampling) {
  return {{"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"typical_p", sampling.typical_p},
          {"repeat_last_n", sampling.penalty_last_n},
          {"repeat_penalty", sampling.repetition_penalty},
          {"presence_penalty", sampling.presence_penalty},
          {"frequency_penalty", sampling.frequency_penalty}};
}

Json PieceBody(const std::string& piece) {
  if (IsUtf8(piece)) return piece;
  Json bytes = Json::array();
  for (char c : piece) bytes.push_back(static_cast<uint8_t>(c));
  return bytes;
}

}  // namespace

Json ModelBody(const ServerInfo& info) {
  return {{"id", info.model},
          {"object", "model"},
          {"created", info.created},
          {"owned_by", "foretoken"},
          {"max_model_len", info.context},
          {"meta",
           {{"n_vocab", info.vocab},
            {"n_ctx_train", info.train_context},
            {"n_embd", info.width},
            {"n_params", info.parameters},
            {"size", info.bytes}}}};
}

Json ModelsBody(const ServerInfo& info) {
  return {{"object", "list"}, {"data", Json::array({ModelBody(info)})}};
}

Json HealthBody() { return {{"status", "ok"}}; }

Json PropsBody(const ServerInfo& info) {
  return {{"default_generation_settings",
           {{"n_ctx", info.context},
            {"speculative", info.drafter != "none"},
            {"params", SamplingBody(info.sampling)}}},
          {"total_slots", info.slots},
          {"model_alias", info.model},
          {"model_path", info.model},  // the name: clients must not learn paths of the server
          {"chat_template", info.chat_template},
          {"modalities", {{"vision", false}, {"audio", false}}},
          {"build_info", info.build},
          {"drafter", info.drafter},
          {"drafters", info.drafters}};
}

Json SlotsBody(const ServerInfo& info, std::span<const SlotInfo> slots) {
  Json list = Json::array();
  for (const SlotInfo& slot : slots) {
    list.push_back({{"id", slot.id},
                    {"id_task", slot.task},
                    {"n_ctx", info.context},
                    {"speculative", slot.drafter != "none"},
                    {"drafter", slot.drafter},
                    {"is_processing", slot.is_busy},
                    {"n_prompt_tokens", slot.prompt_tokens},
                    {"n_prompt_tokens_cache", slot.cached_tokens},
                    {"next_token", Json::array({{{"n_decoded", slot.decoded_tokens}}})}});
  }
  return list;
}

Json TokenizeBody(std::span<const Token> tokens, std::span<const std::string> pieces) {
  FT_CHECK(pieces.empty() || pieces.size() == tokens.size());
  Json list = Json::array();
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (pieces.empty())
      list.push_back(tokens[i]);
    else
      list.push_back({{"id", tokens[i]}, {"piece", PieceBody(pieces[i])}});
  }
  return {{"tokens", std::move(list)}};
}

Json DetokenizeBody(std::string_view text) { return {{"content", std::string(text)}}; }

Json ApplyTemplateBody(std::string_view prompt) { return {{"prompt", std::string(prompt)}}; }

}  // namespace foretoken::openai
