// foretoken bench decode: plain decoding and the cost of scoring more rows, against the machine's
// limits measured in between.
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

// Weights multiplied with in a pass of one row.
double MacsPerRow(const ModelConfig& c) {
  const double attention = 2.0 * c.hidden * (c.heads + c.kv_heads) * c.head_dim;
  return c.layers * (attention + 3.0 * c.hidden * c.ffn) + static_cast<double>(c.vocab) * c.hidden;
}

struct Point {
  int context, rows;
  double seconds, ratio, bytes, limit;
};

struct Outcome {
  MachineLimits limits;
  std::vector<Point> curve;
  double prompt_rate = 0;  // tokens a second

  const Point& plain() const { return curve.front(); }
  double PlainFraction() const { return plain().bytes / plain().seconds / limits.bandwidth(); }
};

// Every figure is a median over passes that take turns, so that a slow second of the machine falls
// on all of them, the bandwidth included.
Outcome Measure(const BenchOptions& options, BenchModel& subject, DType cache_type) {
  Model& model = *subject.model;
  const double weight_bytes = static_cast<double>(model.weight_bytes());
  Outcome outcome{.limits = MeasureLimits(options.threads, 2)};
  ReadBandwidth bandwidth(options.threads);
  std::vector<double> reads, prompts;
  for (int context : options.contexts) {
    TimedPasses sequence(model, cache_type, context);
    std::vector<std::vector<double>> seconds(options.rows.size());
    for (int turn = -1; turn < options.repeats; ++turn) {
      for (size_t i = 0; i < options.rows.size(); ++i) {
        const double time = sequence.Time(options.rows[i], /*all_logits=*/true);
        if (turn >= 0) seconds[i].push_back(time);
      }
      reads.push_back(bandwidth.Measure(bandwidth.threads()));
      if (turn >= 0 && turn < 3 && context == options.contexts.front()) {
        prompts.push_back(sequence.Time(kBenchRows, /*all_logits=*/false));
      }
    }
    double one = 0;
    for (size_t i = 0; i < options.rows.size(); ++i) {
      Point p{.context = context, .rows = options.rows[i], .seconds = Median(seconds[i])};
      if (i == 0) one = p.seconds / options.rows[0];
      p.ratio = p.seconds / one;
      p.bytes = weight_bytes + sequence.cache_bytes();
      outcome.curve.push_back(p);
    }
  }
  outcome.limits.read_bytes.back() = Median(reads);
  outcome.prompt_rate = kBenchRows / Median(prompts);
  const double peak = outcome.limits.Peak(model.OutputHead().type());
  for (Point& p : outcome.curve) {
    p.limit =
        std::max(p.bytes / outcome.limits.bandwidth(), p.rows * MacsPerRow(model.config()) / peak);
  }
  return outcome;
}

void Print(const BenchOptions& options, const BenchModel& subject, const Outcome& outcome) {
  const std::string name(DTypeName(subject.model->OutputHead().type()));
  std::printf("%s, head in %s, %s, %d threads\n",
              options.model.empty() ? options.random.c_str() : options.model.c_str(), name.c_str(),
              subject.backend->Name().c_str(), outcome.limits.threads);
  std::printf("plain decoding %.1f tokens/s, %.0f%% of the %.1f GB/s this machine reads\n",
              1 / outcome.plain().seconds, 100 * outcome.PlainFraction(),
              outcome.limits.bandwidth() * 1e-9);
  std::printf("prompt %.0f tokens/s\n\ncontext  rows        ms   ratio  times the limit\n",
              outcome.prompt_rate);
  for (const Point& p : outcome.curve) {
    std::printf("%7d %5d %9.2f %7.2f %8.2f\n", p.context, p.rows, p.seconds * 1e3, p.ratio,
                p.seconds / p.limit);
  }
}

Json OutcomeJson(const BenchModel& subject, const Outcome& outcome) {
  Json curve = Json::array();
  for (const Point& p : outcome.curve) {
    curve.push_back({{"context", p.context},
                     {"rows", p.rows},
                     {"seconds", p.seconds},
                     {"ratio", p.ratio},
                     {"limit_seconds", p.limit}});
  }
  return {{"decode",
           {{"tokens_per_second", 1 / outcome.plain().seconds},
            {"bandwidth_fraction", outcome.PlainFraction()},
            {"prompt_tokens_per_second", outcome.prompt_rate},
            {"load_seconds", subject.load_seconds},
            {"weight_bytes", subject.model->weight_bytes()}}},
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
  const Outcome outcome = Measure(options, subject, cache);
  Print(options, subject, outcome);
  FT_RETURN_IF_ERROR(WritePlot(options, subject, outcome));
  return WriteJson(options.json, OutcomeJson(subject, outcome));
}

}  // namespace foretoken
