// Lookahead: n-grams that the target refines itself, in rows of its own passes (B-20 to B-23).
#include <algorithm>
#include <optional>

#include "base/rng.h"
#include "draft/lookahead/ngram_pool.h"
#include "draft/lookahead/window.h"
#include "draft/options.h"
#include "draft/text_state.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

struct LookaheadRule {
  int ngram = 5;              // N: tokens of an n-gram, its first included
  int window = 7;             // W: columns
  int guesses = 7;            // G: n-grams kept per first token
  bool learns_text = false;   // also keep the n-grams of the prompt and the answer
  std::vector<Token> ending;  // tokens that end an answer; no window row is built on them

  void Visit(OptionFields& fields) {
    fields.Int("ngram", ngram, 2, 32, "tokens per n-gram, including the first", {.authors = "8"});
    fields.Int("window", window, 1, 256, "columns that the target refines", {.authors = "60"});
    fields.Int("guesses", guesses, 1, 256, "n-grams kept per first token", {.authors = "60"});
    fields.Choice("pool", learns_text, {{"window", false}, {"text", true}},
                  "source of the n-grams; text: the prompt and the answer, too");
    fields.Note("the default n-grams and window need --draft-max 55");
  }
};

struct LookaheadState final : TextState {
  explicit LookaheadState(int guesses) : pool(guesses) {}
  std::optional<LookaheadWindow> window;  // made at the first draft after a prompt
  NgramPool pool;
  size_t learned = 0;  // n-grams of the text added to the pool, counted from the text's start
};

class Lookahead final : public Drafter {
 public:
  explicit Lookahead(LookaheadRule rule) : rule_(std::move(rule)) {}

  TapSpec Needs() const override { return {.answers = true}; }
  std::unique_ptr<DraftState> NewState() const override {
    return std::make_unique<LookaheadState>(rule_.guesses);
  }

  Status Observe(std::span<const Observation> seen) override {
    for (const Observation& o : seen) {
      auto& state = static_cast<LookaheadState&>(o.state);
      state.Append(o);
      if (o.prompt) {
        Forget(state);
      } else if (state.window) {
        Advance(state, o);
      }
    }
    return {};
  }

  Status Propose(std::span<const DraftSlot> batch) override {
    constexpr float kConfidence = -0.5f;
    for (const DraftSlot& slot : batch) {
      auto& state = static_cast<LookaheadState&>(slot.state);
      if (!state.window) state.window = NewWindow(state, slot.builder.limits());
      if (rule_.learns_text) LearnText(state);
      state.window->AddTo(slot.builder);
      for (const std::vector<Token>& guess : state.pool.After(state.text.back())) {
        slot.builder.OfferRun(0, guess, kConfidence);
      }
    }
    return {};
  }

  void Truncate(DraftState& draft_state, int length) override {
    auto& state = static_cast<LookaheadState&>(draft_state);
    state.Truncate(length);
    Forget(state);
  }

  // Like every prompt, a fork starts without window and pool.
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const override {
    auto fork = std::make_unique<LookaheadState>(rule_.guesses);
    fork->CopyText(static_cast<const LookaheadState&>(state), length);
    return std::unique_ptr<DraftState>(std::move(fork));
  }

  size_t StateBytes(const DraftState& draft_state) const override {
    const auto& state = static_cast<const LookaheadState&>(draft_state);
    return state.TextBytes() + state.pool.bytes();
  }

 private:
  // Drops window and pool, so that guesses do not depend on an earlier prompt.
  static void Forget(LookaheadState& state) {
    state.window.reset();
    state.pool.Clear();
    state.learned = 0;
  }

  // A pseudo-random token of the prompt. The choice depends only on the lengths of text and prompt
  // and on `draw`.
  static Token FromPrompt(const LookaheadState& state, size_t draw) {
    const uint64_t noise = Mix(Mix(state.text.size()) ^ draw);
    return state.text[noise % static_cast<uint64_t>(std::max(state.prompt, 1))];
  }

  // The full window takes at most half the rows of a pass, so that guesses have room too, and no
  // more probes than the limits allow. It has at least one column; if even that is too much,
  // LookaheadWindow::AddTo adds nothing.
  LookaheadWindow NewWindow(const LookaheadState& state, const TreeLimits& limits) const {
    const int rows = rule_.ngram - 1;
    const int most = std::min(limits.max_nodes / 2, limits.max_probes);
    const int columns = std::clamp(most / rows, 1, rule_.window);
    std::vector<Token> seeds(static_cast<size_t>(columns + rows - 2));
    for (size_t i = 0; i < seeds.size(); ++i) seeds[i] = FromPrompt(state, i);
    return {rows, std::move(seeds)};
  }

  void Advance(LookaheadState& state, const Observation& seen) {
    for (const auto& ngram : state.window->Advance(seen.tree, seen.taps.answers())) {
      state.pool.Remember(ngram[0], std::span(ngram).subspan(1));
    }
    std::vector<Token>& newest = state.window->newest();
    for (size_t c = 0; c < newest.size(); ++c) {
      if (std::ranges::count(rule_.ending, newest[c]) > 0) newest[c] = FromPrompt(state, c);
    }
  }

  void LearnText(LookaheadState& state) const {
    const auto n = static_cast<size_t>(rule_.ngram);
    for (; state.learned + n <= state.text.size(); ++state.learned) {
      const auto ngram = std::span(state.text).subspan(state.learned, n);
      state.pool.Remember(ngram[0], ngram.subspan(1));
    }
  }

  LookaheadRule rule_;
};

}  // namespace

OptionTable DescribeLookahead() { return DescribeOptions<LookaheadRule>(); }

Result<std::unique_ptr<Drafter>> NewLookahead(const DraftContext& context) {
  LookaheadRule rule;
  FT_RETURN_IF_ERROR(ReadOptions("lookahead", context.options, rule));
  if (context.tokenizer != nullptr) {
    rule.ending = context.tokenizer->data().eog;
    rule.ending.push_back(context.tokenizer->data().eos);
  }
  return std::unique_ptr<Drafter>(std::make_unique<Lookahead>(std::move(rule)));
}

}  // namespace foretoken
