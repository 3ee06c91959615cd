// What drafters that are trained for one target share when they are built.
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

// The file of a draft.
struct TrainedOptions {
  std::string draft;
  bool any_target = false;  // forgives a target of another name
  void Visit(OptionFields& fields);
};

// The options of drafters that have a cache of their own, and no others.
struct CachedDraftOptions {
  DType cache_type = DType::kF16;
  DraftTokenRule tokens;
  TrainedOptions file;
  void Visit(OptionFields& fields);
};

// Option `gamma` of drafters that write ahead as a language model does.
void VisitGamma(OptionFields& fields, int& gamma, bool& is_given);
// Option `cache_type`.
void VisitCacheType(OptionFields& fields, DType& type);

// Opens the draft that `options` name, checks that it is one of `methods` and made for this target,
// and fetches the ranking of its tokens. The first of `methods` is the drafter's name. Errors name
// drafter or file, and what differs.
Result<std::unique_ptr<DraftFile>> OpenTrained(const TrainedOptions& options,
                                               const DraftContext& context,
                                               std::initializer_list<std::string_view> methods,
                                               DraftTokenRule& tokens);

// The matrix or the vector that a specification names; see WeightLoader.
inline std::unique_ptr<Weight> LoadMatrix(WeightLoader& loader, const TensorSpec& tensor) {
  return loader.Matrix(tensor.name, tensor.rows(), tensor.cols());
}
inline Buffer LoadVector(WeightLoader& loader, const TensorSpec& tensor) {
  return loader.Vector(tensor.name, tensor.rows());
}

// The error that metadata key `key` (io/draft_keys.h) of the draft at `path` is `found`.
Error WrongKey(const std::string& path, const std::string& key, int found,
               const std::string& expected);

// The geometry of the file's layers: the target's where the authors' layout says nothing of heads
// and positions.
ModelConfig LayersOf(const DraftFile& file, const ModelConfig& target);

// What is known of the draft in `file`, a level of which reads `level_bytes` and scores `columns`
// tokens.
DraftPrior PriorOf(const DraftFile& file, size_t level_bytes, int columns);
// What estimates of a draft in `file` are kept under that scores `columns` tokens.
std::string DraftIdentity(const ModelFile& file, std::string_view method, int columns);

}  // namespace foretoken
