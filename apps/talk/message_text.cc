#include "apps/talk/message_text.h"

#include <algorithm>

namespace foretoken {
namespace {

constexpr std::string_view kMark = "\"\"\"";
constexpr std::string_view kBlanks = " \t\r";

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// The text between the marks of a block, and whether the block is the whole text.
struct Block {
  std::string_view body;
  bool is_closed = false, is_whole = false;
};

std::optional<Block> FindBlock(std::string_view text) {
  if (!text.starts_with(kMark)) return std::nullopt;
  text.remove_prefix(kMark.size());
  for (size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + 1)) {
    const std::string_view after = text.substr(at + kMark.size());
    const size_t rest = after.find_first_not_of(kBlanks);
    if (rest != std::string_view::npos && after[rest] != '\n') continue;  // within a line
    return Block{text.substr(0, at), true, IsBlank(after)};
  }
  return Block{text};
}

std::string_view WithoutBlankLines(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  const size_t line = text.rfind('\n', first);
  text.remove_prefix(line == std::string_view::npos ? 0 : line + 1);  // keeps indentation
  return text.substr(0, text.find('\n', text.find_last_not_of(" \t\r\n")));
}

bool IsCommandName(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return name == "?" || (!name.empty() && std::ranges::all_of(name, is_letter));
}

// The argument of a command, or the whole of a message: the text that may open a block.
std::string_view ArgumentOf(std::string_view text) {
  if (!text.starts_with('/')) return text;
  const size_t space = text.find_first_of(" \t\n");
  if (space == std::string_view::npos || !IsCommandName(text.substr(1, space - 1))) return text;
  return text.substr(std::min(text.size(), text.find_first_not_of(kBlanks, space)));
}

}  // namespace

bool IsOpenBlock(std::string_view text) {
  const auto block = FindBlock(ArgumentOf(text));
  return block && !block->is_closed;
}

bool EndsInBackslash(std::string_view text) { return text.ends_with('\\') && !IsOpenBlock(text); }

std::string MessageOf(std::string_view text) {
  const auto block = FindBlock(text);
  if (block && block->is_whole) text = block->body;
  return std::string(WithoutBlankLines(text));
}

std::optional<TypedCommand> ParseCommand(std::string_view text) {
  if (!text.starts_with('/')) return std::nullopt;
  const size_t end = std::min(text.size(), text.find_first_of(" \t\n"));
  const std::string_view name = text.substr(1, end - 1);
  if (!IsCommandName(name)) return std::nullopt;
  const std::string_view argument = ArgumentOf(text);
  const bool is_block = argument.starts_with(kMark);
  if (!is_block && text.find('\n') != std::string_view::npos) return std::nullopt;  // pasted
  std::string value = end == text.size() ? "" : MessageOf(argument);
  value.erase(0, std::min(value.size(), value.find_first_not_of(kBlanks)));
  value.erase(value.find_last_not_of(kBlanks) + 1);  // completion by Tab adds a blank
  return TypedCommand{std::string(name), std::move(value)};
}

}  // namespace foretoken
