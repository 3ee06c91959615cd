// foretoken bench decode: the speed of autoregressive decoding and the cost of passes with more
// rows, against the machine's limits, which are measured between the passes.
#include <algorithm>
#include <cstdio>
#include <tuple>
#include <utility>
#include <vector>

#include "eval/machine/bench.h"
#include "eval/machine/bench_model.h"
#include "eval/machine/timed_passes.h"
#include "eval/report/curve_plot.h"
#include "eval/report/write_json.h"

namespace foretoken {
namespace {

// Multiply-adds with weights in a pass of `rows` rows with logits for `logit_rows` of them.
double Macs(const ModelConfig& c, int rows, int logit_rows) {
  const double attention = 2.0 * c.hidden * (c.heads + c.kv_heads) * c.head_dim;
  return rows * c.layers * (attention + 3.0 * c.hidden * c.ffn) +
         static_cast<double>(logit_rows) * c.vocab * c.hidden;
}

// A pass and the machine's limits measured around it; or the medians of several passes.
struct Sample {
  double seconds, limit;  // measured seconds; seconds at the measured bandwidth and peak
  double times_limit, bandwidth_share, peak_share;  // seconds / limit; fractions of 1
  double loads;  // L1LoadsPerSecond before or after the pass, the lower of the two
};
using Samples = std::vector<Sample>;

// REQUIRES: samples not empty.
Sample Medians(const Samples& samples) {
  Sample medians{};
  for (double Sample::*figure : {&Sample::seconds, &Sample::limit, &Sample::times_limit,
                                 &Sample::bandwidth_share, &Sample::peak_share, &Sample::loads}) {
    std::vector<double> values;
    values.reserve(samples.size());
    for (const Sample& sample : samples) values.push_back(sample.*figure);
    medians.*figure = Median(std::move(values));
  }
  return medians;
}

// Minimum total time of the consecutive passes in TimeConsecutivePasses, in seconds.
constexpr double kDecodingSeconds = 0.05;

// The share of the run's highest L1LoadsPerSecond above which a pass counts as undisturbed. A busy
// sibling hyperthread halves the loads.
constexpr double kUndisturbed = 0.85;

// Passes of `rows` rows at `context` cached positions.
struct Point {
  int context, rows;
  Samples passes;
};

struct Outcome {
  MachineLimits limits;
  Samples decoding;  // a sample is the mean of consecutive one-row passes
  std::vector<Point> curve;
  Samples prompts;  // passes of kBenchRows rows with logits of the last row
  // The ranges of HandOver (seconds) and L1LoadsPerSecond between the passes.
  double min_hand_over = 0, max_hand_over = 0, min_loads = 0, max_loads = 0;

  // Returns the ratio of the point's seconds to the seconds per row of the first point at its
  // context (a pass of one row, unless --rows begins with more).
  double Ratio(const Point& point) const {
    const auto first = std::find_if(curve.begin(), curve.end(),
                                    [&](const Point& p) { return p.context == point.context; });
    return Medians(point.passes).seconds / Medians(first->passes).seconds * first->rows;
  }
  // Returns the passes before and after which L1LoadsPerSecond was near the run's maximum, so that
  // presumably no other process used the cores.
  Samples Undisturbed(const Samples& passes) const {
    Samples undisturbed;
    for (const Sample& pass : passes) {
      if (pass.loads > kUndisturbed * max_loads) undisturbed.push_back(pass);
    }
    return undisturbed;
  }
};

// Times passes of every row count at every context, and prompts and autoregressive decoding at the
// first context. Passes of different row counts are interleaved, so that a temporary slowdown
// affects all of them. Each pass is compared with the bandwidth and peak measured just before it,
// because other processes come and go. Measuring these evicts the model from the caches, so
// autoregressive decoding is also timed over consecutive passes.
class Measurement {
 public:
  // `pool` and `bandwidth` must outlive this.
  Measurement(const BenchOptions& options, BenchModel& subject, ThreadPool& pool, DType cache_type,
              ReadBandwidth& bandwidth)
      : options_(options),
        model_(*subject.model),
        cache_type_(cache_type),
        type_(model_.OutputHead().type()),
        pool_(pool),
        bandwidth_(bandwidth),
        peaks_(pool) {}

