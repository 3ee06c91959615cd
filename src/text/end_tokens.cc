#include "text/end_tokens.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/warning.h"
#include "jinja/chat_template.h"

namespace foretoken {
namespace {

constexpr std::array<std::string_view, 12> kEndNames = {
    "<|eot_id|>",          "<|im_end|>",      "<|end|>",    "<end_of_turn>",
    "<|endoftext|>",       "<|eom_id|>",      "<EOT>",      "_<EOT>",
    "<|end_of_sentence|>", "<|end_of_text|>", "<|return|>", "<|endofturn|>"};

bool IsOrdinary(TokenType type) { return type == TokenType::kNormal || type == TokenType::kUnused; }

// Whether a piece is spelled like a control token: "</s>", "<|im_end|>", "[/INST]".
bool LooksLikeControl(std::string_view piece) {
  if (piece.size() < 3) return false;
  return (piece.front() == '<' && piece.back() == '>') ||
         (piece.front() == '[' && piece.back() == ']');
}

std::string PieceOrNone(const TokenizerData& data, Token token) {
  return token == kNoToken ? std::string() : data.tokens[static_cast<size_t>(token)];
}

// The text that the chat template writes after an answer, without white space; "" if there is none.
std::string TextBehindAnswer(const TokenizerData& data) {
  const auto chat = ChatTemplate::Parse(data.chat_template, "chat template");
  if (!chat.ok()) return "";
  const std::string answer = "an answer in five words";
  const std::vector<ChatMessage> messages = {{"user", "a question"}, {"assistant", answer}};
  const auto text = chat->Render({.chat = messages,
                                  .add_generation_prompt = false,
                                  .bos_token = PieceOrNone(data, data.bos),
                                  .eos_token = PieceOrNone(data, data.eos),
                                  .max_output_bytes = size_t{1} << 20,
                                  .max_work = 1'000'000});
  const size_t at = text.ok() ? text->rfind(answer) : std::string::npos;
  if (at == std::string::npos) return "";
  const std::string behind = text->substr(at + answer.size());
  return behind.substr(std::min(behind.find_first_not_of(" \t\r\n"), behind.size()));
}

void AddEndToken(Token token, TokenizerData& data) {
  if (std::ranges::find(data.eog, token) == data.eog.end()) data.eog.push_back(token);
}

}  // namespace

bool IsEndName(std::string_view piece) {
  return std::ranges::find(kEndNames, piece) != kEndNames.end();
}

Token TemplateEnd(const TokenizerData& data) {
  if (data.chat_template.empty()) return kNoToken;
  const std::string behind = TextBehindAnswer(data);
  Token longest = kNoToken;
  size_t length = 0;
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    const std::string& piece = data.tokens[i];
    if (piece.size() <= length || !behind.starts_with(piece)) continue;
    if (IsOrdinary(data.types[i]) && !LooksLikeControl(piece)) continue;
    longest = static_cast<Token>(i);
    length = piece.size();
  }
  return longest;
}

void CompleteEnds(const std::string& origin, TokenizerData& data) {
  if (data.tokens.empty()) return;
  for (const Token id : {data.eos, data.eot}) {
    if (id != kNoToken) AddEndToken(id, data);
  }
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    if (IsEndName(data.tokens[i])) AddEndToken(static_cast<Token>(i), data);
  }
  if (const Token end = TemplateEnd(data); end != kNoToken) AddEndToken(end, data);
  for (const Token id : data.eog) {
    const auto at = static_cast<size_t>(id);
    if (!IsOrdinary(data.types[at]) || !LooksLikeControl(data.tokens[at])) continue;
    data.types[at] = TokenType::kControl;
    Warn(origin + ": token " + std::to_string(id) + ", '" + data.tokens[at] +
         "', ends answers and is stored as ordinary text; it is taken as a control token");
  }
}

}  // namespace foretoken
