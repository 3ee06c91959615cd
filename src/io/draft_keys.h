// Metadata keys of draft checkpoints, shared by readers and writers.
#pragma once

#include <string>

namespace foretoken {

inline const std::string kDraftArchitecture = "foretoken-draft";
inline const std::string kDraftPrefix = "foretoken.draft";
inline constexpr int kDraftVersion = 1;

// Keys after kDraftPrefix and a dot, and the largest values of methods' own fields.
inline const std::string kMethodKey = "method";
inline const std::string kHiddenKey = "embedding_length";
inline const std::string kLayersKey = "block_count";
inline const std::string kVocabKey = "vocab_size";
inline const std::string kTapsKey = "taps";
inline const std::string kKvLayersKey = "kv_layers";
inline const std::string kSharedKey = "shared";
inline const std::string kOutputHeadsKey = "output_heads";
inline const std::string kHeadLayersKey = "head_layers";
inline const std::string kBlockSizeKey = "block_size";
inline const std::string kNgramKey = "ngram";
inline constexpr int kMostOutputHeads = 64, kMostHeadLayers = 64, kMostBlockSize = 1 << 16,
                     kMostNgram = 5;

// "foretoken.draft.KEY".
inline std::string DraftKey(const std::string& key) { return kDraftPrefix + "." + key; }

}  // namespace foretoken
