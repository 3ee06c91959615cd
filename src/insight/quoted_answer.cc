#include "insight/quoted_answer.h"

#include <charconv>

#include "base/check.h"
#include "base/division.h"

namespace foretoken {
namespace {

// Parses a number > 0 followed by `after` at the front of `text`. Returns it and removes both from
// `text`; returns 0, and leaves `text` as it is, if they are not there.
int TakeNumber(std::string_view after, std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<size_t>(end - text.data());
  if (error != std::errc() || number <= 0 || !text.substr(digits).starts_with(after)) return 0;
  text.remove_prefix(digits + after.size());
  return number;
}

void Append(std::string_view piece, int passage, MarkedText& out) {
  out.text += piece;
  out.passage.resize(out.text.size(), passage);
}

}  // namespace

int MarkedText::PassageOf(size_t begin, size_t end) const {
  FT_CHECK(begin <= end && end <= text.size());
  const size_t first = text.find_first_not_of(" \t\n", begin);
  return first < end ? passage[first] : 0;
}

MarkedText ReadQuotes(std::string_view marked) {
  constexpr std::string_view kOpen = "[ ", kClose = " ]";
  MarkedText out;
  int passage = 0;
  while (!marked.empty()) {
    std::string_view inside = marked;
    inside.remove_prefix(marked.starts_with(kOpen) ? kOpen.size() : 0);
    const int number = marked.starts_with(kOpen) ? TakeNumber(" ", inside) : 0;
    if (passage == 0 && number > 0) {
      passage = number;
      marked = inside;
    } else if (passage > 0 && marked.starts_with(kClose)) {
      passage = 0;
      marked.remove_prefix(kClose.size());
    } else {
      Append(marked.substr(0, 1), passage, out);
      marked.remove_prefix(1);
    }
  }
  return out;
}

MarkedText ReadPassages(std::string_view prompt) {
  MarkedText out;
  while (!prompt.empty()) {
    const size_t newline = prompt.find('\n');
    const std::string_view line = prompt.substr(0, newline == prompt.npos ? newline : newline + 1);
    std::string_view rest = line;
    rest.remove_prefix(line.starts_with("[") ? 1 : 0);
    const int number = line.starts_with("[") ? TakeNumber("] ", rest) : 0;
    Append(line.substr(0, line.size() - rest.size()), 0, out);
    Append(rest, number, out);
    prompt.remove_prefix(line.size());
  }
  return out;
}

void AttributionScore::Add(int quoted_from, int attributed_to) {
  quoted += quoted_from > 0;
  attributed += attributed_to > 0;
  correct += quoted_from > 0 && quoted_from == attributed_to;
}

double AttributionScore::precision() const {
  return Ratio(static_cast<double>(correct), static_cast<double>(attributed));
}

double AttributionScore::recall() const {
  return Ratio(static_cast<double>(correct), static_cast<double>(quoted));
}

double AttributionScore::f1() const {
  return Ratio(2.0 * static_cast<double>(correct), static_cast<double>(attributed + quoted));
}

}  // namespace foretoken
