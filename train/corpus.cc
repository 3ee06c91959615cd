#include "corpus.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>
#include <unordered_map>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "base/rng.h"
#include "dataset.h"
#include "text/bpe_trainer.h"
#include "text/documents.h"
#include "text/tokenizer.h"

namespace foretoken::train {
namespace {

constexpr uint64_t kMagic = 0x32737072636b7466;  // "ftkcrps2"
constexpr uint64_t kHeldOutStream = 0x68656c646f7574;
constexpr uint64_t kSampleStream = 0x73616d706c65;

uint64_t HashText(uint64_t hash, std::string_view text) {
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
    hash = Mix(hash ^ word);
  }
  return Mix(hash ^ text.size());
}

uint64_t HashDocument(const Document& document) {
  uint64_t hash = 0;
  for (const Segment& s : document.segments) hash = HashText(hash, s.text);
  return hash;
}

struct Loaded {
  std::vector<Document> documents;
  std::vector<int16_t> sources;
};

struct SourceFile {
  std::string path;
  int16_t source;
};

Result<std::vector<SourceFile>> ListSources(const Recipe& recipe, const std::string& base) {
  std::vector<SourceFile> list;
  for (size_t i = 0; i < recipe.data.size(); ++i) {
    if (recipe.data[i].weight <= 0.0) continue;
    FT_ASSIGN_OR_RETURN(const auto files, ListDataFiles(recipe.data[i].files, base));
    for (const std::string& f : files) list.push_back({f, static_cast<int16_t>(i)});
  }
  if (list.empty()) return Error{"the recipe names no training data"};
  return list;
}

// Changes when a file or a setting that shapes the corpus does.
uint64_t CorpusKey(const Recipe& recipe, const std::vector<SourceFile>& files,
                   const TokenizerData* given) {
  uint64_t key = HashText(kMagic, recipe.pre);
  if (given != nullptr) key = Mix(key ^ VocabularyFingerprint(*given));
  key = Mix(key ^ static_cast<uint64_t>(recipe.vocab));
  key = HashText(key, std::to_string(recipe.tokenizer_mib) + std::to_string(recipe.heldout));
  key = Mix(key ^ (recipe.mask_user ? 1 : 0));
  for (const SourceFile& f : files) {
    struct stat info {};
    stat(f.path.c_str(), &info);
    key = HashText(key, std::filesystem::path(f.path).filename().string());
    key = Mix(key ^ static_cast<uint64_t>(info.st_size) ^ static_cast<uint64_t>(f.source) << 48);
  }
  return key;
}

Result<Loaded> LoadAll(const std::vector<SourceFile>& files) {
  Loaded all;
  for (const SourceFile& f : files) {
    FT_ASSIGN_OR_RETURN(std::vector<Document> part, ReadDocuments(f.path));
    all.sources.insert(all.sources.end(), part.size(), f.source);
    std::move(part.begin(), part.end(), std::back_inserter(all.documents));
  }
  return all;
}

// A random part of the text, sources in proportion to their weight.
std::vector<std::string_view> SampleText(const Loaded& all, const Recipe& recipe) {
  double total = 0.0;
  for (size_t i = 0; i < all.documents.size(); ++i) {
    const double weight = std::min(1.0, recipe.data[all.sources[i]].weight);
    for (const Segment& s : all.documents[i].segments) total += weight * s.text.size();
  }
  const double share = std::min(1.0, recipe.tokenizer_mib * 1048576.0 / std::max(total, 1.0));
  std::vector<std::string_view> sample;
  for (size_t i = 0; i < all.documents.size(); ++i) {
    const double weight = std::min(1.0, recipe.data[all.sources[i]].weight);
    if (Uniform(recipe.seed, kSampleStream, i) >= share * weight) continue;
    for (const Segment& s : all.documents[i].segments) sample.push_back(s.text);
  }
  return sample;
}

Result<TokenizerData> LearnTokenizer(const Loaded& all, const Recipe& recipe) {
  BpeTrainerOptions options;
  options.vocab_size = static_cast<int>(recipe.vocab);
  options.pre = recipe.pre;
  options.special_tokens = {kEndOfText, kTurnStart, kTurnEnd};
  const std::vector<std::string_view> sample = SampleText(all, recipe);
  FT_ASSIGN_OR_RETURN(TokenizerData data, TrainByteBpe(sample, options));
  data.bos = data.padding = 0;
  data.eos = data.eot = 2;  // what ends an answer; a document's end is ended generation as well
  data.eog = {0, 2};
  data.chat_template = kChatTemplate;
  return data;
}

struct Encoded {
  std::vector<uint32_t> ids;
  std::vector<uint8_t> learn;
};

// Whether documents can be encoded with a tokenizer that was not made here.
Status CheckTokenizer(const TokenizerData& tokenizer) {
  for (const char* name : {kEndOfText, kTurnStart, kTurnEnd}) {
    if (std::find(tokenizer.tokens.begin(), tokenizer.tokens.end(), name) ==
        tokenizer.tokens.end()) {
      return Error{"the target's tokenizer has no token '" + std::string(name) +
                   "': conversations are rendered as ChatML"};
    }
  }
  return {};
}

class Encoder {
 public:
  Encoder(const Tokenizer& tokenizer, bool mask_user)
      : tokenizer_(tokenizer), mask_user_(mask_user) {
    const auto& tokens = tokenizer.data().tokens;
    for (const char* name : {kEndOfText, kTurnStart, kTurnEnd}) {
      const auto at = std::find(tokens.begin(), tokens.end(), name);
      if (at != tokens.end()) controls_[name] = static_cast<uint32_t>(at - tokens.begin());
    }
  }

