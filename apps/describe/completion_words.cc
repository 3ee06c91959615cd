#include "apps/describe/completion_words.h"

#include <algorithm>

#include "base/utf8.h"

namespace foretoken {
namespace {

void VisitPaths(const std::string& path, const CommandDefinition& command,
                const std::function<void(const std::string&, const CommandDefinition&)>& visit) {
  visit(path, command);
  for (const CommandDefinition& part : command.parts) {
    VisitPaths(path + " " + part.name, part, visit);
  }
}

}  // namespace

std::string ShortHelp(std::string_view help) {
  constexpr size_t kMost = 76;
  std::string text(help.substr(0, help.find('\n')));
  if (text.size() <= kMost) return text;
  // Cut at the end of a phrase, else at the end of a word.
  size_t end = text.find_last_of(",;:(", kMost);
  if (end == text.npos || end < kMost / 2) end = text.rfind(' ', kMost);
  text.resize(end == text.npos ? ValidUtf8Prefix(std::string_view(text).substr(0, kMost)) : end);
  while (text.ends_with(' ')) text.pop_back();
  return text + " ...";
}

std::string ShellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::vector<std::string> PlainValues(const OptionDefinition& option) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-.";
  std::vector<std::string> names = option.values.names;
  std::erase_if(names, [&](const std::string& name) {
    return name.find_first_not_of(kPlain) != std::string::npos;
  });
  return names;
}

const OptionDefinition* CompletedArgument(const CommandDefinition& command) {
  const auto found = std::ranges::find_if(command.options, &OptionDefinition::is_argument);
  return found == command.options.end() ? nullptr : &*found;
}

void ForEachPath(
    std::span<const CommandDefinition> commands,
    const std::function<void(const std::string& path, const CommandDefinition&)>& visit) {
  for (const CommandDefinition& command : commands) VisitPaths(command.name, command, visit);
}

}  // namespace foretoken
