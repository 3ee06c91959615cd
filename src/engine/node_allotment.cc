#include "engine/node_allotment.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace foretoken {
namespace {

struct RankedNode {
  double gain;
  size_t offer;
  Node node;
};

// Returns [tree.size()] the gain of each node that may be kept; 0 for others and for probes.
std::vector<double> GainsOf(const NodeOffer& offer) {
  std::vector<double> gains = offer.builder->Gains();
  if (offer.economy != nullptr) return gains;
  std::vector<double> kept(gains.size(), 0.0);
  constexpr double kLeast = std::numeric_limits<double>::min();  // for kept nodes with no gain
  for (const Node n : offer.builder->Kept()) kept[n] = std::max(gains[n], kLeast);
  return kept;
}

// Ranks all nodes by gain. A parent precedes its children, because its gain is at least theirs and
// its number is lower.
std::vector<RankedNode> RankNodes(std::span<const NodeOffer> offers) {
  std::vector<RankedNode> ranked;
  for (size_t o = 0; o < offers.size(); ++o) {
    const std::vector<double> gains = GainsOf(offers[o]);
    for (Node n = 1; n < std::ssize(gains); ++n) {
      if (gains[n] > 0) ranked.push_back({gains[n], o, n});
    }
  }
  std::sort(ranked.begin(), ranked.end(), [](const RankedNode& a, const RankedNode& b) {
    return std::tie(b.gain, a.offer, a.node) < std::tie(a.gain, b.offer, b.node);
  });
  return ranked;
}

// Expected seconds of drafting. Sessions of one drafter are drafted in one call, which takes as
// long as the deepest draft.
double DraftingSeconds(std::span<const NodeOffer> offers) {
  std::vector<std::vector<double>> of_drafter;  // [drafters][parts]
  for (const NodeOffer& offer : offers) {
    if (offer.economy == nullptr || !offer.asked) continue;
    const auto drafter = static_cast<size_t>(offer.drafter);
    of_drafter.resize(std::max(of_drafter.size(), drafter + 1));
    std::vector<double>& parts = of_drafter[drafter];
    parts.resize(std::max(parts.size(), static_cast<size_t>(offer.builder->parts())), 0.0);
    for (int part = 0; part < offer.builder->parts(); ++part) {
      const double seconds = offer.economy->DraftSecondsOfAll(part, offer.builder->levels(part));
      parts[static_cast<size_t>(part)] = std::max(parts[static_cast<size_t>(part)], seconds);
    }
  }
  double sum = 0;
  for (const std::vector<double>& parts : of_drafter) {
    for (const double seconds : parts) sum += seconds;
  }
  return sum;
}

// Expected tokens and rows of a pass before competing nodes are added. Nodes compete if their
// policy weighs costs.
struct PassBefore {
  double tokens = 0;  // expected tokens
  int rows = 0;       // roots and nodes that do not compete; no prompt rows
};

PassBefore BeforeCompetition(std::span<const NodeOffer> offers,
                             std::span<const RankedNode> ranked) {
  PassBefore before{static_cast<double>(offers.size()), static_cast<int>(offers.size())};
  for (const NodeOffer& offer : offers) {
    before.rows += offer.economy == nullptr ? offer.builder->probes() : 0;
  }
  for (const RankedNode& n : ranked) {
    if (offers[n.offer].economy != nullptr) continue;
    before.tokens += n.gain;
    ++before.rows;
  }
  return before;
}

// Returns how many of the competing nodes, best first, maximise tokens a second. `ranked`: all
// nodes.
int CountThatPays(std::span<const NodeOffer> offers, std::span<const RankedNode> ranked,
                  const NodeRoom& room) {
  const SessionEconomy* economy = nullptr;
  int context = 0, competing = 0;
  for (const NodeOffer& offer : offers) {
    if (offer.economy == nullptr) continue;
    economy = offer.economy;
    context += economy->cycle().context;
    ++competing;
  }
  if (economy == nullptr) return 0;
  auto [tokens, rows] = BeforeCompetition(offers, ranked);
  const auto pass = [&](int count) {
    return economy->costs().VerifySeconds(count, context / competing);
  };
  const int most = std::min(room.nodes, economy->MostRows() - rows);
  const double fixed = DraftingSeconds(offers) + pass(rows) - pass(rows + room.prompts);
  double best_rate = tokens / (fixed + pass(rows + room.prompts));
  int count = 0, best = 0;
  for (const RankedNode& n : ranked) {
    if (offers[n.offer].economy == nullptr) continue;
    if (count >= most) break;
    ++count;
    tokens += n.gain;
    const double rate = tokens / (fixed + pass(rows + room.prompts + count));
    if (rate > best_rate) best_rate = rate, best = count;
  }
  return best;
}

class Selection {
 public:
  Selection(std::span<const NodeOffer> offers, int room) : offers_(offers), room_(room) {
    for (const NodeOffer& offer : offers) {
      keep_.emplace_back(static_cast<size_t>(offer.builder->tree().size()), false);
    }
  }

  // `paying`: how many competing nodes to take.
  void TakeGuesses(std::span<const RankedNode> ranked, int paying) {
    for (const RankedNode& n : ranked) {
      if (room_ == 0) return;
      if (offers_[n.offer].economy != nullptr && paying-- <= 0) continue;
      keep_[n.offer][n.node] = true;
      --room_;
    }
  }

  // Takes each session's probes as a whole or not at all: a part of them is of no use to the
  // drafter.
  void TakeProbes() {
    for (size_t o = 0; o < offers_.size(); ++o) {
      const CandidateTree& tree = offers_[o].builder->tree();
      std::vector<Node> probes;
      for (Node n = 1; n < tree.size(); ++n) {
        if (tree.kind(n) == CandidateTree::Kind::kProbe && !keep_[o][n]) probes.push_back(n);
      }
      if (std::ssize(probes) > room_) continue;
      room_ -= static_cast<int>(probes.size());
      for (const Node n : probes) keep_[o][n] = true;
    }
  }

  std::vector<CandidateTree> Trees() const {
    std::vector<CandidateTree> trees;
    for (size_t o = 0; o < offers_.size(); ++o) {
      trees.push_back(Pick(offers_[o].builder->tree(), keep_[o]));
    }
    return trees;
  }

 private:
  std::span<const NodeOffer> offers_;
  int room_;
  std::vector<std::vector<bool>> keep_;  // [offers][tree.size()]
};

bool AnyWeighsCosts(std::span<const NodeOffer> offers) {
  return std::ranges::any_of(offers, [](const NodeOffer& o) { return o.economy != nullptr; });
}

}  // namespace

std::vector<CandidateTree> AllotNodes(std::span<const NodeOffer> offers, const NodeRoom& room) {
  // A session that is alone gets its policy's own tree, which maximises tokens a second as well.
  if (!AnyWeighsCosts(offers) || (offers.size() == 1 && room.prompts == 0)) {
    std::vector<CandidateTree> trees;
    int nodes = 0;
    for (const NodeOffer& offer : offers) {
      trees.push_back(offer.builder->Finish());
      nodes += trees.back().size() - 1;
    }
    if (nodes <= room.nodes) return trees;
  }
  const std::vector<RankedNode> ranked = RankNodes(offers);
  Selection selection(offers, room.nodes);
  selection.TakeGuesses(ranked, CountThatPays(offers, ranked, room));
  selection.TakeProbes();
  return selection.Trees();
}

}  // namespace foretoken
