// foretoken bench project: the expected speed-up of speculation on a model whose weights are not
// available, from costs measured on random weights of its shape and a given acceptance length.
#include <cstdio>

#include "eval/machine/bench.h"
#include "eval/machine/bench_model.h"
#include "eval/machine/timed_passes.h"
#include "eval/report/write_json.h"

namespace foretoken {
namespace {

// Median seconds of a one-row pass, a verification pass and a draft level.
struct Costs {
  double one_row = 0, verify = 0, level = 0;
};

// Times the three kinds of pass, interleaved, so that a temporary slowdown of the machine affects
// all of them.
Result<Costs> Measure(const ProjectOptions& options, Model& target, Model& draft) {
  const DType cache = DType::kF16;
  const int context = options.bench.contexts.front();
  TimedPasses target_passes(target, cache, context), draft_passes(draft, cache, context);
  std::vector<double> one_row, verify, level;
  for (int repeat = -1; repeat < options.bench.repeats; ++repeat) {
    const double times[] = {target_passes.Time(1, true),
                            target_passes.Time(options.bench.nodes, true),
                            draft_passes.Time(options.level_rows, true)};
    FT_RETURN_IF_ERROR(target_passes.status());
    FT_RETURN_IF_ERROR(draft_passes.status());
    if (repeat < 0) continue;  // warms up
    one_row.push_back(times[0]);
    verify.push_back(times[1]);
    level.push_back(times[2]);
  }
  return Costs{Median(one_row), Median(verify), Median(level)};
}

struct Projection {
  double cycle_seconds = 0, tokens_per_second = 0, speedup = 0;
  double break_even_tau = 0;  // the tau at which the speed-up is 1
};

// M-2: a cycle drafts, then verifies, and emits tau tokens.
Projection Project(const ProjectOptions& options, const Costs& costs) {
  Projection p{.cycle_seconds = costs.verify + options.levels * costs.level};
  p.tokens_per_second = options.tau / p.cycle_seconds;
  p.speedup = p.tokens_per_second * costs.one_row;
  p.break_even_tau = p.cycle_seconds / costs.one_row;
  return p;
}

void Print(const ProjectOptions& options, const Costs& costs, const Projection& p,
           const std::string& backend) {
  const BenchOptions& b = options.bench;
  std::printf("%s of random weights in %s, %s, %d committed positions (medians of %d)\n",
              b.random.c_str(), b.types.c_str(), backend.c_str(), b.contexts.front(), b.repeats);
  std::printf("  a one-row pass          %9.2f ms\n", costs.one_row * 1e3);
  std::printf("  a pass over %4d nodes   %9.2f ms  %.2fx\n", b.nodes, costs.verify * 1e3,
              costs.verify / costs.one_row);
  std::printf("  a level of drafting     %9.2f ms  %.3fx (%s, %d rows)\n", costs.level * 1e3,
              costs.level / costs.one_row,
              options.draft.empty() ? "one layer and the head" : options.draft.c_str(),
              options.level_rows);
  std::printf(
      "projection, nothing was decoded: %d levels and a pass take %.2f ms; at tau %.2f\n"
      "that is %.2f tokens/s, %.2fx the baseline. The speed-up exceeds 1 above tau %.2f.\n",
      options.levels, p.cycle_seconds * 1e3, options.tau, p.tokens_per_second, p.speedup,
      p.break_even_tau);
}

// Makes the draft: a model of the shape options.draft, or one layer of the target's shape, like the
// drafts of EAGLE and HASS.
Result<std::unique_ptr<Model>> NewDraft(const ProjectOptions& options, const Model& target,
                                        DType type, Backend& backend) {
  ModelConfig shape = target.config();
  shape.layers = 1;
  if (!options.draft.empty()) {
    FT_ASSIGN_OR_RETURN(shape, ShapeByName(options.draft));
  }
  return NewRandomModel(shape, type, /*seed=*/2, backend, {.max_rows = kBenchRows});
}

}  // namespace

Status BenchProject(const ProjectOptions& options) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(options.bench.json));
  FT_ASSIGN_OR_RETURN(const DType type, ParseOneType(options.bench.types));
  if (options.tau > options.bench.nodes) {  // at most N - 1 accepted nodes and the bonus
    const std::string nodes = std::to_string(options.bench.nodes);
    return Error{"--tau: a cycle with a tree of " + nodes +
                 " nodes, including the root, emits at most " + nodes + " tokens"};
  }
  FT_ASSIGN_OR_RETURN(const BenchModel subject, LoadBenchModel(options.bench, type));
  FT_ASSIGN_OR_RETURN(const auto draft, NewDraft(options, *subject.model, type, *subject.backend));
  FT_ASSIGN_OR_RETURN(const Costs costs, Measure(options, *subject.model, *draft));
  const Projection p = Project(options, costs);
  Print(options, costs, p, subject.backend->Name());
  return WriteJson(json, {{"projection", true},
                          {"shape", options.bench.random},
                          {"type", options.bench.types},
                          {"context", options.bench.contexts.front()},
                          {"nodes", options.bench.nodes},
                          {"levels", options.levels},
                          {"tau", options.tau},
                          {"plain_seconds", costs.one_row},
                          {"verify_seconds", costs.verify},
                          {"level_seconds", costs.level},
                          {"cycle_seconds", p.cycle_seconds},
                          {"tokens_per_second", p.tokens_per_second},
                          {"speedup", p.speedup},
                          {"tau_even", p.break_even_tau}});
}

}  // namespace foretoken
