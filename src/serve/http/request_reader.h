// An incremental parser of HTTP requests that accepts the bytes of a connection in pieces of any
// size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "serve/http/head.h"
#include "serve/http/refusal.h"

namespace foretoken {

struct ReaderLimits {
  size_t line_bytes = size_t{8} << 10;   // of the first line
  size_t head_bytes = size_t{64} << 10;  // of all lines, including the trailers of a body
  int head_lines = 100;                  // number of headers
  size_t body_bytes = size_t{32} << 20;  // after decoding
};

// Parses one request after the other. Buffers at most one head, one body and the bytes appended
// last. Thread-safety: one thread at a time.
class RequestReader {
 public:
  enum class State : uint8_t {
    kIdle,      // between requests: no byte of the next one has arrived
    kHead,      // in the first line and the headers
    kBody,      // head() is known
    kComplete,  // head() and the body are known; waits for Next
    kRefused,   // refusal() says why; the connection cannot be used again
  };

  explicit RequestReader(const ReaderLimits& limits) : limits_(limits) {}

  // Appends bytes and parses up to the end of the current request.
  void Append(std::string_view bytes);
  // Continues with the next request, some bytes of which may already be buffered. REQUIRES:
  // kComplete.
  void Next();

  State state() const { return state_; }
  // Empty before kBody and kComplete. For a refused request, the part that could be parsed.
  const RequestHead& head() const { return head_; }
  size_t body_bytes() const { return body_.size(); }
  // REQUIRES: kComplete; at most once per request.
  std::string TakeBody() { return std::move(body_); }
  // REQUIRES: kRefused.
  const HttpRefusal& refusal() const { return *refusal_; }

 private:
  // The next element of a body.
  enum class Part : uint8_t { kData, kChunkSize, kChunkEnd, kTrailers };

  void Advance();
  // Each parses what it can. Returns whether there may be more to parse in the buffered bytes.
  bool ReadHead();
  bool ReadBody();
  bool ReadData();
  bool ReadChunkSize();
  bool ReadChunkEnd();
  bool ReadTrailer();

  // Checks the limits of a head of which `bytes` have arrived. Refuses the request if one is
  // exceeded.
  bool HeadFits(size_t bytes);
  void TakeHead(size_t bytes);
  // The next line of a chunked body, without its line end; nothing if it is incomplete. Refuses
  // lines of more than `most` bytes.
  std::optional<std::string_view> TakeLine(size_t most);
  void Complete() { state_ = State::kComplete; }
  void RefuseWith(HttpRefusal refusal);
  std::string_view rest() const { return std::string_view(input_).substr(at_); }

  ReaderLimits limits_;
  State state_ = State::kIdle;
  std::string input_;
  size_t at_ = 0;  // bytes of input_ already parsed
  // Progress in a head: the number of complete lines; the start of the incomplete line and the
  // position from which to look for its end, both relative to rest().
  int lines_ = 0;
  size_t line_ = 0, scanned_ = 0;

  RequestHead head_;
  std::string body_;
  Part part_ = Part::kData;
  uint64_t left_ = 0;  // bytes left of the current data
  size_t trailer_bytes_ = 0;
  std::optional<HttpRefusal> refusal_;
};

}  // namespace foretoken
