// Encoding of prompts and of conversations, by the model's chat template or, if it has none,
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

// The token ids of `text` as a prompt: with exactly one bos if the tokenizer adds one, and without
// the eos that it may add.
std::vector<Token> EncodePrompt(const Tokenizer& tokenizer, std::string_view text,
                                bool parse_special);
// Like EncodePrompt above, but for a text given in pieces (Tokenizer::EncodePieces).
PieceTokens EncodePrompt(const Tokenizer& tokenizer, std::span<const std::string_view> pieces,
                         bool parse_special);

// Removes the bos that `data` prepends if the text itself begins with one, because chat templates
// may write one. Returns whether there were two.
bool RemoveDoubledBos(const TokenizerData& data, std::vector<Token>& tokens);

// A conversation of a data set as input of a template.
std::vector<ChatMessage> MessagesOf(std::span<const DocumentTurn> turns);

// A conversation with data that ChatMessage cannot hold.
struct FullConversation {
  const Json* messages = nullptr;   // an array of objects: tool_calls, reasoning_content, ...
  const Json* tools = nullptr;      // an array; null if the model may not call any
  const Json* variables = nullptr;  // an object of additional template variables
  bool open_answer = true;
};

class ChatPrompter {
 public:
  // `tokenizer` must outlive this. Errors: a syntax error in the template.
  static Result<ChatPrompter> Create(const Tokenizer& tokenizer, const std::string& origin);

  // Whether the model has no template and ChatML is used instead.
  bool uses_fallback() const { return !template_.has_value(); }
  // The conversation as text, followed by the opening of the next answer if `open_answer`. Errors:
  // those of the template.
  Result<std::string> Render(std::span<const ChatMessage> messages, bool open_answer) const;
  // Renders a conversation that may have tools and additional variables. Errors: those of the
  // template; tools if there is no template. REQUIRES: messages, each with strings as role and
  // content.
  Result<std::string> Render(const FullConversation& conversation) const;
  // The tokens of the conversation, followed by the opening of the next answer. Errors: those of
  // the template.
  Result<std::vector<Token>> Encode(std::span<const ChatMessage> messages) const;
  // The text that Encode encodes, without the bos that the tokenizer prepends. Errors: those of the
  // template.
  Result<std::string> Text(std::span<const ChatMessage> messages) const;
  // The tokens of the conversation without an opening, as in a corpus. Errors: those of the
  // template.
  Result<std::vector<Token>> EncodeTranscript(std::span<const ChatMessage> messages) const;
  // The tokens that end an answer in a chat: EndTokens and, without a template, ChatML's
  // <|im_end|>.
  std::vector<Token> StopTokens() const;

 private:
  explicit ChatPrompter(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  std::string PieceOf(Token token) const;

  const Tokenizer* tokenizer_;
  std::optional<ChatTemplate> template_;
};

// The tokens that end an answer outside of chats: the tokenizer's end-of-generation tokens.
std::vector<Token> EndTokens(const Tokenizer& tokenizer);

}  // namespace foretoken
