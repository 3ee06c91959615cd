#include "text/tokenizer_json.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "text/json_tree.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_stages.h"

namespace foretoken {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view origin) : origin_(origin) {}

  Result<TokenizerData> Read(const JsonTree& root) {
    const JsonTree* model = FindField(root, "model");
    if (model == nullptr || !model->is_object()) {
      return WrongField(origin_, "model", model, "an object");
    }
    FT_RETURN_IF_ERROR(CheckModel(*model));
    FT_ASSIGN_OR_RETURN(const TokenizerStages stages, ReadStages(root, origin_, data_));
    FT_RETURN_IF_ERROR(SetKind(*model, stages));
    FT_RETURN_IF_ERROR(ReadVocabulary(*model, root));
    FT_RETURN_IF_ERROR(ReadUnknown(*model));
    FT_RETURN_IF_ERROR(ReadAddedTokens(root));
    FT_RETURN_IF_ERROR(ReadMergeList(*model));
    FT_RETURN_IF_ERROR(ReadPostProcessor(root, origin_, data_));
    if (data_.kind == TokenizerKind::kSentencePiece) SetScores();
    return std::move(data_);
  }

 private:
  Status CheckModel(const JsonTree& model) {
    FT_ASSIGN_OR_RETURN(const std::string type, Text(model, "type", "BPE"));
    if (type != "BPE") return Wrong(model, "type", "BPE");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      FT_ASSIGN_OR_RETURN(const std::string mark, Text(model, key, ""));
      if (!mark.empty()) return Wrong(model, key, "nothing");
    }
    FT_ASSIGN_OR_RETURN(data_.ignore_merges,
                        BoolField(model, origin_, "model.", "ignore_merges", false));
    return {};
  }

  Status SetKind(const JsonTree& model, const TokenizerStages& stages) {
    FT_ASSIGN_OR_RETURN(const bool fallback,
                        BoolField(model, origin_, "model.", "byte_fallback", false));
    if (stages.byte_level) {
      data_.kind = TokenizerKind::kByteBpe;
      data_.add_space_prefix = true;  // has no effect here; the value that every other reader sets
      SetPreTokenizer(stages.patterns);
      return {};
    }
    if (!stages.patterns.empty() || (!fallback && !stages.marks_spaces)) {
      return WrongField(origin_, "pre_tokenizer", nullptr,
                        "ByteLevel somewhere in it, or a model with byte_fallback and no patterns");
    }
    data_.kind = TokenizerKind::kSentencePiece;
    return {};
  }

  void SetPreTokenizer(const std::vector<std::string>& patterns) {
    data_.pre = FindPreTokenizerName(patterns, data_.ignore_merges);
    if (!data_.pre.empty()) return;
    for (const std::string& pattern : patterns) {
      data_.pre_pattern += (data_.pre_pattern.empty() ? "" : "\n") + pattern;
    }
    // Without rules, the whole text is one word.
    if (patterns.empty()) data_.pre_pattern = "(?s:.+)";
  }

  // Ids come from the vocabulary and the added tokens, in any order; gaps become unused tokens.
  Status ReadVocabulary(const JsonTree& model, const JsonTree& root) {
    const JsonTree* vocab = FindField(model, "vocab");
    if (vocab == nullptr || !vocab->is_object()) return Wrong(model, "vocab", "an object");
    const JsonTree* added = FindField(root, "added_tokens");
    if (added != nullptr && !added->is_array()) {
      return WrongField(origin_, "added_tokens", added, "a list");
    }
    limit_ = 2 * (vocab->size() + (added == nullptr ? 0 : added->size())) + 4096;
    for (const auto& [text, id] : vocab->items()) {
      FT_RETURN_IF_ERROR(Place(text, id, "model.vocab['" + text + "']"));
    }
    if (data_.tokens.empty()) return Wrong(model, "vocab", "tokens");
    return {};
  }

  Status Place(const std::string& text, const JsonTree& id, const std::string& field) {
    FT_ASSIGN_OR_RETURN(const int value, IdValue(id, origin_, field));
    const size_t at = static_cast<size_t>(value);
    if (at >= limit_) {
      return WrongField(
          origin_, field, &id,
          "an id in proportion to the number of tokens, below " + std::to_string(limit_));
    }
    if (at >= data_.tokens.size()) Grow(at + 1);
    if (taken_[at] && data_.tokens[at] != text) {
      return WrongField(origin_, field, &id, "an id that no other token has");
    }
    taken_[at] = true;
    data_.tokens[at] = text;
    const bool byte = data_.kind == TokenizerKind::kSentencePiece && IsByteName(text);
    data_.types[at] = byte ? TokenType::kByte : TokenType::kNormal;
    return {};
  }

  void Grow(size_t size) {
    for (size_t i = data_.tokens.size(); i < size; ++i) {
      data_.tokens.push_back("[unused" + std::to_string(i) + "]");
    }
    data_.types.resize(size, TokenType::kUnused);
    taken_.resize(size, false);
  }

  static bool IsByteName(std::string_view text) {
    const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
    return text.size() == 6 && text.starts_with("<0x") && hex(text[3]) && hex(text[4]) &&
           text[5] == '>';
  }

  Status ReadUnknown(const JsonTree& model) {
    FT_ASSIGN_OR_RETURN(const std::string name, Text(model, "unk_token", ""));
    if (name.empty()) return {};
    const auto found = std::ranges::find(data_.tokens, name);
    if (found == data_.tokens.end()) return Wrong(model, "unk_token", "a token of the vocabulary");
    data_.unknown = static_cast<Token>(found - data_.tokens.begin());
    return {};
  }

  Status ReadAddedTokens(const JsonTree& root) {
    const JsonTree* list = FindField(root, "added_tokens");
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      FT_RETURN_IF_ERROR(ReadAddedToken((*list)[i], "added_tokens[" + std::to_string(i) + "]."));
    }
    return {};
  }

  Status ReadAddedToken(const JsonTree& item, const std::string& where) {
    const JsonTree *id = FindField(item, "id"), *content = FindField(item, "content");
    if (id == nullptr) return WrongField(origin_, where + "id", id, "a token id");
    if (content == nullptr || !content->is_string()) {
      return WrongField(origin_, where + "content", content, "a string");
    }
    FT_RETURN_IF_ERROR(Place(content->get<std::string>(), *id, where + "id"));
    FT_ASSIGN_OR_RETURN(const bool special, BoolField(item, origin_, where, "special", false));
    FT_ASSIGN_OR_RETURN(const bool lstrip, BoolField(item, origin_, where, "lstrip", false));
    FT_ASSIGN_OR_RETURN(const bool rstrip, BoolField(item, origin_, where, "rstrip", false));
    const Token token = id->get<Token>();
    data_.types[token] = token == data_.unknown ? TokenType::kUnknown
                         : special              ? TokenType::kControl
                                                : TokenType::kUserDefined;
    if (lstrip) data_.lstrip.push_back(token);
    if (rstrip) data_.rstrip.push_back(token);
    return {};
  }

  Status ReadMergeList(const JsonTree& model) {
    const JsonTree* merges = FindField(model, "merges");
    if (merges == nullptr || !merges->is_array()) return Wrong(model, "merges", "a list");
    data_.merges.reserve(merges->size());
    for (size_t i = 0; i < merges->size(); ++i) {
      const JsonTree& merge = (*merges)[i];
      const bool pair =
          merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
      if (!pair && !merge.is_string()) {
        return WrongField(origin_, "model.merges[" + std::to_string(i) + "]", &merge,
                          "a string or a pair of strings");
      }
      data_.merges.push_back(pair ? merge[0].get<std::string>() + " " + merge[1].get<std::string>()
                                  : merge.get<std::string>());
    }
    return {};
  }

  // Scores are for programs that merge by score: a piece gets that of the first merge that produces
  // it.
  void SetScores() {
    std::unordered_map<std::string, float> score_of;
    for (size_t i = 0; i < data_.merges.size(); ++i) {
      std::string joined = data_.merges[i];
      const size_t space = joined.find(' ', 1);
      if (space != std::string::npos) joined.erase(space, 1);
      score_of.emplace(std::move(joined), -static_cast<float>(i));
    }
    const float rest = -static_cast<float>(data_.merges.size());
    for (size_t i = 0; i < data_.tokens.size(); ++i) {
      const bool normal = data_.types[i] == TokenType::kNormal;
      const auto found = score_of.find(data_.tokens[i]);
      data_.scores.push_back(!normal ? 0.0f : found == score_of.end() ? rest : found->second);
    }
  }

  Result<std::string> Text(const JsonTree& model, const char* key, std::string fallback) {
    return TextField(model, origin_, "model.", key, std::move(fallback));
  }

  Error Wrong(const JsonTree& model, const char* key, const std::string& expected) {
    return WrongField(origin_, std::string("model.") + key, FindField(model, key), expected);
  }

  std::string_view origin_;
  TokenizerData data_;
  std::vector<bool> taken_;  // [vocab] whether the id is used by a token of the file
  size_t limit_ = 0;         // ids must be less than this
};

}  // namespace

Result<TokenizerData> ReadTokenizerJson(std::string_view text, std::string_view origin) {
  FT_ASSIGN_OR_RETURN(const JsonTree root, ParseJsonTree(text, origin));
  return Reader(origin).Read(root);
}

}  // namespace foretoken
