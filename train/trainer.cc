#include "trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/division.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "batch.h"
#include "budget.h"
#include "checkpoint.h"
#include "device.h"
#include "draft_accuracy.h"
#include "event_log.h"
#include "find_run.h"
#include "forecast.h"
#include "optimizer.h"
#include "packing.h"
#include "recipe_fields.h"
#include "run_files.h"
#include "schedule.h"
#include "weight_average.h"
#include "workers.h"

namespace foretoken::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kProgressUnits = 100000;
constexpr int64_t kStepsAhead = 64;  // whose documents the target may read before
// A step much longer than usual includes a pause (a stopped process, a suspended machine); time
// beyond the larger of these limits does not count as training time. With a feature cache, usual
// steps are short, and those that run the target are not.
constexpr double kLongestStep = 3.0;   // as a multiple of Trainer::usual_step_
constexpr double kLongestWork = 60.0;  // maximum seconds of any step, and of an evaluation
constexpr double kUsualDecay = 0.9;    // decay of the moving average usual_step_, per step
// Length of the trial before the forecast of a run without a budget: on a CPU this many tokens, but
// at least kForecastSteps; on a GPU this many steps, because the first takes seconds, which would
// distort the average of only a few.
constexpr int64_t kForecastTokens = 10'000, kForecastSteps = 5, kForecastStepsGpu = 100;

// The progress line shows means over about 1 / (1 - kShownDecay) steps; a small step's loss and
// pace vary too much to be read.
constexpr double kShownDecay = 0.95;

// A mean in which older values count less.
class RecentMean {
 public:
  void Add(double value) {
    sum_ = kShownDecay * sum_ + value;
    weight_ = kShownDecay * weight_ + 1.0;
  }
  double value() const { return Ratio(sum_, weight_); }

 private:
  double sum_ = 0.0, weight_ = 0.0;
};

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double SteadySeconds() { return Since(Clock::time_point()); }

// Returns a draft's held-out acceptance rates, one for each draft step; empty for other models.
std::vector<double> AlphasOf(const Metrics& evaluated) {
  std::vector<double> alphas;
  for (const auto& [name, value] : evaluated) {
    if (name.starts_with(kForcedAlpha)) alphas.push_back(value);
  }
  return alphas;
}

class Trainer {
 public:
  // `started`: the time at which the command started, in seconds of options.clock.
  Trainer(const TrainOptions& options, const Method& method, Prepared prepared,
          torch::Device device, Workers& workers, double started)
      : options_(options),
        method_(method),
        started_(started),
        recipe_(std::move(prepared.recipe)),
        corpus_(std::move(prepared.corpus)),
        task_(std::move(prepared.task)),
        target_reading_(std::move(prepared.reading)),
        device_(device),
        workers_(workers),
        packer_(corpus_, Weights(recipe_), recipe_.length, recipe_.seed, recipe_.target_length),
        optimizer_(
            task_->weights().parameters(),
            {recipe_.beta1, recipe_.beta2, 1e-8, recipe_.weight_decay, recipe_.clip,
             recipe_.clip_value, recipe_.optimizer == "muon", recipe_.vocab, ComputeType(recipe_)}),
        average_(task_->weights().parameters(), recipe_.ema) {}

  Status Run();

 private:
  struct StepResult {
    Metrics metrics;                    // "loss" first
    double norm;                        // gradient norm of the last update
    double lr, tokens, flops, seconds;  // tokens: loss terms (Task::CountLossTerms)
  };

  static std::vector<double> Weights(const Recipe& r) {
    std::vector<double> weights;
    for (const DataSource& s : r.data) weights.push_back(s.weight);
    return weights;
  }

  Status Resume();
  void TellResumed() const;
  Status LoadInitialWeights();
  Result<bool> ShouldContinue();
  std::vector<Batch> NextBatches();
  Result<std::vector<Batch>> NextStep(StepResult& r);
  void AddComingTo(Batch& batch);
  std::vector<Batch> HeldOutBatches() const;
  Metrics Evaluate(const std::vector<Batch>& batches);
  Result<StepResult> Step();
  Status Update(const std::vector<Batch>& batches, int64_t update, StepResult& r);
  Status SumOverWorkers(StepResult& r);
  void CountTime(double seconds);
  double Waited() const { return target_reading_ ? target_reading_().waited : 0.0; }
  ReadingLeft Reading() const;
  double Now() const { return options_.clock(); }
  double CurrentProgress() const { return ProgressOf(recipe_, state_); }
  bool Plan(int64_t steps);
  int64_t ProgressUnits() const;
  Status Log(const StepResult& r);
  void Show(const StepResult& r, double peak, Progress& progress);
  Status Save(const CheckpointInfo& info);
  Status SavePending(const StepResult& r);
  Status SaveLast();
  void TellEnd() const;
  Error NothingToLearn() const;
  bool CheckpointDue() const;
  CheckpointInfo Info() const { return {recipe_, state_, options_.begun}; }
  Error NotFinite(int64_t step, const std::string& what, double found) const;

