// The files of a training directory that are derived from its data: the encoded corpus (a cache)
// and the tokenizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "corpus.h"
#include "text/tokenizer_data.h"

namespace foretoken::train {

// The seed of the key's hash in files of the previous version.
inline constexpr uint64_t kOlderCorpusSeed = 0x32737072636b7466;  // "ftkcrps2"

enum class KeptCorpus : uint8_t { kMissing, kMismatch, kMatch };

class CorpusFile {
 public:
  explicit CorpusFile(const std::string& directory) : path_(directory + "/corpus.bin") {}

  const std::string& path() const { return path_; }
  // Compares the file's key with `key`, or, for a file of the previous version (without a
  // checksum), with `older_key`. Reads only the header. kMissing: no file, or it is too short.
  // Errors: a file that cannot be read.
  Result<KeptCorpus> Find(uint64_t key, uint64_t older_key) const;
  // Reads and verifies the corpus. Errors: a checksum mismatch; documents, tokens or sources out of
  // bounds (`sources` entries in the recipe, `vocab` tokens).
  Status Load(size_t sources, size_t vocab, Corpus& corpus) const;
  Status Save(const Corpus& corpus, uint64_t key) const;

 private:
  std::string path_;
};

// Errors: a file that is not a tokenizer.
Result<TokenizerData> LoadTokenizer(const std::string& directory);
Status SaveTokenizer(const TokenizerData& tokenizer, const std::string& directory);

}  // namespace foretoken::train
