#include "eval/peers/bench_peers.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "base/division.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "engine/bootstrap.h"
#include "eval/peers/peer_run.h"
#include "eval/report/markdown_rows.h"
#include "eval/report/write_json.h"
#include "eval/spec/spec_setup.h"

namespace foretoken {
namespace {

constexpr const char* kPeerEngine = "other engine";
constexpr const char* kAutoDrafter = "auto";  // the name of our drafter and of its row

// A row of the printed table: one engine in one mode, with its token rate for each question.
struct PeerRow {
  std::string engine, mode;
  std::vector<double> rates;
  // Answers equal to our baseline's; in a peer's row, answers that contain our baseline's.
  int same_text = 0;
};

class PeerBench {
 public:
  PeerBench(const BenchPeersArgs& args, const LoadedModel& loaded, const ChatPrompter& prompter)
      : args_(args), loaded_(loaded), prompter_(prompter) {
    modes_ = FindPeers(args.folder, args.draft_model);
    std::error_code fault;
    std::filesystem::path folder = std::filesystem::temp_directory_path(fault);
    if (fault) folder = "/tmp";  // an error follows when the file is written
    const std::string prefix = "foretoken-prompt-", suffix = ".txt";
    RemoveLeftovers(folder.string(), prefix, suffix);
    prompt_file_ = (folder / (prefix + std::to_string(getpid()) + suffix)).string();
  }
  ~PeerBench() {
    std::error_code ignored;
    std::filesystem::remove(prompt_file_, ignored);
  }
  PeerBench(const PeerBench&) = delete;
  PeerBench& operator=(const PeerBench&) = delete;

  Status CheckAnyPeer() const {
    const auto has_program = [](const PeerMode& m) { return !m.commands.empty(); };
    if (std::ranges::any_of(modes_, has_program)) return {};
    return Error{
        "no other engine can be run: none of llama-completion, llama-cli and llama-lookup, nor, "
        "with --draft-model, llama-speculative-simple and llama-speculative, is " +
        (args_.folder.empty() ? "on PATH; --peer-bin names their folder" : "in " + args_.folder)};
  }

  Status Run(std::vector<SpecQuestion> questions) {
    PlanOurs();
    SpecOptions options = args_.options;
    options.quiet = true;
    Progress progress("questions", std::ssize(questions) * options.repeats, args_.options.quiet);
    int64_t asked = 0;
    options.after = [&](const SpecQuestion& question, const std::vector<SpecAnswer>& answers) {
      progress.Update(++asked);
      return AskAll(question, answers);
    };
    FT_ASSIGN_OR_RETURN(const SpecRun run,
                        RunSpec(loaded_, methods_, std::move(questions), options, nullptr));
    progress.Finish(run.interrupted ? "interrupted" : "");
    if (run.questions.empty()) return Error{args_.questions + ": no question was answered"};
    return {};
  }

  void Print() const {
    std::fputs(MarkdownHead({"engine", "decoding", "tokens/s [95 %]", "vs. its own baseline",
                             "baseline's text"})
                   .c_str(),
               stdout);
    for (const PeerRow& row : rows_) {
      if (row.rates.empty()) continue;
      const Interval interval = BootstrapMedian(row.rates);
      std::fputs(
          MarkdownRow({row.engine, row.mode,
                       NumberText("%.1f", Median(row.rates)) + " [" +
                           NumberText("%.1f", interval.low) + ", " +
                           NumberText("%.1f", interval.high) + "]",
                       NumberText("%.2fx", RatioToBaseline(row)),
                       std::to_string(row.same_text) + " of " + std::to_string(row.rates.size())})
              .c_str(),
          stdout);
    }
    for (const std::string& note : notes_) std::printf("- %s\n", note.c_str());
    std::puts(
        "- tokens/s: the median decoding rate over answers, without prefill, as timed by each "
        "program itself. The programs were interleaved question by question.\n"
        "- baseline's text: answers that equal those of foretoken's baseline; for the other "
        "engine, "
        "that contain them.");
  }

  Json ToJson() const {
    Json results = Json::array();
    for (const PeerRow& row : rows_) {
      if (row.rates.empty()) continue;
      const Interval interval = BootstrapMedian(row.rates);
      results.push_back({{"engine", row.engine},
                         {"mode", row.mode},
                         {"tokens_per_second", Median(row.rates)},
                         {"low", interval.low},
                         {"high", interval.high},
                         {"over_plain", RatioToBaseline(row)},
                         {"answers", row.rates.size()},
                         {"same_text", row.same_text}});
    }
    return {{"model", args_.model.path}, {"results", std::move(results)}, {"notes", notes_}};
  }

 private:
  // Adds our method, our row and the peer's row for every mode of peers.def, which begins with the
  // baseline. Notes what is missing.
  void PlanOurs() {
    for (const PeerMode& mode : modes_) {
      if (mode.drafter == "draft-model" && args_.draft_model.empty()) {
        notes_.push_back(mode.name + ": needs --draft-model FILE");
        continue;
      }
      SpecMethod method{.name = mode.drafter};
      method.draft.drafter = mode.drafter;
      method.draft.tree = TreeOf({.drafter = mode.drafter, .tree = kPaperTree});
      if (mode.drafter == "draft-model") {
        method.draft.options.emplace_back("draft_model", args_.draft_model);
      }
      methods_.push_back(std::move(method));
      rows_.push_back({.engine = "foretoken", .mode = mode.name});
      if (mode.commands.empty()) {
        notes_.push_back(mode.name + ": no program on this machine supports it");
        continue;
      }
      rows_.push_back({.engine = kPeerEngine, .mode = mode.name});
    }
    PlanAutomatic();
  }

