// GLIDE as published: a language model with its own class. Its config.json records the sizes of the
// target (fields "large_...").
#include "base/json.h"
#include "draft/glide/glide_spec.h"
#include "draft/published_parts.h"
#include "io/draft_keys.h"
#include "io/json_fields.h"
#include "io/model_limits.h"

namespace foretoken {
namespace {

constexpr const char* kHeadDimField = "large_head_dim";

Status DescribeGlide(const std::string& directory, std::span<const TensorSource>, DraftInfo& info) {
  const std::string path = directory + "/config.json";
  FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  FT_ASSIGN_OR_RETURN(info.blocks, LlamaLayers(json, path));
  JsonFields fields(json, path + ": ");
  info.block_size = fields.IntOr("block_size", 1, kMostBlockSize, 0);
  info.target.hidden = fields.Int("large_hidden_size", 1, kMostHidden);
  info.target.heads = fields.Int("large_num_attention_heads", 1, kMostHeads);
  info.target.head_dim = fields.Int(kHeadDimField, 1, kMostHeadDim);
  if (fields.BoolOr("use_remap", false)) fields.Fail("field 'use_remap' is true, expected false");
  return fields.status();
}

}  // namespace

extern const PublishedLayout kPublished_glide;
const PublishedLayout kPublished_glide = {GlideSpec::kMethod,
                                          {"model.safetensors", "pytorch_model.bin"},
                                          kHeadDimField,
                                          GlideSpec::OwnName,
                                          DescribeGlide};

}  // namespace foretoken
