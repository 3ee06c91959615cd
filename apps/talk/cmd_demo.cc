// foretoken demo: shows answers of baseline and speculative decoding side by side.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "apps/talk/demo_model.h"
#include "apps/talk/demo_prompts.h"
#include "apps/talk/demo_runs.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/output_file.h"
#include "draft/found_drafts.h"
#include "runtime/answer.h"
#include "runtime/decoder.h"
#include "text/chat_prompt.h"

namespace foretoken {
namespace {

struct DemoArgs {
  ModelArgs model;
  std::string json;
  DraftArgs draft;  // `drafter` is replaced by each one to run
  bool all = false;
  int new_tokens = 0;  // 0: as many as time permits
  double seconds = 40;
};

// The drafter in the demo's last sentence, and the copying one.
constexpr char kDefaultWay[] = "auto", kCopyingWay[] = "pld";

// Terminal escape codes; empty in a pipe.
struct Style {
  explicit Style(bool on)
      : bold(on ? "\x1b[1m" : ""), dim(on ? "\x1b[2m" : ""), off(on ? "\x1b[0m" : "") {}
  const char *bold, *dim, *off;
};

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Demo {
 public:
  Demo(const DemoArgs& args, const LoadedModel& loaded, const ChatPrompter& prompter)
      : args_(args),
        loaded_(loaded),
        prompter_(prompter),
        terminal_(isatty(STDOUT_FILENO) != 0),
        style_(terminal_),
        nowhere_(std::fopen("/dev/null", "w"), &std::fclose) {}

  // Shows every answer once, then repeats measurements while there is time.
  Status Play() {
    if (!nowhere_) return Error{"/dev/null: cannot be opened"};
    const auto start = Clock::now();
    const std::vector<DraftArgs> ways = Ways();
    FT_RETURN_IF_ERROR(WarmUp(static_cast<double>(ways.size() * kDemoPrompts.size())));
    FT_RETURN_IF_ERROR(ShowAll(ways));
    const double shown = SecondsSince(start);
    times_ = 1;
    while (times_ < kMostTimes && SecondsSince(start) + shown <= args_.seconds) {
      FT_RETURN_IF_ERROR(MeasureAll(ways));
      if (InterruptGuard::Requested()) return {};
      ++times_;
    }
    return {};
  }

  void PrintResults() const {
    runs_.PrintTable(style_.bold, style_.off);
    if (times_ > 1)
      std::printf("Each prompt was answered %d times; the speeds are means.\n", times_);
    std::printf("\n%s%s%s\n", style_.bold, runs_.Sentence(kDefaultWay).c_str(), style_.off);
  }

  void PrintWhatNext() const {
    const std::string program = ShortPath(ThisProgram()), model = ShortPath(args_.model.path);
    std::printf(
        "\nNext, with this model or one of yours (a .gguf file or a Hugging Face directory):\n"
        "  %s chat -m %s\n"
        "  %s generate -m %s --chat -p \"Why is the sky blue?\" --check\n",
        program.c_str(), model.c_str(), program.c_str(), model.c_str());
  }

  bool AllIdentical() const { return runs_.AllIdentical(); }

  Json ToJson() const {
    return {{"model", args_.model.path},
            {"identical", AllIdentical()},
            {"speedup", runs_.SpeedUpOf(kDefaultWay)},
            {"runs", runs_.ToJson(loaded_.load_seconds)}};
  }

 private:
  static constexpr int kMostTimes = 5;

  // The runs to make: the baseline, copying, the draft beside the model, and the default of
  // generate; or every drafter that needs no file or whose file is present.
  std::vector<DraftArgs> Ways() const {
    const auto found = FindDrafts(*loaded_.model, loaded_.tokenizer.get(), loaded_.file->path());
    std::vector<DraftArgs> ways{args_.draft};
    ways[0].drafter = "none";
    for (const DrafterEntry& e : AllDrafters()) {
      const auto draft = std::ranges::find(found, e.name, &FoundDraft::drafter);
      if (!e.needs.empty() && draft == found.end()) continue;
      const bool is_usual = e.name == kCopyingWay || e.name == kDefaultWay ||
                            (draft != found.end() && draft == found.begin());
      if (!args_.all && !is_usual) continue;
      ways.push_back(args_.draft);
      ways.back().drafter = e.name;
      if (draft != found.end()) ways.back().options.emplace_back(draft->option, draft->path);
    }
    return ways;
  }

  Result<Answer> Decode(const DemoPrompt& prompt, const DraftArgs& way, int max_new,
                        std::FILE* out) {
    const std::vector<ChatMessage> messages{{"user", std::string(prompt.text)}};
    FT_ASSIGN_OR_RETURN(const std::vector<Token> tokens, prompter_.Encode(messages));
    const int capacity =
        std::min(loaded_.model->config().context, static_cast<int>(tokens.size()) + max_new);
    FT_ASSIGN_OR_RETURN(const Decoder decoder, NewDecoder(loaded_, way, capacity));
    const auto session =
        decoder.generator->Start({.stop = prompter_.StopTokens(), .capacity = capacity});
    TextStream stream(*loaded_.tokenizer, tokens, out, terminal_);
    FT_ASSIGN_OR_RETURN(
        Answer answer,
        WriteAnswer(*decoder.generator, *session, tokens, max_new, [&](auto fresh, int drafted) {
          return stream.Write(fresh, drafted) && !InterruptGuard::Requested();
        }));
    stream.Finish();
    FT_RETURN_IF_ERROR(answer.ended);
    return answer;
  }

  // Touches every weight once, and measures how many tokens an answer may have so that showing all
  // answers takes at most half of the time.
  Status WarmUp(double runs) {
    constexpr int kProbe = 16;
    constexpr double kFewest = 16, kMost = 200;
    FT_ASSIGN_OR_RETURN(const Answer probe,
                        Decode(kDemoPrompts[1], DraftArgs{}, kProbe, nowhere_.get()));
    const double each =
        (probe.total_seconds - probe.phases.prefill) / std::max<double>(1, probe.cycles.size());
    const double room = args_.seconds / 2 / runs - probe.phases.prefill;
    max_new_ = args_.new_tokens > 0
                   ? args_.new_tokens
                   : static_cast<int>(std::clamp(room / std::max(each, 1e-6), kFewest, kMost));
    return {};
  }

  Status ShowAll(const std::vector<DraftArgs>& ways) {
    for (const DemoPrompt& prompt : kDemoPrompts) {
      std::printf("\n%s== %s ==%s\n%s%.*s%s\n", style_.bold, prompt.title.data(), style_.off,
                  style_.dim, static_cast<int>(prompt.text.size()), prompt.text.data(), style_.off);
      for (const DraftArgs& way : ways) {
        if (InterruptGuard::Requested()) return {};
        FT_RETURN_IF_ERROR(Show(prompt, way));
      }
    }
    return {};
  }

  // On a terminal each text is streamed at its actual speed; elsewhere only the baseline text is
  // printed.
  Status Show(const DemoPrompt& prompt, const DraftArgs& way) {
    const std::string& drafter = way.drafter;
    const bool plain = drafter == "none";
    const bool streams = plain || terminal_;
    if (streams) {
      std::printf("\n%s-- %s%s\n", style_.bold, plain ? "plain" : drafter.c_str(), style_.off);
    }
    FT_ASSIGN_OR_RETURN(Answer answer,
                        Decode(prompt, way, max_new_, streams ? stdout : nowhere_.get()));
    if (InterruptGuard::Requested()) {  // the answer may lack its end
      std::printf("\n%s", style_.off);
      return {};
    }
    const DemoRun& run =
        runs_.Add(std::string(prompt.title), drafter, std::move(answer), *loaded_.tokenizer);
    if (streams) std::puts("");
    std::printf("%s[%s: %zu tokens, %.1f tokens/s", style_.dim, plain ? "plain" : drafter.c_str(),
                run.answer.tokens.size(), run.Rate());
    if (!plain) {
      std::printf(", %.2fx, %.2f tokens a pass, %s", runs_.SpeedUp(run),
                  run.answer.Summary().tau_micro,
                  run.identical ? "the same tokens" : "OTHER TOKENS");
    }
    std::printf("]%s\n", style_.off);
    std::fflush(stdout);
    return {};
  }

  Status MeasureAll(const std::vector<DraftArgs>& ways) {
    for (const DemoPrompt& prompt : kDemoPrompts) {
      for (const DraftArgs& way : ways) {
        FT_ASSIGN_OR_RETURN(Answer answer, Decode(prompt, way, max_new_, nowhere_.get()));
        if (InterruptGuard::Requested()) return {};  // the answer may lack its end
        runs_.Add(std::string(prompt.title), way.drafter, std::move(answer), *loaded_.tokenizer);
      }
    }
    return {};
  }

  const DemoArgs& args_;
  const LoadedModel& loaded_;
  const ChatPrompter& prompter_;
  bool terminal_;
  Style style_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere_;
  int max_new_ = 0, times_ = 0;
  DemoRuns runs_;
};

Result<int> RunDemo(DemoArgs& args) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(args.json));
  if (args.model.path.empty()) args.model.path = ShortPath(FindDemoModel());
  if (args.model.path.empty()) {
    return Error{"no models/*.gguf near the program; name a model with -m"};
  }
  FT_ASSIGN_OR_RETURN(const LoadedModel loaded, Load(args.model));
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter,
                      ChatPrompter::Create(*loaded.tokenizer, args.model.path));
  std::printf("%s, loaded in %.2f s, %s, %d threads\n", ShortPath(args.model.path).c_str(),
              loaded.load_seconds, loaded.backend->Name().c_str(), loaded.backend->threads());
  if (isatty(STDOUT_FILENO) != 0) {
    std::puts("Drafted tokens that the model accepted are \x1b[32mgreen\x1b[0m.");
  }
  const InterruptGuard guard;
  Demo demo(args, loaded, prompter);
  FT_RETURN_IF_ERROR(demo.Play());
  demo.PrintResults();
  demo.PrintWhatNext();
  if (std::fflush(stdout) != 0) return Error{"cannot write to standard output"};
  FT_RETURN_IF_ERROR(json.Finish(JsonText(demo.ToJson(), 1) + "\n"));
  return demo.AllIdentical() ? kExitDone : kExitDiffers;
}

}  // namespace

