#include "serve/api/answer_reader.h"

#include <algorithm>
#include <utility>

#include "serve/openai/code_points.h"

namespace foretoken::openai {
namespace {

TokenShare ShareOf(const Tokenizer& tokenizer, Token token, float logprob) {
  return {.bytes = tokenizer.Piece(token, /*show_control=*/true), .logprob = logprob};
}

bool KeepsSteps(const Request& request) { return request.detail == SpeculationDetail::kDetailed; }

}  // namespace

AnswerReader::AnswerReader(const ServedModel& served, const Request& request,
                           const Prepared& prepared, int index, uint64_t call_seed)
    : served_(served), request_(request), log_(KeepsSteps(request)) {
  whole_.index = index;
  whole_.finish = FinishReason::kNone;
  if (request.logprobs) whole_.logprobs.emplace();
  if (prepared.tools == ToolStyle::kNone) return;
  parser_.emplace(prepared.tools, request.tools, request.parallel_tool_calls, call_seed);
  if (prepared.opening.empty()) return;
  // The opening consists only of a mark after which a call may follow, so it yields no delta.
  Delta none;
  AddText(prepared.opening, none);
}

void AnswerReader::FollowCopies(const std::vector<Token>& prompt,
                                const std::vector<Token>& prediction) {
  copied_.emplace(served_.tokenizer(), prompt, prediction);
}

void AnswerReader::AddToolText(ToolText text, Delta& delta) {
  delta.text += text.content;
  for (CallDelta& call : text.calls) delta.calls.push_back(std::move(call));
}

void AnswerReader::AddText(std::string_view text, Delta& delta) {
  if (!parser_) {
    delta.text += text;
    return;
  }
  if (is_complete_) return;
  AddToolText(parser_->Add(text), delta);
  is_complete_ = parser_->is_finished();
}

bool AnswerReader::IsShown(Token token) const {
  const std::vector<Token>& marks = served_.call_marks;
  const bool is_mark = parser_ && std::ranges::find(marks, token) != marks.end();
  return is_mark || !served_.tokenizer().Piece(token).empty();
}

// The stop token of an answer is not part of its text.
void AnswerReader::AddLogprobs(const AnswerEvent& event, Delta& delta) {
  if (!request_.logprobs) return;
  delta.logprobs.emplace();
  delta.text_offset = scored_characters_;
  const bool ends_with_token = event.finish == foretoken::FinishReason::kStop && event.stop.empty();
  const size_t count = event.tokens.size() - (ends_with_token && !event.tokens.empty() ? 1 : 0);
  for (size_t i = 0; i < count && i < event.logprobs.size(); ++i) {
    const TokenLogprobs& scored = event.logprobs[i];
    ScoredToken token{.chosen = ShareOf(served_.tokenizer(), event.tokens[i], scored.chosen)};
    for (const RankedToken& other : scored.top)
      token.top.push_back(ShareOf(served_.tokenizer(), other.token, other.log_share));
    token.is_shown = IsShown(event.tokens[i]);
    if (token.is_shown) scored_characters_ += CodePoints(token.chosen.bytes);
    delta.logprobs->push_back(std::move(token));
  }
}

// Attributes to a cycle the characters that arrived with it. Held-back characters of a cycle may
// arrive with the next one; the counts of all cycles sum to the length of the text.
void AnswerReader::AddCycle(const AnswerEvent& event, Delta& delta) {
  if (event.cycle_nodes > 0) log_.Add(event.cycle_nodes, event.cycle_depth, event.cycle_accepted);
  if (!request_.cycles || (event.tokens.empty() && delta.text.empty())) return;
  const int characters = CodePoints(delta.text);
  delta.cycles.push_back({.characters = characters,
                          .tokens = static_cast<int>(event.tokens.size()),
                          .drafted = event.cycle_nodes,
                          .accepted = event.cycle_accepted});
  if (copied_) delta.cycles.back().copies = copied_->Take(event, characters);
}

FinishReason AnswerReader::FinishOf(foretoken::FinishReason reason) const {
  if (reason == foretoken::FinishReason::kNone) return FinishReason::kNone;
  if (is_complete()) return FinishReason::kToolCalls;
  if (reason == foretoken::FinishReason::kStop)
    return parser_ && parser_->calls() > 0 ? FinishReason::kToolCalls : FinishReason::kStop;
  return FinishReason::kLength;
}

void AnswerReader::Keep(const Delta& delta) {
  whole_.text += delta.text;
  for (const CallDelta& call : delta.calls) {
    if (!call.name.empty()) whole_.calls.push_back({.id = call.id, .name = call.name});
    whole_.calls[static_cast<size_t>(call.index)].arguments += call.arguments;
  }
  if (delta.logprobs)
    whole_.logprobs->insert(whole_.logprobs->end(), delta.logprobs->begin(), delta.logprobs->end());
  whole_.cycles.insert(whole_.cycles.end(), delta.cycles.begin(), delta.cycles.end());
}

Delta AnswerReader::Take(const AnswerEvent& event) {
  Delta delta{.index = whole_.index};
  AddText(event.text, delta);
  const bool ends = event.finish != foretoken::FinishReason::kNone;
  if (ends && parser_) AddToolText(parser_->Finish(), delta);
  AddLogprobs(event, delta);
  AddCycle(event, delta);
  delta.finish = FinishOf(event.finish);
  usage_ = event.usage;
  times_ = event.times;
  if (!request_.stream) Keep(delta);
  whole_.finish = delta.finish;
  return delta;
}

}  // namespace foretoken::openai
