// foretoken chat: a conversation in the terminal. Each turn reuses the cache of the turns before
// it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "apps/talk/line_reader.h"
#include "base/interrupt.h"
#include "base/output_file.h"
#include "runtime/answer.h"
#include "runtime/context.h"
#include "runtime/decoder.h"
#include "text/chat_prompt.h"

namespace foretoken {
namespace {

struct ChatArgs {
  ModelArgs model;
  SamplingArgs sampling;
  DraftArgs draft{.drafter = "auto"};
  std::string system;
  int new_tokens = -1;
  int context = 0;
  DType cache_type = DType::kF16;
  bool show_stats = false;
};

constexpr char kHelp[] =
    "/help             this list\n"
    "/clear            forget the conversation\n"
    "/system [TEXT]    set or show the system message; begins anew\n"
    "/drafter [NAME]   change or show the drafter (auto, none for plain decoding, pld, hass, ...)\n"
    "/tree [TREE]      change or show the tree (chain, eagle2, pct, ...)\n"
    "/stats            numbers of the last answer\n"
    "/save FILE        write the conversation as text\n"
    "/quit             leave (or Ctrl-D)\n"
    "Ctrl-C stops an answer and keeps the conversation.\n";

constexpr char kChatExamples[] =
    "\n"
    "Examples:\n"
    "  foretoken chat -m model.gguf\n"
    "  foretoken chat -m model.gguf --system \"Answer in one sentence.\" --temp 0.7 --stats\n"
    "  foretoken chat -m model.gguf --drafter none                                (plain decoding)";

class Chat {
 public:
  static Result<std::unique_ptr<Chat>> Create(ChatArgs args) {
    auto chat = std::unique_ptr<Chat>(new Chat(std::move(args)));
    FT_ASSIGN_OR_RETURN(chat->loaded_, Load(chat->args_.model));
    const ModelConfig& config = chat->loaded_.model->config();
    FT_RETURN_IF_ERROR(CheckCacheType(config, chat->args_.cache_type));
    FT_ASSIGN_OR_RETURN(auto prompter,
                        ChatPrompter::Create(*chat->loaded_.tokenizer, chat->args_.model.path));
    chat->prompter_.emplace(std::move(prompter));
    FT_ASSIGN_OR_RETURN(chat->options_.sampling,
                        ResolveSampling(chat->args_.sampling, *chat->loaded_.file));
    FT_ASSIGN_OR_RETURN(chat->options_.capacity,
                        ChooseContext(chat->args_.context, config, kUsualContext));
    chat->options_.cache_type = chat->args_.cache_type;
    chat->options_.stop = chat->prompter_->StopTokens();
    FT_RETURN_IF_ERROR(chat->Use(chat->args_.draft));
    return chat;
  }

  void Greet() const {
    std::fprintf(stderr, "%s, loaded in %.2f s, drafter %s; /help lists the commands\n",
                 args_.model.path.c_str(), loaded_.load_seconds, args_.draft.drafter.c_str());
    if (prompter_->uses_fallback()) {
      std::fputs("The model has no chat template; using ChatML.\n", stderr);
    }
  }

  // Reads until the input ends. Returns false if standard output failed.
  bool Converse(LineReader& reader) {
    while (!leaving_) {
      const std::optional<std::string> line = reader.Read("> ");
      if (!line) break;
      if (line->empty()) continue;
      const Status status = line->front() == '/' ? Command(*line) : Ask(*line);
      if (!status.ok()) std::fprintf(stderr, "foretoken: %s\n", status.error().message.c_str());
      if (std::fflush(stdout) != 0) return false;
    }
    if (reader.interactive()) std::puts("");
    return true;
  }

 private:
  explicit Chat(ChatArgs args) : args_(std::move(args)) {}

  // A drafter's state begins with the sequence, so a change of drafter or tree begins with an empty
  // cache; the next turn scores the conversation again.
  Status Use(DraftArgs draft) {
    if (draft.drafter != args_.draft.drafter) draft.options.clear();  // those of the other drafter
    FT_ASSIGN_OR_RETURN(Decoder decoder, NewDecoder(loaded_, draft, options_.capacity));
    session_.reset();
    decoder_ = std::move(decoder);
    session_ = decoder_.generator->Start(options_);
    args_.draft = std::move(draft);
    return {};
  }

  // Shows `now` where `value` is empty.
  Status ShowOrChange(const std::string& now, const std::string& value,
                      std::string DraftArgs::*member) {
    if (value.empty()) {
      std::puts(now.c_str());
      return {};
    }
    DraftArgs draft = args_.draft;
    draft.*member = value;
    return Use(std::move(draft));
  }

  std::vector<ChatMessage> WithSystem() const {
    std::vector<ChatMessage> all;
    if (!args_.system.empty()) all.push_back({"system", args_.system});
    all.insert(all.end(), messages_.begin(), messages_.end());
    return all;
  }

  Status Ask(const std::string& text) {
    messages_.push_back({"user", text});
    const size_t asked = messages_.size();
    Status status = WriteTurn();
    if (!status.ok() && messages_.size() == asked) messages_.pop_back();  // nothing was answered
    return status;
  }

