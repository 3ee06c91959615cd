#include "engine/session_economy.h"

#include <algorithm>

namespace foretoken {

double SavedByReading(const TreeEconomy& economy, const TreeBuilder& builder,
                      const CandidateTree& scored, std::span<const Node> path) {
  const auto is_theirs = [&](Node n) {
    const uint32_t by = scored.proposers(n);
    return n != 0 && by != 0 && (by & ~builder.readers()) == 0;
  };
  int nodes = 0;
  for (Node n = 1; n < scored.size(); ++n) nodes += is_theirs(n) ? 1 : 0;
  const double drafting = economy.DraftSeconds(builder.levels()) - economy.DraftSeconds(0);
  const double verifying =
      economy.VerifySeconds(scored.size()) - economy.VerifySeconds(scored.size() - nodes);
  const auto won = static_cast<double>(std::ranges::count_if(path, is_theirs));
  return won - (drafting + verifying) / economy.VerifySeconds(1);
}

}  // namespace foretoken
