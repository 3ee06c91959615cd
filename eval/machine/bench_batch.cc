// Benchmarks requests of mixed lengths, sequentially and batched, with and without drafting. The
// runs of these configurations are interleaved, so that a temporary slowdown of the machine affects
// all of them. With --shared-prefix: benchmarks requests with a common prefix, with and without the
// prefix cache.
#include "eval/machine/bench_batch.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "base/division.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/progress.h"
#include "eval/machine/batch_run.h"
#include "eval/report/write_json.h"
#include "runtime/decoder.h"
#include "text/documents.h"

namespace foretoken {
namespace {

constexpr double kMebibyte = 1 << 20;

// Returns the tokens that prompts are cut from.
Result<std::vector<Token>> ReadPromptText(const BatchOptions& options, const LoadedModel& loaded) {
  constexpr int kTokens = 1 << 16;
  if (options.data.empty()) return MadeUpTokens(loaded.model->config().vocab, kTokens);
  FT_ASSIGN_OR_RETURN(const std::vector<TextDocument> documents, ReadDocuments({options.data}));
  std::vector<Token> text;
  for (const TextDocument& document : documents) {
    for (const DocumentTurn& turn : document.turns) {
      const std::vector<Token> tokens =
          loaded.tokenizer->Encode(turn.text + "\n\n", {.add_bos = false});
      text.insert(text.end(), tokens.begin(), tokens.end());
    }
    if (std::ssize(text) > kTokens) break;
  }
  if (text.empty()) return Error{options.data + ": contains no text"};
  return text;
}

// One configuration and its runs.
struct BatchSetup {
  std::string drafter;
  int slots = 1;
  Generator* generator = nullptr;
  std::vector<BatchRun> runs;

  // Returns the median of figure(run) over the runs.
  template <typename Figure>
  double Median(const Figure& figure) const {
    std::vector<double> values;
    for (const BatchRun& run : runs) values.push_back(figure(run));
    return Percentile(values, 0.5);
  }
};

// The two measurements: prompts of mixed lengths, and prompts with a shared prefix.
class BatchBench {
 public:
  BatchBench(const BatchOptions& options, const LoadedModel& loaded)
      : options_(options), loaded_(loaded) {}

  Status Prepare() {
    FT_ASSIGN_OR_RETURN(text_, ReadPromptText(options_, loaded_));
    longest_ = loaded_.model->config().context - options_.new_tokens - 1;
    if (longest_ < options_.shortest_prompt) {
      return Error{"the model's context is too short for prompts of " +
                   std::to_string(options_.shortest_prompt) + " tokens and answers of " +
                   std::to_string(options_.new_tokens)};
    }
    DraftArgs baseline_args = options_.draft;
    baseline_args.drafter = "none";
    baseline_args.options.clear();
    FT_ASSIGN_OR_RETURN(baseline_,
                        NewDecoder(loaded_, baseline_args, loaded_.model->config().context));
    FT_ASSIGN_OR_RETURN(drafting_,
                        NewDecoder(loaded_, options_.draft, loaded_.model->config().context));
    return {};
  }

  Result<Json> MeasureMixed();
  Result<Json> MeasureShared();

 private:
  SchedulerOptions Options(int slots) const {
    return {.slots = slots,
            .rows = options_.rows,
            .memory = static_cast<size_t>(options_.memory) << 20};
  }
  Result<Json> MeasureSessions(int sessions);
  static Status CheckSameAnswers(const std::vector<BatchSetup>& setups);

