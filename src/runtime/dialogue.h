// A conversation as a user steers it: asked, answered, taken back, cut at its old end, kept in a
// file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/chat_prompt.h"

namespace foretoken {

// A system message, which may be empty, and the turns after it. An exchange is a question and the
// answer to it, if there is one yet.
class Dialogue {
 public:
  const std::string& system() const { return system_; }
  void SetSystem(std::string text) { system_ = std::move(text); }
  // The turns, without the system message.
  const std::vector<ChatMessage>& messages() const { return messages_; }
  // What a prompt is made of: the system message, if there is one, and the turns.
  std::vector<ChatMessage> All() const;
  int exchanges() const;

  void Ask(std::string text) { messages_.push_back({"user", std::move(text)}); }
  void Answer(std::string text) { messages_.push_back({"assistant", std::move(text)}); }
  void Add(ChatMessage message) { messages_.push_back(std::move(message)); }
  void Clear() { messages_.clear(); }
  // Removes the last exchange. Returns its question, "" where there was no exchange.
  std::string Undo();
  // Removes what was answered to the last question. Returns whether there is a question.
  bool ReopenQuestion();
  // Removes the oldest exchanges. REQUIRES: 0 <= count <= exchanges().
  void Forget(int count);

 private:
  size_t BeginOfExchange(int index) const;

  std::string system_;
  std::vector<ChatMessage> messages_;
};

// How many of the oldest exchanges to forget so that the prompt takes at most `wanted` tokens; all
// but the last where that is not enough. Errors: what the template refuses.
Result<int> ExchangesToForget(const Dialogue& dialogue, const ChatPrompter& prompter, int wanted);

// As a file: JSON ({"messages": [{"role", "content"}]}) where `path` ends in .json or .jsonl, else
// "role: content" with a blank line between turns.
std::string FileText(const Dialogue& dialogue, std::string_view path);
// Reads both. `origin` (the file) opens the errors: neither of them, an unknown role.
Result<Dialogue> ParseDialogue(std::string_view text, const std::string& origin);

}  // namespace foretoken
