#include "insight/attribution.h"

#include <algorithm>

#include "base/check.h"
#include "base/json.h"

namespace foretoken {
namespace {

// Returns, for each token of the answer, the position in the prompt that it was copied from, or
// kNoPos.
std::vector<Pos> PromptSources(std::span<const Token> tokens, int prompt,
                               std::span<const Pos> sources) {
  std::vector<Pos> found(sources.begin(), sources.end());
  for (size_t w = 0; w < found.size(); ++w) {
    Pos& source = found[w];
    if (source >= prompt) source = found[static_cast<size_t>(source - prompt)];
    if (source != kNoPos || w == 0 || found[w - 1] == kNoPos) continue;
    const Pos next = found[w - 1] + 1;
    const Token written = tokens[static_cast<size_t>(prompt) + w];
    if (next < prompt && tokens[static_cast<size_t>(next)] == written) source = next;
  }
  return found;
}

int Characters(std::string_view text) {  // UTF-8 continuation bytes do not count
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::vector<CopiedSpan> CopiedSpans(std::span<const Token> tokens, int prompt,
                                    std::span<const Pos> sources, int least) {
  FT_CHECK(static_cast<size_t>(prompt) + sources.size() == tokens.size());
  const std::vector<Pos> from = PromptSources(tokens, prompt, sources);
  std::vector<CopiedSpan> spans;
  const int size = static_cast<int>(from.size());
  for (int begin = 0, end = 0; begin < size; begin = end) {
    const Pos source = from[static_cast<size_t>(begin)];
    for (end = begin + 1; end < size && source != kNoPos; ++end) {
      if (from[static_cast<size_t>(end)] != source + end - begin) break;
    }
    if (source != kNoPos && end - begin >= least) spans.push_back({begin, end, source});
  }
  return spans;
}

TokenText TextOf(const Tokenizer& tokenizer, std::span<const Token> tokens) {
  TokenText whole;
  whole.end.reserve(tokens.size());
  StreamDecoder decoder(tokenizer);
  for (Token token : tokens) {
    whole.text += decoder.Push(token);
    whole.end.push_back(whole.text.size());
  }
  whole.text += decoder.Flush();
  if (!whole.end.empty()) whole.end.back() = whole.text.size();
  return whole;
}

Json AttributionJson(const TokenText& whole, int prompt, std::span<const CopiedSpan> spans,
                     int least) {
  const auto given = static_cast<size_t>(prompt);
  const int answer = Characters(whole.of(0, given));
  const auto at = [&whole](size_t token) { return Characters(whole.of(0, token)); };
  Json list = Json::array();
  for (const CopiedSpan& span : spans) {
    const size_t begin = given + static_cast<size_t>(span.begin);
    const size_t end = given + static_cast<size_t>(span.end);
    list.push_back({{"begin", at(begin) - answer},
                    {"end", at(end) - answer},
                    {"source_begin", at(static_cast<size_t>(span.source))},
                    {"source_end", at(static_cast<size_t>(span.source) + end - begin)},
                    {"tokens", span.length()},
                    {"text", whole.of(begin, end)}});
  }
  return {{"min_tokens", least},
          {"prompt", whole.of(0, given)},
          {"text", whole.of(given, whole.end.size())},
          {"spans", std::move(list)}};
}

}  // namespace foretoken
