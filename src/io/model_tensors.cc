#include "io/model_tensors.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/legible.h"
#include "io/hf_names.h"
#include "io/tensor_layout.h"

namespace foretoken {
namespace {

struct NeededTensor {
  std::string name;
  std::vector<int64_t> shape;
};

std::vector<NeededTensor> OuterTensors(const ModelConfig& c) {
  std::vector<NeededTensor> needed = {{"token_embd.weight", {c.vocab, c.hidden}},
                                      {"output_norm.weight", {c.hidden}}};
  if (!c.tied_embeddings) needed.push_back({"output.weight", {c.vocab, c.hidden}});
  return needed;
}

std::vector<NeededTensor> LayerTensors(const ModelConfig& c, int layer) {
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  const int64_t hidden = c.hidden, ffn = c.ffn;
  const int64_t q = int64_t{c.heads} * c.head_dim, kv = int64_t{c.kv_heads} * c.head_dim;
  std::vector<NeededTensor> needed = {
      {"attn_norm.weight", {hidden}},      {"attn_q.weight", {q, hidden}},
      {"attn_k.weight", {kv, hidden}},     {"attn_v.weight", {kv, hidden}},
      {"attn_output.weight", {hidden, q}}, {"ffn_norm.weight", {hidden}},
      {"ffn_gate.weight", {ffn, hidden}},  {"ffn_up.weight", {ffn, hidden}},
      {"ffn_down.weight", {hidden, ffn}}};
  if (c.attention_bias) {
    needed.insert(needed.end(),
                  {{"attn_q.bias", {q}}, {"attn_k.bias", {kv}}, {"attn_v.bias", {kv}}});
  }
  if (c.qk_norm) {
    needed.insert(needed.end(), {{"attn_q_norm.weight", {int64_t{c.head_dim}}},
                                 {"attn_k_norm.weight", {int64_t{c.head_dim}}}});
  }
  for (NeededTensor& tensor : needed) tensor.name = prefix + tensor.name;
  return needed;
}

// The layer that a tensor belongs to: "blk.7.ffn_down.weight" -> 7; -1 for other tensors.
int64_t BlockOf(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  int64_t block = -1;
  if (name.starts_with(kPrefix)) {
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), block);
  }
  return block;
}

class TensorChecker {
 public:
  TensorChecker(std::span<const TensorSource> tensors, const FormatWords& words,
                const std::string& origin)
      : words_(words), origin_(origin) {
    for (const TensorSource& tensor : tensors) by_name_.emplace(tensor.name, &tensor);
  }

  Status Need(std::span<const NeededTensor> needed) const {
    for (const NeededTensor& tensor : needed) {
      const auto found = by_name_.find(tensor.name);
      const std::string expected = ", expected shape " + ShapeText(tensor.shape);
      if (found == by_name_.end()) return Wrong(tensor.name, "is missing" + expected);
      const std::vector<int64_t>& shape = found->second->shape;
      if (shape != tensor.shape) {
        return Wrong(tensor.name, "has shape " + ShapeText(shape) + expected +
                                      " by what the file says of the model");
      }
    }
    return {};
  }

  Error Wrong(std::string_view name, const std::string& what) const {
    return Error{origin_ + ": tensor '" + Printable(words_.tensor_name(name)) + "' " + what};
  }

 private:
  const FormatWords& words_;
  const std::string& origin_;
  std::unordered_map<std::string_view, const TensorSource*> by_name_;
};

}  // namespace

const FormatWords kGgufWords = {"block_count",
                                [](std::string_view name) { return std::string(name); }};
const FormatWords kHuggingFaceWords = {"num_hidden_layers", HuggingFaceTensorName};

Status CheckTensors(const ModelConfig& config, std::span<const TensorSource> tensors,
                    const FormatWords& words, const std::string& origin) {
  const TensorChecker checker(tensors, words, origin);
  const auto beyond = std::ranges::find_if(
      tensors, [&](const TensorSource& tensor) { return BlockOf(tensor.name) >= config.layers; });
  if (beyond != tensors.end()) {
    return checker.Wrong(beyond->name, "belongs to layer " + std::to_string(BlockOf(beyond->name)) +
                                           ", but " + std::string(words.layer_count) + " is " +
                                           std::to_string(config.layers));
  }
  FT_RETURN_IF_ERROR(checker.Need(OuterTensors(config)));
  for (int layer = 0; layer < config.layers; ++layer) {
    FT_RETURN_IF_ERROR(checker.Need(LayerTensors(config, layer)));
  }
  return {};
}

}  // namespace foretoken
