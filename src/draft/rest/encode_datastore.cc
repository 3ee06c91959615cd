// Builds a datastore from a corpus. libdivsufsort sorts all suffixes of the bytes. Because tokens
// are big-endian and of equal width, the suffixes that begin at a token are in token order.
#include <divsufsort.h>

#include "base/hash.h"
#include "draft/rest/datastore.h"
#include "draft/rest/layout.h"

namespace foretoken {
namespace {

template <typename Number>
void Append(Number value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string DatastoreHeader(int vocab, int token_bytes, uint64_t tokens, uint64_t vocabulary) {
  std::string header(kDatastoreMagic, sizeof kDatastoreMagic - 1);
  Append(static_cast<uint32_t>(token_bytes), header);
  Append(static_cast<uint32_t>(vocab), header);
  Append(tokens, header);
  Append(vocabulary, header);
  Append(uint64_t{0}, header);  // placeholder for the checksum
  return header;
}

}  // namespace

Result<std::string> EncodeDatastore(std::span<const std::vector<Token>> documents, int vocab,
                                    uint64_t vocabulary) {
  const int width = DatastoreTokenBytes(vocab);
  uint64_t count = documents.size();  // one document end each
  for (const std::vector<Token>& document : documents) count += document.size();
  if (count > static_cast<uint64_t>(INT32_MAX / width)) {
    return Error{"the corpus has " + std::to_string(count) + " tokens; a datastore holds at most " +
                 std::to_string(INT32_MAX / width) + ": build it from less text"};
  }
  std::string file = DatastoreHeader(vocab, width, count, vocabulary);
  file.resize(kDatastoreHeader + DatastoreSuffixOffset(count, width));
  auto* const tokens = reinterpret_cast<std::byte*>(file.data()) + kDatastoreHeader;
  std::byte* next = tokens;
  const auto put = [&](uint32_t token) {
    PutToken(token, width, next);
    next += width;
  };
  for (const std::vector<Token>& document : documents) {
    for (const Token token : document) put(static_cast<uint32_t>(token));
    put(DatastoreEnd(width));
  }
  std::vector<int32_t> order(count * static_cast<uint64_t>(width));
  if (!order.empty() && divsufsort(reinterpret_cast<const uint8_t*>(tokens), order.data(),
                                   static_cast<int32_t>(order.size())) != 0) {
    return Error{"the corpus cannot be sorted: out of memory"};
  }
  file.reserve(file.size() + count * sizeof(uint32_t));
  for (const int32_t at : order) {
    if (at % width == 0) Append(static_cast<uint32_t>(at / width), file);
  }
  const auto contents = std::as_bytes(std::span(file)).subspan(kDatastoreHeader);
  const uint64_t checksum = HashBytes(contents);
  std::memcpy(file.data() + kDatastoreHeader - sizeof checksum, &checksum, sizeof checksum);
  return file;
}

}  // namespace foretoken
