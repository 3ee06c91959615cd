// EAGLE-3 drafts from files: EAGLE's way of drafting with a module that reads three of the target's
// hidden states and has an LM head of its own.
#include "draft/eagle/eagle.h"
#include "draft/eagle3/eagle3_net.h"
#include "draft/trained.h"

namespace foretoken {

Result<std::unique_ptr<Drafter>> NewEagle3(const DraftContext& context) {
  DraftOptions options("eagle3", context.options);
  const DType cache_type = CacheTypeOption(options);
  DraftTokenRule rule = AskTokenRule(options, "eagle3");
  FT_ASSIGN_OR_RETURN(auto file, OpenTrained(options, context, {"eagle3"}));
  FT_RETURN_IF_ERROR(CheckCacheType(file->config(), cache_type));
  FT_RETURN_IF_ERROR(FindRanking(context, *file, rule));
  FT_ASSIGN_OR_RETURN(auto net, Eagle3Net::Load(std::move(file), context.target, rule));
  const std::vector<int> taps = net->taps();
  return std::unique_ptr<Drafter>(
      std::make_unique<Eagle>(std::move(net), taps, context.capacity, cache_type));
}

}  // namespace foretoken