  const TrainOptions& options_;
  const Method& method_;
  const double started_;
  Recipe recipe_;
  const Corpus corpus_;
  const std::unique_ptr<Task> task_;
  const std::function<TargetReading()> target_reading_;
  torch::Device device_;
  Workers& workers_;
  Packer packer_;
  Optimizer optimizer_;
  WeightAverage average_;
  RunState state_;
  bool has_read_ = false;        // whether SetThreads was told that an epoch is over
  int64_t coming_until_ = 0;     // sequences before it were added to a batch as coming ones
  int64_t saved_step_ = -1;      // step of the checkpoint; below 0: none
  int64_t evaluated_step_ = -1;  // last step whose live weights had a finite held-out loss
  std::optional<CheckpointInfo> pending_;  // to be saved if the next step's results are finite
  EventLog log_;
  std::string summary_;      // Task::Summary of the last evaluation
  double usual_step_ = 0.0;  // moving average of a step's seconds
  RecentMean shown_loss_, shown_tokens_, shown_seconds_;
  Clock::time_point saved_ = Clock::now();
};

Status Trainer::Resume() {
  if (options_.kept.tokenizer) {
    FT_ASSIGN_OR_RETURN(const CheckpointInfo info, ReadCheckpointInfo(options_.out));
    state_ = ResumedState(recipe_, info);
    FT_RETURN_IF_ERROR(CheckTrainsOn(options_, recipe_, state_));
    FT_RETURN_IF_ERROR(LoadCheckpoint(options_.out, task_->weights(), optimizer_, average_));
    saved_step_ = state_.step;
    if (!options_.quiet) TellResumed();
  } else if (!recipe_.init.empty()) {
    FT_RETURN_IF_ERROR(LoadInitialWeights());
  }
  if (!workers_.leads()) return {};
  return log_.Open(options_.out, state_.step);
}

void Trainer::TellResumed() const {
  const auto step = static_cast<long>(state_.step);
  if (CurrentProgress() < 1.0) {
    std::fprintf(stderr, "continuing after step %ld\n", step);
    return;
  }
  const char* field = LengthField(recipe_, state_);
  std::fprintf(stderr,
               "finished before, after %ld steps; --change %s with a larger %s trains further\n",
               step, field, Flag(field).c_str());
}

Status Trainer::LoadInitialWeights() {
  FT_ASSIGN_OR_RETURN(const std::vector<std::string> left_out,
                      LoadWeights(recipe_.init, method_.name_in_draft, task_->weights()));
  average_.Restart();
  if (options_.quiet) return {};
  for (const std::string& bias : left_out) {
    std::fprintf(stderr, "%s: its %s is left out, because the model to train has none\n",
                 recipe_.init.c_str(), bias.c_str());
  }
  return {};
}

// Returns whether training continues. All workers receive the leader's training time, interrupt and
// plan, so that they stop at the same step.
Result<bool> Trainer::ShouldContinue() {
  BudgetPlan& plan = state_.plan;
  std::vector<double> shared = {state_.seconds, InterruptGuard::Requested() ? 1.0 : 0.0,
                                static_cast<double>(plan.from), static_cast<double>(plan.end),
                                plan.progress};
  FT_RETURN_IF_ERROR(workers_.BroadcastFromLeader(shared));
  state_.seconds = shared[0];
  plan.from = static_cast<int64_t>(shared[2]);
  plan.end = static_cast<int64_t>(shared[3]);
  plan.progress = shared[4];
  return shared[1] == 0.0 && CurrentProgress() < 1.0;
}

