// A conversation that a user can edit: ask, undo, forget old exchanges, save and load.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/chat_prompt.h"

namespace foretoken {

// An optional system message and the turns after it. An exchange is a question with its answer, if
// there is one yet.
class Dialogue {
 public:
  const std::string& system() const { return system_; }
  void SetSystem(std::string text) { system_ = std::move(text); }
  // The turns, without the system message.
  const std::vector<ChatMessage>& messages() const { return messages_; }
  // The messages of a prompt: the system message, if any, and all turns.
  std::vector<ChatMessage> All() const;
  int exchanges() const;

  void Ask(std::string text) { messages_.push_back({"user", std::move(text)}); }
  void Answer(std::string text) { messages_.push_back({"assistant", std::move(text)}); }
  void Add(ChatMessage message) { messages_.push_back(std::move(message)); }
  void Clear() { messages_.clear(); }
  // Removes the last exchange. Returns its question, or "" if there was no exchange.
  std::string Undo();
  // Removes everything after the last question. Returns whether there is a question.
  bool ReopenQuestion();
  // Removes the oldest exchanges. REQUIRES: 0 <= count <= exchanges().
  void Forget(int count);

 private:
  size_t BeginOfExchange(int index) const;

  std::string system_;
  std::vector<ChatMessage> messages_;
};

// How many of the oldest exchanges to forget so that the prompt has at most `wanted` tokens. The
// last exchange is kept even if the prompt is then still longer. Errors: those of the chat
// template.
Result<int> ExchangesToForget(const Dialogue& dialogue, const ChatPrompter& prompter, int wanted);

// Serialises as JSON ({"messages": [{"role", "content"}]}) if `path` ends in .json or .jsonl, else
// as "role: content" with a blank line between turns.
std::string FileText(const Dialogue& dialogue, std::string_view path);
// Parses either format of FileText. Error messages begin with `origin`, the file. Errors: the text
// has neither format, or an unknown role.
Result<Dialogue> ParseDialogue(std::string_view text, const std::string& origin);

}  // namespace foretoken
