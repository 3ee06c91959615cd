// What the factories of trained drafters share: options, opening the draft's file, loading its
// weights.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "draft/draft_tokens.h"
#include "draft/drafter.h"
#include "draft/options.h"
#include "io/draft_file.h"
#include "io/draft_modules.h"
#include "model/decoder_layers.h"

namespace foretoken {

// Options that name a draft's file.
struct TrainedOptions {
  std::string draft;
  bool any_target = false;  // accepts a draft made for a target of another name
  void Visit(OptionFields& fields);
};

// All options of a drafter that has a KV cache and no settings of its own.
struct CachedDraftOptions {
  DType cache_type = DType::kF16;
  DraftTokenRule tokens;
  TrainedOptions file;
  void Visit(OptionFields& fields);
};

// Option `gamma` of drafters that draft like a language model.
void VisitGamma(OptionFields& fields, int& gamma, bool& is_given);
// Option `cache_type`.
void VisitCacheType(OptionFields& fields, DType& type);

// Opens the draft that `options` name, checks that its method is one of `methods` and that it was
// made for this target, and finds the ranking of its tokens. The first of `methods` is the
// drafter's name. Error messages name the drafter or the file, and what differs.
Result<std::unique_ptr<DraftFile>> OpenTrained(const TrainedOptions& options,
                                               const DraftContext& context,
                                               std::initializer_list<std::string_view> methods,
                                               DraftTokenRule& tokens);

// Loads the matrix or vector that `tensor` names; see WeightLoader.
inline std::unique_ptr<Weight> LoadMatrix(WeightLoader& loader, const TensorSpec& tensor) {
  return loader.Matrix(tensor.name, tensor.rows(), tensor.cols());
}
inline Buffer LoadVector(WeightLoader& loader, const TensorSpec& tensor) {
  return loader.Vector(tensor.name, tensor.rows());
}

// The error for a draft at `path` whose metadata has the value `found` under `key`
// (io/draft_keys.h).
Error WrongKey(const std::string& path, const std::string& key, int found,
               const std::string& expected);

// The configuration of the file's layers. If the authors' layout does not record heads and position
// encoding, the target's are used, without interleaved RoPE, norms of queries and keys, or a
// sliding window.
ModelConfig LayersOf(const DraftFile& file, const ModelConfig& target);

// What is known of the draft in `file`. `level_bytes`: bytes of the weights that a level reads.
// `columns`: tokens that it scores.
DraftPrior PriorOf(const DraftFile& file, size_t level_bytes, int columns);
// The key under which measurements of the draft in `file` are stored if it scores `columns` tokens.
std::string DraftIdentity(const ModelFile& file, std::string_view method, int columns);

}  // namespace foretoken
