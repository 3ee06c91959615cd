#include "corpus_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/json_depth.h"
#include "base/mapped_file.h"
#include "base/output_file.h"

namespace foretoken::train {
namespace {

constexpr uint64_t kCorpusMagic = 0x33737072636b7466;  // "ftkcrps3"

// The file's header. Files of the previous version begin with the key instead.
struct CorpusHeader {
  uint64_t magic = kCorpusMagic, key = 0;
  uint64_t checksum = 0;  // HashBytes of the rest of the file
};

// A CorpusDocument on disk.
struct StoredDocument {
  int64_t first = 0;
  int32_t length = 0;
  int16_t source = 0;
  uint8_t heldout = 0, zero = 0;
};
static_assert(sizeof(StoredDocument) == 16);

uint64_t ChecksumOf(std::string_view bytes) { return HashBytes(std::as_bytes(std::span(bytes))); }

template <typename T>
void Append(const std::vector<T>& values, std::string& out) {
  const uint64_t count = values.size();
  out.append(reinterpret_cast<const char*>(&count), sizeof(count));
  out.append(reinterpret_cast<const char*>(values.data()), count * sizeof(T));
}

template <typename T>
bool Take(std::string_view& in, std::vector<T>& values) {
  uint64_t count = 0;
  if (in.size() < sizeof(count)) return false;
  std::memcpy(&count, in.data(), sizeof(count));
  in.remove_prefix(sizeof(count));
  if (count > in.size() / sizeof(T)) return false;
  values.resize(count);
  std::memcpy(values.data(), in.data(), count * sizeof(T));
  in.remove_prefix(count * sizeof(T));
  return true;
}

bool IsWithin(const StoredDocument& d, size_t tokens, size_t sources) {
  const auto size = static_cast<int64_t>(tokens);
  return d.first >= 0 && d.first <= size && d.length >= 0 && d.length <= size - d.first &&
         d.source >= 0 && static_cast<size_t>(d.source) < sources && d.heldout <= 1;
}

// Reads the bytes after the header into `corpus`. Returns what is wrong with them, or "".
std::string ReadBody(std::string_view bytes, size_t sources, size_t vocab, Corpus& corpus) {
  std::vector<StoredDocument> documents;
  if (!Take(bytes, corpus.ids) || !Take(bytes, corpus.learn) || !Take(bytes, documents)) {
    return "it is truncated";
  }
  if (!bytes.empty()) return "it has trailing bytes";
  if (corpus.learn.size() != corpus.ids.size()) {
    return "the numbers of tokens and loss flags differ";
  }
  const auto is_unknown = [vocab](uint32_t id) { return id >= vocab; };
  if (std::ranges::any_of(corpus.ids, is_unknown)) return "a token is outside the vocabulary";
  if (std::ranges::any_of(corpus.learn, [](uint8_t flag) { return flag > 1; })) {
    return "a loss flag is neither 0 nor 1";
  }
  for (const StoredDocument& d : documents) {
    if (!IsWithin(d, corpus.ids.size(), sources)) return "a document is out of bounds";
    corpus.documents.push_back({d.first, d.length, d.source, d.heldout != 0});
  }
  return "";
}

std::string TokenizerPath(const std::string& directory) {
  return directory + "/tokenizer_data.json";
}

Status CheckTokenizer(const TokenizerData& t, const std::string& path) {
  const auto count = static_cast<Token>(t.tokens.size());
  if (t.tokens.empty() || t.types.size() != t.tokens.size()) {
    return Error{path + ": has " + std::to_string(t.tokens.size()) + " tokens and " +
                 std::to_string(t.types.size()) + " token types, expected equal numbers above 0"};
  }
  for (const TokenType type : t.types) {
    if (type >= TokenType::kNormal && type <= TokenType::kByte) continue;
    return Error{path + ": has token type " + std::to_string(static_cast<int>(type)) +
                 ", expected 1 to 6"};
  }
  std::vector<Token> special = t.eog;
  special.insert(special.end(), {t.bos, t.eos, t.eot, t.padding});
  for (const Token token : special) {
    if (token == kNoToken || (token >= 0 && token < count)) continue;
    return Error{path + ": refers to token " + std::to_string(token) + " of " +
                 std::to_string(count)};
  }
  return {};
}

}  // namespace

Result<KeptCorpus> CorpusFile::Find(uint64_t key, uint64_t older_key) const {
  const auto file = MappedFile::Open(path_);
  if (!file.ok()) {
    std::error_code fault;
    const auto size = std::filesystem::file_size(path_, fault);
    const bool is_empty = !fault && size == 0;
    if (is_empty || fault == std::errc::no_such_file_or_directory) return KeptCorpus::kMissing;
    return file.error();
  }
  CorpusHeader header;
  if (file->size() < sizeof(header)) return KeptCorpus::kMissing;
  std::memcpy(&header, file->bytes().data(), sizeof(header));
  if (header.magic == kCorpusMagic) {
    return header.key == key ? KeptCorpus::kMatch : KeptCorpus::kMismatch;
  }
  return header.magic == older_key ? KeptCorpus::kMatch : KeptCorpus::kMismatch;
}

Status CorpusFile::Load(size_t sources, size_t vocab, Corpus& corpus) const {
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path_));
  std::string_view bytes = file.text();
  CorpusHeader header;
  if (bytes.size() < sizeof(header)) return Error{path_ + ": is damaged: it is truncated"};
  std::memcpy(&header, bytes.data(), sizeof(header));
  const bool has_checksum = header.magic == kCorpusMagic;
  bytes.remove_prefix(has_checksum ? sizeof(header) : sizeof(uint64_t));
  if (has_checksum && ChecksumOf(bytes) != header.checksum) {
    return Error{path_ + ": is damaged: checksum mismatch"};
  }
  corpus = Corpus();
  const std::string fault = ReadBody(bytes, sources, vocab, corpus);
  if (!fault.empty()) corpus = Corpus();
  return fault.empty() ? Status() : Error{path_ + ": is damaged: " + fault};
}

