// CAPE (G-20, G-21): a chain that also offers runners-up at every step, more of them the less
// confident the drafter is. Runners-up are leaves.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "tree/selection.h"

namespace foretoken {
namespace {

constexpr int kBins = 11;  // deciles of the confidence, and one bin for exactly 1
using Bins = std::vector<int>;

class Cape final : public TreePolicy {
 public:
  // `widths`: candidates per step, by decile of the best candidate's probability; the chain's own
  // token counts as one.
  Cape(int gamma, Bins widths) : gamma_(gamma), widths_(std::move(widths)) {}

  int Width() const override { return *std::max_element(widths_.begin(), widths_.end()); }
  int DefaultNodes() const override { return 1 + gamma_ * Width(); }

  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                           const TreeContext&) const override {
    return NextStep(tree, fresh, gamma_);
  }

  std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const override {
    std::vector<bool> wanted(static_cast<size_t>(tree.size()));
    wanted[0] = true;
    for (Node n = 0; tree.depth(n) < gamma_;) {
      const Node step = BestChild(tree, n);
      if (step == kNoNode) break;
      std::vector<Node> siblings;
      for (Node c = tree.FirstChild(n); c != kNoNode; c = tree.NextSibling(c)) {
        if (tree.offered(c)) siblings.push_back(c);
      }
      const auto width = static_cast<size_t>(widths_[Bin(tree.log_q(step))]);
      for (Node c : Best(tree, std::move(siblings), width)) wanted[c] = true;
      n = step;
    }
    return KeepBest(tree, wanted, context.limits.max_nodes);
  }

 private:
  // The bin floor(10 p) of the probability p. The tolerance keeps a p at a decile's edge in its
  // bin, because exp(log p) may be slightly below p.
  static size_t Bin(float log_q) {
    return static_cast<size_t>(std::min(10 * std::exp(log_q) + 1e-5f, 10.0f));
  }

  int gamma_;
  Bins widths_;  // [kBins]
};

// Reads ten or eleven whole numbers, written "8/8/8/6/...".
Bins ReadBins(OptionFields& options, const Bins& fallback) {
  constexpr std::string_view kExpected = "10 or 11 widths from 0 to 64, separated by slashes";
  std::string text;
  options.Text("bins", text, kExpected,
               "candidates per step, by the best one's probability in tenths",
               {.fallback = "8/8/8/6/6/6/4/4/2/2/2"});
  if (text.empty()) return fallback;
  Bins bins;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int width = 0;
    const auto [next, error] = std::from_chars(at, end, width);
    if (error != std::errc() || width < 0 || width > 64 || (next != end && *next != '/')) break;
    bins.push_back(width);
    at = next == end ? end : next + 1;
  }
  if (bins.size() == kBins - 1) bins.push_back(bins.back());
  if (at == end && bins.size() == kBins) return bins;
  options.Complain("bins", text, std::string(kExpected));
  return fallback;
}

}  // namespace

Result<std::unique_ptr<TreePolicy>> NewCape(OptionFields& options) {
  int gamma = 4, fixed = -1;
  bool additional = false;
  options.Int("gamma", gamma, 1, 1024, "tokens of the chain");
  options.Choice(
      "count", additional, {{"total", false}, {"additional", true}},
      "additional: the bins do not count the best one, by default 7/7/7/5/5/5/3/3/1/1/1");
  // By default, the paper's 7, 5, 3 and 1 runners-up.
  Bins bins = ReadBins(options, additional ? Bins{7, 7, 7, 5, 5, 5, 3, 3, 1, 1, 1}
                                           : Bins{8, 8, 8, 6, 6, 6, 4, 4, 2, 2, 2});
  options.Int("fixed", fixed, -1, 63, "runners-up at every step; below 0: as given by bins");
  if (fixed >= 0) bins.assign(kBins, fixed + 1);
  // The chain's own token is kept even if a bin has width 0.
  for (int& width : bins) width = std::max(1, width + (additional && fixed < 0 ? 1 : 0));
  return std::unique_ptr<TreePolicy>(std::make_unique<Cape>(gamma, std::move(bins)));
}

}  // namespace foretoken
