// foretoken bench overhead: measures the time that a step spends outside the target's pass
// (drafting, building the tree, verifying, updating the cache), and the drafting time of real
// drafters.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/json.h"
#include "base/rng.h"
#include "draft/drafter.h"
#include "engine/generator.h"
#include "eval/machine/bench_model.h"
#include "eval/report/write_json.h"
#include "verify/forced_verifier.h"

namespace foretoken {
namespace {

// A drafter that fills the tree with guesses, nearly all of them wrong.
class EndlessGuesses final : public Drafter {
 public:
  explicit EndlessGuesses(int vocab) : vocab_(vocab) {}

  TapSpec Needs() const override { return {}; }
  std::unique_ptr<DraftState> NewState() const override { return std::make_unique<DraftState>(); }
  Status Observe(std::span<const Observation> /*seen*/) override { return {}; }
  void Truncate(DraftState& /*state*/, int /*length*/) override {}
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& /*state*/,
                                           int /*length*/) const override {
    return std::make_unique<DraftState>();
  }

  Status Propose(std::span<const DraftSlot> batch) override {
    std::vector<Scored> offer;
    for (const DraftSlot& slot : batch) {
      const int width = slot.builder.width();
      for (auto nodes = slot.builder.TakeFrontier(); !nodes.empty();
           nodes = slot.builder.TakeFrontier()) {
        for (const Node n : nodes) {
          offer.clear();
          for (int i = 0; i < width; ++i) {
            const auto rank = static_cast<float>(i + 1);
            offer.push_back({(n * width + i) % vocab_, -0.5f * rank});
          }
          slot.builder.Offer(n, offer);
        }
      }
    }
    return {};
  }

 private:
  int vocab_;
};

// Random text with Zipf's distribution: the frequency of token r is about proportional to 1 / r.
std::vector<Token> ZipfText(int vocab, int length) {
  std::vector<Token> text(static_cast<size_t>(length));
  for (int i = 0; i < length; ++i) {
    const double rank = std::exp(Uniform(/*seed=*/1, i, 0) * std::log(vocab));
    text[static_cast<size_t>(i)] = std::min(vocab - 1, static_cast<int>(rank));
  }
  return text;
}

// Medians over the steps, in seconds.
struct StepTimes {
  int nodes = 0;  // nodes of a step's tree, root included
  double step = 0, forward = 0, draft = 0;
  double overhead_seconds() const { return step - forward; }
};

struct DraftTime {
  std::string drafter;
  double median = 0, slowest = 0;  // seconds of a draft: median and maximum over the steps
};

// Times steps and drafts that follow a prompt of random text.
class Overhead {
 public:
  Overhead(const BenchOptions& options, Model& model) : options_(options), model_(model) {
    const int context = std::max(1, options.contexts.front());
    text_ = ZipfText(model.config().vocab, context + kSteps + 1);
    prompt_ = std::span(text_).first(static_cast<size_t>(context));
  }

  Result<StepTimes> TimeSteps() {
    EndlessGuesses guesses(model_.config().vocab);
    const Json no_options = Json::object();
    FT_ASSIGN_OR_RETURN(const auto verifier, NewVerifier("exact", {model_.backend(), no_options}));
    const std::string spec = "eagle2:total_token=" + std::to_string(options_.nodes);
    FT_ASSIGN_OR_RETURN(const auto tree, NewTreePolicy(spec));
    Generator generator(model_, &guesses, *verifier,
                        {.limits = {.max_nodes = options_.nodes, .max_depth = options_.nodes - 1},
                         .policy = tree.get()});
    const auto session = generator.Start({.capacity = Capacity()});
    FT_RETURN_IF_ERROR(generator.Prefill(*session, prompt_, kSteps * options_.nodes));
    Session* batch[] = {session.get()};
    std::vector<double> step, forward, draft;
    for (int i = 0; i < kSteps && !session->done(); ++i) {
      const PhaseSeconds before = generator.seconds();
      Status status;
      step.push_back(Seconds([&] { status = generator.Step(batch); }));
      FT_RETURN_IF_ERROR(status);
      forward.push_back(generator.seconds().forward - before.forward);
      draft.push_back(generator.seconds().draft - before.draft);
    }
    return StepTimes{session->cycles.front().nodes + 1, Median(step), Median(forward),
                     Median(draft)};
  }

