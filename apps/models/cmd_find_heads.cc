// foretoken find-heads: finds the attention heads of a model that PLD+(a) should use.
#include <cstdio>
#include <sstream>

#include "apps/command_line.h"
#include "apps/models/find_heads_prompts.h"
#include "apps/runtime_args.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "insight/head_finder.h"
#include "text/chat_prompt.h"

namespace foretoken {
namespace {

struct FindHeadsArgs {
  ModelArgs model;
  std::string output, prompts, domain = "input";
  int new_tokens = 128;
  int context = 0;
  bool plain = false, force = false, quiet = false;
};

// The paragraphs of a file, separated by blank lines.
Result<std::vector<std::string>> ReadPrompts(const std::string& path) {
  FT_ASSIGN_OR_RETURN(std::string text, ReadText(path));
  std::istringstream in(std::move(text));
  std::vector<std::string> prompts;
  std::string line, prompt;
  const auto flush = [&] {
    if (!prompt.empty()) prompts.push_back(prompt);
    prompt.clear();
  };
  while (std::getline(in, line)) {
    if (line.empty()) {
      flush();
    } else {
      prompt += (prompt.empty() ? "" : "\n") + line;
    }
  }
  flush();
  if (prompts.empty()) return Error{path + ": contains no prompt"};
  return prompts;
}

Result<std::vector<std::vector<Token>>> Encode(const LoadedModel& loaded,
                                               const std::vector<std::string>& texts, bool plain,
                                               const ChatPrompter& prompter) {
  std::vector<std::vector<Token>> prompts;
  for (const std::string& text : texts) {
    if (plain || prompter.uses_fallback()) {
      prompts.push_back(EncodePrompt(*loaded.tokenizer, text, /*parse_special=*/false));
    } else {
      const ChatMessage message{"user", text};
      FT_ASSIGN_OR_RETURN(std::vector<Token> tokens, prompter.Encode(std::span(&message, 1)));
      prompts.push_back(std::move(tokens));
    }
  }
  return prompts;
}

RowDomain DomainOf(const std::string& name) {
  if (name == "full") return RowDomain::kFull;
  return name == "occurrences" ? RowDomain::kOccurrences : RowDomain::kInput;
}

Json ToJson(const FindHeadsArgs& args, const HeadReport& report, size_t prompts) {
  Json heads = Json::array();
  for (const HeadHits& h : report.heads) {
    if (h.hits > 0) heads.push_back(Json::array({h.layer, h.head, h.hits}));
  }
  return {{"model", args.model.path},
          {"prompts", prompts},
          {"domain", args.domain},
          {"trials", report.trials},
          {"candidates", report.heads.size()},
          {"heads", std::move(heads)}};
}

Status Find(FindHeadsArgs& args) {
  const bool is_own = args.output.empty();  // the model's own list may be replaced without --force
  if (is_own) args.output = args.model.path + ".heads.json";
  FT_ASSIGN_OR_RETURN(OutputFile output, OpenOutput(args.output, args.force || is_own));
  std::vector<std::string> texts = DefaultHeadPrompts();
  if (!args.prompts.empty()) {
    FT_ASSIGN_OR_RETURN(texts, ReadPrompts(args.prompts));
  }
  FT_ASSIGN_OR_RETURN(const LoadedModel loaded, Load(args.model));
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter,
                      ChatPrompter::Create(*loaded.tokenizer, args.model.path));
  FT_ASSIGN_OR_RETURN(const auto prompts, Encode(loaded, texts, args.plain, prompter));
  HeadSearch search{.max_new = args.new_tokens,
                    .capacity = loaded.model->config().context,
                    .stop = prompter.StopTokens(),
                    .bos = loaded.tokenizer->data().bos,
                    .domain = DomainOf(args.domain)};
  if (args.context > 0) search.capacity = std::min(search.capacity, args.context);
  Progress progress("prompts", static_cast<int64_t>(prompts.size()), args.quiet);
  FT_ASSIGN_OR_RETURN(const HeadReport report, FindHeads(*loaded.model, prompts, search,
                                                         [&](int done) { progress.Update(done); }));
  progress.Finish();
  const Json json = ToJson(args, report, prompts.size());
  FT_RETURN_IF_ERROR(output.Finish(JsonText(json) + "\n"));
  if (!args.quiet) {
    std::fprintf(stderr, "%zu of %zu heads found over %lld copied tokens; written to %s\n",
                 json["heads"].size(), report.heads.size(), static_cast<long long>(report.trials),
                 args.output.c_str());
  }
  return {};
}

}  // namespace

int Run_find_heads(int argc, char** argv) {
  CLI::App app{
      "Finds the attention heads that attend to the source of copied tokens, and writes them, best "
      "first, for --drafter pld+a.",
      "foretoken find-heads"};
  FindHeadsArgs args;
  AddModelArgs(app, &args.model);
  app.get_option("--model")->required();
  app.add_option("-o,--output", args.output,
                 "the list (default: MODEL.heads.json, where pld+a looks for it)")
      ->type_name("FILE");
  app.add_option("--prompts", args.prompts,
                 "prompts separated by blank lines (default: 32 short texts to summarise)")
      ->type_name("FILE");
  app.add_option("--domain", args.domain,
                 "positions that compete for a head's maximum: input (default; without BOS), full "
                 "(all earlier ones) or occurrences (of the token in the input)")
      ->check(CLI::IsMember({"input", "full", "occurrences"}));
  app.add_option("-n,--new-tokens", args.new_tokens, "tokens generated for each prompt (128)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("-c,--context", args.context, "longest sequence (default: the model's)")
      ->check(CLI::Range(1, 1 << 30));
  app.add_flag("--no-chat", args.plain, "use the prompts as they are, without a chat template");
  app.add_flag("--force", args.force, "replace FILE if it exists");
  app.add_flag("-q,--quiet", args.quiet, "no progress");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Status status = Find(args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
