#include "apps/talk/chat.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/input_file.h"
#include "base/interrupt.h"
#include "base/output_file.h"
#include "base/utf8.h"
#include "base/writable.h"
#include "runtime/context.h"

namespace foretoken {
namespace {

// "3 exchanges".
std::string Exchanges(int count) {
  return std::to_string(count) + (count == 1 ? " exchange" : " exchanges");
}

// A path as typed at the prompt, where no shell expands it.
std::string ExpandHome(const std::string& path) {
  const char* home = std::getenv("HOME");
  return home != nullptr && path.starts_with("~/") ? home + path.substr(1) : path;
}

}  // namespace

Result<std::unique_ptr<Chat>> Chat::Create(ChatArgs args, Confirm confirm) {
  auto chat = std::unique_ptr<Chat>(new Chat(std::move(args), std::move(confirm)));
  FT_ASSIGN_OR_RETURN(auto grammar, ReadGrammar(chat->args_.grammar));
  FT_ASSIGN_OR_RETURN(chat->loaded_, Load(chat->args_.model));
  const ModelConfig& config = chat->loaded_.model->config();
  FT_RETURN_IF_ERROR(CheckCacheType(config, chat->args_.cache_type));
  FT_ASSIGN_OR_RETURN(auto prompter,
                      ChatPrompter::Create(*chat->loaded_.tokenizer, chat->args_.model.path));
  chat->prompter_.emplace(std::move(prompter));
  FT_ASSIGN_OR_RETURN(chat->settings_.sampling,
                      ResolveSampling(chat->args_.sampling, *chat->loaded_.file));
  chat->settings_.new_tokens = chat->args_.new_tokens;
  const bool all = chat->args_.context == 0;  // as in llama.cpp
  FT_ASSIGN_OR_RETURN(
      chat->options_.capacity,
      ChooseContext(all ? config.context : chat->args_.context, config, kUsualContext));
  chat->options_.cache_type = chat->args_.cache_type;
  chat->options_.stop = chat->prompter_->StopTokens();
  FT_ASSIGN_OR_RETURN(chat->options_.filter,
                      FilterBy(std::move(grammar), *chat->loaded_.tokenizer, chat->options_.stop));
  chat->options_.is_stopped = InterruptGuard::Requested;
  chat->dialogue_.SetSystem(chat->args_.system);
  FT_RETURN_IF_ERROR(chat->Use(chat->args_.draft));
  return chat;
}

void Chat::Greet() const {
  std::fprintf(stderr, "%s, loaded in %.2f s, drafter %s; /help lists the commands\n",
               args_.model.path.c_str(), loaded_.load_seconds, args_.draft.drafter.c_str());
  if (prompter_->uses_fallback()) {
    std::fputs("The model has no chat template; using ChatML.\n", stderr);
  }
}

Status Chat::Use(DraftArgs draft) {
  if (draft.drafter != args_.draft.drafter) draft.options.clear();  // the previous drafter's
  FT_ASSIGN_OR_RETURN(Decoder decoder, NewDecoder(loaded_, draft, options_.capacity));
  session_.reset();
  decoder_ = std::move(decoder);
  options_.sampling = settings_.sampling;
  session_ = decoder_.generator->Start(options_);
  args_.draft = std::move(draft);
  return {};
}

Status Chat::SetDrafter(const std::string& name) {
  DraftArgs draft = args_.draft;
  draft.drafter = name;
  return Use(std::move(draft));
}

Status Chat::SetTree(const std::string& tree) {
  DraftArgs draft = args_.draft;
  draft.tree = tree;
  return Use(std::move(draft));
}

Status Chat::Set(const std::string& name, const std::string& value) {
  FT_RETURN_IF_ERROR(ChangeSetting(&settings_, name, value));
  decoder_.generator->SetSampling(*session_, settings_.sampling);
  return {};
}

Status Chat::Ask(const std::string& text) {
  dialogue_.Ask(attached_ + text);
  Status status = AnswerQuestion();
  const bool is_answered = dialogue_.messages().back().role != "user";
  if (!is_answered) dialogue_.Undo();
  if (!is_answered && !attached_.empty()) {
    std::fputs(is_too_long_ ? "(the attached file is dropped)\n"
                            : "(the attached file stays, for the next message)\n",
               stderr);
  }
  if (is_answered || is_too_long_) attached_.clear();
  return status;
}

Status Chat::Regenerate() {
  const Dialogue before = dialogue_;
  if (!dialogue_.ReopenQuestion()) return Error{"nothing was asked yet"};
  if (settings_.sampling.greedy()) {
    std::fputs("(at temperature 0 the answer is always the same; try /set temp 0.8)\n", stderr);
  } else {
    FT_RETURN_IF_ERROR(Set("seed", std::to_string(settings_.sampling.seed + 1)));
    std::fprintf(stderr, "(seed %llu)\n", static_cast<unsigned long long>(settings_.sampling.seed));
  }
  Status status = AnswerQuestion();
  if (dialogue_.messages().back().role == "user") dialogue_ = before;  // there was no answer
  return status;
}

Status Chat::AnswerQuestion() {
  is_too_long_ = false;
  FT_ASSIGN_OR_RETURN(std::vector<Token> prompt, prompter_->Encode(dialogue_.All()));
  if (static_cast<int>(prompt.size()) >= options_.capacity) {
    FT_RETURN_IF_ERROR(MakeRoom());
    FT_ASSIGN_OR_RETURN(prompt, prompter_->Encode(dialogue_.All()));
  }
  return WriteTurn(prompt);
}

// Forgets the oldest exchanges, enough for several answers, if the user agrees. Errors: a question
// that is too long by itself, a user who does not agree.
Status Chat::MakeRoom() {
  const int capacity = options_.capacity, all = dialogue_.exchanges();
  const std::string full = "the context of " + std::to_string(capacity) + " tokens is full";
  FT_ASSIGN_OR_RETURN(const int count, ExchangesToForget(dialogue_, *prompter_, capacity / 4 * 3));
  Dialogue rest = dialogue_;
  rest.Forget(count);
  FT_ASSIGN_OR_RETURN(const std::vector<Token> prompt, prompter_->Encode(rest.All()));
  is_too_long_ = static_cast<int>(prompt.size()) >= capacity;
  if (is_too_long_) {
    return Error{"the message is too long: the prompt with this message alone has " +
                 std::to_string(prompt.size()) + " tokens and the context " +
                 std::to_string(capacity) + "; -c makes the context larger, up to the model's " +
                 std::to_string(loaded_.model->config().context)};
  }
  const std::string forget =
      "the oldest " + (count == 1 ? "" : std::to_string(count) + " ") + "of " + Exchanges(all);
  if (!confirm_("(" + full + ")\nForget " + forget + " and continue? [y/N] ", /*unasked=*/false)) {
    return Error{full + "; /forget " + std::to_string(count) + " forgets " + forget +
                 ", /undo takes back the last one, /clear forgets all"};
  }
  dialogue_ = std::move(rest);
  is_unsaved_ = true;
  return {};
}

Status Chat::WriteTurn(const std::vector<Token>& prompt) {
  const int max_new = settings_.new_tokens > 0 ? settings_.new_tokens : options_.capacity;
  TextStream stream(*loaded_.tokenizer, prompt, stdout, isatty(STDOUT_FILENO) != 0);
  FT_ASSIGN_OR_RETURN(
      Answer answer,
      WriteAnswer(*decoder_.generator, *session_, prompt, max_new, [&](auto fresh, int drafted) {
        return stream.Write(fresh, drafted) && !InterruptGuard::Requested();
      }));
  stream.Finish();
  if (!stream.at_line_start()) std::puts("");
  dialogue_.Answer(TextOfAnswer(answer));
  is_unsaved_ = true;
  if (InterruptGuard::Requested()) {
    std::fputs("(stopped; the text so far is kept)\n", stderr);
  } else if (answer.finish == Finish::kContext) {
    std::fputs("(the context is full; /forget, /undo or /clear makes room)\n", stderr);
  }
  InterruptGuard::Clear();
  last_ = std::move(answer);
  if (args_.show_stats) PrintStats();
  return last_->ended;
}

std::string Chat::TextOfAnswer(const Answer& answer) const {
  std::string text;
  StreamDecoder decoder(*loaded_.tokenizer);
  for (Token token : answer.tokens) text += decoder.Push(token);
  return text + decoder.Flush();
}

Status Chat::Undo() {
  if (dialogue_.exchanges() == 0) return Error{"nothing was asked yet"};
  dialogue_.Undo();
  is_unsaved_ = true;
  std::fprintf(stderr, "(the last question and its answer were taken back; %s left)\n",
               Exchanges(dialogue_.exchanges()).c_str());
  return {};
}

Status Chat::Forget(const std::string& count) {
  const int all = dialogue_.exchanges();
  int forgotten = 1;
  const char* end = count.data() + count.size();
  const bool is_number = count.empty() || std::from_chars(count.data(), end, forgotten).ptr == end;
  if (!is_number || forgotten < 1 || forgotten > all) {
    return Error{"/forget: " + (count.empty() ? "" : "found '" + count + "', ") +
                 "the conversation has " + Exchanges(all)};
  }
  dialogue_.Forget(forgotten);
  is_unsaved_ = true;
  std::fprintf(stderr, "(forgotten; %s left)\n", Exchanges(all - forgotten).c_str());
  return {};
}

Status Chat::Attach(const std::string& typed) {
  const std::string path = ExpandHome(typed);
  FT_ASSIGN_OR_RETURN(std::string text, ReadText(path, size_t{16} << 20));
  if (text.find('\0') != std::string::npos || !IsUtf8(text)) {
    return Error{path + ": is not UTF-8 text"};
  }
  const std::string name = std::filesystem::path(path).filename();
  attached_ += name + ":\n\n" + text + (text.ends_with('\n') ? "\n" : "\n\n");
  const size_t tokens = loaded_.tokenizer->Encode(text, {}).size();
  std::fprintf(stderr, "(%s, %zu tokens, will be sent with the next message)\n", name.c_str(),
               tokens);
  return {};
}

Status Chat::Save(const std::string& typed) {
  const std::string path = ExpandHome(typed);
  const std::string text = FileText(dialogue_, path);
  FT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open(path));
  // The file last saved by this conversation is replaced without asking.
  const Status replaces = CheckReplaces(path, /*force=*/path == saved_);
  if (!replaces.ok()) return Error{path + ": exists already; name another file"};
  FT_RETURN_IF_ERROR(file.Finish(text));
  saved_ = path;
  is_unsaved_ = false;
  const Result<Dialogue> again = ParseDialogue(text, path);
  if (!again.ok() || FileText(*again, path) != text ||
      again->messages().size() != dialogue_.messages().size()) {
    std::fprintf(stderr,
                 "(%s cannot be loaded again, because a message in it contains what looks like a "
                 "turn; save as .json for that)\n",
                 path.c_str());
  }
  return {};
}

Status Chat::LoadDialogue(const std::string& typed) {
  const std::string path = ExpandHome(typed);
  FT_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  FT_ASSIGN_OR_RETURN(Dialogue loaded, ParseDialogue(text, path));
  const std::string turns = Exchanges(dialogue_.exchanges());
  if (is_unsaved_ && !dialogue_.messages().empty() &&
      !confirm_("(" + turns + " not saved)\nReplace the conversation? [y/N] ", /*unasked=*/true)) {
    return Error{"nothing was loaded; /save FILE keeps the conversation"};
  }
  dialogue_ = std::move(loaded);
  is_unsaved_ = false;
  const bool is_open = !dialogue_.messages().empty() && dialogue_.messages().back().role == "user";
  std::fprintf(stderr, "(%s loaded%s)\n", Exchanges(dialogue_.exchanges()).c_str(),
               is_open ? "; /regen answers the last" : "");
  return {};
}

void Chat::Clear() {
  dialogue_.Clear();
  attached_.clear();
}

void Chat::SetSystem(const std::string& text) {
  dialogue_.SetSystem(text);
  dialogue_.Clear();
}

void Chat::PrintStats() const {
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

}  // namespace foretoken
