// Names of what trained drafts are made of: ours (docs/formats.md) and those their authors publish.
// Which modules a method has, and their shapes, says its specification, draft/METHOD/METHOD_spec.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// A module of a draft, or a family of them: "NAME.weight" and, where it may have one, "NAME.bias".
// In names {k} stands for the number of a head, {j} for that of a block in it, {2j+1} for the odd
// number that the authors call block j by, and {n} for the number of a layer.
struct DraftModule {
  std::string_view own;        // in draft files
  std::string_view published;  // in the authors' files; "" where they have none
  bool may_have_bias = false;
};

// A module of a family.
struct ModuleIndex {
  int k = 0, j = 0, n = 0;
};

// A tensor of a draft.
struct TensorSpec {
  std::string name;            // ours
  std::string published;       // the authors'
  std::vector<int64_t> shape;  // outermost first
  int64_t rows() const { return shape.front(); }
  int64_t cols() const { return shape.back(); }
};

// "NAME.weight" and "NAME.bias" [n] of a module.
TensorSpec WeightOf(const DraftModule& module, std::vector<int64_t> shape, ModuleIndex index = {});
TensorSpec BiasOf(const DraftModule& module, int64_t n, ModuleIndex index = {});

// Our name of a published tensor: that of the first of `modules` that has it, "" where none has.
std::string OwnName(std::span<const DraftModule> modules, std::string_view published);

// Its inverse, "" for a tensor that the authors do not have.
std::string PublishedName(std::span<const DraftModule> modules, std::string_view own);

// OwnName of a tensor of decoder layer `layer`, whose published names begin with `prefix`:
// "midlayer.mlp.up_proj.weight" -> "blk.0.ffn_up.weight".
std::string OwnLayerName(std::string_view prefix, int layer, std::string_view published);

// Some publish with the names that the parts of a model have.
inline constexpr std::string_view kModelPrefix = "model.";

// Modules that drafts have in common with models. Names as published differ.
inline constexpr std::string_view kEmbeddingModule = "token_embd";
inline constexpr std::string_view kNormModule = "output_norm";
inline constexpr std::string_view kHeadModule = "output";

}  // namespace foretoken
