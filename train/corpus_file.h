// What a training directory keeps of its data: the encoded corpus, a cache, and the tokenizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "corpus.h"
#include "text/tokenizer_data.h"

namespace foretoken::train {

// What files of the version before begin the hash of their key with.
inline constexpr uint64_t kOlderCorpus = 0x32737072636b7466;  // "ftkcrps2"

enum class KeptCorpus : uint8_t { kNone, kOther, kFits };

class CorpusFile {
 public:
  explicit CorpusFile(const std::string& directory) : path_(directory + "/corpus.bin") {}

  const std::string& path() const { return path_; }
  // Whether the file says that it holds the corpus of `key`, or, without a checksum, of
  // `older_key`. Its bytes are not looked at yet.
  KeptCorpus Find(uint64_t key, uint64_t older_key) const;
  // Errors: a file that differs from its checksum, or whose documents, tokens or sources are not
  // within bounds: `sources` of the recipe, `vocab` tokens.
  Status Load(size_t sources, size_t vocab, Corpus& corpus) const;
  Status Save(const Corpus& corpus, uint64_t key) const;

 private:
  std::string path_;
};

// Errors: a file that is no tokenizer.
Result<TokenizerData> LoadTokenizer(const std::string& directory);
Status SaveTokenizer(const TokenizerData& tokenizer, const std::string& directory);

}  // namespace foretoken::train
