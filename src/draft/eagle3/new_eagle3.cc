// Builds EAGLE-3 drafters from files: the EAGLE drafter with a module that reads three of the
// target's hidden states and has its own LM head.
#include "draft/eagle/eagle.h"
#include "draft/eagle3/eagle3_net.h"
#include "draft/eagle3/eagle3_spec.h"
#include "draft/trained.h"

namespace foretoken {

OptionTable DescribeEagle3() { return DescribeOptions<CachedDraftOptions>(); }

Result<std::unique_ptr<Drafter>> NewEagle3(const DraftContext& context) {
  CachedDraftOptions options;
  FT_RETURN_IF_ERROR(ReadOptions(Eagle3Spec::kMethod, context.options, options));
  FT_ASSIGN_OR_RETURN(auto file,
                      OpenTrained(options.file, context, {Eagle3Spec::kMethod}, options.tokens));
  FT_RETURN_IF_ERROR(CheckCacheType(file->config(), options.cache_type));
  FT_ASSIGN_OR_RETURN(auto net, Eagle3Net::Load(std::move(file), context.target, options.tokens));
  const std::vector<int> taps = net->taps();
  return std::unique_ptr<Drafter>(
      std::make_unique<Eagle>(std::move(net), taps, context.capacity, options.cache_type));
}

}  // namespace foretoken
