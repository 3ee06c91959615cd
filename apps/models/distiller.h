// Conversations whose answers the target writes anew, several at a time: data for drafts to learn
// from (L-7).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/generator.h"
#include "text/chat_prompt.h"
#include "text/documents.h"

namespace foretoken {

struct DistillOptions {
  SessionOptions session;  // conversation i samples with a seed made of its own and i
  int new_tokens = 512;    // of an answer, at most
  int batch = 8;           // conversations at a time
};

// What of a conversation was written: none where there was nothing to answer, no room, or where the
// chat template refuses it.
using Transcript = std::vector<ChatMessage>;

// Conversations that the chat template refuses.
struct Refusals {
  size_t whole = 0;    // from the first question on: nothing of them is written
  size_t in_part = 0;  // from a later question on: they end before it
  std::string first;   // the number of the first, from 0 on, and the template's reason
};

class Distiller {
 public:
  // All must outlive this.
  Distiller(Generator& generator, const Tokenizer& tokenizer, const ChatPrompter& prompter,
            const DistillOptions& options)
      : generator_(generator), tokenizer_(tokenizer), prompter_(prompter), options_(options) {}

  // Of documents that ask the same, the first is answered. An answer that runs in circles until its
  // limit is left out with its question, and ends the conversation. Takes `documents` from number
  // `first` on and calls `done` with each, in order, as soon as those before it are done; false
  // stops. What the other speakers say is kept, what the assistant says is written by the target,
  // turn by turn. A conversation ends where an answer reaches its limit, or the context its own,
  // and before what a tool says to an answer that is not the target's. Errors: out of memory;
  // conversations that are done were handed on.
  Status Run(std::span<const TextDocument> documents, size_t first,
             const std::function<bool(size_t index, const Transcript&)>& done);

  const Refusals& refusals() const { return refusals_; }

 private:
  struct Job {
    size_t index;
    const TextDocument* document;
    size_t turn = 0;  // the next to be read
    Transcript transcript;
    size_t answered = 0;  // messages up to the last answer
    std::unique_ptr<Session> session;
  };
  Result<bool> Ask(Job& job);
  void NoteRefusal(const Job& job, const Error& why);
  Result<bool> Answered(Job& job);
  Status Fill(std::span<const TextDocument> documents, size_t& next);
  Status Advance();

  Generator& generator_;
  const Tokenizer& tokenizer_;
  const ChatPrompter& prompter_;
  DistillOptions options_;
  std::vector<Job> jobs_;                  // being written
  std::vector<bool> repeats_;              // by document: asks what an earlier one asked
  std::map<size_t, Transcript> finished_;  // not yet handed on, by index
  Refusals refusals_;
};

// Whether the text ends in four or more repetitions of the same up to 64 tokens, of 32 tokens or
// more in all.
bool RunsInCircles(std::span<const Token> text);

}  // namespace foretoken
