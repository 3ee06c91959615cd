// Reader of the configuration files beside a tokenizer: special tokens, flags, the chat template.
#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "text/json_tree.h"
#include "text/tokenizer_json.h"

namespace foretoken {
namespace {

// Names of end-of-turn tokens in existing vocabularies.
constexpr std::array<std::string_view, 4> kTurnEnds = {"<|eot_id|>", "<|im_end|>", "<|end|>",
                                                       "<end_of_turn>"};

class ConfigReader {
 public:
  ConfigReader(const JsonTree& root, std::string_view origin, TokenizerData& data)
      : root_(root), origin_(origin), data_(data) {}

  Status Read() {
    if (!root_.is_object()) return Error{std::string(origin_) + ": expected a JSON object"};
    FT_RETURN_IF_ERROR(ReadAddedTokens());
    FT_RETURN_IF_ERROR(ReadToken("bos_token", data_.bos));
    FT_RETURN_IF_ERROR(ReadToken("eos_token", data_.eos));
    FT_RETURN_IF_ERROR(ReadToken("unk_token", data_.unknown));
    FT_RETURN_IF_ERROR(ReadToken("pad_token", data_.padding));
    FT_RETURN_IF_ERROR(ReadIds());
    FT_ASSIGN_OR_RETURN(data_.add_bos,
                        BoolField(root_, origin_, "", "add_bos_token", data_.add_bos));
    FT_ASSIGN_OR_RETURN(data_.add_eos,
                        BoolField(root_, origin_, "", "add_eos_token", data_.add_eos));
    FindTurnEnd();
    return ReadChatTemplate();
  }

 private:
  Token Find(std::string_view text) const {
    const auto found = std::ranges::find(data_.tokens, text);
    return found == data_.tokens.end() ? kNoToken
                                       : static_cast<Token>(found - data_.tokens.begin());
  }

  // Reads a token's text: a string, or an object whose "content" is one. A missing field changes
  // nothing.
  Status ReadToken(const char* key, Token& token) {
    const JsonTree* value = FindField(root_, key);
    if (value == nullptr) return {};
    const JsonTree* content = value->is_object() ? FindField(*value, "content") : value;
    if (content == nullptr || !content->is_string()) {
      return WrongField(origin_, key, value, "a string, or an object with a string 'content'");
    }
    const Token found = Find(content->get<std::string>());
    if (found == kNoToken) return WrongField(origin_, key, value, "a token of the vocabulary");
    token = found;
    return {};
  }

  // Reads the ids of generation_config.json. Of several end tokens, the first becomes eos.
  Status ReadIds() {
    FT_RETURN_IF_ERROR(ReadId("bos_token_id", data_.bos));
    FT_RETURN_IF_ERROR(ReadId("pad_token_id", data_.padding));
    const JsonTree* ends = FindField(root_, "eos_token_id");
    if (ends == nullptr) return {};
    const JsonTree list = ends->is_array() ? *ends : JsonTree::array({*ends});
    for (const JsonTree& item : list) {
      FT_ASSIGN_OR_RETURN(const Token id, KnownId(item, "eos_token_id"));
      if (data_.eos == kNoToken) data_.eos = id;
      if (std::ranges::find(data_.eog, id) == data_.eog.end()) data_.eog.push_back(id);
    }
    return {};
  }

  Status ReadId(const char* key, Token& token) {
    const JsonTree* value = FindField(root_, key);
    if (value == nullptr || token != kNoToken) return {};
    FT_ASSIGN_OR_RETURN(token, KnownId(*value, key));
    return {};
  }

  Result<Token> KnownId(const JsonTree& value, const char* key) {
    FT_ASSIGN_OR_RETURN(const Token id, IdValue(value, origin_, key));
    if (static_cast<size_t>(id) < data_.tokens.size()) return id;
    return WrongField(origin_, key, &value, "an id below " + std::to_string(data_.tokens.size()));
  }

