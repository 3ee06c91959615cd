#include "draft/levels.h"

#include <algorithm>
#include <cmath>

#include "base/timer.h"
#include "draft/text_state.h"

namespace foretoken {
namespace {

// Whether all logits are plausible. -infinity is plausible, because it rules out a token.
bool ArePlausible(std::span<const float> logits) {
  return std::ranges::all_of(
      logits, [](float x) { return x <= kMostLogit && (x >= -kMostLogit || x == -HUGE_VALF); });
}

// Whether the offers are the tokens with the highest logits, without draws, filters or penalties.
bool RanksByLogits(const DraftSlot& slot) {
  const TreeBuilder& builder = slot.builder;
  return !builder.wants_draws() && !builder.has_filter() && slot.sampling.pure_argmax();
}

// Attributes a part of an expansion's time to reading, in proportion to the prompt's share of the
// rows.
void RecordReadingTime(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels,
                       double seconds) {
  int rows = 0;
  for (const DraftLevel& level : levels) {
    rows += level.unread.tokens;
    if (level.nodes[0] != 0) rows += static_cast<int>(level.nodes.size());
  }
  for (const DraftLevel& level : levels) {
    if (level.unread.given == 0) continue;
    batch[level.slot].builder.AddReadingSeconds(seconds * level.unread.given / rows);
  }
}

// The tokens up to `node` that the slot's penalties apply to, oldest first.
std::vector<Token> RecentTokens(const DraftSlot& slot, Node node) {
  std::vector<Token> recent;
  if (!slot.sampling.looks_back()) return recent;
  const CandidateTree& tree = slot.builder.tree();
  const auto& text = static_cast<const TextState&>(slot.state).text;
  const auto depth = static_cast<size_t>(tree.depth(node));
  const int last_n = slot.sampling.penalty_last_n;
  const size_t total = text.size() + depth;
  const size_t count = last_n < 0 ? total : std::min(total, static_cast<size_t>(last_n));
  recent.resize(count);
  size_t left = count;
  for (Node n = node; n != 0 && left > 0; n = tree.parent(n)) recent[--left] = tree.token(n);
  std::copy_n(text.end() - static_cast<std::ptrdiff_t>(left), left, recent.begin());
  return recent;
}

// Offers continuations of `node` from `logits` [vocab], which are changed in place.
void OfferFromLogits(const DraftSlot& slot, Node node, std::span<float> logits, Sampler& sampler) {
  if (!ArePlausible(logits)) return;
  TreeBuilder& builder = slot.builder;
  if (builder.has_filter() && !builder.MaskLogits(node, logits)) return;
  const std::vector<Token> history = RecentTokens(slot, node);
  if (builder.wants_draws()) {
    builder.OfferDrawn(node, sampler.Probabilities(logits, history), builder.width());
    return;
  }
  std::vector<Scored> offers;
  const auto& text = static_cast<const TextState&>(slot.state).text;
  const Pos position = static_cast<Pos>(text.size()) + builder.tree().depth(node);
  for (const RankedToken& r : sampler.Rank(logits, history, position, builder.width())) {
    offers.push_back({r.token, r.log_share});
  }
  builder.Offer(node, offers);
}

}  // namespace

Status DraftByLevels(std::span<const DraftSlot> batch, int max_rows,
                     const std::function<bool(size_t)>& may_draft,
                     const std::function<int(const DraftLevel&)>& rows_of,
                     const std::function<Status(std::span<const DraftLevel>)>& expand,
                     const std::function<UnreadText(size_t)>& unread) {
  while (true) {
    std::vector<DraftLevel> levels;
    for (size_t s = 0; s < batch.size(); ++s) {
      if (!may_draft(s)) continue;
      UnreadText text = unread ? unread(s) : UnreadText{};
      const std::vector<Node> nodes = batch[s].builder.TakeFrontier(text.tokens);
      for (auto begin = nodes.begin(); begin != nodes.end();) {
        const auto end = begin + std::min<ptrdiff_t>(max_rows, nodes.end() - begin);
        levels.push_back({s, {begin, end}, text, /*continued=*/begin != nodes.begin()});
        text = {};  // the first piece reads the text
        begin = end;
      }
    }
    if (levels.empty()) return {};
    for (std::span<const DraftLevel> left = levels; !left.empty();) {
      size_t count = 0;
      for (int rows = 0; count < left.size(); ++count) {
        rows += rows_of(left[count]);
        if (count > 0 && (rows > max_rows || left[count].continued)) break;
      }
      double seconds = 0;
      {
        const Timer timer(seconds);
        FT_RETURN_IF_ERROR(expand(left.first(count)));
      }
      RecordReadingTime(batch, left.first(count), seconds);
      left = left.subspan(count);
    }
  }
}

std::vector<LogitsPlace> PlacesOf(std::span<const DraftSlot> batch,
                                  std::span<const DraftLevel> levels) {
  std::vector<LogitsPlace> places;
  for (const DraftLevel& level : levels) {
    for (const Node node : level.nodes) {
      places.push_back({&batch[level.slot], node, std::ssize(places)});
    }
  }
  return places;
}

void LogitsOffers::Offer(std::span<const LogitsPlace> places, Tensor logits,
                         const DraftVocabulary& vocabulary) {
  int width = 0;
  for (const LogitsPlace& place : places) {
    if (!RanksByLogits(*place.slot)) continue;
    width = std::max(width, std::min<int>(place.slot->builder.width(), logits.cols));
  }
  ranked_.resize(static_cast<size_t>(logits.rows * width));
  if (width > 0) backend_.TopK(logits, width, ranked_);
  for (const LogitsPlace& place : places) {
    TreeBuilder& builder = place.slot->builder;
    if (!RanksByLogits(*place.slot)) {
      OfferRow(place, logits.Rows(place.row, 1), vocabulary);
      continue;
    }
    offers_.clear();
    const auto ranked = std::span(ranked_).subspan(static_cast<size_t>(place.row * width));
    for (const RankedToken& candidate : ranked.first(static_cast<size_t>(width))) {
      if (candidate.token == kNoToken || std::ssize(offers_) == builder.width()) break;
      const Token token = vocabulary.tokens.empty()
                              ? candidate.token
                              : vocabulary.tokens[static_cast<size_t>(candidate.token)];
      offers_.push_back({token, candidate.log_share});
    }
    if (!offers_.empty()) builder.Offer(place.node, offers_);
  }
}

void LogitsOffers::OfferRow(const LogitsPlace& place, Tensor logits,
                            const DraftVocabulary& vocabulary) {
  Sampler sampler(place.slot->sampling);
  row_.resize(static_cast<size_t>(logits.cols));
  backend_.Download(logits, row_.data());
  if (vocabulary.tokens.empty()) {
    row_.resize(std::max(row_.size(), static_cast<size_t>(vocabulary.size)), -HUGE_VALF);
  } else {
    row_.swap(draft_row_);
    row_.assign(static_cast<size_t>(vocabulary.size), -HUGE_VALF);
    for (size_t i = 0; i < draft_row_.size(); ++i) {
      row_[static_cast<size_t>(vocabulary.tokens[i])] = draft_row_[i];
    }
  }
  OfferFromLogits(*place.slot, place.node, row_, sampler);
}

}  // namespace foretoken
