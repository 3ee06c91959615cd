// EAGLE and HASS drafts from files: one module under two names, whichever trained it.
#include "draft/eagle/eagle.h"
#include "draft/eagle/eagle_net.h"
#include "draft/eagle/eagle_spec.h"
#include "draft/trained.h"

namespace foretoken {
namespace {

Result<std::unique_ptr<Drafter>> New(std::string_view name, std::string_view other,
                                     const DraftContext& context) {
  DraftOptions options(name, context.options);
  const DType cache_type = CacheTypeOption(options);
  DraftTokenRule rule = AskTokenRule(options, std::string(name));
  FT_ASSIGN_OR_RETURN(auto file, OpenTrained(options, context, {name, other}));
  FT_RETURN_IF_ERROR(CheckCacheType(file->config(), cache_type));
  FT_RETURN_IF_ERROR(FindRanking(context, *file, rule));
  FT_ASSIGN_OR_RETURN(auto net, EagleNet::Load(std::move(file), context.target, rule));
  return std::unique_ptr<Drafter>(
      std::make_unique<Eagle>(std::move(net), EagleSpec::Taps(context.target.config().layers),
                              context.capacity, cache_type));
}

}  // namespace

Result<std::unique_ptr<Drafter>> NewEagle(const DraftContext& context) {
  return New(EagleSpec::kMethod, EagleSpec::kHassMethod, context);
}

Result<std::unique_ptr<Drafter>> NewHass(const DraftContext& context) {
  return New(EagleSpec::kHassMethod, EagleSpec::kMethod, context);
}

}  // namespace foretoken
