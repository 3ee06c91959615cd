// PLD+(a): of the earlier positions of the root's token, picks the one that the chosen attention
// heads attend to most, and copies the tokens after it. A target pass returns no attention weights,
// so they are computed here from the cached keys and from the queries of the last committed row,
// the row before the root. Observe stores these queries.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/json.h"
#include "draft/pld_plus/head_list.h"
#include "draft/pld_plus/span_copier.h"
#include "draft/scratch.h"

namespace foretoken {
namespace {

struct AttentionRule {
  std::vector<AttentionHead> heads;  // sorted by layer
  bool adds_heads = false;           // a place's score: the heads' sum instead of their maximum
  float threshold = -1;              // scores must exceed it; below 0: every place qualifies
  std::string remark;                // Drafter::Remark
};

struct AttentionOptions {
  CopyRule copy;
  const Json* heads = nullptr;
  int top = 0;
  bool top_given = false;
  AttentionRule rule;
  void Visit(OptionFields& fields) {
    copy.Visit(fields);
    fields.Raw("heads", heads, "a file, 'all', layer:N or a JSON list",
               "attention heads that choose the occurrence",
               {.fallback = "those found for the model with find-heads, else all"});
    fields.Int(
        "top", top, 1, 1 << 20, "heads used, from the top of the list",
        {.fallback = "50 for 1,024 heads or more, in proportion for fewer; 50 for a JSON list"},
        &top_given);
    fields.Choice("reduce", rule.adds_heads, {{"max", false}, {"sum", true}},
                  "how the heads' attention to an occurrence is combined");
    fields.Number("threshold", rule.threshold, -1, 1e6f,
                  "attention that an occurrence must exceed; below 0: no threshold");
  }
};

// The chosen heads of one layer.
struct LayerHeads {
  int layer;
  std::vector<int> heads, kv_heads;
};

struct AttentionState final : CopyState {
  // For each layer: the queries [heads, head_dim] of the last committed row.
  std::vector<std::vector<float>> queries;
  // For each layer: a view of its cached keys after the last pass, valid to the end of the
  // following Propose.
  std::vector<PagedRows> keys;
  Buffer query, probabilities;    // scratch: [heads, head_dim], [heads, positions]
  std::vector<float> downloaded;  // scratch
};

class AttentionCopier final : public SpanCopier {
 public:
  AttentionCopier(const DraftContext& context, CopyRule copy, AttentionRule rule)
      : SpanCopier(copy),
        backend_(context.target.backend()),
        head_dim_(context.target.config().head_dim),
        width_(context.target.config().heads * head_dim_),
        rule_(std::move(rule)) {
    const int heads_per_kv_head = context.target.config().heads / context.target.config().kv_heads;
    for (const AttentionHead& h : rule_.heads) {
      if (layers_.empty() || layers_.back().layer != h.layer) layers_.push_back({h.layer, {}, {}});
      layers_.back().heads.push_back(h.head);
      layers_.back().kv_heads.push_back(h.head / heads_per_kv_head);
      widest_ = std::max(widest_, static_cast<int>(layers_.back().heads.size()));
    }
  }

  TapSpec Needs() const override {
    TapSpec spec;
    for (const LayerHeads& l : layers_) spec.queries.push_back(l.layer);
    spec.kv_layers = spec.queries;
    return spec;
  }

  std::string Remark() const override { return rule_.remark; }

  std::unique_ptr<DraftState> NewState() const override {
    auto state = std::make_unique<AttentionState>();
    state->queries.resize(layers_.size());
    state->keys.resize(layers_.size());
    return state;
  }

 protected:
  void Keep(CopyState& copy_state, const Observation& seen) override {
    auto& state = static_cast<AttentionState&>(copy_state);
    std::vector<float> row(static_cast<size_t>(width_));
    for (size_t i = 0; i < layers_.size(); ++i) {
      backend_.Download(seen.taps.Queries(layers_[i].layer).Rows(seen.path.back(), 1), row.data());
      state.keys[i] = seen.taps.Keys(layers_[i].layer);
      state.queries[i].clear();
      for (int head : layers_[i].heads) {
        const auto begin = row.begin() + static_cast<ptrdiff_t>(head) * head_dim_;
        state.queries[i].insert(state.queries[i].end(), begin, begin + head_dim_);
      }
    }
  }