// Returns this worker's batches of the next step.
std::vector<Batch> Trainer::NextBatches() {
  std::vector<Batch> batches;
  for (int64_t i = 0; i < recipe_.accumulate; ++i) {
    const int64_t first = state_.sequences;
    state_.sequences += recipe_.batch;
    if (i % workers_.count() != workers_.rank()) continue;
    const auto number = static_cast<uint64_t>(first);
    std::vector<Sequence> sequences;
    for (int64_t s = 0; s < recipe_.batch; ++s) sequences.push_back(packer_.At(first + s));
    batches.push_back(MakeBatch(corpus_, sequences, recipe_.length, number, device_));
  }
  if (recipe_.target_length > 0 && !batches.empty()) AddComingTo(batches.back());
  return batches;
}

// Adds those sequences of this worker's next steps that are not among the ones added before.
void Trainer::AddComingTo(Batch& batch) {
  const int64_t ahead = kStepsAhead * recipe_.batch * recipe_.accumulate;
  coming_until_ = std::max(coming_until_, state_.sequences);
  for (const Sequence& sequence :
       packer_.Coming(coming_until_, state_.sequences + ahead - coming_until_)) {
    const int64_t of_step = coming_until_++ / recipe_.batch % recipe_.accumulate;
    if (of_step % workers_.count() == workers_.rank()) AddComing(corpus_, sequence, batch);
  }
}

// Returns the batches of the first recipe_.eval_sequences held-out sequences, or of fewer if a
// budget's plan limits them.
std::vector<Batch> Trainer::HeldOutBatches() const {
  std::vector<Sequence> all = packer_.HeldOut();
  int64_t wanted = std::max<int64_t>(recipe_.eval_sequences, 0);
  if (state_.plan.eval_batches > 0) {
    wanted = std::min(wanted, state_.plan.eval_batches * recipe_.batch);
  }
  const auto most = static_cast<size_t>(wanted);
  if (all.size() > most) all.resize(most);
  std::vector<Batch> batches;
  const auto size = static_cast<size_t>(recipe_.batch);
  for (size_t first = 0; first < all.size(); first += size) {
    const auto part = std::span(all).subspan(first, std::min(size, all.size() - first));
    batches.push_back(MakeBatch(corpus_, part, recipe_.length, first, device_));
  }
  return batches;
}

// Returns this worker's batches of the next step whose loss has terms in any worker; steps without
// terms are skipped. Sets r.tokens.
Result<std::vector<Batch>> Trainer::NextStep(StepResult& r) {
  const int64_t begin = state_.sequences;
  for (;;) {
    std::vector<Batch> batches = NextBatches();
    std::vector<double> loss_terms(1);
    for (const Batch& batch : batches) loss_terms[0] += task_->CountLossTerms(batch);
    FT_RETURN_IF_ERROR(workers_.Sum(loss_terms));
    r.tokens = loss_terms[0];
    if (r.tokens > 0.0) return batches;
    if (state_.sequences - begin > 2 * packer_.sequences_in_epoch()) return NothingToLearn();
  }
}

// Returns the error of data that have no token from which the method learns.
Error Trainer::NothingToLearn() const {
  std::string data;
  for (const DataSource& source : recipe_.data) data += source.files + ": ";
  return Error{data + "no document has a token to learn" +
               (recipe_.mask_user ? ": a draft learns the answers of conversations, which "
                                    "foretoken distill writes for questions"
                                  : "")};
}

Error Trainer::NotFinite(int64_t step, const std::string& what, double found) const {
  std::string checkpoint = "no checkpoint was written yet";
  if (saved_step_ >= 0) {
    checkpoint = CheckpointPath(options_.out) + " still holds step " + std::to_string(saved_step_);
  }
  return Error{"step " + std::to_string(step) + ": the " + what + " is " +
               (std::isnan(found) ? "not a number" : "infinite") + ", training stops; " +
               checkpoint + ". A lower --lr (now " + std::to_string(recipe_.lr) +
               ") or a longer --warmup may help"};
}

Result<Trainer::StepResult> Trainer::Step() {
  const double start = Now();
  StepResult r{};
  FT_ASSIGN_OR_RETURN(const std::vector<Batch> batches, NextStep(r));
  if (packer_.epoch() > 0 && !has_read_) {
    has_read_ = true;
    FT_RETURN_IF_ERROR(SetThreads(recipe_, has_read_));
  }
  r.lr = NextRate(recipe_, state_);
  for (int64_t update = 0; update < task_->updates(); ++update) {
    FT_RETURN_IF_ERROR(Update(batches, update, r));
  }
  for (const Batch& batch : batches) r.flops += task_->Flops(batch);
  FT_RETURN_IF_ERROR(SumOverWorkers(r));
  for (const auto& [name, value] : r.metrics) {
    if (!std::isfinite(value)) return NotFinite(state_.step + 1, name, value);
  }
  average_.Add(++state_.step);
  state_.tokens += static_cast<int64_t>(r.tokens);
  r.seconds = Now() - start;
  return r;
}

