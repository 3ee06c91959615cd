// Fuzzes encoding: any bytes are encoded under every pre-tokenizer rule and decode to themselves.
// The first byte selects the rule.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "text/bpe_trainer.h"
#include "text/tokenizer.h"

namespace {

constexpr std::array<std::string_view, 10> kRules = {
    "gpt-2",       "llama-bpe", "qwen2",  "starcoder", "deepseek-llm",
    "deepseek-v3", "falcon",    "tekken", "gpt-4o",    "default"};

std::vector<std::shared_ptr<const foretoken::Tokenizer>> MakeTokenizers() {
  std::vector<std::shared_ptr<const foretoken::Tokenizer>> tokenizers;
  const std::vector<std::string_view> text = {"the tree then 12 12 \n\n  the \xC3\xA9 \xC3\xA9"};
  for (const std::string_view rule : kRules) {
    auto data = foretoken::TrainByteBpe(text, {.vocab_size = 280, .pre = std::string(rule)});
    FT_CHECK(data.ok());
    auto tokenizer = foretoken::Tokenizer::Create(*std::move(data), "fuzz");
    FT_CHECK(tokenizer.ok());
    tokenizers.push_back(*std::move(tokenizer));
  }
  return tokenizers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const auto tokenizers = MakeTokenizers();
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const foretoken::Tokenizer& tokenizer = *tokenizers[bytes[0] % tokenizers.size()];
  const std::vector<foretoken::Token> tokens = tokenizer.Encode(text);
  FT_CHECK(tokenizer.Decode(tokens) == text);

  foretoken::StreamDecoder decoder(tokenizer);
  std::string streamed;
  for (const foretoken::Token token : tokens) streamed += decoder.Push(token);
  streamed += decoder.Flush();
  FT_CHECK(streamed == foretoken::ReplaceInvalidUtf8(text));
  return 0;
}
