#include "eval/machine/bench_draft.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "base/profile.h"
#include "base/rng.h"
#include "draft/eagle/eagle_spec.h"
#include "engine/generator.h"
#include "eval/machine/timed_passes.h"
#include "eval/report/write_json.h"
#include "io/draft_file.h"
#include "runtime/decoder.h"
#include "verify/forced_verifier.h"

namespace foretoken {
namespace {

// The costs of drafting with one tree policy.
struct LevelTime {
  std::string tree;
  int depth = 0;             // reached by the drafts of args.depth levels
  double first_seconds = 0;  // median time of a draft of one level
  // Mean time of a further level, from the difference of medians; first_seconds if depth is 1.
  double level_seconds = 0;
};

// A HASS draft of one decoder layer with random weights. Embedding and LM head are the target's.
class RandomDraft {
 public:
  explicit RandomDraft(const LoadedModel& target) : target_(target) {
    const ModelConfig& c = target.model->config();
    const int64_t d = c.hidden, q = int64_t{c.heads} * c.head_dim;
    const int64_t kv = int64_t{c.kv_heads} * c.head_dim;
    const TensorSpec projection = EagleSpec{d, c.vocab}.ProjectionWeight();
    Add(projection.name, projection.shape);
    Add("blk.0.attn_q.weight", {q, d});
    Add("blk.0.attn_k.weight", {kv, d});
    Add("blk.0.attn_v.weight", {kv, d});
    Add("blk.0.attn_output.weight", {d, q});
    Add("blk.0.ffn_norm.weight", {d});
    Add("blk.0.ffn_gate.weight", {c.ffn, d});
    Add("blk.0.ffn_up.weight", {c.ffn, d});
    Add("blk.0.ffn_down.weight", {d, c.ffn});
  }

  Status Write(const std::string& path) const {
    DraftInfo info;
    info.method = EagleSpec::kHassMethod;
    info.target = TargetFingerprint::Of(target_.model->config(), target_.tokenizer->data());
    info.blocks = target_.model->config();
    info.blocks.layers = 1;
    info.blocks.rope_interleaved = info.blocks.attention_bias = info.blocks.qk_norm = false;
    info.blocks.sliding_window = 0;
    info.taps = EagleSpec::Taps(target_.model->config().layers);
    info.shared = {std::string(kSharedEmbedding), std::string(kSharedHead)};
    std::vector<DraftTensor> tensors;
    for (const Values& values : values_)
      tensors.push_back({values.name, values.shape, values.data});
    FT_ASSIGN_OR_RETURN(const auto pool, ThreadPool::Create(target_.backend->threads()));
    return WriteDraft(info, tensors, FileType::kQ8_0, *pool, path);
  }

 private:
  struct Values {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> data;
  };

  void Add(const std::string& name, std::vector<int64_t> shape) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    Values values{name, std::move(shape), std::vector<float>(static_cast<size_t>(count))};
    const float scale = 1.0f / std::sqrt(static_cast<float>(values.shape.back()));
    for (size_t i = 0; i < values.data.size(); ++i) {
      values.data[i] = scale * static_cast<float>(2 * Uniform(values_.size() + 1, i, 0) - 1);
    }
    values_.push_back(std::move(values));
  }

  const LoadedModel& target_;
  std::vector<Values> values_;
};

// A file that is removed on destruction.
struct TemporaryFile {
  std::string path;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

std::vector<Token> MadeUpText(int vocab, int length) {
  std::vector<Token> text(static_cast<size_t>(length));
  for (size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<Token>(Mix(i) % static_cast<uint64_t>(vocab));
  }
  return text;
}

// Times drafts at a fixed position of one sequence; every draft is discarded.
class DraftTimer {
 public:
  // `tree`: as typed after --tree. Errors are reported by status().
  DraftTimer(const BenchDraftArgs& args, const LoadedModel& loaded, Drafter& drafter,
             const std::string& tree, int depth)
      : text_(MadeUpText(loaded.model->config().vocab, args.context + 1)), verifier_(text_) {
    Result<std::unique_ptr<TreePolicy>> policy = NewTreePolicy(tree);
    if (!policy.ok()) {
      status_ = policy.error();
      return;
    }
    policy_ = *std::move(policy);
    constexpr int kMaxNodes = 256;
    generator_ = std::make_unique<Generator>(
        *loaded.model, &drafter, verifier_,
        GeneratorOptions{.limits = {.max_nodes = kMaxNodes, .max_depth = depth},
                         .policy = policy_.get()});
    session_ = generator_->Start({.capacity = args.context + kMaxNodes});
    // The prompt's tokens are the cached positions. The verifier forces the token after it, so the
    // root is the same in every run.
    const auto prompt = std::span(text_).first(static_cast<size_t>(args.context));
    status_ = generator_->Prefill(*session_, prompt, kMaxNodes);
    if (status_.ok()) TimeDraft();  // the first draft also processes the prompt
  }

