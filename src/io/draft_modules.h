// Names of the modules of trained drafts, ours (docs/formats.md) and those that authors publish.
// Which modules a method has, and their shapes, is in its specification,
// draft/METHOD/METHOD_spec.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// A module of a draft, or a family of modules: "NAME.weight" and, if it may have one, "NAME.bias".
// In names {k} stands for a head's number, {j} for that of a block in it, {2j+1} for the odd number
// that authors give block j, and {n} for a layer's number.
struct DraftModule {
  std::string_view own;        // in draft files
  std::string_view published;  // in the authors' files; "" if they have none
  bool may_have_bias = false;
};

// Selects a module of a family.
struct ModuleIndex {
  int k = 0, j = 0, n = 0;
};

// A tensor of a draft.
struct TensorSpec {
  std::string name;            // our name
  std::string published;       // the authors' name
  std::vector<int64_t> shape;  // outermost first
  int64_t rows() const { return shape.front(); }
  int64_t cols() const { return shape.back(); }
};

// "NAME.weight" and "NAME.bias" [n] of a module.
TensorSpec WeightOf(const DraftModule& module, std::vector<int64_t> shape, ModuleIndex index = {});
TensorSpec BiasOf(const DraftModule& module, int64_t n, ModuleIndex index = {});

// Our name of a published tensor, by the first of `modules` that has it; "" if none has.
std::string OwnName(std::span<const DraftModule> modules, std::string_view published);

// The inverse of OwnName; "" for a tensor that the authors do not have.
std::string PublishedName(std::span<const DraftModule> modules, std::string_view own);

// Like OwnName, but for a tensor of decoder layer `layer`, where published names begin with
// `prefix`: "midlayer.mlp.up_proj.weight" -> "blk.0.ffn_up.weight".
std::string OwnLayerName(std::string_view prefix, int layer, std::string_view published);

// Prefix that some authors put before a draft's names, as in the names of a whole model.
inline constexpr std::string_view kModelPrefix = "model.";

// Modules that drafts and models have in common. Their published names differ.
inline constexpr std::string_view kEmbeddingModule = "token_embd";
inline constexpr std::string_view kNormModule = "output_norm";
inline constexpr std::string_view kHeadModule = "output";

}  // namespace foretoken