  Result<Outcome> Run() {
    Outcome outcome;
    FT_ASSIGN_OR_RETURN(outcome.limits, MeasureLimits(pool_, 2));
    loads_.push_back(outcome.limits.l1_loads);
    for (const int context : options_.contexts) {
      TimedPasses sequence(model_, cache_type_, context);
      FT_RETURN_IF_ERROR(sequence.status());
      const double bytes = static_cast<double>(model_.weight_bytes()) + sequence.cache_bytes();
      const size_t first = outcome.curve.size();
      for (const int rows : options_.rows) outcome.curve.push_back({context, rows, {}});
      for (int repeat = -1; repeat < options_.repeats; ++repeat) {
        for (size_t i = first; i < outcome.curve.size(); ++i) {
          Point& point = outcome.curve[i];
          const Sample sample =
              Time(point.rows, point.rows, bytes, [&] { return sequence.Time(point.rows, true); });
          if (repeat >= 0) point.passes.push_back(sample);
        }
        if (repeat < 0 || first != 0) continue;
        outcome.decoding.push_back(
            Time(1, 1, bytes, [&] { return TimeConsecutivePasses(sequence); }));
        if (repeat >= 3) continue;  // a prompt takes long
        outcome.prompts.push_back(
            Time(kBenchRows, 1, bytes, [&] { return sequence.Time(kBenchRows, false); }));
      }
      FT_RETURN_IF_ERROR(sequence.status());
    }
    outcome.limits.read_bytes.back() = Median(bandwidths_);
    std::tie(outcome.min_hand_over, outcome.max_hand_over) = Range(hand_overs_);
    std::tie(outcome.min_loads, outcome.max_loads) = Range(loads_);
    return outcome;
  }

 private:
  static std::pair<double, double> Range(const std::vector<double>& values) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return {*least, *most};
  }

  // Returns the mean seconds of consecutive one-row passes: decoding without pauses.
  static double TimeConsecutivePasses(TimedPasses& sequence) {
    sequence.Time(1, /*all_logits=*/true);
    double seconds = 0;
    int passes = 0;
    for (; passes < 3 || seconds < kDecodingSeconds; ++passes) {
      seconds += sequence.Time(1, /*all_logits=*/true);
    }
    return seconds / passes;
  }

  // Measures a pass of `rows` rows, which reads `bytes` bytes, and the limits around it. pass()
  // returns the pass's seconds.
  template <typename Pass>
  Sample Time(int rows, int logit_rows, double bytes, const Pass& pass) {
    const double bandwidth = bandwidth_.Measure(bandwidth_.threads()), peak = peaks_.Measure(type_);
    bandwidths_.push_back(bandwidth);
    hand_overs_.push_back(HandOver(pool_));
    const double loads_before = loads_.back();
    const double seconds = pass();
    // Measured once between two passes, and right after a pass, not right before one: threads that
    // have just finished or begun to wait sometimes make the next pass much slower.
    loads_.push_back(L1LoadsPerSecond(pool_));
    const double macs = Macs(model_.config(), rows, logit_rows);
    const double limit = std::max(bytes / bandwidth, macs / peak);
    return {seconds,
            limit,
            seconds / limit,
            bytes / seconds / bandwidth,
            macs / seconds / peak,
            std::min(loads_before, loads_.back())};
  }

