#include "runtime/dialogue.h"

#include <algorithm>
#include <optional>

#include "base/json.h"

namespace foretoken {
namespace {

constexpr std::string_view kRoles[] = {"system", "user", "assistant"};

bool IsRole(std::string_view role) { return std::ranges::find(kRoles, role) != std::end(kRoles); }

// The role if `text` begins with "role: ", else nullopt.
std::optional<std::string_view> RoleAt(std::string_view text) {
  for (std::string_view role : kRoles) {
    if (text.starts_with(role) && text.substr(role.size()).starts_with(": ")) return role;
  }
  return std::nullopt;
}

// End of the turn that begins at `begin`: the blank line before the next turn, or the end of the
// text.
size_t EndOfTurn(std::string_view text, size_t begin) {
  for (size_t at = text.find("\n\n", begin); at != std::string_view::npos;
       at = text.find("\n\n", at + 1)) {
    if (at + 2 == text.size() || RoleAt(text.substr(at + 2))) return at;
  }
  return text.size();
}

Result<std::vector<ChatMessage>> ParseTurns(std::string_view text, const std::string& origin) {
  std::vector<ChatMessage> messages;
  while (!text.empty()) {
    const auto role = RoleAt(text);
    if (!role) {
      return Error{origin +
                   ": is not a conversation; expected JSON with messages, or turns that begin with "
                   "'user: ', 'assistant: ' or 'system: '"};
    }
    const size_t begin = role->size() + 2, end = EndOfTurn(text, begin);
    messages.push_back({std::string(*role), std::string(text.substr(begin, end - begin))});
    text.remove_prefix(std::min(text.size(), end + 2));
  }
  return messages;
}

Result<std::vector<ChatMessage>> ParseMessages(const Json& json, const std::string& origin) {
  const Json& list = json.is_object() && json.contains("messages") ? json["messages"] : json;
  if (!list.is_array()) return Error{origin + ": messages: expected a list"};
  std::vector<ChatMessage> messages;
  for (const Json& m : list) {
    const bool complete = m.is_object() && m.contains("role") && m["role"].is_string() &&
                          m.contains("content") && m["content"].is_string();
    const std::string where = origin + ": message " + std::to_string(messages.size() + 1);
    if (!complete) return Error{where + ": expected a role and a content, both text"};
    messages.push_back({m["role"], m["content"]});
    if (!IsRole(messages.back().role)) {
      return Error{where + ": found the role '" + messages.back().role +
                   "', expected system, user or assistant"};
    }
  }
  return messages;
}

}  // namespace

std::vector<ChatMessage> Dialogue::All() const {
  std::vector<ChatMessage> all;
  if (!system_.empty()) all.push_back({"system", system_});
  all.insert(all.end(), messages_.begin(), messages_.end());
  return all;
}

int Dialogue::exchanges() const {
  return static_cast<int>(std::ranges::count(messages_, "user", &ChatMessage::role));
}

// Index of the question of exchange `index`; messages_.size() if there is no such exchange.
size_t Dialogue::BeginOfExchange(int index) const {
  size_t at = 0;
  for (; at < messages_.size(); ++at) {
    if (messages_[at].role == "user" && index-- == 0) break;
  }
  return at;
}

std::string Dialogue::Undo() {
  const int count = exchanges();
  if (count == 0) return "";
  const size_t begin = BeginOfExchange(count - 1);
  std::string question = std::move(messages_[begin].content);
  messages_.resize(begin);
  return question;
}

bool Dialogue::ReopenQuestion() {
  if (exchanges() == 0) return false;
  messages_.resize(BeginOfExchange(exchanges() - 1) + 1);
  return true;
}

void Dialogue::Forget(int count) {
  messages_.erase(messages_.begin(),
                  messages_.begin() + static_cast<std::ptrdiff_t>(BeginOfExchange(count)));
}

Result<int> ExchangesToForget(const Dialogue& dialogue, const ChatPrompter& prompter, int wanted) {
  Dialogue rest = dialogue;
  int count = 0;
  while (true) {
    FT_ASSIGN_OR_RETURN(const std::vector<Token> prompt, prompter.Encode(rest.All()));
    if (static_cast<int>(prompt.size()) <= wanted || rest.exchanges() <= 1) return count;
    rest.Forget(1);
    ++count;
  }
}

std::string FileText(const Dialogue& dialogue, std::string_view path) {
  if (path.ends_with(".json") || path.ends_with(".jsonl")) {
    Json messages = Json::array();
    for (const ChatMessage& m : dialogue.All()) {
      messages.push_back(Json{{"role", m.role}, {"content", m.content}});
    }
    return JsonText(Json{{"messages", std::move(messages)}}) + "\n";
  }
  std::string text;
  for (const ChatMessage& m : dialogue.All()) {
    text.append(m.role).append(": ").append(m.content).append("\n\n");
  }
  return text;
}

Result<Dialogue> ParseDialogue(std::string_view text, const std::string& origin) {
  std::vector<ChatMessage> messages;
  if (text.starts_with('{') || text.starts_with('[')) {
    FT_ASSIGN_OR_RETURN(const Json json, ParseJson(text, origin));
    FT_ASSIGN_OR_RETURN(messages, ParseMessages(json, origin));
  } else {
    FT_ASSIGN_OR_RETURN(messages, ParseTurns(text, origin));
  }
  Dialogue dialogue;
  for (ChatMessage& m : messages) {
    const bool opens = m.role == "system" && dialogue.messages().empty();
    if (opens) dialogue.SetSystem(std::move(m.content));
    if (!opens) dialogue.Add(std::move(m));
  }
  return dialogue;
}

}  // namespace foretoken