  // Times drafts of the drafter `name` before every step through a text with recurring tokens. Each
  // time is the median of three drafts.
  Result<DraftTime> TimeDrafts(const std::string& name) {
    const Json options = Json::object();
    FT_ASSIGN_OR_RETURN(const auto drafter,
                        NewDrafter(name, {model_, Capacity(), options, "", nullptr}));
    ForcedVerifier verifier(text_);
    FT_ASSIGN_OR_RETURN(const auto tree, NewTreePolicy("chain"));
    Generator generator(model_, drafter.get(), verifier,
                        {.limits = {.max_nodes = options_.nodes, .max_depth = options_.nodes - 1},
                         .policy = tree.get()});
    const auto session = generator.Start({.capacity = Capacity()});
    FT_RETURN_IF_ERROR(generator.Prefill(*session, prompt_, kSteps));
    Session* batch[] = {session.get()};
    std::vector<double> seconds;
    while (!session->done()) {
      std::vector<double> repeats(3);
      for (double& time : repeats) {
        Status drafted;
        time = Seconds([&] {
          if (const auto trees = generator.Draft(batch); !trees.ok()) drafted = trees.error();
        });
        FT_RETURN_IF_ERROR(drafted);
      }
      seconds.push_back(Median(repeats));
      FT_RETURN_IF_ERROR(generator.Step(batch));
    }
    return DraftTime{name, Median(seconds), *std::max_element(seconds.begin(), seconds.end())};
  }

 private:
  static constexpr int kSteps = 40;

  int Capacity() const { return static_cast<int>(prompt_.size()) + kSteps * options_.nodes + 1; }

  const BenchOptions& options_;
  Model& model_;
  std::vector<Token> text_;
  std::span<const Token> prompt_;
};

void Print(const StepTimes& t, const std::vector<DraftTime>& draft_times, int context) {
  std::printf("a step with %d nodes at %d positions: %.3f ms\n", t.nodes, context, t.step * 1e3);
  std::printf("  the target's pass  %9.3f ms\n", t.forward * 1e3);
  std::printf("  all the rest       %9.3f ms  %.2f %% of the step\n", t.overhead_seconds() * 1e3,
              100 * t.overhead_seconds() / t.step);
  for (const DraftTime& time : draft_times) {
    std::printf("a draft by %-8s %10.1f us, at most %.1f us\n", time.drafter.c_str(),
                time.median * 1e6, time.slowest * 1e6);
  }
}

}  // namespace

Status BenchOverhead(const BenchOptions& options) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(options.json));
  FT_ASSIGN_OR_RETURN(const DType type, ParseOneType(options.types));
  FT_ASSIGN_OR_RETURN(BenchModel subject, LoadBenchModel(options, type));
  Overhead overhead(options, *subject.model);
  FT_ASSIGN_OR_RETURN(const StepTimes times, overhead.TimeSteps());
  std::vector<DraftTime> draft_times;
  Json list = Json::array();
  for (const std::string& name : options.drafters) {
    FT_ASSIGN_OR_RETURN(DraftTime time, overhead.TimeDrafts(name));
    list.push_back(
        {{"drafter", time.drafter}, {"seconds", time.median}, {"seconds_most", time.slowest}});
    draft_times.push_back(std::move(time));
  }
  Print(times, draft_times, options.contexts.front());
  return WriteJson(json, {{"nodes", times.nodes},
                          {"context", options.contexts.front()},
                          {"step_seconds", times.step},
                          {"forward_seconds", times.forward},
                          {"draft_seconds", times.draft},
                          {"overhead", times.overhead_seconds() / times.step},
                          {"look_ups", std::move(list)}});
}

}  // namespace foretoken
