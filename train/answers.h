// `foretoken train answers`: the target answers the questions of conversations, as training data
// for its drafts (L-7). It is `foretoken distill` on libtorch's devices: greedy, with as many
// questions at a time as fit the device, and only the first question of a conversation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken::train {

struct AnswerOptions {
  std::string target;             // GGUF file or Hugging Face directory
  std::vector<std::string> data;  // as ReadDocuments reads them
  std::string out;                // JSONL: a DistilledLine for each answer
  std::string device = "auto";    // auto, cpu or cuda
  std::string dtype;              // bf16 or f32; "": bf16 where its products are fast
  int64_t new_tokens = 256;       // of an answer, at most
  int64_t context = 1024;         // of a prompt with its answer, at most, in tokens
  int64_t batch = 1024;           // questions at a time
  int64_t limit = 0;              // conversations read, at most; 0: all
  int64_t threads = 0;            // 0: one for each core
  double time_limit = 0.0;        // seconds of answering; 0: none
  bool force = false, quiet = false;
};

// Parses the arguments after "answers". Errors: an unknown option, a missing or bad value.
Result<AnswerOptions> ParseAnswerOptions(const std::vector<std::string>& args);

// Answers the questions and appends the lines to the file batch by batch. A batch holds prompts of
// similar length; batches come in a fixed random order.
// Ctrl-C and the time limit stop the running batch; its finished answers are kept. Left out:
// conversations without a question or with one asked before, prompts that leave no room for an
// answer or that the chat template rejects, and answers that repeat themselves up to their limit.
// Errors: unreadable files, a file at `out` without `force`, no such device. Throws c10::Error if
// memory is short.
Status WriteAnswers(const AnswerOptions& options);

}  // namespace foretoken::train
