// Builds EAGLE and HASS drafters from files. Both use the same module, and either name accepts
// drafts trained by either method.
#include "draft/eagle/eagle.h"
#include "draft/eagle/eagle_net.h"
#include "draft/eagle/eagle_spec.h"
#include "draft/trained.h"

namespace foretoken {
namespace {

Result<std::unique_ptr<Drafter>> New(std::string_view name, std::string_view other_method,
                                     const DraftContext& context) {
  CachedDraftOptions options;
  FT_RETURN_IF_ERROR(ReadOptions(name, context.options, options));
  FT_ASSIGN_OR_RETURN(auto file,
                      OpenTrained(options.file, context, {name, other_method}, options.tokens));
  FT_RETURN_IF_ERROR(CheckCacheType(file->config(), options.cache_type));
  FT_ASSIGN_OR_RETURN(auto net, EagleNet::Load(std::move(file), context.target, options.tokens));
  return std::unique_ptr<Drafter>(
      std::make_unique<Eagle>(std::move(net), EagleSpec::Taps(context.target.config().layers),
                              context.capacity, options.cache_type));
}

}  // namespace

OptionTable DescribeEagle() {
  OptionTable table = DescribeOptions<CachedDraftOptions>();
  OptionFields(table).Note("EAGLE-2 is eagle with --tree eagle2");
  return table;
}
OptionTable DescribeHass() { return DescribeOptions<CachedDraftOptions>(); }

Result<std::unique_ptr<Drafter>> NewEagle(const DraftContext& context) {
  return New(EagleSpec::kMethod, EagleSpec::kHassMethod, context);
}

Result<std::unique_ptr<Drafter>> NewHass(const DraftContext& context) {
  return New(EagleSpec::kHassMethod, EagleSpec::kMethod, context);
}

}  // namespace foretoken
