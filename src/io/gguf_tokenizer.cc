// The tokenizer in GGUF metadata: reading and writing.
#include <algorithm>
#include <limits>

#include "io/gguf.h"
#include "text/end_tokens.h"

namespace foretoken {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";
// Our own keys for settings that GGUF has no key for; written only if the value differs from the
// default.
constexpr std::string_view kExtraEnds = "foretoken.tokenizer.eog_token_ids";
constexpr std::string_view kPattern = "foretoken.tokenizer.pre_pattern";
constexpr std::string_view kPieceMerges = "foretoken.tokenizer.merges";
constexpr std::string_view kPrefixAfterSpecial = "foretoken.tokenizer.prefix_after_special";
constexpr std::string_view kPrefixDoublesSpace = "foretoken.tokenizer.prefix_doubles_space";
constexpr std::string_view kLeftStrip = "foretoken.tokenizer.lstrip_token_ids";
constexpr std::string_view kRightStrip = "foretoken.tokenizer.rstrip_token_ids";

std::string Key(std::string_view name) { return std::string(kPrefix) + std::string(name); }

// Pre-tokenizers that look up whole words first and add bos by default.
bool TakesWholeWords(std::string_view pre) {
  return pre == "llama3" || pre == "llama-v3" || pre == "llama-bpe" || pre == "tekken" ||
         pre == "falcon3" || pre == "pixtral";
}

Error SizeError(const GgufFile& file, std::string_view key, size_t found, size_t tokens) {
  return Error{file.path() + ": metadata key '" + std::string(key) + "' has " +
               std::to_string(found) + " items, expected one for each of the " +
               std::to_string(tokens) + " tokens"};
}

// Scores are required if there are no merges, because they alone then tell which pieces join.
Status ReadScores(const GgufFile& file, TokenizerData& data) {
  const std::string key = Key("scores");
  if (data.kind != TokenizerKind::kSentencePiece) return {};
  if (file.FindValue(key) == nullptr && !data.merges.empty()) {
    data.scores.assign(data.tokens.size(), 0.0f);
    return {};
  }
  const auto set = [&](const auto& scores) {
    for (const auto score : scores) data.scores.push_back(static_cast<float>(score));
  };
  if (const auto whole = file.Ints(key); whole.ok()) {
    set(*whole);
  } else {
    FT_ASSIGN_OR_RETURN(const std::span<const double> scores, file.Numbers(key));
    set(scores);
  }
  if (data.scores.size() == data.tokens.size()) return {};
  return SizeError(file, key, data.scores.size(), data.tokens.size());
}

Status ReadTypes(const GgufFile& file, TokenizerData& data) {
  const std::string key = Key("token_type");
  data.types.assign(data.tokens.size(), TokenType::kNormal);
  if (file.FindValue(key) == nullptr) return {};
  FT_ASSIGN_OR_RETURN(const std::span<const int64_t> types, file.Ints(key));
  if (types.size() != data.tokens.size()) {
    return SizeError(file, key, types.size(), data.tokens.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] < 0 || types[i] > 6) {
      return Error{file.path() + ": metadata key '" + key + "' gives token " + std::to_string(i) +
                   " type " + std::to_string(types[i]) + ", expected 0 to 6"};
    }
    if (types[i] != 0) data.types[i] = static_cast<TokenType>(types[i]);
  }
  return {};
}

Status ReadMerges(const GgufFile& file, TokenizerData& data) {
  const bool pieces = data.kind == TokenizerKind::kSentencePiece;
  const std::string key = pieces ? std::string(kPieceMerges) : Key("merges");
  if (pieces && file.FindValue(key) == nullptr) return {};
  FT_ASSIGN_OR_RETURN(const auto merges, file.Strings(key));
  data.merges.assign(merges.begin(), merges.end());
  return {};
}

// The id under `name`; kNoToken if the key is missing.
Result<Token> ReadId(const GgufFile& file, std::string_view name, size_t tokens) {
  const std::string key = Key(name);
  if (file.FindValue(key) == nullptr) return kNoToken;
  FT_ASSIGN_OR_RETURN(const int64_t id, file.Int(key));
  if (id == -1 || id == std::numeric_limits<uint32_t>::max()) return kNoToken;
  if (id < 0 || static_cast<uint64_t>(id) >= tokens) {
    // Published files have padding ids beyond the vocabulary; padding is never used here.
    if (name == "padding_token_id") return kNoToken;
    return Error{file.path() + ": metadata key '" + key + "' is " + std::to_string(id) +
                 ", expected an id below " + std::to_string(tokens)};
  }
  return static_cast<Token>(id);
}

