// Texts as prompts, and conversations by the model's own chat template or, where it has none,
// ChatML.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "jinja/chat_template.h"
#include "text/documents.h"
#include "text/tokenizer.h"

namespace foretoken {

// The token ids of `text` as a prompt: bos where the model asks for it, once, never eos.
std::vector<Token> EncodePrompt(const Tokenizer& tokenizer, std::string_view text,
                                bool parse_special);
// The same for a text in pieces (Tokenizer::EncodePieces).
PieceTokens EncodePrompt(const Tokenizer& tokenizer, std::span<const std::string_view> pieces,
                         bool parse_special);

// Removes the bos that `data` puts before a text where the text begins with its own, as chat
// templates write it. Returns whether there were two.
bool RemoveDoubledBos(const TokenizerData& data, std::vector<Token>& tokens);

// A conversation of a data set as a template takes it.
std::vector<ChatMessage> MessagesOf(std::span<const DocumentTurn> turns);

// A conversation with what plain messages lack.
struct FullConversation {
  const Json* messages = nullptr;   // an array of objects: tool_calls, reasoning_content, ...
  const Json* tools = nullptr;      // an array, where the model may call any
  const Json* variables = nullptr;  // an object of more variables for the template
  bool open_answer = true;
};

class ChatPrompter {
 public:
  // `tokenizer` must outlive this. Errors: the template's syntax.
  static Result<ChatPrompter> Create(const Tokenizer& tokenizer, const std::string& origin);

  // Whether the model has no template and ChatML stands in.
  bool uses_fallback() const { return !template_.has_value(); }
  // The conversation as text, with the opening of the next answer if `open_answer`. Errors: what
  // the template refuses.
  Result<std::string> Render(std::span<const ChatMessage> messages, bool open_answer) const;
  // The same for a conversation with tools and the like. Errors: what the template refuses; tools
  // where there is no template. REQUIRES: messages, each with strings as role and content.
  Result<std::string> Render(const FullConversation& conversation) const;
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

  const Tokenizer* tokenizer_;
  std::optional<ChatTemplate> template_;
};

// What ends an answer without a chat: the tokenizer's end-of-generation tokens.
std::vector<Token> EndTokens(const Tokenizer& tokenizer);

}  // namespace foretoken
