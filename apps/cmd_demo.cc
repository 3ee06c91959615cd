// foretoken demo: the same answers, plainly and with every drafter, side by side.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "answer.h"
#include "base/json.h"
#include "base/output_file.h"
#include "command_line.h"
#include "demo_prompts.h"
#include "draft/found_drafts.h"
#include "interrupt.h"
#include "runtime.h"
#include "text/chat_prompt.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

struct DemoArgs {
  ModelArgs model;
  std::string json;
  DraftArgs draft;     // the drafter is each in turn
  int new_tokens = 0;  // 0 = what the time allows
  double seconds = 40;
};

// The style of terminals; nothing in a pipe.
struct Style {
  explicit Style(bool on)
      : bold(on ? "\x1b[1m" : ""), dim(on ? "\x1b[2m" : ""), off(on ? "\x1b[0m" : "") {}
  const char *bold, *dim, *off;
};

// The first .gguf of a models/ folder beside the executable or above it.
std::string FindShippedModel() {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int level = 0; level < 5 && !folder.empty(); ++level, folder = folder.parent_path()) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder / "models", error)) {
      if (entry.path().extension() == ".gguf") found.push_back(entry.path().string());
    }
    if (!found.empty()) return *std::min_element(found.begin(), found.end());
  }
  return "";
}

// One prompt decoded in one way.
struct Run {
  std::string prompt, drafter;
  Answer answer;
  bool identical = true;
  double Rate() const { return answer.Report(0).TokensPerSecond(); }
};

class Demo {
 public:
  Demo(const DemoArgs& args, const LoadedModel& loaded, const ChatPrompter& prompter)
      : args_(args),
        loaded_(loaded),
        prompter_(prompter),
        terminal_(isatty(STDOUT_FILENO) != 0),
        style_(terminal_) {}

  Status Play() {
    const std::vector<DraftArgs> ways = Ways();
    const double runs = static_cast<double>(ways.size() * kDemoPrompts.size());
    FT_RETURN_IF_ERROR(WarmUp(runs));
    for (const DemoPrompt& prompt : kDemoPrompts) {
      std::printf("\n%s== %s ==%s\n%s%.*s%s\n", style_.bold, prompt.title.data(), style_.off,
                  style_.dim, static_cast<int>(prompt.text.size()), prompt.text.data(), style_.off);
      for (const DraftArgs& way : ways) {
        if (InterruptGuard::Requested()) return {};
        FT_RETURN_IF_ERROR(PlayOne(prompt, way));
      }
    }
    return {};
  }

  void PrintTable() const {
    std::printf("\n%s%-24s %-11s %10s %9s %13s  %s%s\n", style_.bold, "task", "drafter", "tokens/s",
                "speed-up", "tokens a pass", "same tokens", style_.off);
    for (const Run& run : runs_) {
      const Metrics m = MetricsOf(run);
      std::printf("%-24s %-11s %10.1f %8.2fx %13.2f  %s\n", run.prompt.c_str(), run.drafter.c_str(),
                  run.Rate(), SpeedUp(run), m.tau_micro, run.identical ? "yes" : "NO");
    }
  }

  void PrintHint() const {
    std::printf(
        "\nEvery drafter wrote what the model alone writes%s. With a model of your own:\n"
        "  foretoken generate -m MODEL.gguf --chat -p \"...\" --drafter auto --check\n"
        "  foretoken chat -m MODEL.gguf --drafter auto\n",
        AllIdentical() ? "" : ", but for the rows that say NO");
  }

  bool AllIdentical() const {
    return std::all_of(runs_.begin(), runs_.end(), [](const Run& r) { return r.identical; });
  }

  Json ToJson() const {
    Json list = Json::array();
    for (const Run& run : runs_) {
      Json entry = {{"task", run.prompt},
                    {"drafter", run.drafter},
                    {"identical", run.identical},
                    {"speedup", SpeedUp(run)}};
      entry["stats"] = foretoken::ToJson(run.answer.Report(loaded_.load_seconds));
      list.push_back(std::move(entry));
    }
    return {{"model", args_.model.path}, {"identical", AllIdentical()}, {"runs", std::move(list)}};
  }

 private:
  static Metrics MetricsOf(const Run& run) {
    const std::vector<Cycle> cycles = run.answer.cycles;
    return Summarise(std::span(&cycles, 1));
  }

  // Against the plain run of the same prompt, which comes before its drafted ones.
  double SpeedUp(const Run& run) const {
    for (const Run& plain : runs_) {
      if (plain.prompt == run.prompt && plain.drafter == "none" && plain.Rate() > 0) {
        return run.Rate() / plain.Rate();
      }
    }
    return 1;
  }

