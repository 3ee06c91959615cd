// GLIDE drafts from files, with cross-attention or without (the paper's Vanilla Drafter).
#include "base/json.h"
#include "draft/glide/glide.h"
#include "draft/trained.h"
#include "io/model_limits.h"

namespace foretoken {

Result<std::unique_ptr<Drafter>> NewGlide(const DraftContext& context) {
  DraftOptions options("glide", context.options);
  CausalRule rule;
  rule.bounds_trees = context.options.contains("gamma");
  rule.gamma = options.Int("gamma", rule.gamma, 1, 1024);
  rule.cache_type = CacheTypeOption(options);
  const int kv_layer = options.Int("kv_layer", 0, 0, kMostLayers);
  DraftTokenRule tokens = AskTokenRule(options, "glide");
  FT_ASSIGN_OR_RETURN(auto file, OpenTrained(options, context, {"glide"}));
  FT_RETURN_IF_ERROR(CheckCacheType(file->config(), rule.cache_type));
  FT_RETURN_IF_ERROR(FindRanking(context, *file, tokens));
  FT_ASSIGN_OR_RETURN(auto net, GlideNet::Load(std::move(file), context.target, kv_layer, tokens));
  return std::unique_ptr<Drafter>(std::make_unique<Glide>(std::move(net), context.capacity, rule));
}

}  // namespace foretoken