// The ids under one of our own keys; empty if the key is missing.
Result<std::vector<Token>> ReadIdList(const GgufFile& file, std::string_view key, size_t tokens) {
  std::vector<Token> ids;
  if (file.FindValue(key) == nullptr) return ids;
  FT_ASSIGN_OR_RETURN(const std::span<const int64_t> items, file.Ints(key));
  for (const int64_t id : items) {
    if (id < 0 || static_cast<uint64_t>(id) >= tokens) {
      return Error{file.path() + ": metadata key '" + std::string(key) + "' holds " +
                   std::to_string(id) + ", expected ids below " + std::to_string(tokens)};
    }
    ids.push_back(static_cast<Token>(id));
  }
  return ids;
}

bool IsTurnEnd(const TokenizerData& data, size_t id) {
  const TokenType type = data.types[id];
  if (type != TokenType::kControl && type != TokenType::kUserDefined) return false;
  return IsEndName(data.tokens[id]);
}

void AddEnd(TokenizerData& data, Token id) {
  if (id == kNoToken) return;
  if (std::find(data.eog.begin(), data.eog.end(), id) == data.eog.end()) data.eog.push_back(id);
}

Status ReadEnds(const GgufFile& file, TokenizerData& data) {
  const size_t tokens = data.tokens.size();
  FT_ASSIGN_OR_RETURN(const Token message_end, ReadId(file, "eom_token_id", tokens));
  for (const Token id : {data.eos, data.eot, message_end}) AddEnd(data, id);
  for (size_t i = 0; i < tokens; ++i) {
    if (IsTurnEnd(data, i)) AddEnd(data, static_cast<Token>(i));
  }
  FT_ASSIGN_OR_RETURN(const std::vector<Token> extra, ReadIdList(file, kExtraEnds, tokens));
  for (const Token id : extra) AddEnd(data, id);
  return {};
}

Status ReadIds(const GgufFile& file, TokenizerData& data) {
  const size_t tokens = data.tokens.size();
  FT_ASSIGN_OR_RETURN(data.bos, ReadId(file, "bos_token_id", tokens));
  FT_ASSIGN_OR_RETURN(data.eos, ReadId(file, "eos_token_id", tokens));
  FT_ASSIGN_OR_RETURN(data.eot, ReadId(file, "eot_token_id", tokens));
  FT_ASSIGN_OR_RETURN(data.unknown, ReadId(file, "unknown_token_id", tokens));
  FT_ASSIGN_OR_RETURN(data.padding, ReadId(file, "padding_token_id", tokens));
  FT_ASSIGN_OR_RETURN(data.lstrip, ReadIdList(file, kLeftStrip, tokens));
  FT_ASSIGN_OR_RETURN(data.rstrip, ReadIdList(file, kRightStrip, tokens));
  return ReadEnds(file, data);
}

// Reads switches, with llama.cpp's defaults for missing keys.
Status ReadSwitches(const GgufFile& file, TokenizerData& data) {
  const bool pieces = data.kind == TokenizerKind::kSentencePiece;
  data.ignore_merges = !pieces && TakesWholeWords(data.pre);
  FT_ASSIGN_OR_RETURN(data.add_bos,
                      file.BoolOr(Key("add_bos_token"), pieces || data.ignore_merges));
  FT_ASSIGN_OR_RETURN(data.add_eos, file.BoolOr(Key("add_eos_token"), false));
  FT_ASSIGN_OR_RETURN(data.add_space_prefix, file.BoolOr(Key("add_space_prefix"), pieces));
  FT_ASSIGN_OR_RETURN(data.prefix_after_special,
                      file.BoolOr(kPrefixAfterSpecial, data.prefix_after_special));
  FT_ASSIGN_OR_RETURN(data.prefix_doubles_space,
                      file.BoolOr(kPrefixDoublesSpace, data.prefix_doubles_space));
  FT_ASSIGN_OR_RETURN(data.pre_pattern, file.StringOr(kPattern, ""));
  return {};
}

Result<TokenizerKind> ReadKind(const GgufFile& file) {
  FT_ASSIGN_OR_RETURN(const std::string model, file.String(Key("model")));
  if (model == "llama") return TokenizerKind::kSentencePiece;
  if (model == "gpt2") return TokenizerKind::kByteBpe;
  return Error{file.path() + ": metadata key 'tokenizer.ggml.model' is '" + model +
               "', expected llama or gpt2"};
}

