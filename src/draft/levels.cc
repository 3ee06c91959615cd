#include "draft/levels.h"

#include <algorithm>
#include <cmath>

#include "draft/text_state.h"

namespace foretoken {
namespace {

// -infinity rules a token out.
bool AreSound(std::span<const float> logits) {
  return std::ranges::all_of(
      logits, [](float x) { return x <= kMostLogit && (x >= -kMostLogit || x == -HUGE_VALF); });
}

// Whether what the target would choose is what the logits alone say.
bool RanksByLogits(const DraftSlot& slot, bool share_noise) {
  return !slot.builder.wants_draws() && (!share_noise || slot.sampling.pure_argmax());
}

// `logits` [vocab] is changed.
void OfferFromLogits(const DraftSlot& slot, Node node, std::span<float> logits, Sampler& sampler) {
  if (!AreSound(logits)) return;
  TreeBuilder& builder = slot.builder;
  std::vector<Token> history = static_cast<const TextState&>(slot.state).text;
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

}  // namespace

Status DraftByLevels(std::span<const DraftSlot> batch, int most_rows,
                     const std::function<bool(size_t)>& goes_on,
                     const std::function<int(const DraftLevel&)>& rows_of,
                     const std::function<Status(std::span<const DraftLevel>)>& expand,
                     const std::function<int(size_t)>& unread) {
  while (true) {
    std::vector<DraftLevel> levels;
    for (size_t s = 0; s < batch.size(); ++s) {
      if (!goes_on(s)) continue;
      const std::vector<Node> nodes = batch[s].builder.TakeFrontier(unread ? unread(s) : 0);
      for (auto begin = nodes.begin(); begin != nodes.end();) {
        const auto end = begin + std::min<ptrdiff_t>(most_rows, nodes.end() - begin);
        levels.push_back({s, {begin, end}, /*continued=*/begin != nodes.begin()});
        begin = end;
      }
    }
    if (levels.empty()) return {};
    for (std::span<const DraftLevel> left = levels; !left.empty();) {
      size_t count = 0;
      for (int rows = 0; count < left.size(); ++count) {
        rows += rows_of(left[count]);
        if (count > 0 && (rows > most_rows || left[count].continued)) break;
      }
      FT_RETURN_IF_ERROR(expand(left.first(count)));
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

void LogitsOffers::Offer(std::span<const LogitsPlace> places, Tensor logits, bool share_noise,
                         const DraftVocabulary& vocabulary) {
  int width = 0;
  for (const LogitsPlace& place : places) {
    if (!RanksByLogits(*place.slot, share_noise)) continue;
    width = std::max(width, std::min<int>(place.slot->builder.width(), logits.cols));
  }
  ranked_.resize(static_cast<size_t>(logits.rows * width));
  if (width > 0) backend_.TopK(logits, width, ranked_);
  for (const LogitsPlace& place : places) {
    TreeBuilder& builder = place.slot->builder;
    if (!RanksByLogits(*place.slot, share_noise)) {
      OfferRow(place, logits.Rows(place.row, 1), share_noise, vocabulary);
      continue;
    }
    offers_.clear();
    const auto ranked = std::span(ranked_).subspan(static_cast<size_t>(place.row * width));
    for (const RankedToken& each : ranked.first(static_cast<size_t>(width))) {
      if (each.token == kNoToken || std::ssize(offers_) == builder.width()) break;
      const Token token = vocabulary.tokens.empty()
                              ? each.token
                              : vocabulary.tokens[static_cast<size_t>(each.token)];
      offers_.push_back({token, each.log_share});
    }
    if (!offers_.empty()) builder.Offer(place.node, offers_);
  }
}

void LogitsOffers::OfferRow(const LogitsPlace& place, Tensor logits, bool share_noise,
                            const DraftVocabulary& vocabulary) {
  const bool by_sampling = share_noise || place.slot->builder.wants_draws();
  Sampler sampler(by_sampling ? place.slot->sampling : SamplingParams{});
  row_.resize(static_cast<size_t>(logits.cols));
  backend_.Download(logits, row_.data());
  if (vocabulary.tokens.empty()) {
    row_.resize(std::max(row_.size(), static_cast<size_t>(vocabulary.size)), -HUGE_VALF);
  } else {
    row_.swap(own_row_);
    row_.assign(static_cast<size_t>(vocabulary.size), -HUGE_VALF);
    for (size_t i = 0; i < own_row_.size(); ++i) {
      row_[static_cast<size_t>(vocabulary.tokens[i])] = own_row_[i];
    }
  }
  OfferFromLogits(*place.slot, place.node, row_, sampler);
}

}  // namespace foretoken
