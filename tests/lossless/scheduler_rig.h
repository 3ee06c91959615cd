// What tests of the scheduler share: requests, their answers put together, and what each would be
// alone.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rig.h"
#include "serve/scheduler.h"

namespace foretoken {

// `size` (97 at most) pieces: characters, pairs of them, and parts of characters, so that stop
// strings and characters reach over tokens.
std::shared_ptr<const Tokenizer> PiecesTokenizer(int size);

// A generator with several drafters, trees and all.
class MixedRig {
 public:
  MixedRig(Target& target, std::span<const Combination> combinations);
  Generator& generator() { return rigs_[0]->generator(); }
  int drafters() const { return static_cast<int>(rigs_.size()); }

 private:
  std::vector<std::unique_ptr<Rig>> rigs_;
};

// One answer, of all its events.
struct WholeAnswer {
  std::vector<Token> tokens;
  std::vector<TokenLogprobs> logprobs;  // [tokens], or empty
  std::string text;
  FinishReason finish = FinishReason::kNone;
  std::string stop, error;
  Usage usage;
  AnswerTimes times;
  std::vector<CopiedRun> copies;
  int nodes = 0, accepted = 0;  // of all cycles
  int events = 0;
  int last_cycle = 0;
};

// Reads what a stream has, without waiting.
class AnswerReader {
 public:
  AnswerReader(std::unique_ptr<Stream> stream, int answers)
      : stream_(std::move(stream)), answers_(static_cast<size_t>(answers)) {}

  void Read();
  // Reads to the end; another thread writes.
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

// What requests are answered with one at a time and without drafts. Stop strings are applied to the
// whole text afterwards. All requests with a filter have the same one.
class AloneAnswers {
 public:
  // `plain`: without a drafter. `cache`: the scheduler's type. Borrows both others.
  AloneAnswers(Generator& plain, const Tokenizer& tokenizer, DType cache = DType::kF32)
      : plain_(plain), tokenizer_(tokenizer), cache_(cache) {}

  // `context`: the scheduler's.
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
  std::map<std::string, Written> written_;  // by all that it depends on
};

// `whole` ended by itself: it is `alone`.
void ExpectSameAnswer(const WholeAnswer& whole, const WholeAnswer& alone);
// Every copy is what stands at its source, and predicted ones are those that usage counts.
void ExpectTrueCopies(const Request& request, const WholeAnswer& whole);
// `part` was ended from outside: it is a beginning of `alone`.
void ExpectBeginningOf(const WholeAnswer& part, const WholeAnswer& alone);

}  // namespace foretoken
