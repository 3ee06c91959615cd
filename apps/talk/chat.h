// A conversation with a loaded model: asking, streaming answers, and the actions of the chat's
// commands. Independent of how lines are read.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/talk/chat_settings.h"
#include "base/types.h"
#include "runtime/answer.h"
#include "runtime/decoder.h"
#include "runtime/dialogue.h"
#include "runtime/draft_args.h"
#include "runtime/grammar_args.h"
#include "runtime/sampling_args.h"

namespace foretoken {

struct ChatArgs {
  ModelArgs model;
  SamplingArgs sampling;
  GrammarArgs grammar;
  DraftArgs draft{.drafter = "auto"};
  std::string system;
  int new_tokens = -1;
  int context = -1;  // below 0: the default; 0: the model's
  DType cache_type = DType::kF16;
  bool show_stats = false;
};

// Thread-safety: one thread. Answers go to standard output, notes to standard error.
class Chat {
 public:
  // `unasked`: the result if there is no user to ask.
  using Confirm = std::function<bool(const std::string& question, bool unasked)>;

  // `confirm`: asks the user before turns of the conversation are lost.
  static Result<std::unique_ptr<Chat>> Create(ChatArgs args, Confirm confirm);

  void Greet() const;

  // Asks a question and streams the answer. An interrupted answer (Ctrl-C) is kept. Errors: those
  // of the template, a full context if the user does not agree to forget turns, a message that is
  // too long; the question is then not kept. After an error, attached text stays for the next
  // question, unless it made this one too long.
  Status Ask(const std::string& text);
  // Answers the last question again, with another seed if sampling.
  Status Regenerate();
  Status Undo();
  Status Forget(const std::string& count);
  // Prepends a file's text to the next question.
  Status Attach(const std::string& path);
  Status Save(const std::string& path);
  // Loads a conversation. Asks before it replaces an unsaved one.
  Status LoadDialogue(const std::string& path);
  void Clear();
  void SetSystem(const std::string& text);
  // Both clear the cache, since a drafter's state starts with the sequence.
  Status SetDrafter(const std::string& name);
  Status SetTree(const std::string& tree);
  // Errors: see ChangeSetting.
  Status Set(const std::string& name, const std::string& value);

  const ChatSettings& settings() const { return settings_; }
  const DraftArgs& draft() const { return args_.draft; }
  const std::string& system() const { return dialogue_.system(); }
  void PrintStats() const;

  // Set by /quit.
  bool is_leaving = false;

 private:
  Chat(ChatArgs args, Confirm confirm) : args_(std::move(args)), confirm_(std::move(confirm)) {}

  Status Use(DraftArgs draft);
  Status AnswerQuestion();
  Status WriteTurn(const std::vector<Token>& prompt);
  Status MakeRoom();
  std::string TextOfAnswer(const Answer& answer) const;

  ChatArgs args_;
  Confirm confirm_;
  LoadedModel loaded_;
  std::optional<ChatPrompter> prompter_;
  ChatSettings settings_;
  SessionOptions options_;
  Decoder decoder_;
  std::unique_ptr<Session> session_;  // declared after decoder_, so destroyed before it
  Dialogue dialogue_;
  std::string attached_;  // text that /file attached to the next question
  std::optional<Answer> last_;
  std::string saved_;         // the file of the last /save
  bool is_unsaved_ = false;   // the conversation has changed since it was saved or loaded
  bool is_too_long_ = false;  // the last question exceeds any context
};

}  // namespace foretoken
