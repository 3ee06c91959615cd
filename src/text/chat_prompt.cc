#include "text/chat_prompt.h"

#include <algorithm>

#include "base/json.h"

namespace foretoken {
namespace {

constexpr std::string_view kChatMlEnd = "<|im_end|>";

std::string RenderChatMl(std::span<const ChatMessage> messages, bool open_answer) {
  std::string text;
  for (const ChatMessage& m : messages) {
    text += "<|im_start|>" + m.role + "\n" + m.content + std::string(kChatMlEnd) + "\n";
  }
  return open_answer ? text + "<|im_start|>assistant\n" : text;
}

}  // namespace

std::vector<Token> EncodePrompt(const Tokenizer& tokenizer, std::string_view text,
                                bool parse_special) {
  return EncodePrompt(tokenizer, {&text, 1}, parse_special).tokens;
}

PieceTokens EncodePrompt(const Tokenizer& tokenizer, std::span<const std::string_view> pieces,
                         bool parse_special) {
  const TokenizerData& data = tokenizer.data();
  PieceTokens encoded =
      tokenizer.EncodePieces(pieces, {.add_bos = true, .parse_special = parse_special});
  std::vector<Token>& tokens = encoded.tokens;
  if (data.add_eos && !tokens.empty() && tokens.back() == data.eos) tokens.pop_back();
  if (RemoveDoubledBos(data, tokens)) {
    for (size_t& end : encoded.ends) --end;
  }
  return encoded;
}

bool RemoveDoubledBos(const TokenizerData& data, std::vector<Token>& tokens) {
  if (tokens.size() < 2 || tokens[0] != data.bos || tokens[1] != data.bos) return false;
  tokens.erase(tokens.begin());
  return true;
}

std::vector<ChatMessage> MessagesOf(std::span<const DocumentTurn> turns) {
  std::vector<ChatMessage> messages;
  messages.reserve(turns.size());
  for (const DocumentTurn& turn : turns) messages.push_back({turn.role, turn.text});
  return messages;
}

Result<ChatPrompter> ChatPrompter::Create(const Tokenizer& tokenizer, const std::string& origin) {
  ChatPrompter prompter(tokenizer);
  const std::string& source = tokenizer.data().chat_template;
  if (!source.empty()) {
    FT_ASSIGN_OR_RETURN(prompter.template_,
                        ChatTemplate::Parse(source, origin + ": chat template"));
  }
  return prompter;
}

std::string ChatPrompter::PieceOf(Token token) const {
  return token == kNoToken ? "" : tokenizer_->Piece(token, /*show_control=*/true);
}

Result<std::string> ChatPrompter::Render(std::span<const ChatMessage> messages,
                                         bool open_answer) const {
  if (!template_) return RenderChatMl(messages, open_answer);
  return template_->Render({.chat = messages,
                            .add_generation_prompt = open_answer,
                            .bos_token = PieceOf(tokenizer_->data().bos),
                            .eos_token = PieceOf(tokenizer_->data().eos)});
}

Result<std::string> ChatPrompter::Render(const FullConversation& conversation) const {
  if (template_) {
    return template_->Render({.messages = conversation.messages,
                              .add_generation_prompt = conversation.open_answer,
                              .bos_token = PieceOf(tokenizer_->data().bos),
                              .eos_token = PieceOf(tokenizer_->data().eos),
                              .tools = conversation.tools,
                              .variables = conversation.variables});
  }
  if (conversation.tools != nullptr)
    return Error{"the model has no chat template, which tools need"};
  std::vector<ChatMessage> messages;
  for (const Json& message : *conversation.messages) {
    messages.push_back(
        {message.at("role").get<std::string>(), message.at("content").get<std::string>()});
  }
  return RenderChatMl(messages, conversation.open_answer);
}

Result<std::vector<Token>> ChatPrompter::Encode(std::span<const ChatMessage> messages) const {
  FT_ASSIGN_OR_RETURN(const std::string text, Render(messages, /*open_answer=*/true));
  return EncodePrompt(*tokenizer_, text, /*parse_special=*/true);
}

Result<std::string> ChatPrompter::Text(std::span<const ChatMessage> messages) const {
  FT_ASSIGN_OR_RETURN(std::string text, Render(messages, /*open_answer=*/true));
  const std::string bos = PieceOf(tokenizer_->data().bos);
  if (tokenizer_->data().add_bos && !bos.empty() && text.starts_with(bos))
    text.erase(0, bos.size());
  return text;
}

Result<std::vector<Token>> ChatPrompter::EncodeTranscript(
    std::span<const ChatMessage> messages) const {
  FT_ASSIGN_OR_RETURN(const std::string text, Render(messages, /*open_answer=*/false));
  return EncodePrompt(*tokenizer_, text, /*parse_special=*/true);
}

std::vector<Token> ChatPrompter::StopTokens() const {
  std::vector<Token> stop = EndTokens(*tokenizer_);
  if (!uses_fallback()) return stop;
  const std::vector<Token> end =
      tokenizer_->Encode(kChatMlEnd, {.add_bos = false, .parse_special = true});
  if (end.size() == 1) stop.push_back(end[0]);
  return stop;
}

std::vector<Token> EndTokens(const Tokenizer& tokenizer) {
  const TokenizerData& data = tokenizer.data();
  std::vector<Token> stop = data.eog;
  for (Token token : {data.eos, data.eot}) {
    if (token != kNoToken && std::find(stop.begin(), stop.end(), token) == stop.end()) {
      stop.push_back(token);
    }
  }
  return stop;
}

}  // namespace foretoken