int Run_demo(int argc, char** argv) {
  CLI::App app{
      "Answers a handful of prompts with and without speculation, and shows the speed-up, the "
      "acceptance and whether the tokens are the same.",
      "foretoken demo"};
  DemoArgs args;
  AddModelArgs(app, &args.model);
  app.get_option("--model")->description(
      "the model (default: SmolLM2 or the shipped model, in models/)");
  app.add_flag("--all", args.all,
               "run every drafter that needs no file or has one in drafts/ beside the model, not "
               "only pld, the first draft there, and auto");
  app.add_option("-n,--new-tokens", args.new_tokens,
                 "maximum tokens per answer (default: what --seconds allows)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--seconds", args.seconds, "approximate duration of the demo (40)")
      ->check(CLI::Range(1.0, 86400.0));
  AddTreeArgs(app, &args.draft);
  app.add_option("--json", args.json, "write the results as JSON")
      ->type_name("FILE")
      ->check(WritableFile());
  app.footer("Exit status: 0 done, 1 failed, 2 bad usage, 3 a drafter changed the tokens.");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  if (const Status usage = CheckDraftNames(args.draft); !usage.ok()) return BadUsage(usage.error());
  const Result<int> status = RunDemo(args);
  return status.ok() ? *status : Failed(status.error());
}

}  // namespace foretoken
