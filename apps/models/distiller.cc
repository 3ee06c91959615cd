#include "apps/models/distiller.h"

#include <set>

#include "base/rng.h"
#include "text/distilled.h"

namespace foretoken {
namespace {

std::vector<bool> FindRepeats(std::span<const TextDocument> documents) {
  std::set<uint64_t> seen;
  std::vector<bool> repeats;
  for (const TextDocument& document : documents) {
    repeats.push_back(!seen.insert(HashOfAsked(document.turns)).second);
  }
  return repeats;
}

}  // namespace

// Takes turns up to the next question and asks it. Returns false if there is none, or no room for
// an answer.
Result<bool> Distiller::Ask(Job& job) {
  const std::vector<DocumentTurn>& turns = job.document->turns;
  Transcript asked = job.transcript;
  bool question = false;
  for (; job.turn < turns.size() && !question; ++job.turn) {
    const DocumentTurn& turn = turns[job.turn];
    if (turn.role == "tool") return false;
    if (turn.role == "assistant" || turn.role.empty()) continue;
    asked.push_back({turn.role, turn.text});
    question = turn.role == "user";
  }
  if (!question) return false;
  const auto prompt = prompter_.Encode(asked);
  if (!prompt.ok()) {
    NoteRefusal(job, prompt.error());
    return false;
  }
  if (prompt->empty() || std::ssize(*prompt) >= options_.session.capacity) return false;
  FT_RETURN_IF_ERROR(generator_.Begin(*job.session, *prompt, options_.new_tokens));
  job.transcript = std::move(asked);
  return true;
}

void Distiller::NoteRefusal(const Job& job, const Error& why) {
  if (refusals_.first.empty()) {
    refusals_.first = "conversation " + std::to_string(job.index) + ": " + why.message;
  }
  ++(job.transcript.empty() ? refusals_.whole : refusals_.in_part);
}

// Records the answer. Returns whether the conversation continues.
Result<bool> Distiller::Answered(Job& job) {
  std::string text;
  StreamDecoder decoder(tokenizer_);
  for (const Token token : job.session->written()) text += decoder.Push(token);
  job.transcript.push_back({"assistant", text + decoder.Flush()});
  if (job.session->finish != Finish::kStop) {
    if (IsRepetitive(job.session->written())) job.transcript.resize(job.answered);
    return false;
  }
  job.answered = job.transcript.size();
  return Ask(job);
}

// Starts conversations until the batch is full.
Status Distiller::Fill(std::span<const TextDocument> documents, const Next& next) {
  while (std::ssize(jobs_) < options_.batch && !is_drained_) {
    FT_ASSIGN_OR_RETURN(const std::optional<size_t> index, next());
    is_drained_ = !index.has_value();
    if (is_drained_) break;
    owed_.push_back(*index);
    if (repeats_[*index]) {
      finished_.emplace(*index, Transcript());
      continue;
    }
    SessionOptions session = options_.session;
    session.sampling.seed = Mix(session.sampling.seed ^ Mix(*index));
    Job job{*index, &documents[*index], 0, {}, 0, generator_.Start(session)};
    FT_ASSIGN_OR_RETURN(const bool asked, Ask(job));
    if (asked) {
      jobs_.push_back(std::move(job));
    } else {
      finished_.emplace(*index, Transcript());
    }
  }
  return {};
}

// Runs one pass of all conversations in progress. Prompts of some are processed in the same passes
// in which others generate.
Status Distiller::Advance() {
  std::vector<Session*> batch;
  for (const Job& job : jobs_) batch.push_back(job.session.get());
  if (!batch.empty()) FT_RETURN_IF_ERROR(generator_.Step(batch));
  Status status;
  std::erase_if(jobs_, [&](Job& job) {
    if (status.ok()) status = job.session->status;
    if (!job.session->done() || !status.ok()) return false;
    const Result<bool> goes_on = Answered(job);
    if (!goes_on.ok()) status = goes_on.error();
    if (!goes_on.ok() || *goes_on) return false;
    finished_.emplace(job.index, std::move(job.transcript));
    return true;
  });
  return status;
}

Status Distiller::Run(std::span<const TextDocument> documents, const Next& next, const Done& done) {
  repeats_ = FindRepeats(documents);
  while (true) {
    FT_RETURN_IF_ERROR(Fill(documents, next));
    if (owed_.empty()) return {};
    const Status status = Advance();
    while (!owed_.empty()) {
      const auto ready = finished_.extract(owed_.front());
      if (!ready) break;
      owed_.pop_front();
      if (!done(ready.key(), ready.mapped())) return {};
    }
    FT_RETURN_IF_ERROR(status);
    if (owed_.empty()) is_drained_ = false;
  }
}

}  // namespace foretoken