// Computes the gradients of one part of the loss, updates the weights, and adds the part's metrics
// to `r`.
Status Trainer::Update(const std::vector<Batch>& batches, int64_t update, StepResult& r) {
  for (const Batch& batch : batches) {
    const Metrics part = task_->LearnPart(batch, 1.0 / r.tokens, update);
    if (r.metrics.empty()) r.metrics.resize(part.size());
    for (size_t i = 0; i < part.size(); ++i) {
      r.metrics[i].first = part[i].first;
      r.metrics[i].second += part[i].second;
    }
  }
  FT_RETURN_IF_ERROR(workers_.SumGradients(task_->weights().parameters()));
  FT_RETURN_IF_ERROR(SavePending(r));
  r.norm = optimizer_.Step(state_.step * task_->updates() + update + 1, r.lr);
  if (!std::isfinite(r.norm)) return NotFinite(state_.step + 1, "gradient", r.norm);
  task_->weights().Refresh();
  return {};
}

// Sums the step's metrics and its floating-point operations over the workers.
Status Trainer::SumOverWorkers(StepResult& r) {
  std::vector<double> values = {r.flops};
  for (const auto& [name, value] : r.metrics) values.push_back(value);
  FT_RETURN_IF_ERROR(workers_.Sum(values));
  r.flops = values[0];
  for (size_t i = 0; i < r.metrics.size(); ++i) r.metrics[i].second = values[i + 1];
  return {};
}

Metrics Trainer::Evaluate(const std::vector<Batch>& batches) {
  if (!average_.on()) return task_->Evaluate(batches);
  const auto exchange = [this] {
    average_.Swap();
    task_->weights().Refresh();
  };
  exchange();
  Metrics evaluated = task_->Evaluate(batches);
  exchange();
  return evaluated;
}

void Trainer::CountTime(double seconds) {
  const double counted = usual_step_ > 0.0
                             ? std::min(seconds, std::max(kLongestWork, kLongestStep * usual_step_))
                             : seconds;
  usual_step_ =
      usual_step_ > 0.0 ? kUsualDecay * usual_step_ + (1.0 - kUsualDecay) * counted : counted;
  state_.seconds += counted;
}

// Returns what the target still has to read. It reads all documents in the first epoch.
ReadingLeft Trainer::Reading() const {
  if (!target_reading_ || packer_.epoch() != 0) return {};
  const TargetReading read = target_reading_();
  if (read.rows == 0) return {};
  const auto rows_left =
      static_cast<double>(std::max<int64_t>(0, packer_.inputs_in_epoch() - read.stored));
  const auto sequences_left =
      static_cast<double>(std::max<int64_t>(0, packer_.sequences_in_epoch() - state_.sequences));
  return {.steps = sequences_left / static_cast<double>(recipe_.batch * recipe_.accumulate),
          .seconds = rows_left * read.seconds / static_cast<double>(read.rows),
          .is_ahead = read.is_ahead};
}

// Updates the plan of a run with a budget. Returns true once per process, when the run's duration
// is first known in it. `steps`: steps taken by this process.
bool Trainer::Plan(int64_t steps) {
  const int64_t forecast_steps =
      device_.is_cpu() ? std::max(kForecastSteps, kForecastTokens / recipe_.StepTokens())
                       : kForecastStepsGpu;
  bool is_first_forecast =
      steps == forecast_steps || (steps < forecast_steps && CurrentProgress() >= 1.0);
  if (recipe_.budget > 0.0) {
    const bool was_planned = state_.plan.end != 0;
    const int64_t batches = std::max<int64_t>(1, recipe_.eval_sequences / recipe_.batch);
    is_first_forecast =
        PlanForBudget(recipe_, batches, Reading(), state_) || (was_planned && steps == 1);
  }
  return is_first_forecast;
}

// Returns the run's progress in units, of which the whole run has kProgressUnits. With a budget
// they are units of time, as the schedule's progress would disagree with the time left: it is
// replanned, and the time that reading the data takes is no part of it.
int64_t Trainer::ProgressUnits() const {
  const double progress = CurrentProgress();
  const bool is_timed = recipe_.budget > 0.0 && progress < 1.0;
  const double done = is_timed ? BudgetUsed(recipe_, state_) : progress;
  return static_cast<int64_t>(std::min(done, 1.0) * kProgressUnits);
}