Status CorpusFile::Save(const Corpus& corpus, uint64_t key) const {
  std::vector<StoredDocument> documents;
  documents.reserve(corpus.documents.size());
  for (const CorpusDocument& d : corpus.documents) {
    documents.push_back({d.first, d.length, d.source, static_cast<uint8_t>(d.heldout ? 1 : 0), 0});
  }
  std::string bytes(sizeof(CorpusHeader), '\0');
  Append(corpus.ids, bytes);
  Append(corpus.learn, bytes);
  Append(documents, bytes);
  const CorpusHeader header{kCorpusMagic, key,
                            ChecksumOf(std::string_view(bytes).substr(sizeof(CorpusHeader)))};
  std::memcpy(bytes.data(), &header, sizeof(header));
  return WriteFileAtomically(path_, bytes);
}

Status SaveTokenizer(const TokenizerData& t, const std::string& directory) {
  Json json = Json::object();
  json["pre"] = t.pre;
  json["tokens"] = t.tokens;
  json["merges"] = t.merges;
  json["types"] = Json::array();
  for (TokenType type : t.types) json["types"].push_back(static_cast<int>(type));
  json["bos"] = t.bos;
  json["eos"] = t.eos;
  json["eot"] = t.eot;
  json["padding"] = t.padding;
  json["eog"] = t.eog;
  json["chat_template"] = t.chat_template;
  return WriteFileAtomically(TokenizerPath(directory), JsonText(json));
}

Result<TokenizerData> LoadTokenizer(const std::string& directory) {
  const std::string path = TokenizerPath(directory);
  FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  TokenizerData t;
  try {
    t.pre = json.at("pre").get<std::string>();
    t.tokens = json.at("tokens").get<std::vector<std::string>>();
    t.merges = json.at("merges").get<std::vector<std::string>>();
    for (int type : json.at("types").get<std::vector<int>>()) {
      t.types.push_back(static_cast<TokenType>(type));
    }
    t.bos = json.at("bos");
    t.eos = json.at("eos");
    t.eot = json.at("eot");
    t.padding = json.at("padding");
    t.eog = json.at("eog").get<std::vector<Token>>();
    t.chat_template = json.at("chat_template").get<std::string>();
  } catch (const std::exception& fault) {
    return Error{path + ": is not a tokenizer file of a training run: " +
                 std::string(JsonReason(fault.what()))};
  }
  FT_RETURN_IF_ERROR(CheckTokenizer(t, path));
  return t;
}

}  // namespace foretoken::train
