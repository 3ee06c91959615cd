// foretoken chat: a conversation in the terminal. Each turn reuses the cache of the turns before
// it.
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "apps/talk/chat.h"
#include "apps/talk/chat_commands.h"
#include "apps/talk/line_reader.h"
#include "apps/talk/message_text.h"
#include "base/interrupt.h"
#include "base/legible.h"

namespace foretoken {
namespace {

constexpr char kChatExamples[] =
    "\n"
    "Examples:\n"
    "  foretoken chat -m model.gguf\n"
    "  foretoken chat -m model.gguf --system \"Answer in one sentence.\" --temp 0.7 --stats\n"
    "  foretoken chat -m model.gguf --drafter none                                (no speculation)";

std::string HistoryFile() {
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.foretoken_history";
}

void DeclareChat(CLI::App& app, ChatArgs* args) {
  AddModelArgs(app, &args->model);
  AddCacheArgs(app, &args->cache_type);
  app.get_option("--model")->required();
  const char* answers = "Answers";
  app.add_option("--system", args->system, "a system message")->type_name("TEXT")->group(answers);
  app.add_option("-n,--new-tokens", args->new_tokens,
                 "maximum tokens per answer (default: until the context is full)")
      ->check(Within(-1, 1 << 30))
      ->type_name("N")
      ->group(answers);
  app.add_option(
         "-c,--context", args->context,
         "longest conversation in tokens (default: the model's, at most 4096); 0 = the model's")
      ->check(Within(0, 1 << 30))
      ->type_name("N")
      ->group(answers);
  app.add_flag("--stats", args->show_stats, "show the statistics of every answer")->group(answers);
  AddSamplingArgs(app, &args->sampling);
  AddGrammarArgs(app, &args->grammar);
  AddDraftArgs(app, &args->draft);
  app.footer("Commands while it runs:\n" + ChatHelp() + kChatExamples);
}

// Reads messages until the input ends. Returns whether all output was written.
bool Converse(Chat& chat, LineReader& reader) {
  std::optional<InterruptGuard> guard;  // Ctrl-C outside of prompts does not end the program
  while (!chat.is_leaving) {
    if (!reader.interactive()) guard.reset();  // while waiting for a pipe, Ctrl-C ends the program
    const std::optional<std::string> typed = reader.Read("> ");
    if (!typed) break;
    if (!guard) guard.emplace();
    InterruptGuard::Clear();
    const auto command = ParseCommand(*typed);
    const std::string message = MessageOf(*typed);
    if (!command && message.empty()) continue;
    const Status status = command ? RunCommand(chat, *command) : chat.Ask(message);
    if (!status.ok()) {
      std::fprintf(stderr, "foretoken: %s\n", Legible(status.error().message).c_str());
    }
    if (std::fflush(stdout) != 0) return false;
  }
  if (reader.interactive()) std::puts("");
  return true;
}

}  // namespace

int Run_chat(int argc, char** argv) {
  CLI::App app{"Chats with a model, with line editing and history on a terminal.",
               "foretoken chat"};
  ChatArgs args;
  DeclareChat(app, &args);
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Status length = CheckNewTokens("--new-tokens", args.new_tokens);
  if (!length.ok()) return BadUsage(length.error());
  if (const Status usage = CheckDraftNames(args.draft); !usage.ok()) {
    return BadUsage(usage.error());
  }
  const DraftArgs draft = args.draft;
  LineReader reader(HistoryFile(), CompleteCommand);
  auto chat = Chat::Create(std::move(args), [&](const std::string& question, bool unasked) {
    return reader.Confirm(question, unasked);
  });
  if (!chat.ok()) return Failed(chat.error());
  WarnIfLossy(draft);
  (*chat)->Greet();
  if (Converse(**chat, reader)) return kExitDone;
  return Failed(Error{"cannot write to standard output"});
}

}  // namespace foretoken
