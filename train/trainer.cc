#include "trainer.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <numbers>

#include "adamw.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "batch.h"
#include "checkpoint.h"
#include "event_log.h"
#include "packing.h"

namespace foretoken::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kProgressUnits = 100000;
// A step far longer than usual was a pause (a stopped process, a suspended machine): the rest of it
// is not training time.
constexpr double kLongestStep = 3.0;  // times the usual one
constexpr double kUsualDecay = 0.9;

volatile std::sig_atomic_t stop_requested = 0;
void RequestStop(int) { stop_requested = 1; }

// Installs the handlers for the life of the object.
class StopSignals {
 public:
  StopSignals() {
    stop_requested = 0;
    struct sigaction action {};
    action.sa_handler = RequestStop;
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  ~StopSignals() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }

 private:
  struct sigaction old_int_ {
  }, old_term_{};
};

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

torch::ScalarType ComputeType(const Recipe& r) {
  return r.dtype == "f32" ? torch::kFloat32 : torch::kBFloat16;
}

Result<torch::Device> ChooseDevice(const Recipe& r) {
  const bool cuda = torch::cuda::is_available();
  if (r.device == "cuda" && !cuda) return Error{"device is cuda, but this libtorch has none"};
  return torch::Device(r.device != "cpu" && cuda ? torch::kCUDA : torch::kCPU);
}

// libtorch's own threads and those of the BLAS it uses for f32.
void SetThreads(int threads) {
  at::set_num_threads(threads);
  using Setter = void (*)(int);
  void* setter = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (setter != nullptr) reinterpret_cast<Setter>(setter)(threads);
}

// FLOP/s of the fastest of a few square products in the compute type.
double MatrixPeak(torch::ScalarType type, torch::Device device) {
  torch::NoGradGuard no_grad;
  const torch::Tensor x = torch::randn({2048, 2048}).to(type).to(device);
  double best = 0.0;
  for (int i = 0; i < 6; ++i) {
    const Clock::time_point start = Clock::now();
    at::mm(x, x)[0][0].item<float>();
    best = std::max(best, 2.0 * std::pow(2048.0, 3) / Since(start));
  }
  return best;
}

class Trainer {
 public:
  Trainer(const TrainOptions& options, const Corpus& corpus, torch::Device device)
      : options_(options),
        recipe_(options.recipe),
        corpus_(corpus),
        device_(device),
        packer_(corpus, Weights(recipe_), recipe_.length, recipe_.seed),
        model_(ShapeOf(recipe_), ComputeType(recipe_), device, recipe_.seed),
        optimizer_(model_.parameters(),
                   {recipe_.beta1, recipe_.beta2, 1e-8, recipe_.weight_decay, recipe_.clip}) {
    heldout_ = packer_.HeldOut();
    const auto most = static_cast<size_t>(std::max<int64_t>(recipe_.eval_sequences, 0));
    if (heldout_.size() > most) heldout_.resize(most);
  }

  Status Run();

 private:
  struct StepResult {
    double loss, norm, lr, tokens, seconds;
  };

  static std::vector<double> Weights(const Recipe& r) {
    std::vector<double> weights;
    for (const DataSource& s : r.data) weights.push_back(s.weight);
    return weights;
  }

  Status Resume();
  StepResult Step();
  double HeldOutLoss();
  void CountTime(double seconds);
  void Log(const StepResult& r);
  Status Checkpoint();
  bool CheckpointDue() const;

  const TrainOptions& options_;
  const Recipe& recipe_;
  const Corpus& corpus_;
  torch::Device device_;
  Packer packer_;
  Llama model_;
  AdamW optimizer_;
  std::vector<Sequence> heldout_;
  RunState state_;
  EventLog log_;
  double usual_step_ = 0.0;
  Clock::time_point saved_ = Clock::now();
};

Status Trainer::Resume() {
  if (std::filesystem::exists(CheckpointPath(options_.out))) {
    FT_ASSIGN_OR_RETURN(const CheckpointInfo info, ReadCheckpointInfo(options_.out));
    FT_RETURN_IF_ERROR(LoadCheckpoint(options_.out, model_, optimizer_));
    state_ = info.state;
    if (!options_.quiet) {
      std::fprintf(stderr, "continuing after step %ld\n", static_cast<long>(state_.step));
    }
  }
  return log_.Open(options_.out, state_.step);
}

Trainer::StepResult Trainer::Step() {
  const Clock::time_point start = Clock::now();
  std::vector<Batch> batches;
  double tokens = 0.0;
  for (int64_t i = 0; i < recipe_.accumulate; ++i) {
    std::vector<Sequence> sequences;
    for (int64_t s = 0; s < recipe_.batch; ++s) {
      sequences.push_back(packer_.At(state_.sequences++));
    }
    batches.push_back(MakeBatch(corpus_, sequences, recipe_.length, device_));
    tokens += LearntTokens(batches.back());
  }
  double loss = 0.0;
  for (const Batch& batch : batches) {
    const torch::Tensor part = model_.Loss(batch, 1.0 / std::max(tokens, 1.0));
    part.backward();
    loss += part.item<double>();
  }
  const int64_t step = state_.step + 1;
  const double progress = ScheduleProgress(recipe_, state_.step, state_.seconds);
  const double lr = LearningRate(recipe_, step, progress);
  const double norm = optimizer_.Step(step, lr);
  model_.Refresh();
  state_.step = step;
  state_.tokens += static_cast<int64_t>(tokens);
  return {loss, norm, lr, tokens, Since(start)};
}

