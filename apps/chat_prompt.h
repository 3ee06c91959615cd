// Conversations as prompts, by the model's own chat template or, where it has none, ChatML.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/model_file.h"
#include "text/jinja/chat_template.h"
#include "text/tokenizer.h"

namespace foretoken {

class ChatPrompter {
 public:
  // `tokenizer` must outlive this. Errors: the template's syntax.
  static Result<ChatPrompter> Create(const Tokenizer& tokenizer, const std::string& origin);

  // Whether the model has no template and ChatML stands in.
  bool uses_fallback() const { return !template_.has_value(); }
  // The conversation with the opening of the next answer. Errors: what the template refuses.
  Result<std::vector<Token>> Encode(std::span<const ChatMessage> messages) const;
  // The same as text, without the bos that a tokenizer puts before it. Errors: the same.
  Result<std::string> Text(std::span<const ChatMessage> messages) const;
  // The conversation as it stands, as in a corpus. Errors: what the template refuses.
  Result<std::vector<Token>> EncodeTranscript(std::span<const ChatMessage> messages) const;
  // Ids that end an answer.
  std::vector<Token> StopTokens() const;

 private:
  explicit ChatPrompter(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  std::string PieceOf(Token token) const;
  Result<std::string> Render(std::span<const ChatMessage> messages, bool open_answer) const;

  const Tokenizer* tokenizer_;
  std::optional<ChatTemplate> template_;
};

// What ends an answer without a chat: the tokenizer's end-of-generation tokens.
std::vector<Token> EndTokens(const Tokenizer& tokenizer);

}  // namespace foretoken
