#include "draft/chimera/ngram_encoder.h"

#include <algorithm>
#include <array>
#include <vector>

#include "draft/scratch.h"

namespace foretoken {
namespace {

constexpr size_t kMostRows = 512;  // n-grams computed in one batch

}  // namespace

NgramEncoder::NgramEncoder(Backend& backend, const Weight& embedding, NgramWeights weights,
                           NgramCache cache)
    : backend_(backend),
      embedding_(embedding),
      weights_(std::move(weights)),
      cache_(std::move(cache)),
      blocks_(backend, static_cast<int>(weights_.output->cols())) {}

Status NgramEncoder::Encode(std::span<const Ngram> ngrams, Tensor out) {
  std::vector<Ngram> uncached;
  std::vector<int64_t> rows;
  for (size_t i = 0; i < ngrams.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    FT_ASSIGN_OR_RETURN(const bool is_cached, cache_.Find(ngrams[i], out.Rows(row, 1)));
    if (is_cached) continue;
    uncached.push_back(ngrams[i]);
    rows.push_back(row);
  }
  for (size_t first = 0; first < uncached.size(); first += kMostRows) {
    const size_t count = std::min(kMostRows, uncached.size() - first);
    FT_ASSIGN_OR_RETURN(const Tensor states, Compute(std::span(uncached).subspan(first, count)));
    for (size_t i = 0; i < count; ++i) {
      backend_.StoreRows(states.Rows(static_cast<int64_t>(i), 1), out.Rows(rows[first + i], 1));
    }
  }
  return {};
}

Status NgramEncoder::Preload(std::span<const Ngram> ngrams) {
  while (!ngrams.empty()) {
    const std::span<const Ngram> tail = ngrams.last(std::min(ngrams.size(), kMostRows));
    const std::vector<Ngram> reversed(tail.rbegin(), tail.rend());
    FT_RETURN_IF_ERROR(Compute(reversed));
    ngrams = ngrams.first(ngrams.size() - reversed.size());
  }
  return {};
}

// Computes the states of `ngrams` and caches them. REQUIRES: at most kMostRows n-grams.
Result<Tensor> NgramEncoder::Compute(std::span<const Ngram> ngrams) {
  const int rows = static_cast<int>(ngrams.size());
  const int64_t input_width = weights_.output->cols(), hidden = weights_.output->rows();
  FT_ASSIGN_OR_RETURN(const Tensor input, ReserveRows(backend_, rows, input_width, input_));
  std::vector<Token> tokens(ngrams.size());
  for (int i = 0; i < weights_.n; ++i) {
    for (size_t r = 0; r < ngrams.size(); ++r) tokens[r] = ngrams[r][static_cast<size_t>(i)];
    backend_.Embed(embedding_, tokens, input.Cols(i * hidden, hidden));
  }
  FT_RETURN_IF_ERROR(blocks_.Apply(weights_.block, input));
  FT_ASSIGN_OR_RETURN(const Tensor states, ReserveRows(backend_, rows, hidden, states_));
  backend_.Linear(input, std::array{LinearOut{.weight = weights_.output.get(), .out = states}});
  FT_RETURN_IF_ERROR(backend_.TakeFailure());  // failed results are not cached
  for (int r = 0; r < rows; ++r) {
    FT_RETURN_IF_ERROR(cache_.Keep(ngrams[static_cast<size_t>(r)], states.Rows(r, 1)));
  }
  return states;
}

}  // namespace foretoken
