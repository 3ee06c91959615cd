#include "draft/draft_model/vocabulary.h"

#include <algorithm>
#include <string_view>

namespace foretoken {
namespace {

bool IsPadding(const TokenizerData& data, size_t id) {
  const std::string_view piece = data.tokens[id];
  return data.types[id] == TokenType::kUnused || static_cast<Token>(id) == data.padding ||
         piece.starts_with("[PAD");
}

Error DifferenceAt(const std::string& path, size_t id, const std::string& draft,
                   const std::string& target) {
  return Error{path + ": token " + std::to_string(id) + " is " + draft + " in the draft and " +
               target + " in the target; a draft model needs the target's own vocabulary"};
}

std::string Quoted(const std::string& piece) { return "'" + piece + "'"; }

}  // namespace

Status CheckSameVocabulary(const TokenizerData& target, const TokenizerData& draft,
                           const std::string& path) {
  if (draft.tokens.empty()) return Error{path + ": the draft model has no tokenizer"};
  const size_t common = std::min(target.tokens.size(), draft.tokens.size());
  for (size_t id = 0; id < common; ++id) {
    if (target.tokens[id] == draft.tokens[id]) continue;
    if (IsPadding(target, id) && IsPadding(draft, id)) continue;
    return DifferenceAt(path, id, Quoted(draft.tokens[id]), Quoted(target.tokens[id]));
  }
  for (size_t id = common; id < draft.tokens.size(); ++id) {
    if (!IsPadding(draft, id)) return DifferenceAt(path, id, Quoted(draft.tokens[id]), "missing");
  }
  for (size_t id = common; id < target.tokens.size(); ++id) {
    if (!IsPadding(target, id)) return DifferenceAt(path, id, "missing", Quoted(target.tokens[id]));
  }
  return {};
}

}  // namespace foretoken
