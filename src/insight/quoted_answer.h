// Answers that quote numbered passages, as QuoteSum writes them, and how well an attribution finds
// the quotes again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// A text, and for each byte the number of the passage it belongs to, 0 for none.
struct MarkedText {
  std::string text;
  std::vector<int> passage;  // [text.size()]

  // The passage of the first byte of [begin, end) that is not a space; 0 if there is none.
  int PassageOf(size_t begin, size_t end) const;
};

// "Also, [ 2 To create maps ] ." without its marks. A bracket that opens no quote is text.
MarkedText ReadQuotes(std::string_view marked);
// A prompt whose passages are paragraphs "[1] ...": each as long as its line.
MarkedText ReadPassages(std::string_view prompt);

// Counts of tokens.
struct AttributionScore {
  int64_t quoted = 0;      // belong to a quote
  int64_t attributed = 0;  // said to come from a passage
  int64_t correct = 0;     // both, and it is the right one

  void Add(int quoted_from, int attributed_to);
  // 0 where nothing was attributed (quoted).
  double precision() const;
  double recall() const;
  double f1() const;
};

}  // namespace foretoken