  // Adds the drafter `auto`, our default, which no peer has.
  void PlanAutomatic() {
    SpecMethod method{.name = kAutoDrafter};
    method.draft.drafter = kAutoDrafter;
    method.draft.tree = TreeOf(method.draft);
    if (!args_.draft_model.empty()) {
      method.draft.options.emplace_back("draft_model", args_.draft_model);
    }
    methods_.push_back(std::move(method));
    rows_.push_back({.engine = "foretoken", .mode = kAutoDrafter});
  }

  PeerRow* FindRow(const std::string& engine, const std::string& mode) {
    const auto found = std::ranges::find_if(
        rows_, [&](const PeerRow& row) { return row.engine == engine && row.mode == mode; });
    return found == rows_.end() ? nullptr : &*found;
  }

  // Records our answers to a question, then asks the peers.
  Status AskAll(const SpecQuestion& question, const std::vector<SpecAnswer>& answers) {
    if (answers[0].turns.empty()) return {};  // the prompt is longer than the context
    for (size_t m = 0; m < methods_.size(); ++m) {
      PeerRow* our_row = OurRow(methods_[m].name);
      const Timing timing = answers[m].GenerationOnly();
      our_row->rates.push_back(Ratio(timing.tokens, timing.seconds));
      our_row->same_text += answers[m].turns == answers[0].turns ? 1 : 0;
    }
    const ChatMessage message{"user", question.turns[0]};
    FT_ASSIGN_OR_RETURN(const std::string prompt, prompter_.Text({&message, 1}));
    // Peers strip the file's final newline, so one is added.
    FT_RETURN_IF_ERROR(WriteFileAtomically(prompt_file_, prompt + "\n"));
    const PeerTask task{.model = args_.model.path,
                        .prompt_file = prompt_file_,
                        .new_tokens = args_.options.new_tokens,
                        .threads = loaded_.backend->threads(),
                        .context = loaded_.model->config().context};
    for (PeerMode& mode : modes_) {
      PeerRow* row = FindRow(kPeerEngine, mode.name);
      if (row == nullptr) continue;
      if (mode.commands.empty()) continue;  // all commands failed on an earlier question
      const Result<PeerAnswer> answer = AskPeer(&mode, task);
      if (!answer.ok()) {
        if (&mode == modes_.data()) return answer.error();  // the peers' baseline
        notes_.push_back(mode.name + ": stopped after " + std::to_string(row->rates.size()) +
                         " answers; " + answer.error().message);
        continue;
      }
      if (answer->tokens_per_second <= 0) continue;
      row->rates.push_back(answer->tokens_per_second);
      const std::string& ours = answers[0].texts[0];
      row->same_text += answer->text.find(ours) != std::string::npos ? 1 : 0;
    }
    return {};
  }

  PeerRow* OurRow(const std::string& drafter) {
    const auto mode = std::ranges::find(modes_, drafter, &PeerMode::drafter);
    return FindRow("foretoken", mode == modes_.end() ? drafter : mode->name);
  }

  // Returns the ratio of a row's median rate to that of its engine's baseline; 0 without one.
  double RatioToBaseline(const PeerRow& row) const {
    for (const PeerRow& baseline : rows_) {
      if (baseline.engine != row.engine || baseline.mode != modes_[0].name) continue;
      return baseline.rates.empty() ? 0 : Median(row.rates) / Median(baseline.rates);
    }
    return 0;
  }

  const BenchPeersArgs& args_;
  const LoadedModel& loaded_;
  const ChatPrompter& prompter_;
  std::vector<PeerMode> modes_;  // the first is autoregressive decoding
  std::vector<SpecMethod> methods_;
  std::vector<PeerRow> rows_;
  std::vector<std::string> notes_;
  std::string prompt_file_;
};

}  // namespace

void DeclareBenchPeers(CLI::App& app, BenchPeersArgs* args) {
  AddModelArgs(app, &args->model);
  app.get_option("--model")->required();
  app.add_option("--questions", args->questions,
                 "JSONL as for bench spec; only first turns are used")
      ->required()
      ->type_name("FILE");
  app.add_option("--peer-bin", args->folder,
                 "folder with the other engine's programs (default: searched on PATH)")
      ->type_name("FOLDER");
  app.add_option("--draft-model", args->draft_model,
                 "draft model of both engines' draft-model modes, a .gguf file")
      ->type_name("FILE");
  app.add_option("--limit", args->limit,
                 "maximum number of questions, evenly spaced in the file (all)")
      ->check(CLI::Range(1, 1 << 30));
  DeclareSpecOptions(app, &args->options);
  app.add_option("--json", args->json, "write the results as JSON")
      ->type_name("FILE")
      ->check(WritableFile());
}

Status BenchPeers(BenchPeersArgs& args) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(args.json));
  if (!args.model.path.ends_with(".gguf")) {
    return Error{args.model.path + ": other engines read .gguf files only"};
  }
  FT_ASSIGN_OR_RETURN(std::vector<SpecQuestion> questions,
                      ReadSpecQuestions(args.questions, args.limit));
  for (SpecQuestion& q : questions) q.turns.resize(1);
  FT_ASSIGN_OR_RETURN(const LoadedModel loaded, Load(args.model));
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter,
                      ChatPrompter::Create(*loaded.tokenizer, loaded.file->path()));
  PeerBench bench(args, loaded, prompter);
  FT_RETURN_IF_ERROR(bench.CheckAnyPeer());
  const InterruptGuard guard;
  FT_RETURN_IF_ERROR(bench.Run(std::move(questions)));
  bench.Print();
  if (std::fflush(stdout) != 0) return Error{"cannot write to standard output"};
  return WriteJson(json, bench.ToJson());
}

}  // namespace foretoken
