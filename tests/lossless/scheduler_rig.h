// Shared parts of the scheduler's tests: answers assembled from their events, and the same answers
// decoded one at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rig.h"
#include "serve/scheduler.h"

namespace foretoken {

// A tokenizer of `size` (97 at most) pieces: characters, pairs of characters and parts of UTF-8
// sequences, so that stop strings and characters span several tokens.
std::shared_ptr<const Tokenizer> PiecesTokenizer(int size);

// A generator with several drafters, each with its own tree policy.
class MixedRig {
 public:
  MixedRig(Target& target, std::span<const Combination> combinations);
  Generator& generator() { return rigs_[0]->generator(); }
  int drafters() const { return static_cast<int>(rigs_.size()); }

 private:
  std::vector<std::unique_ptr<Rig>> rigs_;
};

// One answer, assembled from all its events.
struct WholeAnswer {
  std::vector<Token> tokens;
  std::vector<TokenLogprobs> logprobs;  // [tokens], or empty
  std::string text;
  FinishReason finish = FinishReason::kNone;
  std::string stop, error;
  Usage usage;
  AnswerTimes times;
  std::vector<CopiedRun> copies;
  int nodes = 0, accepted = 0;  // summed over cycles
  int events = 0;
  int last_cycle = 0;
};

// Assembles the answers of a stream.
class AnswerReader {
 public:
  AnswerReader(std::unique_ptr<Stream> stream, int answers)
      : stream_(std::move(stream)), answers_(static_cast<size_t>(answers)) {}

  // Consumes the events that are there, without waiting.
  void Read();
  // Waits for events until the stream ends. Another thread runs the scheduler.
  void ReadAll();
  bool has_stream() const { return stream_ != nullptr; }
  Stream& stream() { return *stream_; }
  void Abandon() { stream_.reset(); }
  const std::vector<WholeAnswer>& answers() const { return answers_; }

 private:
  void Add(const AnswerEvent& event);

  std::unique_ptr<Stream> stream_;
  std::vector<WholeAnswer> answers_;
};

// Reference answers: each request is decoded alone and without drafts, and stop strings are applied
// to the whole text afterwards. REQUIRES: all requests with a filter have the same filter.
class AloneAnswers {
 public:
  // `plain`: a generator without a drafter. `cache`: the scheduler's cache type. Borrows `plain`
  // and `tokenizer`.
  AloneAnswers(Generator& plain, const Tokenizer& tokenizer, DType cache = DType::kF32)
      : plain_(plain), tokenizer_(tokenizer), cache_(cache) {}

  // `context`: the scheduler's, in positions.
  WholeAnswer Of(const Request& request, int answer, int context);

 private:
  Generator& plain_;
  const Tokenizer& tokenizer_;
  DType cache_;
  struct Written {
    std::vector<Token> tokens;
    std::vector<TokenLogprobs> logprobs;
    Finish finish = Finish::kNot;
  };
  std::map<std::string, Written> written_;  // keyed by everything that the text depends on
};

// Expects `whole`, which was not cut short, to equal `alone`.
void ExpectSameAnswer(const WholeAnswer& whole, const WholeAnswer& alone);
// Expects every copied run to equal the tokens at its source, and the runs copied from the
// prediction to add up to what the usage counts.
void ExpectTrueCopies(const Request& request, const WholeAnswer& whole);
// Expects `part`, which was cancelled or failed, to be a prefix of `alone`.
void ExpectBeginningOf(const WholeAnswer& part, const WholeAnswer& alone);

}  // namespace foretoken
