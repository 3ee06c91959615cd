#include "io/hf_tokenizer.h"

#include <algorithm>

#include "base/input_file.h"
#include "base/mapped_file.h"
#include "base/warning.h"
#include "text/end_tokens.h"
#include "text/sentence_piece_model.h"
#include "text/tokenizer_json.h"

namespace foretoken {
namespace {

Result<TokenizerData> ReadVocabulary(const std::string& directory) {
  const std::string json = directory + "/tokenizer.json", model = directory + "/tokenizer.model";
  if (FileExists(json)) {
    FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(json));
    return ReadTokenizerJson(file.text(), json);
  }
  if (!FileExists(model)) return TokenizerData{};
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(model));
  return ReadSentencePieceModel(file.bytes(), model);
}

Status ReadSettings(const std::string& directory, TokenizerData& data) {
  for (const char* name : {"/special_tokens_map.json", "/tokenizer_config.json"}) {
    const std::string settings = directory + name;
    if (!FileExists(settings)) continue;
    FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(settings));
    FT_RETURN_IF_ERROR(ReadTokenizerConfig(file.text(), settings, data));
  }
  const std::string chat = directory + "/chat_template.jinja";
  if (FileExists(chat)) {
    FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(chat));
    data.chat_template = file.text();
  }
  return {};
}

void AddIds(const std::string& directory, const HfConfig& config, TokenizerData& data) {
  const auto known = [&](Token id) {
    return id >= 0 && static_cast<size_t>(id) < data.tokens.size();
  };
  if (data.bos == kNoToken && known(config.bos)) data.bos = config.bos;
  for (const Token id : config.eos) {
    if (!known(id)) {
      Warn(directory + ": eos_token_id " + std::to_string(id) +
           " is no token of the vocabulary, so it ends no answer");
      continue;
    }
    if (data.eos == kNoToken) data.eos = id;
    if (std::find(data.eog.begin(), data.eog.end(), id) == data.eog.end()) data.eog.push_back(id);
  }
}

// Embeddings often have more rows than there are tokens, to make their number round; every row
// needs a token.
void Pad(size_t vocab, TokenizerData& data) {
  while (data.tokens.size() < vocab) {
    data.tokens.push_back("[PAD" + std::to_string(data.tokens.size()) + "]");
    data.types.push_back(TokenType::kUnused);
    if (!data.scores.empty()) data.scores.push_back(-1e4f);
  }
}

}  // namespace

Result<TokenizerData> ReadHfTokenizer(const std::string& directory, const HfConfig& config) {
  FT_ASSIGN_OR_RETURN(TokenizerData data, ReadVocabulary(directory));
  if (data.tokens.empty()) return data;
  FT_RETURN_IF_ERROR(ReadSettings(directory, data));
  const auto vocab = static_cast<size_t>(config.model.vocab);
  if (data.tokens.size() > vocab) {
    return Error{directory + ": the tokenizer has " + std::to_string(data.tokens.size()) +
                 " tokens, expected at most vocab_size of config.json, " + std::to_string(vocab)};
  }
  AddIds(directory, config, data);
  CompleteEnds(directory, data);
  Pad(vocab, data);
  return data;
}

}  // namespace foretoken
