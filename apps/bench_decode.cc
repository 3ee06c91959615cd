// foretoken bench decode: plain decoding and the cost of scoring more rows, against the machine's
// limits measured in between.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/mapped_file.h"
#include "bench.h"
#include "bench_model.h"
#include "curve_plot.h"
#include "timed_passes.h"

namespace foretoken {
namespace {

// Multiplications with weights in a pass of `rows` rows, for `logit_rows` of which there are
// logits.
double Macs(const ModelConfig& c, int rows, int logit_rows) {
  const double attention = 2.0 * c.hidden * (c.heads + c.kv_heads) * c.head_dim;
  return rows * c.layers * (attention + 3.0 * c.hidden * c.ffn) +
         static_cast<double>(logit_rows) * c.vocab * c.hidden;
}

// Medians over the passes.
struct Point {
  int context, rows;
  double seconds, ratio;
  double limit;  // seconds
  double times;  // the limit
  double reads;  // of the bandwidth
};

struct Outcome {
  MachineLimits limits;
  std::vector<Point> curve;
  double prompt_rate = 0;                       // tokens a second
  double prompt_peak = 0;                       // of the multiply-add peak
  double fewest_meeting = 0, most_meeting = 0;  // seconds of a hand-over, in between the passes

  const Point& plain() const { return curve.front(); }
};

// Passes take turns, so that a slow second of the machine falls on all of them; and each is
// compared with the bandwidth and the peak of the moment before it, as neighbours on a machine come
// and go.
class Measurement {
 public:
  Measurement(const BenchOptions& options, BenchModel& subject, DType cache_type)
      : options_(options),
        model_(*subject.model),
        cache_type_(cache_type),
        type_(model_.OutputHead().type()),
        bandwidth_(options.threads),
        peaks_(options.threads) {}

  Outcome Run() {
    Outcome outcome{.limits = MeasureLimits(options_.threads, 2)};
    for (const int context : options_.contexts) {
      TimedPasses sequence(model_, cache_type_, context);
      const double bytes = static_cast<double>(model_.weight_bytes()) + sequence.cache_bytes();
      std::vector<Samples> rows(options_.rows.size());
      for (int turn = -1; turn < options_.repeats; ++turn) {
        for (size_t i = 0; i < rows.size(); ++i) {
          const Sample sample = Time(sequence, options_.rows[i], /*all_logits=*/true, bytes);
          if (turn >= 0) rows[i].push_back(sample);
        }
        if (turn >= 0 && turn < 3 && context == options_.contexts.front()) {
          prompts_.push_back(Time(sequence, kBenchRows, /*all_logits=*/false, bytes));
        }
      }
      const double one = Middle(rows[0], &Sample::seconds) / options_.rows[0];
      for (size_t i = 0; i < rows.size(); ++i) {
        const double seconds = Middle(rows[i], &Sample::seconds);
        outcome.curve.push_back({.context = context,
                                 .rows = options_.rows[i],
                                 .seconds = seconds,
                                 .ratio = seconds / one,
                                 .limit = Middle(rows[i], &Sample::limit),
                                 .times = Middle(rows[i], &Sample::times),
                                 .reads = Middle(rows[i], &Sample::reads)});
      }
    }
    outcome.limits.read_bytes.back() = Median(reads_);
    outcome.prompt_rate = kBenchRows / Middle(prompts_, &Sample::seconds);
    outcome.prompt_peak = Middle(prompts_, &Sample::peak);
    const auto [fewest, most] = std::minmax_element(meetings_.begin(), meetings_.end());
    outcome.fewest_meeting = *fewest;
    outcome.most_meeting = *most;
    return outcome;
  }

 private:
  struct Sample {
    double seconds, limit, times, reads, peak;
  };
  using Samples = std::vector<Sample>;

  static double Middle(const Samples& samples, double Sample::*figure) {
    std::vector<double> values;
    for (const Sample& sample : samples) values.push_back(sample.*figure);
    return Median(std::move(values));
  }