void WriteId(std::string_view name, Token id, GgufWriter& writer) {
  if (id != kNoToken) writer.SetU32(Key(name), static_cast<uint32_t>(id));
}

void WriteIdList(std::string_view key, const std::vector<Token>& ids, GgufWriter& writer) {
  if (!ids.empty()) writer.SetI32s(std::string(key), ids);
}

void WriteEnds(const TokenizerData& data, GgufWriter& writer) {
  std::vector<int32_t> extra;
  for (const Token id : data.eog) {
    const bool implied = id == data.eos || id == data.eot || IsTurnEnd(data, id);
    if (!implied) extra.push_back(id);
  }
  WriteIdList(kExtraEnds, extra, writer);
}

void WriteOwnKeys(const TokenizerData& data, GgufWriter& writer) {
  if (!data.pre_pattern.empty()) writer.SetString(std::string(kPattern), data.pre_pattern);
  if (data.kind == TokenizerKind::kSentencePiece && !data.merges.empty()) {
    writer.SetStrings(std::string(kPieceMerges), data.merges);
  }
  if (!data.prefix_after_special) writer.SetBool(std::string(kPrefixAfterSpecial), false);
  if (!data.prefix_doubles_space) writer.SetBool(std::string(kPrefixDoublesSpace), false);
  WriteIdList(kLeftStrip, data.lstrip, writer);
  WriteIdList(kRightStrip, data.rstrip, writer);
  WriteEnds(data, writer);
}

}  // namespace

Result<TokenizerData> ReadTokenizer(const GgufFile& file) {
  TokenizerData data;
  if (file.FindValue(Key("tokens")) == nullptr) return data;
  FT_ASSIGN_OR_RETURN(data.kind, ReadKind(file));
  FT_ASSIGN_OR_RETURN(const auto tokens, file.Strings(Key("tokens")));
  data.tokens.assign(tokens.begin(), tokens.end());
  FT_ASSIGN_OR_RETURN(data.pre, file.StringOr(Key("pre"), ""));
  FT_ASSIGN_OR_RETURN(data.chat_template, file.StringOr("tokenizer.chat_template", ""));
  FT_RETURN_IF_ERROR(ReadTypes(file, data));
  FT_RETURN_IF_ERROR(ReadMerges(file, data));
  FT_RETURN_IF_ERROR(ReadScores(file, data));
  FT_RETURN_IF_ERROR(ReadSwitches(file, data));
  FT_RETURN_IF_ERROR(ReadIds(file, data));
  return data;
}

void WriteTokenizer(const TokenizerData& data, GgufWriter& writer) {
  if (data.tokens.empty()) return;
  const bool pieces = data.kind == TokenizerKind::kSentencePiece;
  writer.SetString(Key("model"), pieces ? "llama" : "gpt2");
  if (!data.pre.empty()) writer.SetString(Key("pre"), data.pre);  // an empty name is not written
  writer.SetStrings(Key("tokens"), data.tokens);
  if (!data.scores.empty()) writer.SetF32s(Key("scores"), data.scores);
  std::vector<int32_t> types;
  for (const TokenType type : data.types) types.push_back(static_cast<int32_t>(type));
  writer.SetI32s(Key("token_type"), types);
  if (!pieces) writer.SetStrings(Key("merges"), data.merges);
  WriteId("bos_token_id", data.bos, writer);
  WriteId("eos_token_id", data.eos, writer);
  WriteId("eot_token_id", data.eot, writer);
  WriteId("unknown_token_id", data.unknown, writer);
  WriteId("padding_token_id", data.padding, writer);
  WriteOwnKeys(data, writer);
  writer.SetBool(Key("add_bos_token"), data.add_bos);
  writer.SetBool(Key("add_eos_token"), data.add_eos);
  writer.SetBool(Key("add_space_prefix"), data.add_space_prefix);
  if (!data.chat_template.empty()) writer.SetString("tokenizer.chat_template", data.chat_template);
}

void WriteModelMetadata(const ModelConfig& config, const TokenizerData& tokenizer,
                        GgufWriter& writer) {
  WriteModelConfig(config, writer);
  WriteTokenizer(tokenizer, writer);
}

}  // namespace foretoken
