// `foretoken train answers`: the target answers the questions of conversations, as training data
// for its drafts (L-7). It is `foretoken distill` on libtorch's devices: it decodes greedily in
// large batches, and answers only the first question of a conversation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken::train {

struct AnswerOptions {
  std::string target;             // GGUF file or Hugging Face directory
  std::vector<std::string> data;  // files, directories and globs (ReadDocuments)
  std::string out;                // JSONL: a DistilledLine for each answer
  std::string device = "auto";    // auto, cpu or cuda
  std::string dtype;              // bf16 or f32; "": bf16 where its products are fast
  int64_t new_tokens = 256;       // maximum tokens of an answer
  int64_t context = 1024;         // maximum tokens of a prompt and its answer
  int64_t batch = 1024;           // questions answered at a time
  int64_t limit = 0;              // maximum number of conversations used; 0: all
  int64_t threads = 0;            // 0: one for each core
  double time_limit = 0.0;        // seconds of answering; 0: no limit
  bool force = false, quiet = false;
};

// Parses the arguments after "answers". Errors: an unknown or missing option, a missing or bad
// value.
Result<AnswerOptions> ParseAnswerOptions(const std::vector<std::string>& args);

// Answers the questions and appends the lines to the file batch by batch. A batch holds prompts of
// similar length; batches come in a fixed random order.
// Ctrl-C and the time limit stop the running batch; its finished answers are kept. Left out:
// conversations without a question or with one asked before, prompts that leave no room for an
// answer or that the chat template rejects, and answers that repeat themselves up to their limit.
// Errors: unreadable or unwritable files; an existing file at `out` without `force`; a context
// longer than the target's, or without room for a prompt; a syntax error in the chat template; an
// unavailable device; more threads than the system can start. Throws c10::Error if memory is short.
Status WriteAnswers(const AnswerOptions& options);

}  // namespace foretoken::train