  const BatchOptions& options_;
  const LoadedModel& loaded_;
  std::vector<Token> text_;
  int longest_ = 0;  // tokens of the longest prompt that fits into the context
  Decoder baseline_, drafting_;
};

Status BatchBench::CheckSameAnswers(const std::vector<BatchSetup>& setups) {
  for (const BatchSetup& setup : setups) {
    for (const BatchRun& run : setup.runs) {
      if (run.answers == setups[0].runs[0].answers) continue;
      return Error{"answers of " + std::to_string(setup.slots) +
                   " concurrent sequences with drafter " + setup.drafter +
                   " differ from those of one sequence at a time without drafts: this is a bug"};
    }
  }
  return {};
}

Json SetupJson(int sessions, const BatchSetup& setup) {
  const BatchRun& first = setup.runs[0];
  return {
      {"sessions", sessions},
      {"together", setup.slots},
      {"drafter", setup.drafter},
      {"requests", first.answers.size()},
      {"prompt_tokens", first.counters.prompt_tokens},
      {"new_tokens", first.tokens},
      {"tokens_per_second", setup.Median([](const BatchRun& r) { return r.TokensPerSecond(); })},
      {"first_token_seconds_median",
       setup.Median([](const BatchRun& r) { return Percentile(r.first_token, 0.5); })},
      {"first_token_seconds_p95",
       setup.Median([](const BatchRun& r) { return Percentile(r.first_token, 0.95); })},
      {"longest_gap_beside_prompt_seconds",
       setup.Median([](const BatchRun& r) { return r.longest_gap_beside_prompt; })},
      {"longest_gap_seconds", setup.Median([](const BatchRun& r) { return r.longest_gap; })},
      {"tau", setup.Median([](const BatchRun& r) { return r.counters.MeanWritten(); })},
      {"most_running", first.counters.most_running},
      {"set_aside", first.counters.set_aside},
      {"most_bytes", first.counters.most_bytes}};
}

void PrintSetup(int sessions, const BatchSetup& setup, double baseline_speed) {
  const double speed = setup.Median([](const BatchRun& r) { return r.TokensPerSecond(); });
  const Counters& counters = setup.runs[0].counters;
  std::printf("%8d %8d %10.10s %10.1f %8.2f %9.2f %9.2f %9.3f %6.2f %5d %6lld\n", sessions,
              setup.slots, setup.drafter.c_str(), speed, Ratio(speed, baseline_speed),
              setup.Median([](const BatchRun& r) { return Percentile(r.first_token, 0.5); }),
              setup.Median([](const BatchRun& r) { return Percentile(r.first_token, 0.95); }),
              setup.Median([](const BatchRun& r) { return r.longest_gap_beside_prompt; }),
              setup.Median([](const BatchRun& r) { return r.counters.MeanWritten(); }),
              counters.most_running, static_cast<long long>(counters.set_aside));
}

// Prints the ratio of throughput with drafts to that without, at an equal number of slots, and
// returns it for the JSON file. Each repeat ran both, so the ratio is taken repeat by repeat.
Json ReportSpeedup(const BatchSetup& baseline, const BatchSetup& drafting) {
  std::vector<double> ratios;
  for (size_t i = 0; i < baseline.runs.size(); ++i) {
    ratios.push_back(Ratio(drafting.runs[i].TokensPerSecond(), baseline.runs[i].TokensPerSecond()));
  }
  const auto [least, most] = std::ranges::minmax(ratios);
  const double median = Percentile(ratios, 0.5);
  std::printf(
      "%8s %8d %10.10s speed-up over the baseline with as many slots: %.2f (%.2f to %.2f, "
      "%zu repeats)\n",
      "", drafting.slots, drafting.drafter.c_str(), median, least, most, ratios.size());
  return {{"over_none", median},
          {"over_none_least", least},
          {"over_none_most", most},
          {"repeats", ratios.size()}};
}

Result<Json> BatchBench::MeasureSessions(int sessions) {
  const int requests = options_.requests > 0 ? options_.requests : 2 * sessions;
  const BatchWork work{MixedPrompts(text_, requests, options_.shortest_prompt,
                                    std::min(options_.longest_prompt, longest_)),
                       options_.new_tokens};
  std::vector<BatchSetup> setups;
  for (const int slots : {1, sessions}) {
    setups.push_back({"none", slots, baseline_.generator.get(), {}});
    setups.push_back({options_.draft.drafter, slots, drafting_.generator.get(), {}});
    if (sessions == 1) break;
  }
  Progress progress(std::to_string(sessions) + " at once", std::ssize(setups) * options_.repeats);
  for (int repeat = 0; repeat < options_.repeats; ++repeat) {
    for (size_t i = 0; i < setups.size(); ++i) {
      BatchSetup& setup = setups[(i + static_cast<size_t>(repeat)) % setups.size()];
      FT_ASSIGN_OR_RETURN(BatchRun run,
                          RunBatch(loaded_, *setup.generator, work, Options(setup.slots)));
      setup.runs.push_back(std::move(run));
      progress.Update(static_cast<int64_t>(repeat) * std::ssize(setups) + static_cast<int64_t>(i) +
                      1);
    }
  }
  progress.Finish();
  FT_RETURN_IF_ERROR(CheckSameAnswers(setups));
  Json points = Json::array();
  const double baseline_speed =
      setups[0].Median([](const BatchRun& r) { return r.TokensPerSecond(); });
  for (const BatchSetup& setup : setups) {
    PrintSetup(sessions, setup, baseline_speed);
    points.push_back(SetupJson(sessions, setup));
  }
  // Setups come in pairs: without and with drafts.
  for (size_t i = 0; i + 1 < setups.size(); i += 2) {
    points[i + 1].update(ReportSpeedup(setups[i], setups[i + 1]));
  }
  return points;
}

Result<Json> BatchBench::MeasureMixed() {
  std::printf(
      "prompts of %d to %d tokens, answers of %d tokens\n"
      "speed-up: tokens/s over those of one slot with drafter none\n"
      "first med, first p95: time to the first token in seconds, median and 95th percentile\n"
      "gap: longest time in seconds between two deliveries of an answer, if the pass between\n"
      "them also processed a prompt\n"
      "peak: most answers in a pass; aside: number of times that an answer was set aside\n",
      options_.shortest_prompt, std::min(options_.longest_prompt, longest_), options_.new_tokens);
  std::printf("%8s %8s %10s %10s %8s %9s %9s %9s %6s %5s %6s\n", "sessions", "slots", "drafter",
              "tokens/s", "speed-up", "first med", "first p95", "gap", "tau", "peak", "aside");
  Json points = Json::array();
  for (const int sessions : options_.sessions) {
    FT_ASSIGN_OR_RETURN(const Json session_points, MeasureSessions(sessions));
    points.insert(points.end(), session_points.begin(), session_points.end());
  }
  return Json{{"points", std::move(points)}};
}

double MeanOfFirst(const std::vector<double>& values, size_t count) {
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(count);
  return Ratio(std::accumulate(values.begin(), end, 0.0), static_cast<double>(count));
}

Result<Json> BatchBench::MeasureShared() {
  constexpr int kDefaultRequests = 2000;
  const int requests = options_.requests > 0 ? options_.requests : kDefaultRequests;
  const int slots = options_.sessions.back();
  if (options_.shared_prefix + kMaxOwnTokens > longest_) {
    return Error{"--shared-prefix: found " + std::to_string(options_.shared_prefix) +
                 ", expected at most " + std::to_string(std::max(0, longest_ - kMaxOwnTokens)) +
                 ": the context must also hold up to " + std::to_string(kMaxOwnTokens) +
                 " other prompt tokens and the answer"};
  }
  BatchWork work{SharedPrompts(text_, requests, options_.shared_prefix), options_.new_tokens};
  Generator& generator = *drafting_.generator;
  FT_ASSIGN_OR_RETURN(const BatchRun cached, RunBatch(loaded_, generator, work, Options(slots)));
  const size_t sample = std::min(work.prompts.size(), static_cast<size_t>(options_.sample));
  work.prompts.resize(sample);
  SchedulerOptions uncached_options = Options(slots);
  uncached_options.keeps_texts = false;
  FT_ASSIGN_OR_RETURN(const BatchRun uncached,
                      RunBatch(loaded_, generator, work, uncached_options));
  for (size_t i = 0; i < sample; ++i) {
    if (cached.answers[i] == uncached.answers[i]) continue;
    return Error{"answer " + std::to_string(i) + " differs if its prompt is cached: this is a bug"};
  }
  const Counters& c = cached.counters;
  const double tau = MeanOfFirst(cached.written_a_cycle, cached.written_a_cycle.size());
  const double tau_sample = MeanOfFirst(cached.written_a_cycle, sample);
  const double tau_uncached = MeanOfFirst(uncached.written_a_cycle, sample);
  std::printf("%d requests that share %d tokens, slots %d, drafter %s\n", requests,
              options_.shared_prefix, slots, options_.draft.drafter.c_str());
  std::printf("prompt tokens          %lld\n", static_cast<long long>(c.prompt_tokens));
  std::printf("of which cached        %lld\n", static_cast<long long>(c.cached_tokens));
  std::printf("prompt rows computed   %lld\n", static_cast<long long>(c.prompt_rows));
  std::printf("tau, prefix cache on   %.3f; first %zu requests: %.3f, cache off: %.3f\n", tau,
              sample, tau_sample, tau_uncached);
  std::printf("memory                 %.0f MiB at most, of %.0f\n",
              static_cast<double>(c.most_bytes) / kMebibyte,
              static_cast<double>(c.budget_bytes) / kMebibyte);
  std::printf("concurrent sequences   %d at most; set aside %lld times\n", c.most_running,
              static_cast<long long>(c.set_aside));
  std::printf("tokens a second        %.1f\n", cached.TokensPerSecond());
  return Json{{"shared",
               {{"requests", requests},
                {"shared_prefix", options_.shared_prefix},
                {"together", slots},
                {"drafter", options_.draft.drafter},
                {"prompt_tokens", c.prompt_tokens},
                {"cached_tokens", c.cached_tokens},
                {"prompt_rows", c.prompt_rows},
                {"most_running", c.most_running},
                {"set_aside", c.set_aside},
                {"tau", tau},
                {"sample", sample},
                {"tau_sample", tau_sample},
                {"tau_sample_without_hits", tau_uncached},
                {"most_bytes", c.most_bytes},
                {"budget_bytes", c.budget_bytes},
                {"first_token_seconds_median", Percentile(cached.first_token, 0.5)},
                {"tokens_per_second", cached.TokensPerSecond()}}}};
}

}  // namespace

void AddBatchArgs(CLI::App& app, BatchOptions* options) {
  AddModelArgs(app, &options->model);
  app.get_option("--model")->required();
  AddDraftArgs(app, &options->draft);
  app.add_option("--sessions", options->sessions,
                 "numbers of concurrent sequences, e.g. 1,4,8,16,32; --shared-prefix uses the last")
      ->delimiter(',')
      ->check(CLI::Range(1, 512));
  app.add_option("--requests", options->requests,
                 "answers per measurement (default: two per session; 2000 with --shared-prefix)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("-n,--new-tokens", options->new_tokens, "tokens per answer")
      ->capture_default_str()
      ->check(CLI::Range(2, 1 << 20));
  app.add_option("--shortest", options->shortest_prompt, "length of the shortest prompt in tokens")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--longest", options->longest_prompt, "length of the longest prompt in tokens")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--data", options->data,
                 "text that prompts are cut from: a file, a folder or a glob (default: generated)")
      ->type_name("PATH");
  app.add_option("--rows", options->rows, "maximum rows per pass (0: the model's limit)")
      ->capture_default_str()
      ->check(CLI::Range(0, 512));
  app.add_option("--memory", options->memory, "memory for caches, in MiB")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--repeats", options->repeats,
                 "repetitions of each measurement; medians are shown")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option(
         "--shared-prefix", options->shared_prefix,
         "length in tokens of a prefix shared by all prompts; measures the prefix cache instead of "
         "mixed lengths")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--sample", options->sample,
                 "with --shared-prefix: number of requests repeated without the prefix cache")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--json", options->json, "also write the figures to this file")
      ->check(WritableFile());
}

