#include "engine/batch_simulation_testing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "engine/node_allotment.h"

namespace foretoken {
namespace {

constexpr double kPass = 0.003;  // seconds of a one-row pass
constexpr float kConfidence = -0.2f;

std::vector<DraftPart> OneDraft() {
  return {{"draft", {.level_bytes = 30, .acceptance = {}, .identity = {}}}};
}

// The economy of a session that assumes every session to have as many nodes as it has itself.
class EqualSplit final : public TreeEconomy {
 public:
  EqualSplit(const SessionEconomy& own, int sessions) : own_(own), sessions_(sessions) {}
  double VerifySeconds(int nodes) const override {
    return own_.costs().VerifySeconds(nodes * sessions_, 0) / sessions_;
  }
  double DraftSeconds(int part, int levels) const override {
    return own_.DraftSecondsOfAll(part, levels) / sessions_;
  }
  double Acceptance(const CandidateTree& tree, Node n) const override {
    return own_.Acceptance(tree, n);
  }
  double NextAcceptance(const CandidateTree& tree, Node n, int part, int rank) const override {
    return own_.NextAcceptance(tree, n, part, rank);
  }
  bool IsWorthReading(int part, int unread) const override {
    return own_.IsWorthReading(part, unread);
  }
  double Stake(int part) const override {
    return own_.Stake(part) / own_.VerifySeconds(1) * VerifySeconds(1);
  }
  bool probing(int part) const override { return own_.probing(part); }
  bool resting(int part) const override { return own_.resting(part); }

 private:
  const SessionEconomy& own_;
  int sessions_;
};

}  // namespace

struct BatchSimulation::Text {
  size_t number = 0;
  int written = 0;
  SessionCosts costs;
  std::unique_ptr<SessionEconomy> economy;
  std::unique_ptr<TreeEconomy> split;
  std::unique_ptr<TreeBuilder> builder;
  CandidateTree tree{0};
};

BatchSimulation::BatchSimulation(CostModel& costs, std::vector<double> hits)
    : observer_(costs, OneDraft(), 1000, /*learns=*/false),
      hits_(std::move(hits)),
      usual_nodes_(hits_.size(), 0.0),
      usual_levels_(hits_.size(), 0.0),
      usual_tokens_(hits_.size(), 1.0) {}

Token BatchSimulation::TokenAt(size_t session, int at) const {
  return 1 + static_cast<Token>(Mix(session * 7919 + static_cast<uint64_t>(at)) % 1000);
}

// Drafts for all texts. Returns the time that this takes, in one-row passes.
double BatchSimulation::Propose(std::vector<Text>& texts) {
  double took = 0;
  for (bool any = true; any;) {
    any = false;
    for (Text& text : texts) {
      for (const Node n : text.builder->TakeFrontier()) {
        any = true;
        const int at = text.written + text.builder->tree().depth(n);
        const double draw = Uniform(1, text.number, static_cast<uint64_t>(at));
        const Scored guess{draw < hits_[text.number] ? TokenAt(text.number, at) : 0, kConfidence};
        text.builder->Offer(n, std::span(&guess, 1));
      }
    }
    took += any ? level : 0;
  }
  return took;
}

std::vector<CandidateTree> BatchSimulation::Allot(const std::vector<Text>& texts) const {
  std::vector<CandidateTree> trees;
  if (splits_equally) {
    for (const Text& text : texts) trees.push_back(text.builder->Finish());
    return trees;
  }
  std::vector<NodeOffer> offers;
  for (const Text& text : texts) offers.push_back({text.builder.get(), text.economy.get()});
  return AllotNodes(offers, {room - static_cast<int>(texts.size()) - prompts, prompts});
}

BatchOutcome BatchSimulation::Run(int passes) {
  const int sessions = static_cast<int>(hits_.size());
  std::vector<Text> texts(hits_.size());
  BatchOutcome outcome{.nodes = std::vector<int>(hits_.size(), 0)};
  for (size_t s = 0; s < texts.size(); ++s) {
    texts[s].number = s;
    observer_.BeginText(texts[s].costs);
    observer_.BeginAnswer(texts[s].costs, 1 << 20);
  }
  for (int pass = 0; pass < passes; ++pass) {
    const double nodes = std::accumulate(usual_nodes_.begin(), usual_nodes_.end(), 0.0);
    const double tokens = std::accumulate(usual_tokens_.begin(), usual_tokens_.end(), 0.0);
    for (size_t s = 0; s < texts.size(); ++s) {
      Text& text = texts[s];
      PassLoad load{.sessions = sessions, .nodes = nodes - usual_nodes_[s], .prompts = prompts};
      load.own_nodes = usual_nodes_[s];
      load.own_part = usual_tokens_[s] / tokens;
      for (size_t o = 0; o < texts.size(); ++o) {
        if (o == s || texts[o].costs.governors[0].resting()) continue;
        load.levels.push_back(usual_levels_[o] + 1);
      }
      text.economy =
          std::make_unique<SessionEconomy>(observer_.EconomyOf(text.costs, 0, 1 << 20, load));
      text.split = std::make_unique<EqualSplit>(*text.economy, sessions);
      const int most = splits_equally ? room / sessions : room - sessions - prompts + 1;
      const TreeEconomy* economy = text.economy.get();
      if (splits_equally) economy = text.split.get();
      text.builder = std::make_unique<TreeBuilder>(
          0, TreeLimits{.max_nodes = most, .max_depth = 63}, *policy_, std::nullopt, economy);
    }
    Round round{.prompts = prompts, .sessions = sessions};
    const double drafting = Propose(texts);
    const std::vector<CandidateTree> trees = Allot(texts);
    round.rows = prompts;
    for (const CandidateTree& tree : trees) round.rows += tree.size();
    round.propose = drafting * kPass;
    round.verify = truth(round.rows) * kPass;
    outcome.passes += drafting + truth(round.rows);
    ++outcome.pass_count;
    std::vector<std::vector<Node>> paths(texts.size(), {0});
    std::vector<std::vector<Token>> fresh(texts.size());
    std::vector<ObservedCycle> observed;
    for (size_t s = 0; s < texts.size(); ++s) {
      Text& text = texts[s];
      for (Node at = 0; at != kNoNode;) {
        fresh[s].push_back(TokenAt(s, text.written + static_cast<int>(fresh[s].size())));
        at = trees[s].Child(at, fresh[s].back());
        if (at != kNoNode) paths[s].push_back(at);
      }
      text.written += static_cast<int>(fresh[s].size());
      outcome.tokens += static_cast<double>(fresh[s].size());
      outcome.nodes[s] += trees[s].size() - 1;
      usual_nodes_[s] += 0.25 * (trees[s].size() - 1 - usual_nodes_[s]);
      usual_levels_[s] += 0.25 * (text.builder->levels() - usual_levels_[s]);
      usual_tokens_[s] += 0.25 * (static_cast<double>(fresh[s].size()) - usual_tokens_[s]);
      observed.push_back(
          {text.costs, *text.economy, *text.builder, true, trees[s], paths[s], fresh[s]});
    }
    observer_.Observe(observed, round);
  }
  return outcome;
}

}  // namespace foretoken
