#include "grammar/code_ranges.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"

namespace foretoken {
namespace {

constexpr CodeRange kSurrogates{0xD800, 0xDFFF};

// Appends the byte sequences of the characters first..last, all of which have the same encoded
// length.
void SplitRange(uint32_t first, uint32_t last, std::vector<ByteRanges>& out) {
  std::string low, high;
  AppendUtf8(first, low);
  AppendUtf8(last, high);
  // A range of lead bytes must be followed by all continuation bytes. Otherwise the range is split
  // where the bits of the last `i` continuation bytes wrap around.
  for (size_t i = 1; i < low.size(); ++i) {
    const uint32_t mask = (1u << (6 * i)) - 1;
    if ((first & ~mask) == (last & ~mask)) continue;
    if ((first & mask) != 0) {
      SplitRange(first, first | mask, out);
      return SplitRange((first | mask) + 1, last, out);
    }
    if ((last & mask) != mask) {
      SplitRange(first, (last & ~mask) - 1, out);
      return SplitRange(last & ~mask, last, out);
    }
  }
  ByteRanges bytes;
  for (size_t i = 0; i < low.size(); ++i) {
    bytes.push_back({static_cast<uint8_t>(low[i]), static_cast<uint8_t>(high[i])});
  }
  out.push_back(std::move(bytes));
}

}  // namespace

std::vector<CodeRange> Complement(std::vector<CodeRange> ranges) {
  ranges.push_back(kSurrogates);
  std::ranges::sort(ranges, {}, &CodeRange::first);
  std::vector<CodeRange> rest;
  uint32_t next = 0;
  for (const CodeRange& r : ranges) {
    if (r.last < r.first) continue;
    if (r.first > kLastCode) break;
    if (r.first > next) rest.push_back({next, r.first - 1});
    next = std::max(next, std::min(r.last, kLastCode) + 1);
  }
  if (next <= kLastCode) rest.push_back({next, kLastCode});
  return rest;
}

std::vector<CodeRange> Normalised(std::vector<CodeRange> ranges) {
  return Complement(Complement(std::move(ranges)));
}

std::vector<CodeRange> Without(std::vector<CodeRange> ranges, std::vector<CodeRange> others) {
  std::vector<CodeRange> out = Complement(std::move(ranges));
  out.insert(out.end(), others.begin(), others.end());
  return Complement(std::move(out));
}

std::vector<ByteRanges> Utf8Ranges(std::vector<CodeRange> ranges) {
  constexpr uint32_t kEnds[] = {0x7F, 0x7FF, 0xFFFF, kLastCode};  // last of each encoded length
  std::vector<ByteRanges> sequences;
  for (const CodeRange& r : Normalised(std::move(ranges))) {
    uint32_t first = r.first;
    for (const uint32_t end : kEnds) {
      if (first > end || first > r.last) continue;
      SplitRange(first, std::min(r.last, end), sequences);
      first = end + 1;
    }
  }
  return sequences;
}

}  // namespace foretoken