  Sample Time(TimedPasses& sequence, int rows, bool all_logits, double bytes) {
    const double read = bandwidth_.Measure(bandwidth_.threads()), peak = peaks_.Measure(type_);
    reads_.push_back(read);
    meetings_.push_back(HandOver(options_.threads));
    const double seconds = sequence.Time(rows, all_logits);
    const double macs = Macs(model_.config(), rows, all_logits ? rows : 1);
    const double limit = std::max(bytes / read, macs / peak);
    return {seconds, limit, seconds / limit, bytes / seconds / read, macs / seconds / peak};
  }

  const BenchOptions& options_;
  Model& model_;
  DType cache_type_, type_;
  ReadBandwidth bandwidth_;
  Peaks peaks_;
  std::vector<double> reads_, meetings_;
  Samples prompts_;
};

void Print(const BenchOptions& options, const BenchModel& subject, const Outcome& outcome) {
  const std::string name(DTypeName(subject.model->OutputHead().type()));
  std::printf("%s, head in %s, %s, %d threads\n",
              options.model.empty() ? options.random.c_str() : options.model.c_str(), name.c_str(),
              subject.backend->Name().c_str(), outcome.limits.threads);
  std::printf("plain decoding %.1f tokens/s, %.0f%% of the %.1f GB/s this machine reads\n",
              1 / outcome.plain().seconds, 100 * outcome.plain().reads,
              outcome.limits.bandwidth() * 1e-9);
  if (outcome.limits.threads > 1) {
    std::printf("threads met in %.2f to %.2f us\n", outcome.fewest_meeting * 1e6,
                outcome.most_meeting * 1e6);
  }
  std::printf("prompt %.0f tokens/s, %.0f%% of the multiply-add peak\n\n", outcome.prompt_rate,
              100 * outcome.prompt_peak);
  std::printf("context  rows        ms   ratio  times the limit\n");
  for (const Point& p : outcome.curve) {
    std::printf("%7d %5d %9.2f %7.2f %8.2f\n", p.context, p.rows, p.seconds * 1e3, p.ratio,
                p.times);
  }
}

Json OutcomeJson(const BenchModel& subject, const Outcome& outcome) {
  Json curve = Json::array();
  for (const Point& p : outcome.curve) {
    curve.push_back({{"context", p.context},
                     {"rows", p.rows},
                     {"seconds", p.seconds},
                     {"ratio", p.ratio},
                     {"limit_seconds", p.limit},
                     {"times_the_limit", p.times}});
  }
  return {{"decode",
           {{"tokens_per_second", 1 / outcome.plain().seconds},
            {"bandwidth_fraction", outcome.plain().reads},
            {"prompt_tokens_per_second", outcome.prompt_rate},
            {"prompt_peak_fraction", outcome.prompt_peak},
            {"load_seconds", subject.load_seconds},
            {"weight_bytes", subject.model->weight_bytes()},
            {"hand_over_seconds", {outcome.fewest_meeting, outcome.most_meeting}}}},
          {"curve", curve},
          {"limits", LimitsJson(outcome.limits)}};
}

Status WritePlot(const BenchOptions& options, const BenchModel& subject, const Outcome& outcome) {
  if (options.svg.empty()) return {};
  std::vector<Curve> curves;
  for (const int context : options.contexts) {
    Curve curve{.label = "context " + std::to_string(context)};
    for (const Point& p : outcome.curve) {
      if (p.context == context) curve.points.push_back({p.rows, p.seconds, p.limit});
    }
    curves.push_back(std::move(curve));
  }
  std::string title = options.model.empty() ? options.random : options.model;
  title.append(", ").append(DTypeName(subject.model->OutputHead().type()));
  title.append(", ").append(subject.backend->Name());
  return WriteFileAtomically(options.svg, CurveSvg(title, curves));
}

}  // namespace

Status BenchDecode(const BenchOptions& options) {
  FT_ASSIGN_OR_RETURN(const std::vector<DType> types, ParseTypes(options.types));
  if (types.size() != 1) return Error{"bench decode measures one --type at a time"};
  FT_ASSIGN_OR_RETURN(const DType cache, ParseDType(options.cache));
  FT_ASSIGN_OR_RETURN(BenchModel subject, LoadBenchModel(options, types[0]));
  const Outcome outcome = Measurement(options, subject, cache).Run();
  Print(options, subject, outcome);
  FT_RETURN_IF_ERROR(WritePlot(options, subject, outcome));
  return WriteJson(options.json, OutcomeJson(subject, outcome));
}

}  // namespace foretoken
