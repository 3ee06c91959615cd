// Parses arbitrary bytes as a datastore and, if they are accepted, calls every query.
#include <algorithm>

#include "base/hash.h"
#include "draft/rest/datastore.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using foretoken::kDatastoreHeader;
  std::vector<uint8_t> file(data, data + size);
  if (size >= kDatastoreHeader) {  // mends the checksum, which mutated bytes rarely match
    const auto contents = std::as_bytes(std::span(file)).subspan(kDatastoreHeader);
    const uint64_t checksum = foretoken::HashBytes(contents);
    std::copy_n(reinterpret_cast<const uint8_t*>(&checksum), sizeof checksum,
                file.begin() + kDatastoreHeader - sizeof checksum);
  }
  const auto store = foretoken::Datastore::Parse(std::as_bytes(std::span(file)), "fuzz");
  if (!store.ok()) return 0;
  size_t found = 0;
  for (int64_t rank = 0; rank < store->size(); ++rank) {
    foretoken::Token words[20];
    const auto text = std::span(words).first(static_cast<size_t>(store->CopyAfter(rank, 0, words)));
    if (text.empty()) continue;
    const auto range = store->Find(text);
    if (range.first < 0 || range.count < 0 || range.first + range.count > store->size()) {
      __builtin_trap();
    }
    for (int64_t i = 0; i < range.count; ++i) {
      foretoken::Token next[20];
      found += static_cast<size_t>(
          store->CopyAfter(range.first + i, static_cast<int>(text.size()), next));
    }
    if (found > 10000) break;
  }
  return 0;
}