  Status WriteTurn() {
    FT_ASSIGN_OR_RETURN(const std::vector<Token> prompt, prompter_->Encode(WithSystem()));
    const int max_new = args_.new_tokens > 0 ? args_.new_tokens : options_.capacity;
    const InterruptGuard guard;
    TextStream stream(*loaded_.tokenizer, prompt, stdout, isatty(STDOUT_FILENO) != 0);
    FT_ASSIGN_OR_RETURN(
        Answer answer,
        WriteAnswer(*decoder_.generator, *session_, prompt, max_new, [&](auto fresh, int drafted) {
          return stream.Write(fresh, drafted) && !InterruptGuard::Requested();
        }));
    stream.Finish();
    if (!stream.at_line_start()) std::puts("");
    std::string said;
    StreamDecoder decoder(*loaded_.tokenizer);
    for (Token token : answer.tokens) said += decoder.Push(token);
    messages_.push_back({"assistant", said + decoder.Flush()});
    if (answer.finish == Finish::kContext) {
      std::fputs("(the context is full; /clear begins anew)\n", stderr);
    }
    last_ = std::move(answer);
    if (args_.show_stats) PrintStats();
    return last_->ended;
  }

  void PrintStats() const {
    if (!last_) return;
    const Metrics m = last_->Summary();
    std::fprintf(
        stderr,
        "%d prompt tokens, %d of them cached, %zu new tokens: %.1f tokens/s; %s: %.2f tokens "
        "a pass, %d passes\n",
        last_->prompt_tokens, session_->reused, last_->tokens.size(),
        last_->Report(0).GenerationTokensPerSecond(), args_.draft.drafter.c_str(), m.tau_micro,
        m.cycles);
  }

  Status Save(const std::string& path) {
    std::string text;
    for (const ChatMessage& m : WithSystem()) {
      text.append(m.role).append(": ").append(m.content).append("\n\n");
    }
    FT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open(path));
    // What this conversation saved is saved again without asking.
    const Status replaces = CheckReplaces(path, /*force=*/path == saved_);
    if (!replaces.ok()) return Error{path + ": exists already; name another file"};
    FT_RETURN_IF_ERROR(file.Finish(text));
    saved_ = path;
    return {};
  }

  Status Command(const std::string& line) {
    const size_t space = line.find(' ');
    const std::string name = line.substr(1, space == std::string::npos ? space : space - 1);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (name == "help") {
      std::fputs(kHelp, stdout);
    } else if (name == "quit" || name == "exit") {
      leaving_ = true;
    } else if (name == "clear") {
      messages_.clear();
    } else if (name == "stats") {
      PrintStats();
    } else if (name == "system") {
      if (rest.empty()) std::printf("system message: %s\n", args_.system.c_str());
      if (!rest.empty()) args_.system = rest, messages_.clear();
    } else if (name == "drafter") {
      return ShowOrChange("drafter: " + args_.draft.drafter, rest, &DraftArgs::drafter);
    } else if (name == "tree") {
      return ShowOrChange("tree: " + TreeOf(args_.draft), rest, &DraftArgs::tree);
    } else if (name == "save") {
      if (rest.empty()) return Error{"/save needs the name of a file"};
      return Save(rest);
    } else {
      return Error{"no command /" + name + "; /help lists them"};
    }
    return {};
  }

  ChatArgs args_;
  LoadedModel loaded_;
  std::optional<ChatPrompter> prompter_;
  SessionOptions options_;
  Decoder decoder_;
  std::unique_ptr<Session> session_;  // after decoder_: goes before it
  std::vector<ChatMessage> messages_;
  std::optional<Answer> last_;
  std::string saved_;  // the file of the last /save
  bool leaving_ = false;
};

std::string HistoryFile() {
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.foretoken_history";
}

}  // namespace

int Run_chat(int argc, char** argv) {
  CLI::App app{"A conversation, with line editing and history on a terminal.", "foretoken chat"};
  ChatArgs args;
  AddModelArgs(app, &args.model);
  app.get_option("--model")->required();
  app.add_option("--system", args.system, "a system message")->type_name("TEXT");
  app.add_option("-n,--new-tokens", args.new_tokens,
                 "tokens an answer at most (default: until the context is full)")
      ->check(CLI::Range(-1, 1 << 30));
  app.add_option("-c,--context", args.context,
                 "longest conversation in tokens (default: the model's, at most 4096)")
      ->check(CLI::Range(1, 1 << 30));
  app.add_flag("--stats", args.show_stats, "show the numbers of every answer");
  AddCacheArgs(app, &args.cache_type);
  AddSamplingArgs(app, &args.sampling);
  AddDraftArgs(app, &args.draft);
  app.footer("Commands while it runs:\n" + std::string(kHelp) + kChatExamples);
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  if (const Status usage = CheckDraftNames(args.draft); !usage.ok()) {
    return BadUsage(usage.error());
  }
  const DraftArgs draft = args.draft;
  auto chat = Chat::Create(std::move(args));
  if (!chat.ok()) return Failed(chat.error());
  LineReader reader(HistoryFile());
  WarnIfLossy(draft);
  (*chat)->Greet();
  if ((*chat)->Converse(reader)) return kExitDone;
  return Failed(Error{"standard output takes no more"});
}

}  // namespace foretoken
