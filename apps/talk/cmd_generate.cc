// foretoken generate: continues a text by lossless speculative decoding.
#include <unistd.h>

#include <cstdio>

#include "apps/command_line.h"
#include "apps/option_group.h"
#include "apps/runtime_args.h"
#include "apps/talk/attributed_text.h"
#include "base/division.h"
#include "base/input_file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "runtime/answer.h"
#include "runtime/context.h"
#include "runtime/decoder.h"
#include "text/chat_prompt.h"

namespace foretoken {
namespace {

constexpr char kAttributing[] =
    "pld+h";  // the default with --attribute, since only copies have sources

constexpr char kGenerateFooter[] =
    "The text is streamed to standard output; statistics go to standard error. Ctrl-C ends\n"
    "the answer; the statistics are still printed, and the status is 0. Decoding is greedy\n"
    "unless --temp says otherwise; a model's suggestions (generation_config.json) need\n"
    "--model-defaults.\n"
    "\n"
    "Examples:\n"
    "  foretoken generate -m model.gguf --chat -p \"Why is the sky blue?\"\n"
    "  foretoken generate -m model.gguf -p \"Once upon a time\" -n 100 --temp 0.8 --seed 1\n"
    "  foretoken generate -m model.gguf --chat -f question.txt --check      (compare the texts)\n"
    "  foretoken generate -m model.gguf --chat -f question.txt --drafter none  (no speculation)\n"
    "  foretoken generate -m model.gguf --chat -f question.txt --draft-model small.gguf\n"
    "  foretoken generate -m model.gguf --chat -f text.txt --json-schema @schema.json\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 bad usage, 3 --check found a difference.";

struct GenerateArgs {
  ModelArgs model;
  SamplingArgs sampling;
  GrammarArgs grammar;
  DraftArgs draft{.drafter = "auto"};
  std::string prompt, file, system, stats, attribute;
  int attribute_min = 2;
  bool prompt_given = false;
  bool chat = false, check = false, ignore_eos = false, special = false, quiet = false;
  int new_tokens = 256;
  int context = 0;
  DType cache_type = DType::kF16;
};

void DeclarePrompt(CLI::App& app, GenerateArgs* g) {
  OptionGroup prompt(app, "Prompt");
  prompt.Add("-p,--prompt", g->prompt, "TEXT", "the prompt (default: all of standard input)");
  prompt.Add("-f,--file", g->file, "FILE", "read the prompt from a file; '-' = standard input")
      ->excludes("--prompt");
  prompt.AddFlag("--chat", g->chat,
                 "treat the prompt as a user's message: apply the model's chat template (ChatML if "
                 "it has none)");
  prompt.Add("--system", g->system, "TEXT", "a system message; implies --chat");
  prompt.AddFlag("--special", g->special, "recognise control tokens written out in the prompt");
}

void DeclareAnswer(CLI::App& app, GenerateArgs* g) {
  OptionGroup length(app, "Length");
  length
      .Add("-n,--new-tokens", g->new_tokens, "N",
           "maximum tokens to generate (256); -1 = until the context is full")
      ->check(Within(-1, 1 << 30));
  length
      .Add("-c,--context", g->context, "N",
           "longest sequence, including the prompt (default, and 0: what the prompt and -n need, "
           "at most the model's context)")
      ->check(Within(0, 1 << 30));
  length.AddFlag("--ignore-eos", g->ignore_eos, "continue after an end token");
  OptionGroup output(app, "Output");
  output.Add("--stats", g->stats, "FILE",
             "write the statistics as JSON; '-' = standard output, after the text");
  output.Add("--attribute", g->attribute, "FILE",
             "write as JSON which parts of the answer the drafter copied from where in the prompt; "
             "'-' = standard output, after the text. On a terminal, the answer is printed once it "
             "is complete, with copies in colour. The drafter is pld+h unless --drafter is given, "
             "and its tree is the paper's unless --tree or --draft-max is given");
  output.Add("--attribute-min", g->attribute_min, "N", "shortest copy shown, in tokens (2)")
      ->check(Within(1, 1 << 20));
  output.AddFlag("--check", g->check,
                 "also decode without drafts; exit with 3 if any token differs");
  output.AddFlag("-q,--quiet", g->quiet, "no statistics on standard error");
}

void Declare(CLI::App& app, GenerateArgs* g) {
  AddModelArgs(app, &g->model);
  AddCacheArgs(app, &g->cache_type);
  DeclarePrompt(app, g);
  DeclareAnswer(app, g);
  AddSamplingArgs(app, &g->sampling);
  AddGrammarArgs(app, &g->grammar);
  AddDraftArgs(app, &g->draft);
}

Result<std::string> ReadPrompt(const GenerateArgs& g) {
  if (g.prompt_given) return g.prompt;
  const std::string source = g.file.empty() ? "-" : g.file;
  if (source == "-" && isatty(STDIN_FILENO) != 0) {
    std::fputs("foretoken: type the prompt and end it with Ctrl-D; -p gives it at once\n", stderr);
  }
  FT_ASSIGN_OR_RETURN(std::string text, ReadText(source));
  if (text.empty())
    return Error{(source == "-" ? "standard input" : source) + ": contains no prompt"};
  return text;
}

struct Prompt {
  std::vector<Token> tokens, stop;
};

Result<Prompt> EncodeInput(const GenerateArgs& g, const LoadedModel& loaded,
                           const std::string& text) {
  Prompt prompt;
  if (g.chat || !g.system.empty()) {
    FT_ASSIGN_OR_RETURN(const ChatPrompter prompter,
                        ChatPrompter::Create(*loaded.tokenizer, g.model.path));
    if (prompter.uses_fallback() && !g.quiet) {
      std::fputs("foretoken: the model has no chat template; using ChatML\n", stderr);
    }
    std::vector<ChatMessage> messages;
    if (!g.system.empty()) messages.push_back({"system", g.system});
    messages.push_back({"user", text});
    FT_ASSIGN_OR_RETURN(prompt.tokens, prompter.Encode(messages));
    prompt.stop = prompter.StopTokens();
  } else {
    prompt.tokens = EncodePrompt(*loaded.tokenizer, text, g.special);
    prompt.stop = EndTokens(*loaded.tokenizer);
  }
  if (g.ignore_eos) prompt.stop.clear();
  return prompt;
}

Result<int> ChooseCapacity(const GenerateArgs& g, const ModelConfig& config, size_t prompt) {
  const size_t most = g.new_tokens < 0 ? static_cast<size_t>(config.context)
                                       : prompt + static_cast<size_t>(g.new_tokens);
  return ChooseContext(g.context, config, most);
}

Result<Answer> Decode(const LoadedModel& loaded, const DraftArgs& draft,
                      const SessionOptions& options, const Prompt& prompt, int max_new,
                      const OnTokens& on_tokens) {
  FT_ASSIGN_OR_RETURN(const Decoder decoder, NewDecoder(loaded, draft, options.capacity));
  const auto session = decoder.generator->Start(options);
  FT_ASSIGN_OR_RETURN(Answer answer,
                      WriteAnswer(*decoder.generator, *session, prompt.tokens, max_new, on_tokens));
  if (decoder.drafter) answer.tallies = decoder.drafter->Tallies();
  return answer;
}

struct GenerateOutputs {
  OutputFile stats, attribution;
};

Result<GenerateOutputs> OpenGenerateOutputs(const GenerateArgs& g) {
  GenerateOutputs outputs;
  FT_ASSIGN_OR_RETURN(outputs.stats, OutputFile::Open(g.stats));
  FT_ASSIGN_OR_RETURN(outputs.attribution, OutputFile::Open(g.attribute));
  return outputs;
}

// Prints the estimated speed-up, or that there is none: passes are timed only for trees that weigh
// costs.
void PrintEstimate(const DraftArgs& draft, const DraftOutcome& outcome) {
  const std::string sentence = Sentence(outcome);
  if (!sentence.empty()) {
    std::fprintf(stderr, "%s\n", sentence.c_str());
  } else if (!WeighsCosts(draft)) {
    std::fprintf(stderr, "no estimate of the speed-up: tree %s does not weigh costs\n",
                 TreeSpecOf(draft).c_str());
  }
}

void PrintSummary(const GenerateArgs& g, const Answer& answer, const RunReport& report) {
  std::fprintf(stderr, "%d prompt tokens in %.2f s, %zu new tokens in %.2f s: %.1f tokens/s%s\n",
               answer.prompt_tokens, answer.phases.prefill, answer.tokens.size(),
               answer.total_seconds - answer.phases.prefill, report.GenerationTokensPerSecond(),
               answer.finish == Finish::kNot ? " (interrupted)" : "");
  for (const Tally& tally : answer.tallies) {
    if (tally.count == 0) continue;
    std::fprintf(stderr, "%s: %.0f%% of %lld\n", tally.name.c_str(),
                 100.0 * static_cast<double>(tally.count) / static_cast<double>(tally.of),
                 static_cast<long long>(tally.of));
  }
  if (g.draft.drafter == "none") return;
  const Metrics m = answer.Summary();
  std::fprintf(stderr, "%s: %.2f tokens a pass, %d passes\n", g.draft.drafter.c_str(), m.tau_micro,
               m.cycles);
  if (!g.check) PrintEstimate(g.draft, report.outcome);  // --check measures it
}

// Checks that the baseline would generate the same text as this run, without which --check has no
// meaning.
Status CheckIsFair(const GenerateArgs& g, const SamplingParams& sampling) {
  FT_ASSIGN_OR_RETURN(const VerifierEntry* verifier, FindVerifier(g.draft.verifier));
  if (!g.check || sampling.greedy() || verifier->guarantee == Guarantee::kSameText) return {};
  return Error{"--check: sampled with --verifier " + g.draft.verifier +
               ", the text may rightly differ from the one without drafts; use exact, or --temp 0"};
}

// "; auto was 1.17 times as fast": the measured speed-up, prompt excluded. Empty without a drafter,
// or if an answer is too short.
std::string MeasuredSpeedup(const DraftArgs& draft, const Answer& answer, const Answer& plain) {
  const double speedup = Ratio(answer.Report(0).GenerationTokensPerSecond(),
                               plain.Report(0).GenerationTokensPerSecond());
  if (draft.drafter == "none" || speedup <= 0) return "";
  return "; " + draft.drafter + " was " + NumberText("%.2f", speedup) + " times as fast";
}

// Decodes the answer again without drafts and compares. Returns the exit status.
Result<int> Check(const GenerateArgs& g, const LoadedModel& loaded, const SessionOptions& options,
                  const Prompt& prompt, int max_new, const Answer& answer) {
  const bool complete = answer.finish != Finish::kNot;
  const DraftArgs no_draft{.verifier = g.draft.verifier,
                           .verifier_options = g.draft.verifier_options};
  size_t written = 0;
  FT_ASSIGN_OR_RETURN(const Answer plain,
                      Decode(loaded, no_draft, options, prompt, max_new, [&](auto fresh, int) {
                        written += fresh.size();
                        return complete || written < answer.tokens.size();
                      }));
  FT_RETURN_IF_ERROR(plain.ended);
  const auto difference = FirstDifference(*loaded.tokenizer, plain.tokens, answer.tokens, complete);
  if (difference) {
    std::fprintf(stderr, "foretoken: check: %s\n", difference->c_str());
    return kExitDiffers;
  }
  if (!g.quiet) {
    std::fprintf(stderr, "check: all %zu tokens match decoding without drafts (%.1f tokens/s)%s\n",
                 answer.tokens.size(), plain.Report(0).GenerationTokensPerSecond(),
                 MeasuredSpeedup(g.draft, answer, plain).c_str());
  }
  return kExitDone;
}

Status Attribute(const GenerateArgs& g, const LoadedModel& loaded, const Prompt& prompt,
                 const Answer& answer, bool terminal, OutputFile& output) {
  std::vector<Token> tokens = prompt.tokens;
  tokens.insert(tokens.end(), answer.tokens.begin(), answer.tokens.end());
  const std::vector<CopiedSpan> spans =
      CopiedSpans(tokens, answer.prompt_tokens, answer.sources, g.attribute_min);
  const TokenText whole = TextOf(*loaded.tokenizer, tokens);
  if (terminal) PrintAttributed(whole, answer.prompt_tokens, spans, stdout, stderr);
  const Json json = AttributionJson(whole, answer.prompt_tokens, spans, g.attribute_min);
  return output.Finish(JsonText(json) + "\n");
}

// Prints everything that follows the text.
Status Report(const GenerateArgs& g, const LoadedModel& loaded, const Prompt& prompt,
              const Answer& answer, bool terminal, GenerateOutputs& outputs) {
  FT_ASSIGN_OR_RETURN(const VerifierEntry* verifier, FindVerifier(g.draft.verifier));
  RunReport report = answer.Report(loaded.load_seconds);
  report.verifier = verifier->name;
  report.lossless = verifier->lossless();
  report.outcome.guarantee = verifier->guarantee;
  if (outputs.attribution.active()) {
    FT_RETURN_IF_ERROR(Attribute(g, loaded, prompt, answer, terminal, outputs.attribution));
  }
  if (!g.quiet) PrintSummary(g, answer, report);
  return outputs.stats.Finish(JsonText(ToJson(report)) + "\n");
}

Result<int> Generate(const GenerateArgs& g) {
  FT_ASSIGN_OR_RETURN(GenerateOutputs outputs, OpenGenerateOutputs(g));
  FT_ASSIGN_OR_RETURN(auto grammar, ReadGrammar(g.grammar));
  FT_ASSIGN_OR_RETURN(const std::string text, ReadPrompt(g));
  FT_ASSIGN_OR_RETURN(const LoadedModel loaded, Load(g.model));
  FT_RETURN_IF_ERROR(CheckCacheType(loaded.model->config(), g.cache_type));
  FT_ASSIGN_OR_RETURN(const Prompt prompt, EncodeInput(g, loaded, text));
  SessionOptions options{
      .stop = prompt.stop, .cache_type = g.cache_type, .is_stopped = InterruptGuard::Requested};
  FT_ASSIGN_OR_RETURN(options.filter,
                      FilterBy(std::move(grammar), *loaded.tokenizer, options.stop));
  FT_ASSIGN_OR_RETURN(options.sampling, ResolveSampling(g.sampling, *loaded.file));
  FT_ASSIGN_OR_RETURN(options.capacity,
                      ChooseCapacity(g, loaded.model->config(), prompt.tokens.size()));
  if (const Status fair = CheckIsFair(g, options.sampling); !fair.ok()) {
    return BadUsage(fair.error());
  }
  WarnIfLossy(g.draft);
  const int max_new = g.new_tokens < 0 ? options.capacity : g.new_tokens;

  const InterruptGuard guard;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const bool held = terminal && !g.attribute.empty();
  TextStream stream(*loaded.tokenizer, prompt.tokens, stdout, terminal);
  bool writable = true;
  FT_ASSIGN_OR_RETURN(const Answer answer, Decode(loaded, g.draft, options, prompt, max_new,
                                                  [&](auto fresh, int drafted) {
                                                    if (!held)
                                                      writable = stream.Write(fresh, drafted);
                                                    return writable && !InterruptGuard::Requested();
                                                  }));
  stream.Finish();
  if (!writable) return Error{"cannot write to standard output"};
  const bool more = terminal || g.stats == "-" || g.attribute == "-";
  if (more && !stream.at_line_start()) std::puts("");
  FT_RETURN_IF_ERROR(Report(g, loaded, prompt, answer, terminal, outputs));
  FT_RETURN_IF_ERROR(answer.ended);
  if (!g.check) return kExitDone;
  InterruptGuard::Clear();
  return Check(g, loaded, options, prompt, max_new, answer);
}

// Checks combinations of options, before any work.
Status CheckUsage(const GenerateArgs& g) {
  if (g.model.path.empty()) return Error{"--model is missing"};
  FT_RETURN_IF_ERROR(CheckNewTokens("--new-tokens", g.new_tokens));
  FT_RETURN_IF_ERROR(Validate(g.sampling.params));
  FT_RETURN_IF_ERROR(CheckDraftNames(g.draft));
  if (g.ignore_eos && g.grammar.any()) {
    return Error{"--ignore-eos: not with a grammar, which determines where the answer ends"};
  }
  if (g.attribute.empty() || g.draft.drafter != "none") return {};
  return Error{"--attribute: --drafter is none, expected a drafter that copies"};
}

}  // namespace

int Run_generate(int argc, char** argv) {
  CLI::App app{
      "Continues a text with speculative decoding, token for token as the model alone would.",
      "foretoken generate"};
  app.footer(kGenerateFooter);
  GenerateArgs g;
  Declare(app, &g);
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  g.prompt_given = app.count("--prompt") > 0;
  g.draft.quiet = g.quiet;
  if (!g.attribute.empty()) {
    if (app.count("--drafter") == 0) g.draft.drafter = kAttributing;
    DraftAsPaper(&g.draft);
  }
  if (const Status usage = CheckUsage(g); !usage.ok()) return BadUsage(usage.error());
  const Result<int> status = Generate(g);
  return status.ok() ? *status : Failed(status.error());
}

}  // namespace foretoken
