#include "apps/talk/attributed_text.h"

#include <array>

#include "base/json.h"

namespace foretoken {
namespace {

constexpr std::array<const char*, 6> kSpanColours{"\x1b[32m", "\x1b[36m", "\x1b[35m",
                                                  "\x1b[33m", "\x1b[34m", "\x1b[31m"};
constexpr char kOff[] = "\x1b[0m";

void Write(std::string_view text, std::FILE* out) { std::fwrite(text.data(), 1, text.size(), out); }

}  // namespace

void PrintAttributed(const TokenText& whole, int prompt, std::span<const CopiedSpan> spans,
                     std::FILE* out, std::FILE* legend) {
  const auto given = static_cast<size_t>(prompt);
  size_t at = given;
  for (size_t i = 0; i < spans.size(); ++i) {
    const size_t begin = given + static_cast<size_t>(spans[i].begin);
    Write(whole.of(at, begin), out);
    at = given + static_cast<size_t>(spans[i].end);
    std::fputs(kSpanColours[i % kSpanColours.size()], out);
    Write(whole.of(begin, at), out);
    std::fputs(kOff, out);
  }
  Write(whole.of(at, whole.end.size()), out);
  std::fputc('\n', out);
  std::fflush(out);
  const Json json = AttributionJson(whole, prompt, spans, 0);
  for (size_t i = 0; i < spans.size(); ++i) {
    const Json& span = json["spans"][i];
    std::fprintf(legend, "%s%d tokens%s from characters %d to %d of the prompt\n",
                 kSpanColours[i % kSpanColours.size()], spans[i].length(), kOff,
                 span["source_begin"].get<int>(), span["source_end"].get<int>());
  }
}

}  // namespace foretoken
