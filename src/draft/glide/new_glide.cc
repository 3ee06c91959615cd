// Builds GLIDE drafters from files, with cross-attention or without it (the paper's Vanilla
// Drafter).
#include "base/json.h"
#include "draft/glide/glide.h"
#include "draft/glide/glide_spec.h"
#include "draft/trained.h"
#include "io/model_limits.h"

namespace foretoken {

namespace {

struct GlideOptions {
  CausalRule rule;
  int kv_layer = 0;
  DraftTokenRule tokens;
  TrainedOptions file;
  void Visit(OptionFields& fields) {
    VisitGamma(fields, rule.gamma, rule.bounds_trees);
    VisitCacheType(fields, rule.cache_type);
    fields.Int("kv_layer", kv_layer, 0, kMostLayers,
               "the target's layer, counted from 1, that the draft's last layer reads",
               {.fallback = "0: as the draft file says, else the top layer"});
    tokens.Visit(fields);
    file.Visit(fields);
  }
};

}  // namespace

OptionTable DescribeGlide() { return DescribeOptions<GlideOptions>(); }

Result<std::unique_ptr<Drafter>> NewGlide(const DraftContext& context) {
  GlideOptions options;
  FT_RETURN_IF_ERROR(ReadOptions(GlideSpec::kMethod, context.options, options));
  FT_ASSIGN_OR_RETURN(auto file,
                      OpenTrained(options.file, context, {GlideSpec::kMethod}, options.tokens));
  FT_RETURN_IF_ERROR(CheckCacheType(file->config(), options.rule.cache_type));
  FT_ASSIGN_OR_RETURN(
      auto net, GlideNet::Load(std::move(file), context.target, options.kv_layer, options.tokens));
  return std::unique_ptr<Drafter>(
      std::make_unique<Glide>(std::move(net), context.capacity, options.rule));
}

}  // namespace foretoken
