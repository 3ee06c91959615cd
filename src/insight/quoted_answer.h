// Answers that quote numbered passages in the format of QuoteSum, and a score for how well an
// attribution recovers the quotes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// A text with the number of the passage that each byte belongs to; 0: none.
struct MarkedText {
  std::string text;
  std::vector<int> passage;  // [text.size()]

  // The passage of the first byte in [begin, end) that is not a space; 0 if all are spaces.
  int PassageOf(size_t begin, size_t end) const;
};

// Parses text like "Also, [ 2 To create maps ] ." and removes the marks. Brackets that do not open
// a quote stay as text.
MarkedText ReadQuotes(std::string_view marked);
// Parses a prompt whose passages are lines that begin with "[1] ".
MarkedText ReadPassages(std::string_view prompt);

// Counts of tokens.
struct AttributionScore {
  int64_t quoted = 0;      // in a quote
  int64_t attributed = 0;  // attributed to a passage
  int64_t correct = 0;     // attributed to the passage that is quoted

  void Add(int quoted_from, int attributed_to);
  // 0 if the denominator is 0.
  double precision() const;
  double recall() const;
  double f1() const;
};

}  // namespace foretoken
