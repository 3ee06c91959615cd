// What drafters that are trained for one target share when they are built.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "draft/drafter.h"
#include "draft/options.h"
#include "io/draft_file.h"
#include "io/draft_modules.h"
#include "model/decoder_layers.h"

namespace foretoken {

// Opens the file that option `draft` names and checks that it is one of `methods` and made for this
// target; option `target` = any forgives another name. Errors name drafter or file, and what
// differs.
Result<std::unique_ptr<DraftFile>> OpenTrained(DraftOptions& options, const DraftContext& context,
                                               std::initializer_list<std::string_view> methods);

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

// Option `cache_type`: f16 (default), f32, bf16 or q8_0.
DType CacheTypeOption(DraftOptions& options);

}  // namespace foretoken
