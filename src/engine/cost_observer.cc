#include "engine/cost_observer.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "draft/draft_tokens.h"
#include "tree/selection.h"

namespace foretoken {
namespace {

// Cost of a level besides reading its weights, in one-row passes.
constexpr double kLevelShare = 0.02;
// Upper limit of what calling drafters may cost, in passes, where their guesses cannot be scored.
constexpr double kCheap = 0.02;
// Rows of the pass from which the cost of reading a token of text is guessed.
constexpr int kReadingRows = 64;

// The best guess of `part` for the token after the root; kNoNode if it made none.
Node FirstGuess(int part, const CandidateTree& tree) {
  Node best = kNoNode;
  for (Node n = tree.FirstChild(0); n != kNoNode; n = tree.NextSibling(n)) {
    if (!tree.offered(n) || (tree.proposers(n) >> part & 1) == 0) continue;
    if (best == kNoNode || Better(tree, n, best)) best = n;
  }
  return best;
}

bool IsScored(int part, const CandidateTree& scored) {
  for (Node n = 1; n < scored.size(); ++n) {
    if ((scored.proposers(n) >> part & 1) != 0) return true;
  }
  return false;
}

// Passes that an unproven draft may borrow from later answers: a fraction of what its best chain is
// expected to save in an answer of typical length. `acceptance`: DraftPrior::acceptance; `level`:
// the cost of a level in passes. 0 for a draft without recorded acceptance.
double PromiseOf(const std::vector<float>& acceptance, double level) {
  constexpr double kAnswer = 128, kPart = 0.1;
  constexpr double kScoring = 0.05;  // cost of scoring a guess, in passes
  if (acceptance.empty()) return 0;
  return kPart * kAnswer * (1 - CheapestChain(acceptance, level + kScoring));
}

}  // namespace

std::string DraftKey(const DraftPart& part) {
  return part.prior.identity.empty() ? part.name : part.name + " " + part.prior.identity;
}

CostObserver::CostObserver(CostModel& costs, std::span<const DraftPart> parts, size_t target_bytes,
                           bool learns)
    : costs_(costs), learns_(learns) {
  for (const DraftPart& part : parts) {
    const DraftPrior& prior = part.prior;
    DraftCosts& drafting = costs.Drafter(DraftKey(part));
    if (prior.level_bytes > 0 && target_bytes > 0) {
      const double share =
          static_cast<double>(prior.level_bytes) / static_cast<double>(target_bytes);
      const double pass = costs.VerifySeconds(kReadingRows, 0) / costs.VerifySeconds(1, 0);
      drafting.ExpectLevel(kLevelShare + share);
      drafting.ExpectReading(share * pass / kReadingRows);
      drafting.SetPromise(PromiseOf(prior.acceptance, kLevelShare + share));
    }
    drafting_.push_back(&drafting);
    rates_.push_back(&drafting.rates());
    trained_.push_back(prior.acceptance);
  }
}

void CostObserver::BeginText(SessionCosts& session) {
  if (learns_) {
    for (DraftCosts* drafting : drafting_) drafting->ObserveStart();
  }
  session = NewText();
}

SessionCosts CostObserver::NewText() const {
  SessionCosts session;
  session.acceptance = AcceptanceTable(static_cast<int>(drafting_.size()));
  for (size_t part = 0; part < drafting_.size(); ++part) {
    const DraftCosts& drafting = *drafting_[part];
    session.acceptance.Begin(static_cast<int>(part), drafting.rates(), trained_[part]);
    session.governors.emplace_back(drafting.Credit(), drafting.trust());
  }
  return session;
}

void CostObserver::BeginAnswer(SessionCosts& session, int limit) const {
  session.expected_tokens = costs_.answers().Expected(limit);
  session.written = session.passes = 0;
  session.rested_after = std::ranges::all_of(session.governors, &Governor::resting) ? 0 : -1;
  session.spent_seconds = session.plain_seconds = 0;
  for (Governor& governor : session.governors) governor.BeginAnswer();
}

// Only parts that draft by levels read prompts; parts that copy are considered only if no part
// drafts by levels.
int CostObserver::TokensWorthReading(const SessionCosts& session, int prompt) const {
  constexpr int kMost = 256;  // tokens further back hardly affect the next guesses
  constexpr int kFew = 32;
  const SessionEconomy economy = EconomyOf(session, 0, std::numeric_limits<int>::max());
  const bool some_draft_levels = std::ranges::any_of(drafting_, &DraftCosts::drafts_levels);
  int most = 0;
  for (int part = 0; part < economy.parts(); ++part) {
    if (some_draft_levels && !drafting_[static_cast<size_t>(part)]->drafts_levels()) continue;
    // The drafter will have to read some of the answer as well: an estimated quarter more.
    const int with_answer = std::min(prompt, kMost) * 5 / 4;
    const int count = (economy.TokensWorthReading(part, with_answer) * 4 + 4) / 5;
    most = std::max(most, count);
  }
  return most < std::min(kFew, prompt) ? 0 : most;
}

int CostObserver::TokensWorthReading(int prompt, int limit) const {
  SessionCosts session = NewText();
  BeginAnswer(session, limit);
  return TokensWorthReading(session, prompt);
}

SessionEconomy CostObserver::EconomyOf(const SessionCosts& session, int context, int left,
                                       const PassLoad& load) const {
  return {costs_, drafting_, session, {context, left, load, NeedsPlainPass(), learns_ && timing_}};
}

bool CostObserver::IsWorthAsking(const SessionEconomy& economy, const TreeBuilder& builder) const {
  if (builder.limits().max_nodes > 1) return true;
  if (builder.limits().max_depth == 0 || NeedsPlainPass()) return false;
  double asking = 0;
  bool may_tell = false;
  for (int part = 0; part < economy.parts(); ++part) {
    const DraftCosts& drafting = *drafting_[static_cast<size_t>(part)];
    asking += drafting.Passes(0);
    // A resting part drafts no levels.
    may_tell = may_tell || (!drafting.drafts_levels() && economy.HasMeans(part));
  }
  return may_tell && asking * economy.PlainTokens() / economy.cycle().load.asked() < kCheap;
}

void CostObserver::JudgePart(const ObservedCycle& cycle, int part) {
  const TreeBuilder& builder = cycle.builder;
  Governor& governor = cycle.session.governors[static_cast<size_t>(part)];
  DraftCosts& drafting = *drafting_[static_cast<size_t>(part)];
  const double plain_tokens = cycle.economy.PlainTokens();
  const bool spoke = cycle.asked && part < builder.parts();
  if (!spoke || (builder.levels(part) == 0 && !IsScored(part, cycle.scored))) {
    const Node first = spoke ? FirstGuess(part, builder.tree()) : kNoNode;
    std::optional<bool> came_true;
    if (first != kNoNode) came_true = builder.tree().token(first) == cycle.written[0];
    const double asking = drafting.Passes(0) * plain_tokens / cycle.economy.cycle().load.asked();
    governor.ObserveIdle(came_true, spoke ? asking : 0);
    return;
  }
  const double gain = GainOf(part, cycle.economy, builder, cycle.scored, cycle.path);
  const int read = builder.read(part);
  double reading = read < DraftCosts::kManyTokens ? 0 : drafting.ReadingPasses(read);
  if (learns_) reading -= drafting.PayForReading(reading);
  const bool failed = governor.Observe(
      gain, reading * plain_tokens, cycle.economy.LeastPasses(part), cycle.economy.Allowed(part));
  if (!learns_) return;
  drafting.ObserveGain(gain);
  if (failed) drafting.ObserveFailure();
}

// Offers are judged by the text, whether they were scored or not; gains are judged by the usual
// cost of such cycles, so that a disturbed time does not count against the drafter.
void CostObserver::Observe(std::span<const ObservedCycle> batch, const Round& round) {
  if (learns_ && timing_) ObserveTimes(batch, round);
  const double share = (round.propose + round.learn) / static_cast<double>(batch.size()) +
                       round.verify / round.sessions;
  for (const ObservedCycle& cycle : batch) {
    SessionCosts& session = cycle.session;
    if (cycle.asked) {
      session.acceptance.Observe(
          cycle.builder.tree(), cycle.written,
          learns_ ? std::span<DrafterRates* const>(rates_) : std::span<DrafterRates* const>());
    }
    for (int part = 0; part < cycle.economy.parts(); ++part) JudgePart(cycle, part);
    ++session.passes;
    session.written += static_cast<int>(cycle.written.size());
    const auto& governors = session.governors;
    if (!std::ranges::all_of(governors, &Governor::resting)) {
      session.rested_after = -1;
    } else if (session.rested_after < 0) {
      session.rested_after = session.passes;
    }
    if (!costs_.has_plain_pass()) continue;
    session.spent_seconds += share;
    session.plain_seconds +=
        static_cast<double>(cycle.written.size()) * cycle.economy.TokenSeconds();
  }
}

// Prompt rows have no logits, so a pass with prompt rows does not show the cost of a pass whose
// rows are all nodes.
void CostObserver::ObserveTimes(std::span<const ObservedCycle> batch, const Round& round) {
  int context = 0;
  for (const ObservedCycle& cycle : batch) context += cycle.economy.cycle().context;
  if (round.prompts == 0 && !round.is_pass_known) {
    costs_.ObserveVerify(round.rows, context / static_cast<int>(batch.size()), round.verify);
  }
  if (costs_.has_plain_pass()) ObserveDrafting(batch, round);
}

void CostObserver::ObserveDrafting(std::span<const ObservedCycle> batch, const Round& round) {
  for (size_t part = 0; part < drafting_.size(); ++part) {
    const int p = static_cast<int>(part);
    int levels = 0, unread = 0;
    double took = 0;
    bool spoke = false;
    for (const ObservedCycle& cycle : batch) {
      if (!cycle.asked || p >= cycle.builder.parts()) continue;
      spoke = true;
      levels = std::max(levels, cycle.builder.levels(p));
      unread += cycle.builder.read(p);
      took += cycle.builder.part_seconds(p);
    }
    if (!spoke) continue;
    if (drafting_.size() == 1) took = round.propose;
    drafting_[part]->Observe(levels, unread, took / costs_.VerifySeconds(1, 0));
  }
}

void CostObserver::EndAnswer(SessionCosts& session, bool cut_off) {
  constexpr double kWon = 1;  // passes that are unlikely to be gained by chance
  if (!learns_) return;
  costs_.answers().Observe(session.written, cut_off);
  const SessionEconomy economy = EconomyOf(session, 0, 0);
  for (size_t part = 0; part < drafting_.size(); ++part) {
    const Governor& governor = session.governors[part];
    drafting_[part]->ObserveWritten(session.written);
    if (governor.net() >= kWon) drafting_[part]->ObserveWin();
    const double unspent = economy.Allowed(static_cast<int>(part)) - governor.lost();
    drafting_[part]->Save(std::max(unspent, 0.0) / economy.parts(), std::max(governor.net(), 0.0));
  }
}

}  // namespace foretoken
