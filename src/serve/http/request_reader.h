// Requests out of the bytes of a connection, in whatever pieces these arrive.
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
  size_t head_bytes = size_t{64} << 10;  // of all lines, trailers of a body included
  int head_lines = 100;                  // headers
  size_t body_bytes = size_t{32} << 20;  // decoded
};

// Reads one request after the other. It keeps no more than a head, a body and what was appended
// last. Thread-safety: one thread at a time.
class RequestReader {
 public:
  enum class State : uint8_t {
    kIdle,      // between requests: not a byte of the next one has come
    kHead,      // in the first line and the headers
    kBody,      // head() is known
    kComplete,  // head() and body() are known; waits for Next
    kRefused,   // refusal() says why; the connection is of no more use
  };

  explicit RequestReader(const ReaderLimits& limits) : limits_(limits) {}

  // Takes bytes and reads as far as the end of a request.
  void Append(std::string_view bytes);
  // Goes on to the next request, of which bytes may have come already. REQUIRES: kComplete.
  void Next();

  State state() const { return state_; }
  // Empty before kBody and kComplete. Of a refused request, what could be read of it.
  const RequestHead& head() const { return head_; }
  size_t body_bytes() const { return body_.size(); }
  // REQUIRES: kComplete; once a request.
  std::string TakeBody() { return std::move(body_); }
  // REQUIRES: kRefused.
  const HttpRefusal& refusal() const { return *refusal_; }

 private:
  // What comes next in a body.
  enum class Part : uint8_t { kData, kChunkSize, kChunkEnd, kTrailers };

  void Advance();
  // Each reads what it can. Returns whether there may be more to do with what has come.
  bool ReadHead();
  bool ReadBody();
  bool ReadData();
  bool ReadChunkSize();
  bool ReadChunkEnd();
  bool ReadTrailer();

  // Whether the head is within the limits, of which `bytes` have come.
  bool HeadFits(size_t bytes);
  void TakeHead(size_t bytes);
  // The next line of a chunked body, without its end; nothing while it is not whole. Refuses lines
  // of more than `most` bytes.
  std::optional<std::string_view> TakeLine(size_t most);
  void Complete() { state_ = State::kComplete; }
  void RefuseWith(HttpRefusal refusal);
  std::string_view rest() const { return std::string_view(input_).substr(at_); }

  ReaderLimits limits_;
  State state_ = State::kIdle;
  std::string input_;
  size_t at_ = 0;  // in input_: what was read
  // Of a head: its whole lines, where the line begins that is not whole, and where to look for its
  // end, both in rest().
  int lines_ = 0;
  size_t line_ = 0, scanned_ = 0;

  RequestHead head_;
  std::string body_;
  Part part_ = Part::kData;
  uint64_t left_ = 0;  // of the data
  size_t trailer_bytes_ = 0;
  std::optional<HttpRefusal> refusal_;
};

}  // namespace foretoken
