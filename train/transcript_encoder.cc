#include "transcript_encoder.h"

#include <algorithm>
#include <string_view>

namespace foretoken::train {
namespace {

constexpr std::string_view kWhitespace = " \t\r\n\v\f";
constexpr std::string_view kThinkingEnd = "</think>";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kWhitespace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhitespace) + 1 - begin);
}

size_t CommonLength(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Finds the answers of one conversation in its rendered text.
class AnswerFinder {
 public:
  AnswerFinder(const ChatPrompter& prompter, const Tokenizer& tokenizer,
               std::span<const ChatMessage> messages, std::string_view transcript_text)
      : prompter_(prompter), messages_(messages), transcript_(transcript_text) {
    for (const Token stop : prompter.StopTokens()) {
      stops_.push_back(tokenizer.Piece(stop, /*show_control=*/true));
    }
  }

  // Returns the span of the answer messages[index], which begins at `from` or later.
  Result<TextSpan> Find(size_t index, size_t from) const {
    const Result<std::string> prompt = prompter_.Render(messages_.first(index), true);
    const Result<std::string> answered = prompter_.Render(messages_.first(index + 1), false);
    if (!answered.ok()) return answered.error();
    const bool has_prompt_prefix =
        prompt.ok() && prompt->size() >= from && transcript_.starts_with(*prompt);
    if (has_prompt_prefix && answered->size() >= prompt->size() &&
        transcript_.starts_with(*answered)) {
      return ShortenedToEnd({prompt->size(), answered->size()}, messages_[index].content);
    }
    if (has_prompt_prefix) from = prompt->size();
    FT_ASSIGN_OR_RETURN(TextSpan span, Search(index, *answered, from));
    if (has_prompt_prefix) span.begin = prompt->size();
    return span;
  }

 private:
  // Shortens `span` to end with the stop token after the answer `content`.
  TextSpan ShortenedToEnd(TextSpan span, std::string_view content) const {
    const std::string_view text = transcript_.substr(span.begin, span.end - span.begin);
    const std::string_view words = Trimmed(content);
    const size_t at = text.find(words);
    const size_t content_end = at == std::string_view::npos ? 0 : at + words.size();
    return {span.begin, span.begin + content_end + LengthOfEnd(text.substr(content_end))};
  }

  // Searches from `from` for the answer's text and its stop token, as rendered in `answered`, the
  // text of the conversation up to this answer. If that fails, searches without the answer's
  // thinking.
  Result<TextSpan> Search(size_t index, std::string_view answered, size_t from) const {
    const Result<std::string> before = prompter_.Render(messages_.first(index), false);
    if (before.ok()) from = std::max(from, CommonLength(*before, transcript_));
    const std::string_view content = messages_[index].content;
    const size_t thinking = content.rfind(kThinkingEnd);
    const size_t after_thinking =
        thinking == std::string_view::npos ? 0 : thinking + kThinkingEnd.size();
    for (const std::string_view words :
         {Trimmed(content), Trimmed(content.substr(after_thinking))}) {
      const size_t at = answered.rfind(words);
      if (words.empty() || at == std::string_view::npos) continue;
      const std::string_view tail = answered.substr(at + words.size());
      const std::string_view wanted = answered.substr(at, words.size() + LengthOfEnd(tail));
      const size_t found = transcript_.find(wanted, from);
      if (found == std::string_view::npos) continue;
      size_t begin = found;
      while (begin > from && transcript_[begin - 1] == ' ') --begin;
      return TextSpan{begin, found + wanted.size()};
    }
    return Error{"the chat template drops or changes message " + std::to_string(index + 1) +
                 ", an answer, when more messages follow"};
  }

  // Returns the number of bytes of `tail`, the text after an answer's content, through the first
  // stop token; tail.size() if there is none.
  size_t LengthOfEnd(std::string_view tail) const {
    size_t length = tail.size();
    for (const std::string& stop : stops_) {
      const size_t at = tail.find(stop);
      if (at != std::string_view::npos) length = std::min(length, at + stop.size());
    }
    return length;
  }

  const ChatPrompter& prompter_;
  std::span<const ChatMessage> messages_;
  std::string_view transcript_;
  std::vector<std::string> stops_;
};

}  // namespace

Result<Transcript> RenderTranscript(const ChatPrompter& prompter, const Tokenizer& tokenizer,
                                    std::span<const ChatMessage> messages) {
  Transcript transcript;
  FT_ASSIGN_OR_RETURN(transcript.text, prompter.Render(messages, /*open_answer=*/false));
  const AnswerFinder finder(prompter, tokenizer, messages, transcript.text);
  size_t from = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    FT_ASSIGN_OR_RETURN(const TextSpan answer, finder.Find(i, from));
    transcript.answers.push_back(answer);
    from = answer.end;
  }
  return transcript;
}

Result<EncodedDocument> TranscriptEncoder::Encode(const TextDocument& document) const {
  if (document.turns[0].role.empty()) return EncodeText(document.turns[0].text);
  const std::vector<ChatMessage> messages = MessagesOf(document.turns);
  FT_ASSIGN_OR_RETURN(const Transcript transcript,
                      RenderTranscript(prompter_, tokenizer_, messages));
  const std::string_view text = transcript.text;
  std::vector<std::string_view> pieces;  // those with an odd index are answers
  size_t done = 0;
  for (const TextSpan& answer : transcript.answers) {
    pieces.push_back(text.substr(done, answer.begin - done));
    pieces.push_back(text.substr(answer.begin, answer.end - answer.begin));
    done = answer.end;
  }
  pieces.push_back(text.substr(done));
  const PieceTokens encoded = EncodePrompt(tokenizer_, pieces, /*parse_special=*/true);
  EncodedDocument out;
  out.ids.assign(encoded.tokens.begin(), encoded.tokens.end());
  out.learn.assign(out.ids.size(), mask_user_ ? 0 : 1);
  for (size_t i = 1; i < pieces.size(); i += 2) {
    std::fill(out.learn.begin() + static_cast<ptrdiff_t>(encoded.ends[i - 1]),
              out.learn.begin() + static_cast<ptrdiff_t>(encoded.ends[i]), uint8_t{1});
  }
  return out;
}

EncodedDocument TranscriptEncoder::EncodeText(const std::string& text) const {
  const std::vector<Token> tokens = EncodePrompt(tokenizer_, text, /*parse_special=*/false);
  EncodedDocument out;
  out.ids.assign(tokens.begin(), tokens.end());
  const TokenizerData& data = tokenizer_.data();
  std::vector<Token> ends = {data.eos, data.eot};
  ends.insert(ends.end(), data.eog.begin(), data.eog.end());
  const auto end = std::ranges::find_if(ends, [](Token token) { return token != kNoToken; });
  if (end != ends.end()) out.ids.push_back(static_cast<uint32_t>(*end));
  out.learn.assign(out.ids.size(), 1);
  return out;
}

}  // namespace foretoken::train
