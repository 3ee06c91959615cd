// What the generator learns about costs: how the drafter is judged, and what cycles took.
#include <algorithm>
#include <optional>

#include "engine/generator.h"
#include "tree/selection.h"

namespace foretoken {
namespace {

// How many of `fresh` tokens the answer keeps: those up to its first stop token.
size_t KeptTokens(const Session& session, std::span<const Token> fresh) {
  const auto stop = std::ranges::find_first_of(fresh, session.stop);
  const auto kept = static_cast<size_t>(stop - fresh.begin());
  return stop == fresh.end() ? kept : kept + 1;
}

}  // namespace

// What is not worth reading now will not be as it grows.
bool Generator::MayRead(int prompt, int left) const {
  return !weighs_costs() || !options_.policy->MayDecline() ||
         drafting_->IsWorthReading(prompt, left, options_.costs->VerifySeconds(1, prompt));
}

// Where nothing can be scored, guesses still teach whether they come true; but not at any price.
bool Generator::IsWorthAsking(const Session& session, const TreeBuilder& builder) const {
  constexpr double kCheap = 0.02;  // of a plain pass
  if (drafter_ == nullptr) return false;
  if (builder.limits().max_nodes > 1) return true;
  return weighs_costs() && session.governor.resting() && builder.limits().max_depth > 0 &&
         drafting_->Seconds(0) < kCheap * options_.costs->VerifySeconds(1, session.cache->length());
}

void Generator::JudgeDrafter(Session& session, const SessionEconomy& economy,
                             const TreeBuilder& builder, int scored, std::span<const Token> written,
                             bool asked) {
  if (session.governor.resting()) {
    const Node best = asked ? BestChild(builder.tree(), 0) : kNoNode;
    std::optional<bool> came_true;
    if (best != kNoNode) came_true = builder.tree().token(best) == written[0];
    session.governor.ObserveResting(came_true);
    return;
  }
  if (!economy.IsMeasured(scored)) return;  // a guess is no ground to judge by
  const double drafting = asked ? economy.DraftSeconds(builder.levels()) : 0;
  const double passes = (drafting + economy.VerifySeconds(scored)) / economy.VerifySeconds(1);
  const auto verdict = session.governor.Observe(static_cast<double>(written.size()), passes);
  if (!options_.refresh_costs) return;
  if (verdict == Governor::Verdict::kRest) drafting_->ObserveRest();
  if (verdict == Governor::Verdict::kGain) drafting_->ObserveGain();
}

// What was offered is judged by what was written, scored or not; what was spent, by the clock; and
// whether it was worth it, by what such a cycle usually costs.
void Generator::LearnCosts(std::span<Session* const> batch, const Offers& offers, const Pass& pass,
                           std::span<const Acceptance> accepted, double propose_seconds,
                           double verify_seconds) {
  CostModel& costs = *options_.costs;
  int context = 0, levels = 0, unread = 0;
  bool proposed = false;
  for (size_t s = 0; s < batch.size(); ++s) {
    std::vector<Token> written = pass.trees[s].TokensOf(accepted[s].path);
    written.erase(written.begin());  // the root was written before
    written.push_back(accepted[s].next);
    written.resize(KeptTokens(*batch[s], written));
    const auto path = std::span(accepted[s].path);
    const TreeBuilder& builder = offers.builders[s];
    const bool asked = IsWorthAsking(*batch[s], builder);
    if (asked) batch[s]->acceptance.Observe(builder.tree(), written);
    JudgeDrafter(*batch[s], offers.economies[s], builder, pass.trees[s].size(), written, asked);
    batch[s]->read = batch[s]->read || builder.read() > 0;
    const bool measured = offers.economies[s].IsMeasured(pass.trees[s].size());
    if (batch[s]->read && measured && options_.refresh_costs) {
      drafting_->ObserveRead(SavedByReading(offers.economies[s], builder, pass.trees[s],
                                            path.first(std::min(path.size(), written.size() + 1))),
                             static_cast<double>(written.size()));
    }
    unread += builder.read();
    context += batch[s]->cache->length();
    levels = std::max(levels, builder.levels());
    proposed = proposed || asked;
  }
  if (!options_.refresh_costs || !timing_) return;
  if (proposed) drafting_->Observe(levels, unread, propose_seconds);
  costs.ObserveVerify(pass.begin.back(), context / static_cast<int>(batch.size()), verify_seconds);
}

}  // namespace foretoken
