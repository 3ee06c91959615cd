#include "draft/levels.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

// -infinity rules a token out.
bool AreSound(std::span<const float> logits) {
  constexpr float kMost = 1e6f;
  return std::ranges::all_of(
      logits, [](float x) { return x <= kMost && (x >= -kMost || x == -HUGE_VALF); });
}

}  // namespace

void DraftByLevels(std::span<const DraftSlot> batch, int most_rows,
                   const std::function<int(size_t)>& room,
                   const std::function<int(const DraftLevel&)>& rows_of,
                   const std::function<void(std::span<const DraftLevel>)>& expand,
                   const std::function<int(size_t)>& unread) {
  while (true) {
    std::vector<DraftLevel> levels;
    for (size_t s = 0; s < batch.size(); ++s) {
      const int most = std::min(room(s), most_rows);
      if (most <= 0) continue;
      DraftLevel level{s, batch[s].builder.TakeFrontier(unread ? unread(s) : 0)};
      if (std::ssize(level.nodes) > most) level.nodes.resize(static_cast<size_t>(most));
      if (!level.nodes.empty()) levels.push_back(std::move(level));
    }
    if (levels.empty()) return;
    for (std::span<const DraftLevel> left = levels; !left.empty();) {
      size_t count = 0;
      for (int rows = 0; count < left.size(); ++count) {
        rows += rows_of(left[count]);
        if (count > 0 && rows > most_rows) break;
      }
      expand(left.first(count));
      left = left.subspan(count);
    }
  }
}

void OfferFromLogits(const DraftSlot& slot, Node node, std::span<const Token> text,
                     std::span<float> logits, Sampler& sampler) {
  if (!AreSound(logits)) return;
  TreeBuilder& builder = slot.builder;
  std::vector<Token> history(text.begin(), text.end());
  const auto end = static_cast<std::ptrdiff_t>(history.size());
  for (Node n = node; n != 0; n = builder.tree().parent(n)) {
    history.insert(history.begin() + end, builder.tree().token(n));
  }
  if (builder.wants_draws()) {
    builder.OfferDrawn(node, sampler.Probabilities(logits, history), builder.width());
    return;
  }
  std::vector<Scored> offers;
  const auto position = static_cast<Pos>(history.size());
  for (const RankedToken& r : sampler.Rank(logits, history, position, builder.width())) {
    offers.push_back({r.token, r.log_share});
  }
  builder.Offer(node, offers);
}

}  // namespace foretoken