Status Trainer::Log(const StepResult& r) {
  Metrics values = r.metrics;
  values.insert(values.end(), {{"lr", r.lr},
                               {"grad_norm", r.norm},
                               {"tokens", static_cast<double>(state_.tokens)},
                               {"seconds", state_.seconds},
                               {"tokens_per_second", r.tokens / r.seconds},
                               {"gflops", r.flops / r.seconds / 1e9}});
  const bool due = EvaluationDue(recipe_, state_);
  const std::vector<Batch> batches = due ? HeldOutBatches() : std::vector<Batch>();
  if (!batches.empty()) {
    const double start = Now();
    const Metrics evaluated = Evaluate(batches);
    if (!std::isfinite(evaluated[0].second)) {
      return NotFinite(state_.step, "held-out loss", evaluated[0].second);
    }
    state_.heldout = evaluated[0].second;
    state_.alpha = AlphasOf(evaluated);
    if (!average_.on()) evaluated_step_ = state_.step;
    state_.evaluation = Now() - start;
    if (recipe_.budget <= 0.0) state_.evaluation = std::min(state_.evaluation, kLongestWork);
    state_.evaluating += state_.evaluation;
    state_.seconds += state_.evaluation;
    summary_ = task_->Summary(evaluated);
    values.insert(values.end(), evaluated.begin(), evaluated.end());
  }
  log_.Write(state_.step, values);
  return {};
}

void Trainer::Show(const StepResult& r, double peak, Progress& progress) {
  shown_loss_.Add(r.metrics[0].second);
  shown_tokens_.Add(r.tokens);
  shown_seconds_.Add(r.seconds);
  char note[240];
  const int used = std::snprintf(
      note, sizeof(note), "step %ld loss %.3f%s%s, learning %.0f tokens/s",
      static_cast<long>(state_.step), shown_loss_.value(), summary_.empty() ? "" : ", ",
      summary_.c_str(), Ratio(shown_tokens_.value(), shown_seconds_.value()));
  if (peak > 0.0) {
    const double rate = r.flops / r.seconds / 1e9;
    std::snprintf(note + used, sizeof(note) - used, " %.0f GFLOP/s (%.0f%% of peak)", rate,
                  100.0 * rate / peak);
  }
  progress.Update(ProgressUnits(), note, SecondsLeft(recipe_, Reading(), state_));
}

bool Trainer::CheckpointDue() const {
  if (recipe_.checkpoint_steps > 0) return state_.step % recipe_.checkpoint_steps == 0;
  return Since(saved_) >= 60.0 * recipe_.checkpoint_minutes;
}

Status Trainer::Save(const CheckpointInfo& info) {
  FT_RETURN_IF_ERROR(SaveCheckpoint(options_.out, info, task_->weights(), optimizer_, average_));
  saved_step_ = info.state.step;
  return {};
}

// Saves the pending checkpoint if the metrics and gradients of its weights are finite. Called
// before an update, while the weights are still the checkpoint's.
Status Trainer::SavePending(const StepResult& r) {
  const auto is_finite = [](const auto& metric) { return std::isfinite(metric.second); };
  if (!pending_ || !std::ranges::all_of(r.metrics, is_finite)) return {};
  if (!std::isfinite(optimizer_.GradNorm())) return {};
  const CheckpointInfo info = *std::move(pending_);
  pending_.reset();
  return Save(info);
}

// Saves the last checkpoint. No further step shows whether its weights have a finite loss, so they
// are evaluated first: on a held-out batch or, if there is none, on a training sequence.
Status Trainer::SaveLast() {
  if (state_.step != saved_step_ && state_.step != evaluated_step_) {
    std::vector<Batch> batches = HeldOutBatches();
    if (batches.empty()) {
      const Sequence& next = packer_.At(state_.sequences);
      batches.push_back(MakeBatch(corpus_, std::span(&next, 1), recipe_.length,
                                  static_cast<uint64_t>(state_.sequences), device_));
    }
    batches.resize(1);
    const double loss = task_->Evaluate(batches)[0].second;
    if (!std::isfinite(loss)) return NotFinite(state_.step, "loss of the final weights", loss);
  }
  return Save(Info());
}

