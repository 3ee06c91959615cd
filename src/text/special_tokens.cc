#include "text/special_tokens.h"

#include <algorithm>

namespace foretoken {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::vector<Token> Sorted(std::vector<Token> tokens) {
  std::ranges::sort(tokens);
  return tokens;
}

}  // namespace

SpecialTokens::SpecialTokens(const TokenizerData& data)
    : nodes_(1), lstrip_(Sorted(data.lstrip)), rstrip_(Sorted(data.rstrip)) {
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    const TokenType type = data.types[i];
    if (type != TokenType::kUserDefined && type != TokenType::kControl &&
        type != TokenType::kUnknown) {
      continue;
    }
    if (data.tokens[i].empty()) continue;
    Add(data.tokens[i], static_cast<Token>(i), type != TokenType::kUserDefined);
  }
}

const SpecialTokens::Node* SpecialTokens::Child(const Node& node, uint8_t byte) const {
  for (const auto& [label, child] : node.children) {
    if (label == byte) return &nodes_[child];
  }
  return nullptr;
}

void SpecialTokens::Add(std::string_view text, Token token, bool control) {
  starts_[static_cast<uint8_t>(text[0])] = true;
  int32_t at = 0;
  for (const char c : text) {
    const uint8_t byte = static_cast<uint8_t>(c);
    if (const Node* child = Child(nodes_[at], byte)) {
      at = static_cast<int32_t>(child - nodes_.data());
      continue;
    }
    nodes_[at].children.emplace_back(byte, static_cast<int32_t>(nodes_.size()));
    at = static_cast<int32_t>(nodes_.size());
    nodes_.emplace_back();
  }
  if (nodes_[at].token != kNoToken) return;  // for equal texts, the first id counts
  nodes_[at].token = token;
  nodes_[at].control = control;
}

std::pair<size_t, Token> SpecialTokens::LongestAt(std::string_view text, bool with_control) const {
  std::pair<size_t, Token> best = {0, kNoToken};
  const Node* node = &nodes_[0];
  for (size_t i = 0; i < text.size(); ++i) {
    node = Child(*node, static_cast<uint8_t>(text[i]));
    if (node == nullptr) break;
    if (node->token != kNoToken && (with_control || !node->control)) best = {i + 1, node->token};
  }
  return best;
}

std::optional<SpecialTokens::Match> SpecialTokens::Find(std::string_view text, size_t from,
                                                        bool with_control) const {
  if (nodes_.size() == 1) return std::nullopt;
  for (size_t i = from; i < text.size(); ++i) {
    if (!starts_[static_cast<uint8_t>(text[i])]) continue;
    const auto [length, token] = LongestAt(text.substr(i), with_control);
    if (length == 0) continue;
    Match match = {i, i + length, token};
    if (std::ranges::binary_search(lstrip_, token)) {
      while (match.begin > from && IsSpace(text[match.begin - 1])) --match.begin;
    }
    if (std::ranges::binary_search(rstrip_, token)) {
      while (match.end < text.size() && IsSpace(text[match.end])) ++match.end;
    }
    return match;
  }
  return std::nullopt;
}

}  // namespace foretoken
