// The part of Generator that decides which sessions take part in a pass, and with which nodes and
// chunks.
#include <algorithm>

#include "base/rng.h"
#include "base/timer.h"
#include "engine/generator.h"
#include "engine/node_allotment.h"
#include "verify/tree_filter.h"

namespace foretoken {

RowRequest Generator::RequestOf(const Session& session) {
  return {session.reading() ? ChunkLimit(session) : 0, session.begun_, session.served_};
}

// Prompts are admitted provisionally: AllotChunks drops them if nodes leave them no rows.
Generator::Lanes Generator::Admit(std::span<Session* const> batch, int budget, RowPlan& plan) {
  std::vector<RowRequest> requests;
  for (const Session* s : batch) {
    FT_CHECK(!s->done() && s->status.ok() && s->prompt > 0);
    requests.push_back(RequestOf(*s));
  }
  plan = PlanRows(requests, budget);
  Lanes lanes;
  for (size_t s = 0; s < batch.size(); ++s) {
    const bool reads = batch[s]->reading() && plan.chunks > 0;
    if (reads || plan.writes[s]) lanes.push_back(std::make_unique<Lane>(*batch[s]));
  }
  return lanes;
}

// Predicts the pass that each session will share, before anything is drafted: the other sessions
// are assumed to score as many nodes as in their recent cycles.
PassLoad Generator::LoadOf(const Lane& own, const Lanes& lanes, const RowPlan& plan) {
  PassLoad load{.sessions = plan.roots, .prompts = plan.chunks};
  double tokens = own.session.usual_tokens_;
  for (const auto& lane : lanes) {
    const Session& s = lane->session;
    if (lane.get() == &own || s.reading()) continue;
    load.nodes += s.usual_nodes_;
    tokens += s.usual_tokens_;
    const auto& governors = s.costs_.governors;
    const bool rests = std::ranges::all_of(governors, &Governor::resting);
    if (rests || s.drafter_ != own.session.drafter_) continue;
    load.levels.push_back(s.usual_levels_ + 1);  // the session may draft deeper by now
  }
  load.own_nodes = own.session.usual_nodes_;
  load.own_part = own.session.usual_tokens_ / tokens;
  return load;
}

void Generator::OpenBuilder(Lane& lane, const Lanes& lanes, const RowPlan& plan) const {
  const Session& s = lane.session;
  FT_CHECK(s.cache_->length() + 1 == static_cast<int>(s.tokens.size()));
  const Speculation& by = Of(s);
  if (by.observer) {
    const int left = s.limit - static_cast<int>(s.tokens.size());
    lane.economy.emplace(
        by.observer->EconomyOf(s.costs_, s.cache_->length(), left, LoadOf(lane, lanes, plan)));
  }
  lane.builder.emplace(s.tokens.back(), LimitsFor(s, plan.nodes), *by.options.policy, DrawKey(s),
                       lane.economy ? &*lane.economy : nullptr);
  if (s.filter_) lane.builder->SetFilter(std::make_shared<TreeFilter>(*s.filter_));
  lane.asked = by.drafter != nullptr && IsWorthAsking(by, lane);
}

void Generator::Propose(Lanes& lanes, const RowPlan& plan, DraftTimes& times) {
  for (const auto& lane : lanes) {
    if (!lane->session.reading()) OpenBuilder(*lane, lanes, plan);
  }
  for (size_t d = 0; d < speculations_.size(); ++d) {
    std::vector<DraftSlot> slots;
    for (const auto& lane : lanes) {
      if (!lane->asked || DrafterOf(*lane) != d) continue;
      slots.push_back(lane->session.Slot(*lane->builder));
    }
    if (slots.empty()) continue;
    const Timer timer(times[d].propose);
    Status status = speculations_[d].drafter->Propose(slots);
    if (status.ok()) status = target_.backend().TakeFailure();
    if (!status.ok()) BreakAll(lanes, status.error(), d);
  }
  DropBroken(lanes);
}

bool Generator::IsWorthAsking(const Speculation& by, const Lane& lane) {
  if (by.observer) return by.observer->IsWorthAsking(*lane.economy, *lane.builder);
  return lane.builder->limits().max_nodes > 1;
}

// Key of the drafter's draws. Greedy verification needs none: it compares tokens and ignores how
// they were drawn.
std::optional<uint64_t> Generator::DrawKey(const Session& session) const {
  const SamplingParams& sampling = session.sampling();
  if (!verifier_.NeedsDraws() || sampling.greedy()) return std::nullopt;
  uint64_t key = SeedFor(sampling.seed, Purpose::kDraft);
  for (Token token : session.tokens) key = TreeBuilder::KeyAfter(key, token);
  return key;
}

// A cycle writes at most depth + 1 tokens, so limiting depth keeps every node within the context.
// All nodes must fit into the pass; the cache makes room for them. `nodes`: nodes that the pass has
// room for.
TreeLimits Generator::LimitsFor(const Session& session, int nodes) const {
  TreeLimits limits = Of(session).options.limits;
  const int left = session.limit - static_cast<int>(session.tokens.size());
  limits.max_depth = std::max(0, std::min(limits.max_depth, left - 1));
  limits.max_nodes = std::min(limits.max_nodes, nodes + 1);
  FT_CHECK(limits.max_nodes >= 1);
  return limits;
}

int Generator::AllotTrees(const Lanes& lanes, const RowPlan& plan) {
  std::vector<NodeOffer> offers;
  std::vector<Lane*> writing;
  for (const auto& lane : lanes) {
    if (!lane->builder) continue;
    const SessionEconomy* economy = lane->builder->weighs_costs() ? &*lane->economy : nullptr;
    offers.push_back({&*lane->builder, economy, lane->asked, lane->session.drafter_});
    writing.push_back(lane.get());
  }
  std::vector<CandidateTree> trees = AllotNodes(offers, {plan.nodes, plan.chunks});
  int nodes = 0;
  for (size_t i = 0; i < writing.size(); ++i) {
    writing[i]->tree = std::move(trees[i]);
    nodes += writing[i]->tree.size() - 1;
  }
  return nodes;
}

// Gives prompts the rows that roots and nodes leave, and drops prompts that get none.
void Generator::AllotChunks(Lanes& lanes, int rows) {
  std::vector<RowRequest> requests;
  for (const auto& lane : lanes) requests.push_back(RequestOf(lane->session));
  const std::vector<int> chunks = DivideAmongPrompts(requests, rows);
  for (size_t l = 0; l < lanes.size(); ++l) {
    if (chunks[l] == 0) continue;
    const Session& s = lanes[l]->session;
    const auto begin = static_cast<size_t>(s.cache_->length());
    lanes[l]->chunk = chunks[l];
    lanes[l]->ends_prompt = s.cache_->length() + chunks[l] == s.prompt;
    lanes[l]->tree =
        CandidateTree::Chain(std::span(s.tokens).subspan(begin, static_cast<size_t>(chunks[l])));
  }
  std::erase_if(lanes,
                [](const auto& lane) { return lane->session.reading() && lane->chunk == 0; });
}

Generator::Lanes Generator::LayOut(std::span<Session* const> batch, int budget, DraftTimes& times) {
  RowPlan plan;
  Lanes lanes = Admit(batch, budget, plan);
  Propose(lanes, plan, times);
  const int nodes = AllotTrees(lanes, plan);
  AllotChunks(lanes, plan.chunks == 0 ? 0 : budget - plan.roots - nodes);
  return lanes;
}

Result<std::vector<CandidateTree>> Generator::Draft(std::span<Session* const> batch) {
  FT_CHECK(std::ssize(batch) <= target_.max_rows());
  DraftTimes times(speculations_.size());
  const Lanes lanes = LayOut(batch, target_.max_rows(), times);
  for (const Session* s : batch) FT_RETURN_IF_ERROR(s->status);
  std::vector<CandidateTree> trees;
  for (const auto& lane : lanes) trees.push_back(std::move(lane->tree));
  return trees;
}

}  // namespace foretoken
