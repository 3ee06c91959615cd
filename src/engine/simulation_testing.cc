#include "engine/simulation_testing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/rng.h"

namespace foretoken {
namespace {

constexpr double kPlainSeconds = 0.003;
constexpr size_t kTargetBytes = 1000;

std::vector<DraftPart> PartsOf(std::span<const ScriptedDrafter> drafters) {
  std::vector<DraftPart> parts;
  for (const ScriptedDrafter& d : drafters) {
    parts.push_back({d.name, {.level_bytes = d.level_bytes, .acceptance = d.acceptance}});
  }
  return parts;
}

// The token at position `at` of text number `text`; never 0, the wrong guess.
Token TokenAt(uint64_t text, int at) {
  return 1 + static_cast<Token>(Mix(text * 7919 + static_cast<uint64_t>(at)) % 1000);
}

}  // namespace

Simulation::Simulation(CostModel& costs, std::vector<ScriptedDrafter> parts)
    : parts_(std::move(parts)), observer_(costs, PartsOf(parts_), kTargetBytes, /*learns=*/true) {}

double Simulation::Clock(double passes, SimulatedAnswer& answer) {
  const int event = events_++;
  const double factor = disturb(event);
  const double wobble = 1 + noise * (2 * Uniform(99, 7, static_cast<uint64_t>(event)) - 1);
  answer.passes += passes * factor;
  answer.disturbance += passes * (factor - 1);
  return passes * factor * wobble * kPlainSeconds;
}

Token Simulation::Guess(size_t part, int at) {
  const double draw = Uniform(text_, 100 + part, static_cast<uint64_t>(at));
  const ScriptedDrafter& drafter = parts_[part];
  const double share = std::min(1.0, static_cast<double>(read_[part]) / prompt);
  const double hits = drafter.hits(at) * (drafter.skipping + (1 - drafter.skipping) * share);
  return draw < hits ? TokenAt(text_, at) : 0;
}

// Imitates CausalDrafter's choice.
int Simulation::TokensToRead(size_t part, int begin, const TreeBuilder& builder) const {
  const int all = prompt + begin, held = read_[part];
  if (held >= prompt) return all - held;
  if (!parts_[part].may_skip) return prompt;
  const int count = std::clamp(builder.TokensToRead(all), std::min(16, all), all);
  return held == 0 || count >= 2 * held ? count : 0;
}

double Simulation::Propose(size_t part, int begin, TreeBuilder& builder) {
  const ScriptedDrafter& drafter = parts_[part];
  const auto log_q = static_cast<float>(std::log(drafter.confidence));
  if (drafter.run > 0) {
    std::vector<Token> run;
    for (int i = 0; i < drafter.run; ++i) run.push_back(Guess(part, begin + i));
    builder.OfferRun(0, run, log_q);
    return drafter.asking;
  }
  double took = drafter.asking;
  int unread = TokensToRead(part, begin, builder);
  for (auto nodes = builder.TakeFrontier(unread); !nodes.empty(); nodes = builder.TakeFrontier(0)) {
    if (unread > 0) read_[part] = read_[part] >= prompt ? prompt + begin : unread;
    took += drafter.reading * std::exchange(unread, 0);
    took += drafter.level;
    for (const Node n : nodes) {
      const Token guess = Guess(part, begin + builder.tree().depth(n));
      const Scored offers[] = {{guess, log_q}, {1001, -4}};
      builder.Offer(n, offers);
    }
  }
  return took;
}

SimulatedAnswer Simulation::Answer(int tokens) {
  ++text_;
  read_.assign(parts_.size(), 0);
  SimulatedAnswer answer{.tokens = tokens};
  SessionCosts session;
  observer_.BeginText(session);
  observer_.BeginAnswer(session, tokens);
  for (int written = 0; written < tokens;) {
    const int left = tokens - written;
    const SessionEconomy economy = observer_.EconomyOf(session, 0, left);
    TreeBuilder builder(0, {.max_nodes = 64, .max_depth = left - 1}, *policy_, std::nullopt,
                        &economy);
    Round round;
    const bool asked = observer_.IsWorthAsking(economy, builder);
    for (size_t part = 0; asked && part < parts_.size(); ++part) {
      if (part > 0) builder.NextDrafter();
      const double took = Clock(Propose(part, written, builder), answer);
      builder.SetPartSeconds(took);
      round.propose += took;
    }
    const CandidateTree tree = builder.Finish();
    std::vector<Node> path{0};
    std::vector<Token> fresh;
    for (Node at = 0; at != kNoNode && static_cast<int>(fresh.size()) < left;) {
      fresh.push_back(TokenAt(text_, written + static_cast<int>(fresh.size())));
      at = tree.Child(at, fresh.back());
      if (at != kNoNode) path.push_back(at);
    }
    round.rows = tree.size();
    round.verify = Clock(truth(tree.size()), answer);
    answer.begin.push_back(written);
    answer.nodes.push_back(tree.size() - 1);
    for (size_t part = 0; part < 2; ++part) {
      int nodes = 0;
      for (Node n = 1; n < tree.size(); ++n) nodes += (tree.proposers(n) >> part & 1) != 0;
      answer.nodes_by[part].push_back(nodes);
    }
    written += static_cast<int>(fresh.size());
    const ObservedCycle cycle{session, economy, builder, asked, tree, path, fresh};
    observer_.Observe(std::span(&cycle, 1), round);
  }
  observer_.EndAnswer(session, /*cut_off=*/true);
  return answer;
}

}  // namespace foretoken