  const BenchOptions& options_;
  Model& model_;
  DType cache_type_, type_;
  ThreadPool& pool_;
  ReadBandwidth& bandwidth_;
  Peaks peaks_;
  std::vector<double> bandwidths_, hand_overs_, loads_;
};

void PrintPrompt(const Outcome& outcome) {
  const auto print = [](const Sample& pass) {
    std::printf("%.0f tokens/s, %.0f%% of the multiply-add peak", kBenchRows / pass.seconds,
                100 * pass.peak_share);
  };
  std::printf("prompt ");
  print(Medians(outcome.prompts));
  const Samples undisturbed = outcome.Undisturbed(outcome.prompts);
  if (!undisturbed.empty() && undisturbed.size() < outcome.prompts.size()) {
    std::printf("; undisturbed ");
    print(Medians(undisturbed));
  }
  std::printf("\n\n");
}

void Print(const BenchOptions& options, const BenchModel& subject, const Outcome& outcome) {
  const std::string name(DTypeName(subject.model->OutputHead().type()));
  std::printf("%s, head in %s, %s, %d threads\n",
              options.model.empty() ? options.random.c_str() : options.model.c_str(), name.c_str(),
              subject.backend->Name().c_str(), outcome.limits.threads);
  const Sample decoding = Medians(outcome.decoding);
  std::printf("autoregressive decoding %.1f tokens/s, %.0f%% of the %.1f GB/s this machine reads\n",
              1 / decoding.seconds, 100 * decoding.bandwidth_share,
              outcome.limits.bandwidth() * 1e-9);
  if (outcome.curve.front().rows == 1) {
    const Sample cold = Medians(outcome.curve.front().passes);
    std::printf("with caches full of other data %.1f tokens/s, %.0f%%\n", 1 / cold.seconds,
                100 * cold.bandwidth_share);
  }
  if (outcome.limits.threads > 1) {
    std::printf("hand-over to all threads and back %.2f to %.2f us\n", outcome.min_hand_over * 1e6,
                outcome.max_hand_over * 1e6);
  }
  std::printf("L1 loads %.1f to %.1f G words/s; undisturbed: above %.1f before and after a pass\n",
              outcome.min_loads * 1e-9, outcome.max_loads * 1e-9,
              kUndisturbed * outcome.max_loads * 1e-9);
  PrintPrompt(outcome);
  std::printf(
      "                                                   undisturbed passes only\n"
      "context  rows        ms   ratio  times the limit       ms  times the limit  passes\n");
  size_t undisturbed_passes = 0;
  for (const Point& p : outcome.curve) {
    const Sample all = Medians(p.passes);
    std::printf("%7d %5d %9.2f %7.2f %16.2f", p.context, p.rows, all.seconds * 1e3,
                outcome.Ratio(p), all.times_limit);
    const Samples undisturbed = outcome.Undisturbed(p.passes);
    if (!undisturbed.empty()) {
      const Sample medians = Medians(undisturbed);
      std::printf(" %8.2f %16.2f", medians.seconds * 1e3, medians.times_limit);
    } else {
      std::printf(" %8s %16s", "-", "-");
    }
    std::printf("  %zu of %zu\n", undisturbed.size(), p.passes.size());
    undisturbed_passes += undisturbed.size();
  }
  if (undisturbed_passes == 0) {
    std::puts("no pass was undisturbed: other programs used the machine, and ratios may be wrong");
  }
}

Json OutcomeJson(const BenchModel& subject, const Outcome& outcome) {
  Json curve = Json::array();
  for (const Point& p : outcome.curve) {
    const Sample all = Medians(p.passes);
    Json point = {{"context", p.context},       {"rows", p.rows},
                  {"seconds", all.seconds},     {"ratio", outcome.Ratio(p)},
                  {"limit_seconds", all.limit}, {"times_the_limit", all.times_limit}};
    const Samples undisturbed = outcome.Undisturbed(p.passes);
    if (!undisturbed.empty()) {
      const Sample medians = Medians(undisturbed);
      point["undisturbed"] = {{"passes", undisturbed.size()},
                              {"seconds", medians.seconds},
                              {"times_the_limit", medians.times_limit}};
    }
    curve.push_back(std::move(point));
  }
  const Sample decoding = Medians(outcome.decoding), prompt = Medians(outcome.prompts);
  return {{"decode",
           {{"tokens_per_second", 1 / decoding.seconds},
            {"bandwidth_fraction", decoding.bandwidth_share},
            {"prompt_tokens_per_second", kBenchRows / prompt.seconds},
            {"prompt_peak_fraction", prompt.peak_share},
            {"load_seconds", subject.load_seconds},
            {"weight_bytes", subject.model->weight_bytes()},
            {"hand_over_seconds", {outcome.min_hand_over, outcome.max_hand_over}},
            {"first_cache_words_per_second", {outcome.min_loads, outcome.max_loads}}}},
          {"curve", curve},
          {"limits", LimitsJson(outcome.limits)}};
}

std::string CurvePicture(const BenchOptions& options, const BenchModel& subject,
                         const Outcome& outcome) {
  std::vector<Curve> curves;
  for (const int context : options.contexts) {
    Curve curve{.label = "context " + std::to_string(context)};
    for (const Point& p : outcome.curve) {
      if (p.context != context) continue;
      const Sample all = Medians(p.passes);
      curve.points.push_back({p.rows, all.seconds, all.limit});
    }
    curves.push_back(std::move(curve));
  }
  std::string title = options.model.empty() ? options.random : options.model;
  title.append(", ").append(DTypeName(subject.model->OutputHead().type()));
  title.append(", ").append(subject.backend->Name());
  return CurveSvg(title, curves);
}

}  // namespace

Status BenchDecode(const BenchOptions& options) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(options.json));
  FT_ASSIGN_OR_RETURN(OutputFile svg, OutputFile::Open(options.svg));
  FT_ASSIGN_OR_RETURN(const DType type, ParseOneType(options.types));
  FT_ASSIGN_OR_RETURN(const DType cache, ParseDType(options.cache));
  FT_ASSIGN_OR_RETURN(BenchModel subject, LoadBenchModel(options, type));
  FT_ASSIGN_OR_RETURN(const auto pool, ThreadPool::Create(options.threads));
  FT_ASSIGN_OR_RETURN(const auto bandwidth, ReadBandwidth::Create(*pool));
  FT_ASSIGN_OR_RETURN(const Outcome outcome,
                      Measurement(options, subject, *pool, cache, *bandwidth).Run());
  Print(options, subject, outcome);
  FT_RETURN_IF_ERROR(svg.Finish(CurvePicture(options, subject, outcome)));
  return WriteJson(json, OutcomeJson(subject, outcome));
}

}  // namespace foretoken