// Tells how far the run came, and how to go on if it was interrupted.
void Trainer::TellEnd() const {
  const auto step = static_cast<long>(state_.step);
  if (CurrentProgress() >= 1.0) {
    const std::string tokens = CountText(static_cast<double>(state_.tokens));
    std::fprintf(stderr, "learned %s tokens in %ld steps\n", tokens.c_str(), step);
  } else {
    std::fprintf(
        stderr, "stopped after step %ld; the checkpoint is saved, and the same command continues\n",
        step);
  }
}

Status Trainer::Run() {
  if (packer_.empty()) return NothingToLearn();
  packer_.At(0);
  recipe_ = WithSteps(recipe_, packer_.sequences_in_epoch());
  FT_RETURN_IF_ERROR(Resume());
  if (recipe_.budget > 0.0 && state_.step == 0) state_.seconds = Now() - started_;
  const double peak = options_.profile ? MatrixPeak(ComputeType(recipe_), device_) / 1e9 : 0.0;
  if (options_.profile) std::fprintf(stderr, "matrix peak %.0f GFLOP/s\n", peak);
  const InterruptGuard guard(InterruptGuard::Notes::kEveryStop);
  std::unique_ptr<Progress> progress;
  for (int64_t steps = 1;; ++steps) {
    FT_ASSIGN_OR_RETURN(const bool should_continue, ShouldContinue());
    if (!should_continue) break;
    if (!progress) {
      progress = std::make_unique<Progress>("train", kProgressUnits, options_.quiet);
      progress->Update(ProgressUnits());
    }
    const double waited = Waited();
    FT_ASSIGN_OR_RETURN(const StepResult r, Step());
    if (!workers_.leads()) continue;
    CountTime(r.seconds);
    // Waiting in later epochs, because the cache is full, is a part of their pace.
    if (packer_.epoch() == 0) state_.waiting += Waited() - waited;
    FT_RETURN_IF_ERROR(Log(r));
    if (Plan(steps)) {
      progress.reset();  // ends the bar's line; the next bar starts with the run's duration known
      if (!options_.quiet) {
        std::fprintf(stderr, "%s\n", DescribeForecast(recipe_, corpus_, Reading(), state_).c_str());
      }
      progress = std::make_unique<Progress>("train", kProgressUnits, options_.quiet);
    }
    Show(r, peak, *progress);
    if (CheckpointDue()) {
      pending_ = Info();
      saved_ = Clock::now();
    }
  }
  if (progress) progress->Finish();
  if (!workers_.leads()) return {};
  FT_RETURN_IF_ERROR(SaveLast());
  if (progress && !options_.quiet) TellEnd();
  return {};
}

}  // namespace

Status Train(const TrainOptions& requested) {
  TrainOptions options = requested;
  if (!options.clock) options.clock = SteadySeconds;
  const double started = options.clock();
  Recipe& r = options.recipe;
  const Method* method = FindMethod(r.method);
  if (method == nullptr) return Error{"unknown method '" + r.method + "'"};
  FT_RETURN_IF_ERROR(CompleteSettings(method->settings, r));
  FT_RETURN_IF_ERROR(CheckRecipe(r));
  RunFolder folder(options.out);
  FT_RETURN_IF_ERROR(folder.Create());
  FT_RETURN_IF_ERROR(CheckDataAreApart(r, options.data_base, options.out));
  FT_RETURN_IF_ERROR(CheckRunFiles(options.out));
  FT_ASSIGN_OR_RETURN(const std::unique_ptr<Workers> workers,
                      Workers::Start(static_cast<int>(r.workers), options.command));
  FT_RETURN_IF_ERROR(SetThreads(r, false));
  FT_ASSIGN_OR_RETURN(const torch::Device device, ChooseDevice(r, *workers));
  options.rank = workers->rank();
  options.quiet = options.quiet || !workers->leads();
  options.profile = options.profile && workers->leads();
  FT_RETURN_IF_ERROR(FindRun(*method, options));
  // The other workers wait here until the leader has encoded the data.
  if (!workers->leads()) FT_RETURN_IF_ERROR(workers->Barrier());
  FT_ASSIGN_OR_RETURN(Prepared prepared, method->prepare(options, device));
  if (workers->leads()) FT_RETURN_IF_ERROR(workers->Barrier());
  if (!options.quiet) {
    std::fprintf(stderr, "%zu documents, %zu tokens, vocabulary of %ld\n",
                 prepared.corpus.documents.size(), prepared.corpus.ids.size(),
                 static_cast<long>(prepared.recipe.vocab));
  }
  folder.Keep();
  Trainer trainer(options, *method, std::move(prepared), device, *workers, started);
  return trainer.Run();
}

}  // namespace foretoken::train
