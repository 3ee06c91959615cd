#include "corpus.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/thread_pool.h"
#include "dataset.h"
#include "document_encoder.h"
#include "text/bpe_trainer.h"
#include "text/documents.h"
#include "text/tokenizer.h"

namespace foretoken::train {
namespace {

constexpr uint64_t kMagic = 0x32737072636b7466;  // "ftkcrps2"
constexpr uint64_t kHeldOutStream = 0x68656c646f7574;
constexpr uint64_t kSampleStream = 0x73616d706c65;
constexpr uint64_t kTemplateStream = 0x74656d706c617465;

uint64_t HashText(uint64_t hash, std::string_view text) {
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
    hash = Mix(hash ^ word);
  }
  return Mix(hash ^ text.size());
}

// The same however the document is rendered for training.
uint64_t HashDocument(const TextDocument& document) {
  const Document rendered = RenderChatMl(document);
  uint64_t hash = 0;
  for (const Segment& s : rendered.segments) hash = HashText(hash, s.text);
  return hash;
}

struct Loaded {
  std::vector<TextDocument> documents;
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

// Changes with all that a tokenizer's own chat template is given.
uint64_t TemplateKey(uint64_t key, const TokenizerData& t) {
  key = HashText(Mix(key ^ kTemplateStream), t.chat_template);
  for (const Token token : {t.bos, t.eos, t.eot}) key = Mix(key ^ static_cast<uint32_t>(token));
  return Mix(key ^ (t.add_bos ? 1 : 0));
}

// Changes when a file or a setting that shapes the corpus does.
uint64_t CorpusKey(const Recipe& recipe, const std::vector<SourceFile>& files,
                   const TokenizerData* given) {
  uint64_t key = HashText(kMagic, recipe.pre);
  if (given != nullptr) key = Mix(key ^ VocabularyFingerprint(*given));
  if (given != nullptr && !RendersAsOurs(*given)) key = TemplateKey(key, *given);
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
    FT_ASSIGN_OR_RETURN(std::vector<TextDocument> part, ReadTextDocuments(f.path));
    all.sources.insert(all.sources.end(), part.size(), f.source);
    std::move(part.begin(), part.end(), std::back_inserter(all.documents));
  }
  return all;
}

// A random part of the documents, sources in proportion to their weight.
std::vector<Document> SampleDocuments(const Loaded& all, const Recipe& recipe) {
  double total = 0.0;
  for (size_t i = 0; i < all.documents.size(); ++i) {
    const double weight = std::min(1.0, recipe.data[all.sources[i]].weight);
    const Document rendered = RenderChatMl(all.documents[i]);
    for (const Segment& s : rendered.segments) total += weight * s.text.size();
  }
  const double share = std::min(1.0, recipe.tokenizer_mib * 1048576.0 / std::max(total, 1.0));
  std::vector<Document> sample;
  for (size_t i = 0; i < all.documents.size(); ++i) {
    const double weight = std::min(1.0, recipe.data[all.sources[i]].weight);
    if (Uniform(recipe.seed, kSampleStream, i) >= share * weight) continue;
    sample.push_back(RenderChatMl(all.documents[i]));
  }
  return sample;
}

Result<TokenizerData> LearnTokenizer(const Loaded& all, const Recipe& recipe) {
  BpeTrainerOptions options;
  options.vocab_size = static_cast<int>(recipe.vocab);
  options.pre = recipe.pre;
  options.special_tokens = {kEndOfText, kTurnStart, kTurnEnd};
  const std::vector<Document> sample = SampleDocuments(all, recipe);
  std::vector<std::string_view> texts;
  for (const Document& document : sample) {
    for (const Segment& s : document.segments) texts.push_back(s.text);
  }
  FT_ASSIGN_OR_RETURN(TokenizerData data, TrainByteBpe(texts, options));
  data.bos = data.padding = 0;
  data.eos = data.eot = 2;  // what ends an answer; a document's end is ended generation as well
  data.eog = {0, 2};
  data.chat_template = kChatTemplate;
  return data;
}

using EncodedDocuments = std::vector<Result<EncodedDocument>>;

// Encodes on every core; the result is in document order whatever their number.
Result<EncodedDocuments> EncodeAll(const DocumentEncoder& encoder,
                                   const std::vector<TextDocument>& documents) {
  EncodedDocuments out(documents.size(), EncodedDocument{});
  FT_ASSIGN_OR_RETURN(const auto pool, ThreadPool::Create(0));
  pool->ParallelFor(std::ssize(documents), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      out[i] = encoder.Encode(documents[i]);
    }
  });
  return out;
}

// Says on standard error how many documents could not be encoded. Errors: all of them.
Status ReportLeftOut(const EncodedDocuments& encoded) {
  const auto failed = [](const Result<EncodedDocument>& document) { return !document.ok(); };
  const auto first = std::ranges::find_if(encoded, failed);
  if (first == encoded.end()) return {};
  const auto count = static_cast<size_t>(std::ranges::count_if(encoded, failed));
  const std::string& why = first->error().message;
  if (count == encoded.size()) return Error{"no document can be encoded; the first: " + why};
  std::fprintf(stderr, "%zu of %zu documents are left out; the first: %s\n", count, encoded.size(),
               why.c_str());
  return {};
}

// Of the documents that could be encoded.
Corpus Assemble(const Loaded& all, const EncodedDocuments& encoded, double heldout) {
  Corpus corpus;
  for (size_t i = 0; i < encoded.size(); ++i) {
    if (!encoded[i].ok()) continue;
    const auto& [ids, learn] = *encoded[i];
    CorpusDocument d;
    d.first = static_cast<int64_t>(corpus.ids.size());
    d.length = static_cast<int32_t>(ids.size());
    d.source = all.sources[i];
    d.heldout = Uniform(HashDocument(all.documents[i]), kHeldOutStream, 0) < heldout;
    corpus.documents.push_back(d);
    corpus.ids.insert(corpus.ids.end(), ids.begin(), ids.end());
    corpus.learn.insert(corpus.learn.end(), learn.begin(), learn.end());
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
  const auto target = recipe.settings.find("target");
  const std::string origin = target == recipe.settings.end() ? "new tokenizer" : target->second;
  FT_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(data.tokenizer, origin));
  FT_ASSIGN_OR_RETURN(const auto encoder, NewDocumentEncoder(*tokenizer, recipe.mask_user, origin));
  if (!quiet) std::fprintf(stderr, "encoding %zu documents\n", all.documents.size());
  FT_ASSIGN_OR_RETURN(const EncodedDocuments encoded, EncodeAll(*encoder, all.documents));
  FT_RETURN_IF_ERROR(ReportLeftOut(encoded));
  data.corpus = Assemble(all, encoded, recipe.heldout);
  if (given == nullptr) {
    FT_RETURN_IF_ERROR(SaveTokenizer(data.tokenizer, TokenizerPath(directory)));
  }
  FT_RETURN_IF_ERROR(SaveCorpus(data.corpus, key, CorpusPath(directory)));
  return data;
}

}  // namespace foretoken::train
