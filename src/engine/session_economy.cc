#include "engine/session_economy.h"

#include <algorithm>

namespace foretoken {
namespace {

// Plain passes that finding out may cost in an answer, or this share of its tokens where that is
// more.
constexpr double kLeastAllowed = 1.2, kAllowedShare = 0.01;
// Of that, what a drafter at rest may have cost before it is tried in the beginning of an answer,
// and what one of several parts may take.
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

// A level is shared by those that draft it. Before one was timed, several are none to be ventured.
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

// The rest of it as the answer grows: drafters turn good late, too.
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
  constexpr double kTrifle = 0.1;  // passes that are not worth a thought
  // Of what a draft is expected to win. The win grows about as the 0.3rd power of the tokens that
  // are read (chains of four by a draft model on code edits wrote 3.0, 3.3 and 4.5 tokens a cycle
  // after 16 and 64 tokens and all of the prompt), so that more than 0.3 of it costs more than it
  // adds.
  constexpr double kOfGain = 0.3;
  // Of what may be spent, as the rest is for drafting.
  constexpr double kOfAllowed = 0.5;
  const double won = kOfGain * costs.ExpectedGain(expected);
  const double ventured = kOfAllowed * allowed + costs.ReadingCredit();
  return costs.ReadingPasses(unread) <= std::max({kTrifle, ventured, won});
}

}  // namespace foretoken