double Trainer::HeldOutLoss() {
  torch::NoGradGuard no_grad;
  double loss = 0.0, tokens = 0.0;
  const auto size = static_cast<size_t>(recipe_.batch);
  for (size_t first = 0; first < heldout_.size(); first += size) {
    const size_t count = std::min(size, heldout_.size() - first);
    const Batch batch =
        MakeBatch(corpus_, std::span(heldout_).subspan(first, count), recipe_.length, device_);
    loss += model_.Loss(batch, 1.0).item<double>();
    tokens += LearntTokens(batch);
  }
  return loss / std::max(tokens, 1.0);
}

void Trainer::CountTime(double seconds) {
  const double counted =
      usual_step_ > 0.0 ? std::min(seconds, kLongestStep * usual_step_) : seconds;
  usual_step_ =
      usual_step_ > 0.0 ? kUsualDecay * usual_step_ + (1.0 - kUsualDecay) * counted : counted;
  state_.seconds += counted;
}

void Trainer::Log(const StepResult& r) {
  const int64_t rows = recipe_.batch * recipe_.accumulate * recipe_.length;
  std::vector<std::pair<std::string, double>> values = {
      {"loss", r.loss},
      {"lr", r.lr},
      {"grad_norm", r.norm},
      {"tokens", static_cast<double>(state_.tokens)},
      {"seconds", state_.seconds},
      {"tokens_per_second", r.tokens / r.seconds},
      {"gflops", model_.StepFlops(rows, recipe_.length) / r.seconds / 1e9}};
  const bool last = ScheduleProgress(recipe_, state_.step, state_.seconds) >= 1.0;
  if (!heldout_.empty() && recipe_.eval_every > 0 &&
      (state_.step % recipe_.eval_every == 0 || last)) {
    const Clock::time_point start = Clock::now();
    state_.heldout = HeldOutLoss();
    state_.seconds += std::min(Since(start), 60.0);
    values.emplace_back("heldout_loss", state_.heldout);
  }
  log_.Write(state_.step, values);
}

bool Trainer::CheckpointDue() const {
  if (recipe_.checkpoint_steps > 0) return state_.step % recipe_.checkpoint_steps == 0;
  return Since(saved_) >= 60.0 * recipe_.checkpoint_minutes;
}

Status Trainer::Checkpoint() {
  saved_ = Clock::now();
  return SaveCheckpoint(options_.out, {recipe_, state_}, model_, optimizer_);
}

Status Trainer::Run() {
  if (packer_.empty()) return Error{"the training data holds no documents"};
  FT_RETURN_IF_ERROR(Resume());
  const double peak = options_.profile ? MatrixPeak(ComputeType(recipe_), device_) / 1e9 : 0.0;
  if (options_.profile) std::fprintf(stderr, "matrix peak %.0f GFLOP/s\n", peak);
  const StopSignals signals;
  Progress progress("train", kProgressUnits, options_.quiet);
  const int64_t rows = recipe_.batch * recipe_.accumulate * recipe_.length;
  const double flops = model_.StepFlops(rows, recipe_.length) / 1e9;
  double fraction = ScheduleProgress(recipe_, state_.step, state_.seconds);
  while (fraction < 1.0 && stop_requested == 0) {
    const StepResult r = Step();
    CountTime(r.seconds);
    Log(r);
    fraction = ScheduleProgress(recipe_, state_.step, state_.seconds);
    char note[160];
    int used =
        std::snprintf(note, sizeof(note), "step %ld loss %.3f held-out %.3f %.0f tokens/s",
                      static_cast<long>(state_.step), r.loss, state_.heldout, r.tokens / r.seconds);
    if (peak > 0.0) {
      std::snprintf(note + used, sizeof(note) - used, " %.0f GFLOP/s (%.0f%% of peak)",
                    flops / r.seconds, 100.0 * flops / r.seconds / peak);
    }
    progress.Update(static_cast<int64_t>(std::min(fraction, 1.0) * kProgressUnits), note);
    if (CheckpointDue()) FT_RETURN_IF_ERROR(Checkpoint());
  }
  progress.Finish();
  return Checkpoint();
}

}  // namespace

double ScheduleProgress(const Recipe& r, int64_t step, double seconds) {
  const double by_step = static_cast<double>(step) / static_cast<double>(r.steps);
  return r.time_budget > 0.0 ? std::max(by_step, seconds / r.time_budget) : by_step;
}

double LearningRate(const Recipe& r, int64_t step, double progress) {
  const double warm =
      r.warmup > 0 ? std::min(1.0, static_cast<double>(step) / static_cast<double>(r.warmup)) : 1.0;
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(progress, 1.0)));
  return warm * (r.min_lr + (r.lr - r.min_lr) * cosine);
}

Status Train(const TrainOptions& asked) {
  TrainOptions options = asked;
  Recipe& r = options.recipe;
  FT_RETURN_IF_ERROR(CheckRecipe(r));
  std::error_code fault;
  std::filesystem::create_directories(options.out, fault);
  if (fault) return Error{options.out + ": cannot create: " + fault.message()};
  SetThreads(r.threads > 0 ? static_cast<int>(r.threads) : AvailableCores());
  FT_ASSIGN_OR_RETURN(const torch::Device device, ChooseDevice(r));
  FT_ASSIGN_OR_RETURN(const PreparedData data,
                      PrepareData(r, options.data_base, options.out, options.quiet));
  r.vocab = static_cast<int64_t>(data.tokenizer.tokens.size());  // fewer where text is short
  if (!options.quiet) {
    std::fprintf(stderr, "%zu documents, %zu tokens, vocabulary of %ld\n",
                 data.corpus.documents.size(), data.corpus.ids.size(), static_cast<long>(r.vocab));
  }
  Trainer trainer(options, data.corpus, device);
  return trainer.Run();
}

}  // namespace foretoken::train
