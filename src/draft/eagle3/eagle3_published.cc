// EAGLE-3 as published. `vocab_size` of config.json is the target's.
#include "base/json.h"
#include "draft/eagle3/eagle3_spec.h"
#include "draft/published_parts.h"
#include "io/json_fields.h"
#include "io/model_limits.h"

namespace foretoken {
namespace {

constexpr const char* kVocabField = Eagle3Spec::kVocabField;

// The hidden states that an EAGLE-3 draft reads. Empty if config.json names none; then the number
// of the target's layers decides. At the top level of config.json, which vLLM reads, a state has
// the number of the layer that it is the input of. In "eagle_config", which SGLang reads, it has
// the number of the layer that it is the output of.
std::vector<int> PublishedTaps(const Json& json, JsonFields& fields) {
  constexpr const char* kKey = Eagle3Spec::kTapsField;
  const Json* nested = fields.Find(Eagle3Spec::kNestedConfig);
  const bool is_nested = nested != nullptr && (!nested->is_object() || nested->contains(kKey));
  JsonFields own(is_nested ? *nested : json, "");
  std::vector<int> taps;
  if (const Json* list = own.Find(kKey)) {
    for (const Json& id : list->is_array() ? *list : Json::array({*list})) {
      const bool valid = id.is_number_unsigned() && id.get<uint64_t>() < kMostLayers;
      if (!valid) own.Wrong(kKey, *list, "a list of layers");
      taps.push_back(valid ? id.get<int>() : 0);
    }
  }
  if (!own.status().ok()) fields.Fail(own.status().error().message);
  if (is_nested) {
    for (int& tap : taps) ++tap;
  }
  return taps;
}

Status DescribeEagle3(const std::string& directory, std::span<const TensorSource> tensors,
                      DraftInfo& info) {
  const std::string path = directory + "/config.json";
  FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  FT_ASSIGN_OR_RETURN(info.blocks, LlamaLayers(json, path));
  info.blocks.attention_bias = HasAttentionBias(tensors);
  info.target.vocab = info.blocks.vocab;
  JsonFields fields(json, path + ": ");
  info.blocks.vocab = fields.Int(kVocabField, 1, kMostVocab);
  info.taps = PublishedTaps(json, fields);
  for (const char* field : {"norm_before_residual", "norm_before_fc"}) {
    if (fields.BoolOr(field, false)) {
      fields.Fail(std::string("field '") + field + "' is true, expected false");
    }
  }
  if (FindTensor(tensors, Eagle3Spec().Embedding().name) == nullptr) {
    info.shared = {std::string(kSharedEmbedding)};
  }
  return fields.status();
}

}  // namespace

extern const PublishedLayout kPublished_eagle3;
const PublishedLayout kPublished_eagle3 = {Eagle3Spec::kMethod,
                                           {"model.safetensors", "pytorch_model.bin"},
                                           kVocabField,
                                           Eagle3Spec::OwnName,
                                           DescribeEagle3,
                                           {},
                                           Eagle3Spec::kUnusedMap,
                                           Eagle3Spec::kTokenMap};

}  // namespace foretoken