Status BenchBatch(const BatchOptions& options) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(options.json));
  if (options.longest_prompt < options.shortest_prompt) {
    return Error{"--longest: found " + std::to_string(options.longest_prompt) +
                 ", expected at least " + std::to_string(options.shortest_prompt) +
                 " (--shortest)"};
  }
  // A measurement of N sessions needs at least N requests; otherwise N sessions never run at the
  // same time.
  const int most_sessions = options.shared_prefix > 0 ? options.sessions.back()
                                                      : *std::ranges::max_element(options.sessions);
  if (options.requests > 0 && options.requests < most_sessions) {
    return Error{"--requests: found " + std::to_string(options.requests) + ", expected at least " +
                 std::to_string(most_sessions) + " (--sessions)"};
  }
  FT_RETURN_IF_ERROR(CheckDraftNames(options.draft));
  FT_ASSIGN_OR_RETURN(const LoadedModel loaded, Load(options.model));
  BatchBench bench(options, loaded);
  FT_RETURN_IF_ERROR(bench.Prepare());
  std::printf("%s, %s, %d threads\n", options.model.path.c_str(), loaded.backend->Name().c_str(),
              loaded.backend->threads());
  const InterruptGuard guard;
  FT_ASSIGN_OR_RETURN(Json figures,
                      options.shared_prefix > 0 ? bench.MeasureShared() : bench.MeasureMixed());
  figures["model"] = options.model.path;
  figures["backend"] = loaded.backend->Name();
  figures["threads"] = loaded.backend->threads();
  return WriteJson(json, figures);
}

}  // namespace foretoken
