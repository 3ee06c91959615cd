#include "scheduler_rig.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "base/utf8.h"
#include "text/byte_map.h"

namespace foretoken {
namespace {

std::string KeyOf(const Request& request, const SamplingParams& s, int context) {
  std::string key;
  const auto add = [&key](auto value) { key.append(std::to_string(value)).append(" "); };
  for (const Token token : request.prompt) add(token);
  add(-1);
  for (const Token token : request.stop_tokens) add(token);
  for (const float value : {s.temperature, s.top_p, s.min_p, s.typical_p, s.repetition_penalty,
                            s.frequency_penalty, s.presence_penalty}) {
    add(value);
  }
  add(s.top_k);
  add(s.seed);
  add(request.max_new);
  add(request.logprobs);
  add(request.filter != nullptr ? 1 : 0);
  add(context);
  return key;
}

// Ends the answer with the first token that completes a stop string. Brute force: compares every
// stop string after every byte.
void ApplyStopStrings(const Request& request, const Tokenizer& tokenizer,
                      std::span<const Token> tokens, bool ends_with_stop_token,
                      WholeAnswer* answer) {
  // If the prompt ends inside a character, the bytes of that character belong to the answer.
  std::string bytes = tokenizer.Decode(request.prompt);
  while (!bytes.empty() && !(bytes.size() <= 3 && IsUtf8Prefix(bytes))) bytes.erase(0, 1);
  for (size_t i = 0; i < tokens.size(); ++i) {
    answer->tokens.push_back(tokens[i]);
    if (ends_with_stop_token && i + 1 == tokens.size()) break;
    for (const char byte : tokenizer.Piece(tokens[i])) {
      bytes += byte;
      for (const std::string& stop : request.stop_strings) {
        if (bytes.ends_with(stop) && stop.size() > answer->stop.size()) answer->stop = stop;
      }
      if (answer->stop.empty()) continue;
      bytes.resize(bytes.size() - answer->stop.size());
      answer->text = ReplaceInvalidUtf8(bytes);
      answer->finish = FinishReason::kStop;
      return;
    }
  }
  answer->text = ReplaceInvalidUtf8(bytes);
}

bool AreSame(const TokenLogprobs& a, const TokenLogprobs& b) {
  const auto same = [](const RankedToken& x, const RankedToken& y) {
    return x.token == y.token && x.log_share == y.log_share;
  };
  return a.chosen == b.chosen && std::ranges::equal(a.top, b.top, same);
}

}  // namespace

std::shared_ptr<const Tokenizer> PiecesTokenizer(int size) {
  std::vector<std::string> pieces = {"\xe4",     "\xb8", "\xad", "\xc3\xbc", "\xf0\x9f", "\x98\x80",
                                     "\xe4\xb8", "\xff", "A",    "B",        " "};
  for (const char* second : {"", "a", "b", "c"}) {
    for (char first = 'a'; first <= 'z'; ++first) {
      pieces.emplace_back(1, first);
      pieces.back().append(second);
    }
  }
  TokenizerData data;
  data.pre = "gpt-2";
  for (int i = 0; i < size; ++i) {
    data.tokens.push_back(MapBytes(pieces[static_cast<size_t>(i)]));
    data.types.push_back(TokenType::kNormal);
  }
  return *Tokenizer::Create(std::move(data), "pieces tokenizer");
}

MixedRig::MixedRig(Target& target, std::span<const Combination> combinations) {
  for (const Combination& combination : combinations) {
    rigs_.push_back(std::make_unique<Rig>(target, combination));
    if (rigs_.size() == 1) continue;
    generator().AddDrafter(rigs_.back()->drafter(), rigs_.back()->generator().options());
  }
}

void AnswerReader::Read() {
  if (stream_ == nullptr) return;
  while (const auto event = stream_->Next(std::chrono::nanoseconds(0))) Add(*event);
}

void AnswerReader::ReadAll() {
  while (!stream_->ended()) {
    if (const auto event = stream_->Next(std::chrono::seconds(10))) Add(*event);
  }
}

void AnswerReader::Add(const AnswerEvent& event) {
  ASSERT_LT(static_cast<size_t>(event.answer), answers_.size());
  WholeAnswer& whole = answers_[static_cast<size_t>(event.answer)];
  ASSERT_EQ(whole.finish, FinishReason::kNone) << "an event follows the last";
  ASSERT_TRUE(IsUtf8(event.text));
  ASSERT_LE(event.drafted, std::ssize(event.tokens));
  if (event.cycle > 0) {
    ASSERT_GT(event.cycle, whole.last_cycle) << "a cycle wrote twice";
    whole.last_cycle = event.cycle;
  }
  ASSERT_EQ(event.cycle_accepted, event.drafted);
  ASSERT_LE(event.cycle_accepted, event.cycle_depth);
  ASSERT_LE(event.cycle_depth, event.cycle_nodes);
  ASSERT_TRUE(event.cycle > 0 || event.cycle_nodes == 0);
  whole.nodes += event.cycle_nodes;
  whole.accepted += event.cycle_accepted;
  whole.copies.insert(whole.copies.end(), event.copies.begin(), event.copies.end());
  whole.tokens.insert(whole.tokens.end(), event.tokens.begin(), event.tokens.end());
  whole.logprobs.insert(whole.logprobs.end(), event.logprobs.begin(), event.logprobs.end());
  whole.text += event.text;
  ++whole.events;
  whole.finish = event.finish;
  whole.stop = event.stop;
  whole.error = event.error;
  whole.usage = event.usage;
  whole.times = event.times;
  if (event.finish == FinishReason::kNone) return;
  ASSERT_EQ(event.usage.drafted_tokens, whole.nodes);
  ASSERT_EQ(event.usage.accepted_tokens, whole.accepted);
}

WholeAnswer AloneAnswers::Of(const Request& request, int answer, int context) {
  SamplingParams sampling = request.sampling;
  sampling.seed += static_cast<uint64_t>(answer);
  auto [found, is_new] = written_.try_emplace(KeyOf(request, sampling, context));
  auto& [tokens, logprobs, finish] = found->second;
  if (is_new) {
    const auto session = plain_.Start({.sampling = sampling,
                                       .stop = request.stop_tokens,
                                       .capacity = context,
                                       .cache_type = cache_,
                                       .filter = request.filter,
                                       .logprobs = request.logprobs});
    const int max_new = request.max_new == 0 ? context : request.max_new;
    EXPECT_TRUE(plain_.Prefill(*session, request.prompt, max_new).ok());
    Session* batch[] = {session.get()};
    while (!session->done()) EXPECT_TRUE(plain_.Step(batch).ok());
    tokens.assign(session->written().begin(), session->written().end());
    logprobs = session->logprobs;
    finish = session->finish;
  }
  WholeAnswer alone;
  alone.finish = finish == Finish::kStop    ? FinishReason::kStop
                 : finish == Finish::kLimit ? FinishReason::kLength
                                            : FinishReason::kContext;
  ApplyStopStrings(request, tokenizer_, tokens, finish == Finish::kStop, &alone);
  alone.logprobs = logprobs;
  alone.logprobs.resize(std::min(logprobs.size(), alone.tokens.size()));
  return alone;
}

void ExpectSameAnswer(const WholeAnswer& whole, const WholeAnswer& alone) {
  EXPECT_EQ(whole.tokens, alone.tokens);
  EXPECT_EQ(whole.text, alone.text);
  EXPECT_EQ(FinishName(whole.finish), FinishName(alone.finish)) << whole.error;
  EXPECT_EQ(whole.stop, alone.stop);
  EXPECT_EQ(whole.usage.completion_tokens, std::ssize(alone.tokens));
  EXPECT_TRUE(std::ranges::equal(whole.logprobs, alone.logprobs, AreSame));
}

void ExpectTrueCopies(const Request& request, const WholeAnswer& whole) {
  std::vector<Token> text = request.prompt;
  text.insert(text.end(), whole.tokens.begin(), whole.tokens.end());
  int end = 0, predicted = 0, copied = 0;
  for (const CopiedRun& run : whole.copies) {
    ASSERT_GE(run.first, end);
    ASSERT_GT(run.count, 0);
    end = run.first + run.count;
    ASSERT_LE(end, std::ssize(whole.tokens));
    const std::vector<Token>& from = run.from_prediction ? request.prediction : text;
    ASSERT_GE(run.source, 0);
    ASSERT_LE(run.source + run.count, std::ssize(from));
    EXPECT_TRUE(std::equal(whole.tokens.begin() + run.first, whole.tokens.begin() + end,
                           from.begin() + run.source));
    if (!run.from_prediction) {
      EXPECT_LT(run.source, std::ssize(request.prompt) + run.first) << "before the copy";
    }
    copied += run.count;
    predicted += run.from_prediction ? run.count : 0;
  }
  EXPECT_LE(copied, whole.usage.accepted_tokens);
  EXPECT_GE(whole.usage.rejected_prediction_tokens, 0);
  if (request.wants_sources) {
    EXPECT_EQ(predicted, whole.usage.accepted_prediction_tokens);
  } else {
    EXPECT_TRUE(whole.copies.empty());
  }
}

void ExpectBeginningOf(const WholeAnswer& part, const WholeAnswer& alone) {
  ASSERT_LE(part.tokens.size(), alone.tokens.size());
  EXPECT_TRUE(std::equal(part.tokens.begin(), part.tokens.end(), alone.tokens.begin()));
  EXPECT_TRUE(alone.text.starts_with(part.text)) << part.text << " of " << alone.text;
}

}  // namespace foretoken