  // Makes a draft and returns its seconds.
  double TimeDraft() {
    Session* batch[] = {session_.get()};
    return Seconds([&] {
      const auto trees = generator_->Draft(batch);
      if (!trees.ok()) {
        status_ = trees.error();
      } else {
        depth_ = trees->front().max_depth();
      }
    });
  }

  int depth() const { return depth_; }
  const Status& status() const { return status_; }

 private:
  std::vector<Token> text_;
  ForcedVerifier verifier_;
  std::unique_ptr<TreePolicy> policy_;
  std::unique_ptr<Generator> generator_;
  std::unique_ptr<Session> session_;
  int depth_ = 0;
  Status status_;
};

// Returns the seconds of a draft that follows a one-row pass of the target, which fills the CPU's
// caches with the target's weights, as in decoding. Appends the pass's seconds to `pass_seconds`.
double TimeAfterPass(TimedPasses& passes, DraftTimer& drafts, std::vector<double>& pass_seconds) {
  pass_seconds.push_back(passes.Time(1, /*all_logits=*/true));
  return drafts.TimeDraft();
}

// Prints the mean time per thread that a draft spends in each part of the profile; the parts add up
// to the time of the draft. "other" is work outside of the backend's operations, for example in the
// drafter; while thread 0 does it alone, the other threads are in "waiting".
void PrintParts(const BenchDraftArgs& args, Backend& backend, TimedPasses& passes,
                DraftTimer& drafts, std::vector<double>& pass_seconds) {
  Profile profile(backend.threads());
  std::vector<Profile::Share> parts;
  double draft_seconds = 0;
  for (int i = 0; i < args.repeats; ++i) {
    pass_seconds.push_back(passes.Time(1, /*all_logits=*/true));
    backend.Watch(&profile);
    profile.Take();  // discards what was counted before
    draft_seconds += drafts.TimeDraft();
    const std::vector<Profile::Share> taken = profile.Take();
    backend.Watch(nullptr);
    parts.resize(taken.size());
    for (size_t p = 0; p < taken.size(); ++p) {
      parts[p].name = taken[p].name;
      parts[p].seconds += taken[p].seconds;
    }
  }
  const double scale = 1e3 / args.repeats;
  std::printf("a draft of %d levels: %.3f ms while profiled\n", drafts.depth(),
              draft_seconds * scale);
  for (const Profile::Share& part : parts) {
    if (part.seconds == 0) continue;
    std::printf("  %-28s %7.3f ms per thread\n", part.name.c_str(),
                part.seconds / backend.threads() * scale);
  }
  std::puts("  (other: work outside of the backend's operations, for example in the drafter)");
}

// Times drafts of one level and of args.depth levels, interleaved.
Result<LevelTime> TimeLevels(const BenchDraftArgs& args, const LoadedModel& loaded,
                             Drafter& drafter, const std::string& tree, TimedPasses& passes,
                             std::vector<double>& pass_seconds) {
  DraftTimer shallow(args, loaded, drafter, tree, 1);
  DraftTimer deep(args, loaded, drafter, tree, args.depth);
  FT_RETURN_IF_ERROR(shallow.status());
  FT_RETURN_IF_ERROR(deep.status());
  std::vector<double> shallow_seconds, deep_seconds;
  for (int i = 0; i < args.repeats; ++i) {
    shallow_seconds.push_back(TimeAfterPass(passes, shallow, pass_seconds));
    deep_seconds.push_back(TimeAfterPass(passes, deep, pass_seconds));
  }
  FT_RETURN_IF_ERROR(shallow.status());
  FT_RETURN_IF_ERROR(deep.status());
  FT_RETURN_IF_ERROR(passes.status());
  if (args.parts) {
    PrintParts(args, *loaded.backend, passes, deep, pass_seconds);
    FT_RETURN_IF_ERROR(deep.status());
    FT_RETURN_IF_ERROR(passes.status());
  }
  LevelTime time{.tree = tree, .depth = deep.depth(), .first_seconds = Median(shallow_seconds)};
  time.level_seconds = time.first_seconds;
  if (time.depth > 1) {
    time.level_seconds = (Median(deep_seconds) - time.first_seconds) / (time.depth - 1);
  }
  return time;
}

Result<Decoder> DecoderFor(const BenchDraftArgs& args, const LoadedModel& loaded,
                           const std::string& random_path) {
  DraftArgs draft = args.draft;
  draft.tree = "chain";
  if (args.random) {
    FT_RETURN_IF_ERROR(RandomDraft(loaded).Write(random_path));
    draft.drafter = EagleSpec::kHassMethod;
    draft.options.emplace_back("draft", random_path);
  }
  return NewDecoder(loaded, draft, args.context + 512);  // with ample room for a tree
}

void PrintLevel(const LevelTime& time, double pass_seconds) {
  std::printf(
      "%-7s first level %7.3f ms (%5.3f of a one-row pass), each further level %7.3f ms (%5.3f)\n",
      time.tree.c_str(), time.first_seconds * 1e3, time.first_seconds / pass_seconds,
      time.level_seconds * 1e3, time.level_seconds / pass_seconds);
}

}  // namespace

void AddBenchDraftArgs(CLI::App& app, BenchDraftArgs* args) {
  AddModelArgs(app, &args->model);
  app.get_option("--model")->required();
  app.add_option("--drafter", args->draft.drafter, "the drafter (hass, draft-model, ...)")
      ->type_name("NAME");
  AddDraftOptions(app, &args->draft);
  app.add_flag("--random-draft", args->random,
               "a HASS draft with random weights instead of a file");
  app.add_flag("--parts", args->parts, "also show how long each part of a draft takes");
  app.add_option("--context", args->context, "cached positions (256)")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--depth", args->depth, "levels of the drafts that are timed (5)")
      ->check(CLI::Range(2, 15));
  app.add_option("--repeats", args->repeats, "drafts timed per figure (40)")
      ->check(CLI::Range(1, 100000));
  app.add_option("--json", args->json, "also write the figures to this file")
      ->check(WritableFile());
}

Status BenchDraft(const BenchDraftArgs& args) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(args.json));
  FT_RETURN_IF_ERROR(CheckDraftNames(args.draft));
  if (args.draft.drafter == "none" && !args.random) {
    return Error{"bench draft needs --drafter or --random-draft"};
  }
  FT_ASSIGN_OR_RETURN(const LoadedModel loaded, Load(args.model));
  const TemporaryFile file{(std::filesystem::temp_directory_path() /
                            ("foretoken-random-draft-" + std::to_string(getpid()) + ".gguf"))
                               .string()};
  FT_ASSIGN_OR_RETURN(const Decoder decoder, DecoderFor(args, loaded, file.path));
  TimedPasses passes(*loaded.model, DType::kF16, args.context);
  FT_RETURN_IF_ERROR(passes.status());
  std::vector<double> pass_seconds;
  std::vector<LevelTime> times;
  for (const char* tree : {"chain", "eagle2"}) {
    FT_ASSIGN_OR_RETURN(LevelTime time,
                        TimeLevels(args, loaded, *decoder.drafter, tree, passes, pass_seconds));
    times.push_back(std::move(time));
  }
  const double pass = Median(pass_seconds);
  const DraftPrior prior = decoder.drafter->Prior();
  std::printf("%s, %d threads, %d committed positions; medians of %d\n",
              loaded.backend->Name().c_str(), loaded.backend->threads(), args.context,
              args.repeats);
  std::printf(
      "a one-row pass takes %.3f ms and reads %.1f MB; a level reads %.2f MB, %.3f times as much\n",
      pass * 1e3, static_cast<double>(loaded.model->weight_bytes()) / 1e6,
      static_cast<double>(prior.level_bytes) / 1e6,
      static_cast<double>(prior.level_bytes) / static_cast<double>(loaded.model->weight_bytes()));
  Json levels = Json::array();
  for (const LevelTime& time : times) {
    PrintLevel(time, pass);
    levels.push_back({{"tree", time.tree},
                      {"depth", time.depth},
                      {"level_seconds", time.level_seconds},
                      {"first_seconds", time.first_seconds}});
  }
  return WriteJson(json, {{"plain_seconds", pass},
                          {"plain_bytes", loaded.model->weight_bytes()},
                          {"level_bytes", prior.level_bytes},
                          {"levels", std::move(levels)}});
}

}  // namespace foretoken
