// PLD+(h): of the earlier positions of the root's token, picks the one whose preceding hidden state
// is most similar to the newest hidden state, and copies the tokens after it.
#include <algorithm>
#include <cmath>

#include "draft/pld_plus/hidden_rows.h"
#include "draft/pld_plus/span_copier.h"

namespace foretoken {
namespace {

struct HiddenRule {
  int layer = 9;         // Hugging Face index of the hidden state compared
  int window = 1;        // states averaged
  float threshold = -2;  // cosines must exceed it; below -1: every place qualifies
};

struct HiddenOptions {
  int layers = 9;  // of the target
  CopyRule copy;
  HiddenRule rule;
  void Visit(OptionFields& fields) {
    copy.Visit(fields);
    fields.Int("layer", rule.layer, 0, layers, "hidden state compared (Hugging Face index)",
               {.fallback = "9 for 32 layers or more, in proportion for fewer",
                .values = "0 to the model's layers"});
    fields.Int("window", rule.window, 1, 64, "hidden states averaged");
    fields.Number("threshold", rule.threshold, -2, 1,
                  "cosine similarity that an occurrence must exceed; below -1: no threshold");
  }
};

struct HiddenState final : CopyState {
  HiddenState(int width, int window, std::shared_ptr<SpareRows> spare)
      : rows(width, window, std::move(spare)) {}
  HiddenRows rows;  // row j is the hidden state of committed token j
};

class HiddenCopier final : public SpanCopier {
 public:
  HiddenCopier(Model& target, CopyRule copy, HiddenRule rule)
      : SpanCopier(copy), backend_(target.backend()), width_(target.config().hidden), rule_(rule) {}

  TapSpec Needs() const override { return {.hidden = {rule_.layer}}; }
  std::unique_ptr<DraftState> NewState() const override {
    return std::make_unique<HiddenState>(width_, rule_.window, spare_);
  }

 protected:
  void Keep(CopyState& state, const Observation& seen) override {
    auto& rows = static_cast<HiddenState&>(state).rows;
    std::vector<float> row(static_cast<size_t>(width_));
    for (Node n : seen.path) {
      backend_.Download(seen.taps.Hidden(rule_.layer).Rows(n, 1), row.data());
      rows.Append(row);
    }
  }

  void Drop(CopyState& state, int length) override {
    static_cast<HiddenState&>(state).rows.Truncate(length);
  }

  void CopyRows(const CopyState& from, int length, CopyState& to) const override {
    static_cast<HiddenState&>(to).rows.CopyFrom(static_cast<const HiddenState&>(from).rows, length);
  }

  size_t RowBytes(const CopyState& state) const override {
    return static_cast<const HiddenState&>(state).rows.bytes();
  }

  // The root has no hidden state yet, so the states before the root and before its earlier
  // occurrences are compared.
  Result<int> Best(CopyState& state, std::span<const int> places) override {
    const auto& rows = static_cast<HiddenState&>(state).rows;
    if (places[0] == 0) places = places.subspan(1);  // position 0 has no predecessor
    if (places.empty()) return -1;
    std::vector<int> before(places.begin(), places.end());
    for (int& place : before) --place;
    const HiddenRows::Match match = rows.MostAlike(before, rows.size() - 1);
    return match.cosine > rule_.threshold ? places[static_cast<size_t>(match.index)] : -1;
  }

 private:
  Backend& backend_;
  int width_;
  HiddenRule rule_;
  std::shared_ptr<SpareRows> spare_ = std::make_shared<SpareRows>();
};

// The paper's layer 9 of 32, scaled to the depth of a shallower model.
int DefaultLayer(int layers) {
  return std::clamp(static_cast<int>(std::lround(9.0 * layers / 32)), 1, 9);
}

}  // namespace

OptionTable DescribePldPlusHidden() { return DescribeOptions<HiddenOptions>(); }

Result<std::unique_ptr<Drafter>> NewPldPlusHidden(const DraftContext& context) {
  HiddenOptions options{.layers = context.target.config().layers};
  options.rule.layer = DefaultLayer(options.layers);
  FT_RETURN_IF_ERROR(ReadOptions("pld+h", context.options, options));
  return std::unique_ptr<Drafter>(
      std::make_unique<HiddenCopier>(context.target, options.copy, options.rule));
}

}  // namespace foretoken
