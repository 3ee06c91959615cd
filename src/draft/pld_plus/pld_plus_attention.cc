// PLD+(a): of the earlier positions of the root's token, picks the one that the chosen attention
// heads attend to most, and copies the tokens after it. A target pass returns no attention weights,
// so they are computed here from the cached keys and from the queries of the last committed row,
// the one before the root, which Observe stores.
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
  bool sum = false;                  // a place's score: the heads' sum instead of their maximum
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
    fields.Raw("heads", heads, "a file, 'all' or layer:N",
               "attention heads that choose the occurrence",
               {.fallback = "those found for the model with find-heads, else all"});
    fields.Int("top", top, 1, 1 << 20, "heads used, from the top of the list",
               {.fallback = "50 for 1,024 heads or more, in proportion for fewer"}, &top_given);
    fields.Choice("reduce", rule.sum, {{"max", false}, {"sum", true}},
                  "how the heads' attention to an occurrence is combined");
    fields.Number("threshold", rule.threshold, -1, 1e6f,
                  "attention that an occurrence must exceed; below 0: no threshold");
  }
};

// The chosen heads of one layer.
struct Group {
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
    const int group_size = context.target.config().heads / context.target.config().kv_heads;
    for (const AttentionHead& h : rule_.heads) {
      if (groups_.empty() || groups_.back().layer != h.layer) groups_.push_back({h.layer, {}, {}});
      groups_.back().heads.push_back(h.head);
      groups_.back().kv_heads.push_back(h.head / group_size);
      widest_ = std::max(widest_, static_cast<int>(groups_.back().heads.size()));
    }
  }

  TapSpec Needs() const override {
    TapSpec spec;
    for (const Group& g : groups_) spec.queries.push_back(g.layer);
    spec.kv_layers = spec.queries;
    return spec;
  }

  std::string Remark() const override { return rule_.remark; }

  std::unique_ptr<DraftState> NewState() const override {
    auto state = std::make_unique<AttentionState>();
    state->queries.resize(groups_.size());
    state->keys.resize(groups_.size());
    return state;
  }

 protected:
  void Keep(CopyState& copy_state, const Observation& seen) override {
    auto& state = static_cast<AttentionState&>(copy_state);
    std::vector<float> row(static_cast<size_t>(width_));
    for (size_t g = 0; g < groups_.size(); ++g) {
      backend_.Download(seen.taps.Queries(groups_[g].layer).Rows(seen.path.back(), 1), row.data());
      state.keys[g] = seen.taps.Keys(groups_[g].layer);
      state.queries[g].clear();
      for (int head : groups_[g].heads) {
        const auto begin = row.begin() + static_cast<ptrdiff_t>(head) * head_dim_;
        state.queries[g].insert(state.queries[g].end(), begin, begin + head_dim_);
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
    for (size_t g = 0; g < groups_.size(); ++g) {
      FT_RETURN_IF_ERROR(AddGroup(state, g, places, score));
    }
    const auto best = std::max_element(score.begin(), score.end());  // the first of equals
    return *best > rule_.threshold ? places[static_cast<size_t>(best - score.begin())] : -1;
  }

 private:
  // Combines the attention of the heads in groups_[g] to each of `places` with its score: adds it
  // up or, without AttentionRule::sum, takes the maximum.
  Status AddGroup(AttentionState& state, size_t g, std::span<const int> places,
                  std::vector<float>& score) {
    const auto heads = static_cast<int64_t>(groups_[g].heads.size());
    const int count = static_cast<int>(state.text.size());
    const auto doubled = static_cast<int64_t>(std::bit_ceil(static_cast<unsigned>(count)));
    FT_ASSIGN_OR_RETURN(const Tensor queries,
                        ReserveRows(backend_, widest_, head_dim_, state.query));
    FT_ASSIGN_OR_RETURN(const Tensor probabilities,
                        ReserveRows(backend_, widest_, doubled, state.probabilities));
    const Tensor query = queries.Rows(0, heads);
    const Tensor out = probabilities.Rows(0, heads).Cols(0, count);
    backend_.Upload(state.queries[g].data(), query);
    backend_.AttentionRows(query, groups_[g].kv_heads, state.keys[g], count,
                           1.0f / std::sqrt(static_cast<float>(head_dim_)), out);
    state.downloaded.resize(static_cast<size_t>(heads * count));
    backend_.Download(out, state.downloaded.data());
    for (int64_t h = 0; h < heads; ++h) {
      const float* row = state.downloaded.data() + h * count;
      for (size_t p = 0; p < places.size(); ++p) {
        const float attention = row[places[p]];
        score[p] = rule_.sum ? score[p] + attention : std::max(score[p], attention);
      }
    }
    return {};
  }

  Backend& backend_;
  int head_dim_, width_;
  int widest_ = 0;  // maximum number of chosen heads of one layer
  AttentionRule rule_;
  std::vector<Group> groups_;
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
  const bool typed = heads != nullptr && !heads->is_string();
  if (heads == nullptr && !shipped.is_null()) heads = &shipped;
  const int most = typed ? kMostCopyHeads : UsualHeads(config.layers * config.heads);
  const int top = options.top_given ? options.top : most;
  if (heads == nullptr) rule.remark = NoHeadsRemark(context.target_path);
  FT_ASSIGN_OR_RETURN(rule.heads, ReadHeadList(heads, top, config.layers, config.heads));
  return std::unique_ptr<Drafter>(
      std::make_unique<AttentionCopier>(context, options.copy, std::move(rule)));
}

}  // namespace foretoken
