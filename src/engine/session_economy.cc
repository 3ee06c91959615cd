#include "engine/session_economy.h"

#include <algorithm>

namespace foretoken {
namespace {

// The exploration budget of an answer: this many passes, or this share of its tokens if that is
// more.
constexpr double kLeastAllowed = 1.2, kAllowedShare = 0.01;
// Shares of that budget: how much of it a resting drafter may spend at the very start of an answer,
// and the most that one of several parts may spend.
constexpr double kAtFirst = 0.7, kOfPart = 0.85;

}  // namespace

double SessionEconomy::VerifySeconds(int nodes) const {
  const PassLoad& load = cycle_.load;
  const auto pass = [this](double rows) { return costs_.VerifySeconds(rows, cycle_.context); };
  if (load.is_alone()) return pass(nodes);
  const double expected = load.others() + 1 + load.own_nodes;
  const double others = load.others() + load.prompts;
  return pass(expected) * load.own_part + pass(others + nodes) - pass(expected + load.prompts);
}

// The cost of a level is split among the sessions that draft it. Sessions that share a pass draft
// no second level before the first has been timed.
double SessionEconomy::DraftSeconds(int part, int levels) const {
  if (levels > 1 && !Drafting(part).drafts_levels()) {
    return std::numeric_limits<double>::infinity();
  }
  const PassLoad& load = cycle_.load;
  if (load.levels.empty()) return DraftSecondsOfAll(part, levels);
  const double fixed = DraftSecondsOfAll(part, 0), level = DraftSecondsOfAll(part, 1) - fixed;
  double seconds = fixed / load.asked();
  for (int l = 1; l <= levels; ++l) {
    const auto others =
        std::ranges::count_if(load.levels, [l](double drafted) { return drafted >= l; });
    seconds += level / static_cast<double>(1 + others);
  }
  return seconds;
}

double SessionEconomy::OfPart(int part, double allowed) const {
  for (int p = 0; p < parts(); ++p) {
    if (p != part) allowed -= GovernorOf(p).lost();
  }
  const double of_part = parts() > 1 ? kOfPart : 1;
  return std::max(allowed, 0.0) * of_part * GovernorOf(part).trust();
}

double SessionEconomy::Allowed(int part) const {
  const double tokens = std::max<double>(session_.expected_tokens, session_.written);
  return OfPart(part, std::max(kLeastAllowed, kAllowedShare * tokens));
}

// The budget grows with the answer, because a drafter may become useful late in it.
double SessionEconomy::AllowedByNow(int part) const {
  const double expected = std::max(session_.expected_tokens, 1.0);
  const double in_all = std::max(kLeastAllowed, kAllowedShare * expected);
  const double at_first = kAtFirst * kLeastAllowed;
  const double grown = at_first + std::min(1.0, session_.written / expected) * (in_all - at_first);
  return OfPart(part, std::max(grown, kAllowedShare * session_.written));
}

double SessionEconomy::LeastPasses(int part) const {
  const int levels = Drafting(part).drafts_levels() ? 1 : 0;
  const double scoring = VerifySeconds(2) - VerifySeconds(1);
  if (cycle_.load.is_alone()) return Drafting(part).Passes(levels) + scoring / TokenSeconds();
  return (DraftSeconds(part, levels) + scoring) / TokenSeconds();
}

bool SessionEconomy::IsWorthReading(int part, int unread) const {
  const double left = std::max(0.0, session_.expected_tokens - session_.written);
  const double scale = PlainTokens();
  return foretoken::IsWorthReading(Drafting(part), unread,
                                   (Allowed(part) - GovernorOf(part).lost()) / scale,
                                   std::min<double>(left, cycle_.left) / scale);
}

int SessionEconomy::TokensWorthReading(int part, int unread) const {
  int count = unread;
  while (count > 0 && !IsWorthReading(part, count)) count -= std::max(1, count / 8);
  return count;
}

bool SessionEconomy::probing(int part) const {
  return !cycle_.plain && GovernorOf(part).IsProbing(LeastPasses(part), AllowedByNow(part));
}

double GainOf(int part, const SessionEconomy& economy, const TreeBuilder& builder,
              const CandidateTree& scored, std::span<const Node> path) {
  const auto is_own = [&](Node n) { return n != 0 && scored.proposers(n) == 1u << part; };
  int nodes = 0;
  for (Node n = 1; n < scored.size(); ++n) nodes += is_own(n) ? 1 : 0;
  const double drafting = economy.DraftSeconds(part, builder.levels(part));
  const double verifying =
      economy.VerifySeconds(scored.size()) - economy.VerifySeconds(scored.size() - nodes);
  const auto won = static_cast<double>(std::ranges::count_if(path, is_own));
  return won - (drafting + verifying) / economy.TokenSeconds();
}

bool IsWorthReading(const DraftCosts& costs, int unread, double allowed, double expected) {
  constexpr double kTrifle = 0.1;  // passes that are always affordable
  // Share of the expected gain that reading may cost. The gain grows with about the 0.3rd power of
  // the tokens read, so spending more than 0.3 of it costs more than it adds. Measured with chains
  // of four by a draft model on code edits: 3.0, 3.3 and 4.5 tokens a cycle after reading 16
  // tokens, 64 tokens and the whole prompt.
  constexpr double kOfGain = 0.3;
  // Share of the exploration budget; the rest is for drafting.
  constexpr double kOfAllowed = 0.5;
  const double won = kOfGain * costs.ExpectedGain(expected);
  const double ventured = kOfAllowed * allowed + costs.ReadingCredit();
  return costs.ReadingPasses(unread) <= std::max({kTrifle, ventured, won});
}

}  // namespace foretoken