  Encoded Encode(const Document& document) const {
    Encoded out;
    EncodeOptions options;
    options.add_bos = false;
    for (const Segment& s : document.segments) {
      for (Token t : tokenizer_.Encode(s.text, options)) {
        out.ids.push_back(static_cast<uint32_t>(t));
      }
      if (!s.control.empty()) out.ids.push_back(controls_.at(s.control));
      out.learn.resize(out.ids.size(), mask_user_ && s.from_user ? 0 : 1);
    }
    return out;
  }

 private:
  const Tokenizer& tokenizer_;
  bool mask_user_;
  std::unordered_map<std::string, uint32_t> controls_;
};

// Encodes on every core; the result is in document order whatever their number.
std::vector<Encoded> EncodeAll(const Encoder& encoder, const std::vector<Document>& documents) {
  std::vector<Encoded> out(documents.size());
  const size_t count = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> workers;
  for (size_t w = 0; w < count; ++w) {
    workers.emplace_back([&, w] {
      for (size_t i = w; i < documents.size(); i += count) out[i] = encoder.Encode(documents[i]);
    });
  }
  for (std::thread& t : workers) t.join();
  return out;
}

Corpus Assemble(const Loaded& all, const std::vector<Encoded>& encoded, double heldout) {
  Corpus corpus;
  for (size_t i = 0; i < encoded.size(); ++i) {
    CorpusDocument d;
    d.first = static_cast<int64_t>(corpus.ids.size());
    d.length = static_cast<int32_t>(encoded[i].ids.size());
    d.source = all.sources[i];
    d.heldout = Uniform(HashDocument(all.documents[i]), kHeldOutStream, 0) < heldout;
    corpus.documents.push_back(d);
    corpus.ids.insert(corpus.ids.end(), encoded[i].ids.begin(), encoded[i].ids.end());
    corpus.learn.insert(corpus.learn.end(), encoded[i].learn.begin(), encoded[i].learn.end());
  }
  return corpus;
}

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

std::string CorpusPath(const std::string& directory) { return directory + "/corpus.bin"; }
std::string TokenizerPath(const std::string& directory) {
  return directory + "/tokenizer_data.json";
}

Status SaveCorpus(const Corpus& corpus, uint64_t key, const std::string& path) {
  std::string bytes(reinterpret_cast<const char*>(&key), sizeof(key));
  Append(corpus.ids, bytes);
  Append(corpus.learn, bytes);
  Append(corpus.documents, bytes);
  return WriteFileAtomically(path, bytes);
}

bool LoadCorpus(const std::string& path, uint64_t key, Corpus& corpus) {
  const auto file = MappedFile::Open(path);
  if (!file.ok() || file->size() < sizeof(key)) return false;
  std::string_view bytes = file->text();
  if (std::memcmp(bytes.data(), &key, sizeof(key)) != 0) return false;
  bytes.remove_prefix(sizeof(key));
  return Take(bytes, corpus.ids) && Take(bytes, corpus.learn) && Take(bytes, corpus.documents);
}

Status SaveTokenizer(const TokenizerData& t, const std::string& path) {
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
  return WriteFileAtomically(path, json.dump());
}

}  // namespace

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
    return Error{path + ": " + fault.what()};
  }
  return t;
}

Result<PreparedData> PrepareData(const Recipe& recipe, const std::string& base,
                                 const std::string& directory, bool quiet,
                                 const TokenizerData* given) {
  FT_ASSIGN_OR_RETURN(const std::vector<SourceFile> files, ListSources(recipe, base));
  if (given != nullptr) FT_RETURN_IF_ERROR(CheckTokenizer(*given));
  const uint64_t key = CorpusKey(recipe, files, given);
  PreparedData data;
  if (given != nullptr) data.tokenizer = *given;
  if (LoadCorpus(CorpusPath(directory), key, data.corpus)) {
    if (given == nullptr) {
      FT_ASSIGN_OR_RETURN(data.tokenizer, LoadTokenizer(directory));
    }
    return data;
  }
  if (!quiet) std::fprintf(stderr, "reading %zu files\n", files.size());
  FT_ASSIGN_OR_RETURN(const Loaded all, LoadAll(files));
  if (given == nullptr) {
    if (!quiet) std::fprintf(stderr, "learning the tokenizer\n");
    FT_ASSIGN_OR_RETURN(data.tokenizer, LearnTokenizer(all, recipe));
  }
  FT_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(data.tokenizer, "new tokenizer"));
  if (!quiet) std::fprintf(stderr, "encoding %zu documents\n", all.documents.size());
  const Encoder encoder(*tokenizer, recipe.mask_user);
  data.corpus = Assemble(all, EncodeAll(encoder, all.documents), recipe.heldout);
  if (given == nullptr) {
    FT_RETURN_IF_ERROR(SaveTokenizer(data.tokenizer, TokenizerPath(directory)));
  }
  FT_RETURN_IF_ERROR(SaveCorpus(data.corpus, key, CorpusPath(directory)));
  return data;
}

}  // namespace foretoken::train