  // Reads {"32000": {"content": "<|im_end|>", "special": true, ...}, ...}: the types of tokens that
  // a tokenizer.model lacks or declares as ordinary.
  Status ReadAddedTokens() {
    const JsonTree* added = FindField(root_, "added_tokens_decoder");
    if (added == nullptr) return {};
    if (!added->is_object()) return WrongField(origin_, "added_tokens_decoder", added, "an object");
    std::map<size_t, const JsonTree*> by_id;
    for (const auto& [name, token] : added->items()) {
      const bool number = !name.empty() && name.size() < 9 &&
                          std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
      if (!number) {
        return WrongField(origin_, "added_tokens_decoder['" + name + "']", &token,
                          "a token id for its key");
      }
      by_id.emplace(std::stoul(name), &token);
    }
    for (const auto& [id, token] : by_id) FT_RETURN_IF_ERROR(AddToken(id, *token));
    return {};
  }

  Status AddToken(size_t id, const JsonTree& token) {
    const std::string where = "added_tokens_decoder['" + std::to_string(id) + "'].";
    const JsonTree* content = FindField(token, "content");
    if (content == nullptr || !content->is_string()) {
      return WrongField(origin_, where + "content", content, "a string");
    }
    if (id > data_.tokens.size()) {
      return WrongField(
          origin_, where + "content", content,
          "ids without a hole; the vocabulary ends at " + std::to_string(data_.tokens.size()));
    }
    FT_ASSIGN_OR_RETURN(const bool special, BoolField(token, origin_, where, "special", false));
    FT_ASSIGN_OR_RETURN(const bool lstrip, BoolField(token, origin_, where, "lstrip", false));
    FT_ASSIGN_OR_RETURN(const bool rstrip, BoolField(token, origin_, where, "rstrip", false));
    if (id == data_.tokens.size()) {
      data_.tokens.emplace_back();
      data_.types.emplace_back();
      if (!data_.scores.empty()) data_.scores.push_back(0.0f);
    }
    data_.tokens[id] = content->get<std::string>();
    if (data_.types[id] != TokenType::kUnknown) {
      data_.types[id] = special ? TokenType::kControl : TokenType::kUserDefined;
    }
    SetMember(data_.lstrip, static_cast<Token>(id), lstrip);
    SetMember(data_.rstrip, static_cast<Token>(id), rstrip);
    return {};
  }

  static void SetMember(std::vector<Token>& list, Token token, bool member) {
    std::erase(list, token);
    if (member) list.push_back(token);
  }

  void FindTurnEnd() {
    for (const std::string_view name : kTurnEnds) {
      const Token token = Find(name);
      if (data_.eot == kNoToken && token != data_.eos) data_.eot = token;
    }
  }

  // Reads a string, or a list of {"name", "template"} of which the one named "default" is used.
  Status ReadChatTemplate() {
    const JsonTree* chat = FindField(root_, "chat_template");
    if (chat == nullptr) return {};
    if (chat->is_string()) {
      data_.chat_template = chat->get<std::string>();
      return {};
    }
    if (!chat->is_array()) {
      return WrongField(origin_, "chat_template", chat, "a string or a list of templates");
    }
    for (const JsonTree& item : *chat) {
      const JsonTree *name = FindField(item, "name"), *text = FindField(item, "template");
      if (name == nullptr || text == nullptr || !text->is_string()) {
        return WrongField(origin_, "chat_template", chat, "objects with 'name' and 'template'");
      }
      if (*name == "default") data_.chat_template = text->get<std::string>();
    }
    return {};
  }

  const JsonTree& root_;
  std::string_view origin_;
  TokenizerData& data_;
};

}  // namespace

Status ReadTokenizerConfig(std::string_view text, std::string_view origin, TokenizerData& data) {
  FT_ASSIGN_OR_RETURN(const JsonTree root, ParseJsonTree(text, origin));
  return ConfigReader(root, origin, data).Read();
}

}  // namespace foretoken
