#include "insight/head_finder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "draft/scratch.h"
#include "engine/generator.h"

namespace foretoken {
namespace {

// A drafter that proposes nothing and inspects every head when the target writes a token.
class HeadWatcher final : public Drafter {
 public:
  HeadWatcher(Model& target, const HeadSearch& search)
      : backend_(target.backend()), config_(target.config()), search_(search) {
    hits_.resize(static_cast<size_t>(config_.layers) * static_cast<size_t>(config_.heads));
    for (int h = 0; h < config_.heads; ++h) {
      kv_heads_.push_back(h / (config_.heads / config_.kv_heads));
    }
  }

  TapSpec Needs() const override {
    TapSpec all;
    all.queries.resize(static_cast<size_t>(config_.layers));
    std::iota(all.queries.begin(), all.queries.end(), 0);
    all.kv_layers = all.queries;
    return all;
  }
  std::unique_ptr<DraftState> NewState() const override { return std::make_unique<DraftState>(); }
  Status Propose(std::span<const DraftSlot>) override { return {}; }
  void Truncate(DraftState&, int length) override { text_.resize(static_cast<size_t>(length)); }
  Result<std::unique_ptr<DraftState>> Fork(const DraftState&, int) const override {
    return Error{"what was found belongs to one text"};
  }

  // Announces a prompt of `input` tokens.
  void Expect(int input) {
    text_.clear();
    input_ = input;
  }

  Status Observe(std::span<const Observation> seen) override {
    for (const Observation& o : seen) {
      text_.insert(text_.end(), o.committed.begin(), o.committed.end());
      if (static_cast<int>(text_.size()) < input_) continue;  // `next` is a prompt token
      text_.push_back(o.next);
      if (const int source = CopySource(text_, input_); source >= 0) {
        FT_RETURN_IF_ERROR(Count(o, source));
      }
      text_.pop_back();
    }
    return {};
  }

  HeadReport Report() const {
    HeadReport report;
    report.trials = trials_;
    for (int i = 0; i < static_cast<int>(hits_.size()); ++i) {
      report.heads.push_back({i / config_.heads, i % config_.heads, hits_[static_cast<size_t>(i)]});
    }
    std::stable_sort(report.heads.begin(), report.heads.end(),
                     [](const HeadHits& a, const HeadHits& b) { return a.hits > b.hits; });
    return report;
  }

 private:
  Status Count(const Observation& seen, int source) {
    const int count = static_cast<int>(text_.size()) - 1;
    const auto widest = static_cast<int64_t>(std::bit_ceil(static_cast<unsigned>(count)));
    FT_ASSIGN_OR_RETURN(const Tensor wanted,
                        ReserveRows(backend_, config_.heads, config_.head_dim, query_));
    FT_ASSIGN_OR_RETURN(const Tensor room, ReserveRows(backend_, config_.heads, widest, rows_));
    const Tensor out = room.Cols(0, count);
    ++trials_;
    const float scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
    std::vector<float> query(static_cast<size_t>(config_.heads) * config_.head_dim);
    std::vector<float> rows(static_cast<size_t>(config_.heads) * count);
    for (int layer = 0; layer < config_.layers; ++layer) {
      backend_.Download(seen.taps.Queries(layer).Rows(seen.path.back(), 1), query.data());
      backend_.Upload(query.data(), wanted);
      backend_.AttentionRows(wanted, kv_heads_, seen.taps.Keys(layer), count, scale, out);
      backend_.Download(out, rows.data());
      for (int head = 0; head < config_.heads; ++head) {
        const std::span<const float> row(rows.data() + static_cast<ptrdiff_t>(head) * count,
                                         static_cast<size_t>(count));
        if (PeaksAt(row, source)) ++hits_[static_cast<size_t>(layer) * config_.heads + head];
      }
    }
    return {};
  }

  // Whether the row's maximum over the domain is at `source`; of equal values the first counts.
  bool PeaksAt(std::span<const float> row, int source) const {
    const int end = search_.domain == RowDomain::kFull ? static_cast<int>(row.size()) : input_;
    for (int j = 0; j < end; ++j) {
      if (j == source || !Competes(j)) continue;
      if (row[j] > row[source] || (row[j] == row[source] && j < source)) return false;
    }
    return true;
  }

  bool Competes(int j) const {
    switch (search_.domain) {
      case RowDomain::kFull:
        return true;
      case RowDomain::kInput:
        return j > 0 || text_[0] != search_.bos;
      case RowDomain::kOccurrences:
        return text_[static_cast<size_t>(j)] == text_.back();
    }
    return true;
  }

  Backend& backend_;
  const ModelConfig& config_;
  const HeadSearch& search_;
  std::vector<int> kv_heads_;
  Buffer query_, rows_;
  std::vector<Token> text_;  // one sequence at a time
  int input_ = 0;
  std::vector<int64_t> hits_;  // [layers * heads]
  int64_t trials_ = 0;
};

}  // namespace

int CopySource(std::span<const Token> text, int input) {
  const int end = static_cast<int>(text.size()) - 1;
  int best = -1, longest = 0;
  for (int r = 0; r < std::min(input, end); ++r) {
    int length = 0;
    while (length <= r &&
           text[static_cast<size_t>(r - length)] == text[static_cast<size_t>(end - length)]) {
      ++length;
    }
    if (length > longest) longest = length, best = r;
  }
  return best;
}

Result<HeadReport> FindHeads(Model& target, std::span<const std::vector<Token>> prompts,
                             const HeadSearch& search, const std::function<void(int)>& progress) {
  HeadWatcher watcher(target, search);
  const auto verifier = NewExactVerifier(target.backend());
  Generator generator(target, &watcher, *verifier, {});
  for (size_t p = 0; p < prompts.size(); ++p) {
    const auto session = generator.Start({.stop = search.stop, .capacity = search.capacity});
    watcher.Expect(static_cast<int>(prompts[p].size()));
    FT_RETURN_IF_ERROR(generator.Prefill(*session, prompts[p], search.max_new));
    Session* batch[] = {session.get()};
    while (!session->done()) FT_RETURN_IF_ERROR(generator.Step(batch));
    progress(static_cast<int>(p) + 1);
  }
  return watcher.Report();
}

}  // namespace foretoken