  // Plainly, then with every drafter that needs no file, or whose file lies beside the model.
  std::vector<DraftArgs> Ways() const {
    const auto found = FindDrafts(*loaded_.model, loaded_.tokenizer.get(), loaded_.file->path());
    std::vector<DraftArgs> ways{args_.draft};
    ways[0].drafter = "none";
    for (const DrafterEntry& e : AllDrafters()) {
      const auto draft = std::ranges::find(found, e.name, &FoundDraft::drafter);
      if (!e.needs.empty() && draft == found.end()) continue;
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

  // Reads every weight once and measures how many tokens an answer may have.
  Status WarmUp(double runs) {
    constexpr int kProbe = 16;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"),
                                                                  &std::fclose);
    if (!nowhere) return Error{"/dev/null: cannot be opened"};
    FT_ASSIGN_OR_RETURN(const Answer probe,
                        Decode(kDemoPrompts[1], DraftArgs{}, kProbe, nowhere.get()));
    const double each =
        (probe.total_seconds - probe.phases.prefill) / std::max<double>(1, probe.cycles.size());
    const double room = args_.seconds / runs - probe.phases.prefill;
    max_new_ = args_.new_tokens > 0
                   ? args_.new_tokens
                   : static_cast<int>(std::clamp(room / std::max(each, 1e-6), 16.0, 160.0));
    return {};
  }

  Status PlayOne(const DemoPrompt& prompt, const DraftArgs& way) {
    const std::string& drafter = way.drafter;
    std::printf("\n%s-- %s%s\n", style_.bold, drafter == "none" ? "plain" : drafter.c_str(),
                style_.off);
    Run run{.prompt = std::string(prompt.title), .drafter = drafter};
    FT_ASSIGN_OR_RETURN(run.answer, Decode(prompt, way, max_new_, stdout));
    if (drafter == "none") plain_tokens_ = run.answer.tokens;
    const bool complete = run.answer.finish != Finish::kNot;
    const auto difference =
        FirstDifference(*loaded_.tokenizer, plain_tokens_, run.answer.tokens, complete);
    run.identical = !difference.has_value();
    runs_.push_back(std::move(run));
    const Run& kept = runs_.back();
    std::printf("\n%s[%zu tokens, %.1f a second", style_.dim, kept.answer.tokens.size(),
                kept.Rate());
    if (drafter != "none") {
      std::printf(", %.2fx, %.2f tokens a pass, %s", SpeedUp(kept), MetricsOf(kept).tau_micro,
                  difference ? difference->c_str() : "the same tokens");
    }
    std::printf("]%s\n", style_.off);
    std::fflush(stdout);
    return {};
  }

  const DemoArgs& args_;
  const LoadedModel& loaded_;
  const ChatPrompter& prompter_;
  bool terminal_;
  Style style_;
  int max_new_ = 96;
  std::vector<Token> plain_tokens_;
  std::vector<Run> runs_;
};

Result<int> RunDemo(DemoArgs& args) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(args.json));
  if (args.model.path.empty()) args.model.path = FindShippedModel();
  if (args.model.path.empty()) {
    return Error{"no models/*.gguf near the program; name a model with -m"};
  }
  FT_ASSIGN_OR_RETURN(const LoadedModel loaded, Load(args.model));
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter,
                      ChatPrompter::Create(*loaded.tokenizer, args.model.path));
  std::printf("%s, loaded in %.2f s, %s, %d threads\n", args.model.path.c_str(),
              loaded.load_seconds, loaded.backend->Name().c_str(), loaded.backend->threads());
  if (isatty(STDOUT_FILENO) != 0) {
    std::puts("Guessed tokens that the model confirmed are \x1b[32mgreen\x1b[0m.");
  }
  const InterruptGuard guard;
  Demo demo(args, loaded, prompter);
  FT_RETURN_IF_ERROR(demo.Play());
  demo.PrintTable();
  demo.PrintHint();
  if (std::fflush(stdout) != 0) return Error{"standard output takes no more"};
  FT_RETURN_IF_ERROR(json.Finish(JsonText(demo.ToJson(), 1) + "\n"));
  return demo.AllIdentical() ? kExitDone : kExitDiffers;
}

}  // namespace

int Run_demo(int argc, char** argv) {
  CLI::App app{
      "Answers a handful of prompts plainly and with every drafter, and shows the speed-up, the "
      "acceptance and that the tokens are the same.",
      "foretoken demo"};
  DemoArgs args;
  AddModelArgs(app, &args.model);
  app.get_option("--model")->description("default: the model shipped under models/");
  app.add_option("-n,--new-tokens", args.new_tokens,
                 "tokens an answer at most (default: what --seconds allow)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--seconds", args.seconds, "time the demo may take, about (40)")
      ->check(CLI::Range(1.0, 86400.0));
  AddTreeArgs(app, &args.draft);
  app.add_option("--json", args.json, "write the numbers as JSON")
      ->type_name("FILE")
      ->check(WritableFile());
  app.footer("Exit status: 0 done, 1 failed, 2 bad usage, 3 a drafter wrote other tokens.");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  if (const Status usage = CheckDraftNames(args.draft); !usage.ok()) return BadUsage(usage.error());
  const Result<int> status = RunDemo(args);
  return status.ok() ? *status : Failed(status.error());
}

}  // namespace foretoken
