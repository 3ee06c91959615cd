#include "corpus.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/hash.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/thread_pool.h"
#include "corpus_file.h"
#include "dataset.h"
#include "document_encoder.h"
#include "own_answers.h"
#include "text/bpe_trainer.h"
#include "text/documents.h"
#include "text/tokenizer.h"

namespace foretoken::train {
namespace {

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

// A document's hash, independent of how it is rendered for training.
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
  if (list.empty()) return Error{"no training data: name them with --data or in the recipe"};
  return list;
}

// Hashes a tokenizer's chat template and everything that is passed to it.
uint64_t TemplateKey(uint64_t key, const TokenizerData& t) {
  key = HashText(Mix(key ^ kTemplateStream), t.chat_template);
  for (const Token token : {t.bos, t.eos, t.eot}) key = Mix(key ^ static_cast<uint32_t>(token));
  return Mix(key ^ (t.add_bos ? 1 : 0));
}

// Returns the key that the previous version stored in the file. It depends on the data files' sizes
// instead of their contents.
uint64_t OlderCorpusKey(const Recipe& recipe, const std::vector<SourceFile>& files,
                        const TokenizerData* given) {
  uint64_t key = HashText(kOlderCorpusSeed, recipe.pre);
  if (given != nullptr) key = Mix(key ^ VocabularyFingerprint(*given));
  if (given != nullptr && !RendersAsChatMl(*given)) key = TemplateKey(key, *given);
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

// Hashes the files' contents and the settings that affect the corpus.
Result<uint64_t> CorpusKey(const Recipe& recipe, const std::vector<SourceFile>& files,
                           const TokenizerData* given) {
  Json inputs = {{"pre", recipe.pre},
                 {"vocab", recipe.vocab},
                 {"heldout", recipe.heldout},
                 {"mask_user", recipe.mask_user}};
  if (given == nullptr) {  // settings of the tokenizer's training
    inputs["tokenizer_mib"] = recipe.tokenizer_mib;
    inputs["seed"] = recipe.seed;
    for (const DataSource& source : recipe.data) inputs["weights"].push_back(source.weight);
  } else {
    inputs["vocabulary"] = VocabularyFingerprint(*given);
    if (!RendersAsChatMl(*given)) inputs["template"] = TemplateKey(0, *given);
  }
  for (const SourceFile& f : files) {
    FT_ASSIGN_OR_RETURN(const std::string hash, HashFile(f.path));
    const std::string name = std::filesystem::path(f.path).filename().string();
    inputs["files"].push_back({{"name", name}, {"source", f.source}, {"hash", hash}});
  }
  return HashText(0, JsonText(inputs));
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

// Samples documents for the tokenizer's training, sources in proportion to their weight.
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

Result<TokenizerData> TrainTokenizer(const Loaded& all, const Recipe& recipe) {
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
  data.eos = data.eot = 2;  // ends an answer; the end of a document (0) also ends generation
  data.eog = {0, 2};
  data.chat_template = kChatTemplate;
  return data;
}

using EncodedDocuments = std::vector<Result<EncodedDocument>>;

// Encodes on all cores. The result is in document order.
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

// Reports on standard error how many documents could not be encoded. Errors: none could
// be encoded.
Status ReportLeftOut(const EncodedDocuments& encoded) {
  const auto failed = [](const Result<EncodedDocument>& document) { return !document.ok(); };
  const auto first = std::ranges::find_if(encoded, failed);
  if (first == encoded.end()) return {};
  const auto count = static_cast<size_t>(std::ranges::count_if(encoded, failed));
  const std::string& reason = first->error().message;
  if (count == encoded.size()) return Error{"no document can be encoded; the first: " + reason};
  std::fprintf(stderr, "%zu of %zu documents are left out; the first: %s\n", count, encoded.size(),
               reason.c_str());
  return {};
}

bool IsHeldOut(const TextDocument& document, double share) {
  return Uniform(HashDocument(document), kHeldOutStream, 0) < share;
}

// Writes the held-out questions, on which a draft is measured after training.
Status KeepHeldOutQuestions(const Loaded& all, double share, const std::string& directory) {
  std::vector<const TextDocument*> heldout;
  for (const TextDocument& document : all.documents) {
    if (IsHeldOut(document, share)) heldout.push_back(&document);
  }
  return WriteHeldOutQuestions(heldout, directory);
}

// Adds held-out questions to a corpus stored by an older version that wrote none. Reads only
// conversations, because other documents have no questions.
Status AddHeldOutQuestions(const Recipe& recipe, std::vector<SourceFile> files,
                           const std::string& directory) {
  std::error_code fault;
  if (recipe.heldout <= 0.0) return {};
  if (std::filesystem::exists(HeldOutQuestionsPath(directory), fault)) return {};
  std::erase_if(files, [](const SourceFile& f) { return !f.path.ends_with(".jsonl"); });
  FT_ASSIGN_OR_RETURN(const Loaded all, LoadAll(files));
  return KeepHeldOutQuestions(all, recipe.heldout, directory);
}

// Assembles the corpus from the documents that could be encoded.
Corpus Assemble(const Loaded& all, const EncodedDocuments& encoded, double heldout) {
  Corpus corpus;
  for (size_t i = 0; i < encoded.size(); ++i) {
    if (!encoded[i].ok()) continue;
    const auto& [ids, learn] = *encoded[i];
    CorpusDocument d;
    d.first = static_cast<int64_t>(corpus.ids.size());
    d.length = static_cast<int32_t>(ids.size());
    d.source = all.sources[i];
    d.heldout = IsHeldOut(all.documents[i], heldout);
    corpus.documents.push_back(d);
    corpus.ids.insert(corpus.ids.end(), ids.begin(), ids.end());
    corpus.learn.insert(corpus.learn.end(), learn.begin(), learn.end());
  }
  return corpus;
}

Result<Corpus> EncodeCorpus(const Recipe& recipe, const Loaded& all, const TokenizerData& data,
                            bool quiet) {
  const auto target = recipe.settings.find("target");
  const std::string origin = target == recipe.settings.end() ? "new tokenizer" : target->second;
  FT_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(data, origin));
  FT_ASSIGN_OR_RETURN(const auto encoder, NewDocumentEncoder(*tokenizer, recipe.mask_user, origin));
  if (!quiet) std::fprintf(stderr, "encoding %zu documents\n", all.documents.size());
  FT_ASSIGN_OR_RETURN(const EncodedDocuments encoded, EncodeAll(*encoder, all.documents));
  FT_RETURN_IF_ERROR(ReportLeftOut(encoded));
  return Assemble(all, encoded, recipe.heldout);
}

}  // namespace

Result<PreparedData> PrepareData(const Recipe& recipe, const std::string& base,
                                 const std::string& directory, bool quiet,
                                 const TokenizerData* given, KeptData kept) {
  FT_ASSIGN_OR_RETURN(const std::vector<SourceFile> files, ListSources(recipe, base));
  FT_ASSIGN_OR_RETURN(const uint64_t key, CorpusKey(recipe, files, given));
  PreparedData data;
  const CorpusFile file(directory);
  FT_ASSIGN_OR_RETURN(const KeptCorpus stored,
                      file.Find(key, OlderCorpusKey(recipe, files, given)));
  const bool is_stored = stored == KeptCorpus::kMatch;
  if (stored == KeptCorpus::kMismatch && kept.corpus) {
    return Error{
        file.path() + ": was made from different data or settings; " +
        "--change data continues with the new ones, --force starts over and replaces the run"};
  }
  if (given != nullptr) {
    data.tokenizer = *given;
  } else if (is_stored || kept.tokenizer) {
    FT_ASSIGN_OR_RETURN(data.tokenizer, LoadTokenizer(directory));
  }
  if (is_stored) {
    const Status loaded = file.Load(recipe.data.size(), data.tokenizer.tokens.size(), data.corpus);
    if (loaded.ok()) {
      if (given != nullptr) FT_RETURN_IF_ERROR(AddHeldOutQuestions(recipe, files, directory));
      return data;
    }
    std::fprintf(stderr, "%s; rebuilding it from the data\n", loaded.error().message.c_str());
  }
  if (!quiet)
    std::fprintf(stderr, "reading %zu file%s\n", files.size(), files.size() == 1 ? "" : "s");
  FT_ASSIGN_OR_RETURN(const Loaded all, LoadAll(files));
  const bool trains_tokenizer = data.tokenizer.tokens.empty();
  if (trains_tokenizer) {
    if (!quiet) std::fprintf(stderr, "training the tokenizer\n");
    FT_ASSIGN_OR_RETURN(data.tokenizer, TrainTokenizer(all, recipe));
  }
  FT_ASSIGN_OR_RETURN(data.corpus, EncodeCorpus(recipe, all, data.tokenizer, quiet));
  if (given != nullptr) {
    FT_RETURN_IF_ERROR(KeepHeldOutQuestions(all, recipe.heldout, directory));
  }
  if (trains_tokenizer) FT_RETURN_IF_ERROR(SaveTokenizer(data.tokenizer, directory));
  FT_RETURN_IF_ERROR(file.Save(data.corpus, key));
  return data;
}

}  // namespace foretoken::train
