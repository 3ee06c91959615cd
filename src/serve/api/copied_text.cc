#include "serve/api/copied_text.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "serve/openai/code_points.h"

namespace foretoken::openai {
namespace {

constexpr int kMostAround = 60;  // code points of a source before and after the copied part

// The first `most` characters of `text`.
std::string FirstOf(const std::string& text, int most) {
  size_t end = 0;
  for (int seen = 0; end < text.size(); ++end) {
    if (BeginsCharacter(text[end]) && seen++ == most) break;
  }
  return text.substr(0, end);
}

std::string LastOf(const std::string& text, int most) {
  size_t begin = text.size();
  for (int seen = 0; begin > 0 && seen < most; --begin) {
    if (BeginsCharacter(text[begin - 1])) ++seen;
  }
  return text.substr(begin);
}

}  // namespace

std::string CopiedText::Before(std::span<const Token> text, size_t at) const {
  std::string before;
  for (size_t i = at; i > 0 && CodePoints(before) < kMostAround; --i) {
    const std::string piece = tokenizer_.Piece(text[i - 1]);
    if (piece.empty()) break;
    before.insert(0, piece);
  }
  return ReplaceInvalidUtf8(LastOf(before, kMostAround));
}

std::string CopiedText::After(std::span<const Token> text, size_t at) const {
  std::string after;
  for (size_t i = at; i < text.size() && CodePoints(after) < kMostAround; ++i) {
    const std::string piece = tokenizer_.Piece(text[i]);
    if (piece.empty()) break;
    after += piece;
  }
  return ReplaceInvalidUtf8(FirstOf(after, kMostAround));
}

CopiedText::Run CopiedText::RunOf(const CopiedRun& copied) const {
  const std::span<const Token> text = copied.from_prediction ? prediction_ : text_;
  const auto source = static_cast<size_t>(copied.source);
  const size_t end = std::min(source + static_cast<size_t>(copied.count), text.size());
  const size_t begin = std::min(source, end);
  std::string copy;
  for (size_t i = begin; i < end; ++i) copy += tokenizer_.Piece(text[i]);
  const auto first = static_cast<size_t>(copied.first);
  const size_t last = std::min(first + static_cast<size_t>(copied.count), begins_.size() - 1);
  Run run{.begin = begins_[std::min(first, last)], .end = begins_[last], .source = {}};
  run.source.from = copied.from_prediction ? CopySource::kPrediction
                    : source < prompt_     ? CopySource::kPrompt
                                           : CopySource::kAnswer;
  run.source.before = Before(text, begin);
  run.source.text = ReplaceInvalidUtf8(copy);
  run.source.after = After(text, end);
  return run;
}

std::vector<AnswerCopy> CopiedText::Take(const AnswerEvent& event, int characters) {
  text_.insert(text_.end(), event.tokens.begin(), event.tokens.end());
  for (const Token token : event.tokens)
    begins_.push_back(begins_.back() + CodePoints(tokenizer_.Piece(token)));
  for (const CopiedRun& copied : event.copies) pending_.push_back(RunOf(copied));
  const int begin = std::exchange(shown_, shown_ + characters);
  std::vector<AnswerCopy> copies;
  while (!pending_.empty() && pending_.front().begin < shown_) {
    Run& run = pending_.front();
    AnswerCopy copy = run.source;
    copy.offset = std::max(run.begin, begin) - begin;
    copy.characters = std::min(run.end, shown_) - begin - copy.offset;
    if (copy.characters > 0) copies.push_back(std::move(copy));
    if (run.end > shown_) break;
    pending_.pop_front();
  }
  return copies;
}

}  // namespace foretoken::openai