  void Drop(CopyState& state, int length) override {
    (void)state, (void)length;  // the next Observe replaces the queries and keys
  }

  void CopyRows(const CopyState& from, int length, CopyState& to) const override {
    (void)from, (void)length, (void)to;  // the next Observe sets the queries and keys
  }

  size_t RowBytes(const CopyState& copy_state) const override {
    const auto& state = static_cast<const AttentionState&>(copy_state);
    return BytesOf(state.query) + BytesOf(state.probabilities) +
           state.downloaded.capacity() * sizeof(float);
  }

  Result<int> Best(CopyState& copy_state, std::span<const int> places) override {
    auto& state = static_cast<AttentionState&>(copy_state);
    std::vector<float> score(places.size(), 0.0f);
    for (size_t i = 0; i < layers_.size(); ++i) {
      FT_RETURN_IF_ERROR(AddLayer(state, i, places, score));
    }
    const auto best = std::max_element(score.begin(), score.end());  // the first of equals
    return *best > rule_.threshold ? places[static_cast<size_t>(best - score.begin())] : -1;
  }

 private:
  // Updates the score of each of `places` with the attention of the heads in layers_[i] to that
  // place: the score is the sum over heads if AttentionRule::adds_heads is set, else the maximum.
  Status AddLayer(AttentionState& state, size_t i, std::span<const int> places,
                  std::vector<float>& score) {
    const auto heads = static_cast<int64_t>(layers_[i].heads.size());
    const int count = static_cast<int>(state.text.size());
    // A power of two, so that a growing text seldom reallocates the buffer.
    const auto capacity = static_cast<int64_t>(std::bit_ceil(static_cast<unsigned>(count)));
    FT_ASSIGN_OR_RETURN(const Tensor queries,
                        ReserveRows(backend_, widest_, head_dim_, state.query));
    FT_ASSIGN_OR_RETURN(const Tensor probabilities,
                        ReserveRows(backend_, widest_, capacity, state.probabilities));
    const Tensor query = queries.Rows(0, heads);
    const Tensor out = probabilities.Rows(0, heads).Cols(0, count);
    backend_.Upload(state.queries[i].data(), query);
    backend_.AttentionRows(query, layers_[i].kv_heads, state.keys[i], count,
                           1.0f / std::sqrt(static_cast<float>(head_dim_)), out);
    state.downloaded.resize(static_cast<size_t>(heads * count));
    backend_.Download(out, state.downloaded.data());
    for (int64_t h = 0; h < heads; ++h) {
      const float* row = state.downloaded.data() + h * count;
      for (size_t p = 0; p < places.size(); ++p) {
        const float attention = row[places[p]];
        score[p] = rule_.adds_heads ? score[p] + attention : std::max(score[p], attention);
      }
    }
    return {};
  }

  Backend& backend_;
  int head_dim_, width_;
  int widest_ = 0;  // maximum number of chosen heads of one layer
  AttentionRule rule_;
  std::vector<LayerHeads> layers_;
};

}  // namespace

OptionTable DescribePldPlusAttention() { return DescribeOptions<AttentionOptions>(); }

Result<std::unique_ptr<Drafter>> NewPldPlusAttention(const DraftContext& context) {
  const ModelConfig& config = context.target.config();
  AttentionOptions options;
  FT_RETURN_IF_ERROR(ReadOptions("pld+a", context.options, options));
  AttentionRule& rule = options.rule;
  const Json shipped = HeadsOfModel(context.target_path);
  const Json* heads = options.heads;
  // Default of `top`, which applies to lists only: kMostCopyHeads for a list given in the options
  // themselves (JSON, not a file name), the paper's share of the model's heads for any other list.
  const bool is_inline_list = heads != nullptr && !heads->is_string();
  if (heads == nullptr && !shipped.is_null()) heads = &shipped;
  const int default_top =
      is_inline_list ? kMostCopyHeads : UsualHeads(config.layers * config.heads);
  const int top = options.top_given ? options.top : default_top;
  if (heads == nullptr) rule.remark = NoHeadsRemark(context.target_path);
  FT_ASSIGN_OR_RETURN(rule.heads, ReadHeadList(heads, top, config.layers, config.heads));
  return std::unique_ptr<Drafter>(
      std::make_unique<AttentionCopier>(context, options.copy, std::move(rule)));
}

}  // namespace foretoken
