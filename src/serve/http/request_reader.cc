#include "serve/http/request_reader.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hex.h"

namespace foretoken {
namespace {

using std::string_view;

constexpr size_t kMostChunkLine = size_t{1} << 10;
constexpr size_t kMostTrailers = size_t{8} << 10;
constexpr size_t kMostSizeDigits = 8;

HttpRefusal NoLineEnd() { return Malformed("The lines of a request must end with CR LF."); }

HttpRefusal BadChunk() { return Malformed("The chunks of the body are malformed."); }

HttpRefusal HeadTooLarge() {
  return Refuse(431, "headers_too_large", "There are too many headers, or they are too long.");
}

HttpRefusal BodyTooLarge(size_t most) {
  return Refuse(413, "body_too_large",
                "The body is too long; the limit is " + std::to_string(most) + " bytes.");
}

// The size in a chunk's first line, ignoring extensions; nothing if it is malformed.
std::optional<uint64_t> ChunkSize(string_view line) {
  const string_view digits = line.substr(0, line.find_first_of("; \t"));
  if (digits.empty() || digits.size() > kMostSizeDigits) return std::nullopt;
  uint64_t size = 0;
  for (const char c : digits) {
    const int value = HexDigitValue(c);
    if (value < 0) return std::nullopt;
    size = size * 16 + static_cast<uint64_t>(value);
  }
  return size;
}

}  // namespace

void RequestReader::Append(string_view bytes) {
  if (state_ == State::kRefused) return;
  input_.erase(0, at_);
  at_ = 0;
  input_.append(bytes);
  Advance();
}

void RequestReader::Next() {
  FT_CHECK(state_ == State::kComplete);
  head_ = {};
  body_.clear();
  state_ = State::kIdle;
  Advance();
}

void RequestReader::Advance() {
  if (state_ == State::kIdle && !rest().empty()) state_ = State::kHead;
  bool goes_on = true;
  while (goes_on) {
    if (state_ == State::kHead) {
      goes_on = ReadHead();
    } else {
      goes_on = state_ == State::kBody && ReadBody();
    }
  }
  if (state_ != State::kIdle) return;
  std::string().swap(input_);  // there may be many idle connections
  at_ = 0;
}

bool RequestReader::HeadFits(size_t bytes) {
  if (lines_ == 0 && bytes > limits_.line_bytes) {
    RefuseWith(Refuse(414, "target_too_long", "The first line of the request is too long."));
  } else if (bytes > limits_.head_bytes || lines_ > limits_.head_lines + 1) {
    RefuseWith(HeadTooLarge());
  }
  return state_ != State::kRefused;
}

bool RequestReader::ReadHead() {
  const string_view text = rest();
  if (lines_ == 0 && !text.empty() && text[0] != '\r' && !IsTokenCharacter(text[0])) {
    RefuseWith(Malformed("This is not an HTTP request; the server does not support TLS."));
    return false;
  }
  const size_t end = text.find('\n', scanned_);
  const bool is_whole = end != string_view::npos;
  scanned_ = is_whole ? end + 1 : text.size();
  if (!HeadFits(scanned_) || !is_whole) return false;
  if (end == line_ || text[end - 1] != '\r') {
    RefuseWith(NoLineEnd());
    return false;
  }
  const bool is_empty = end == line_ + 1;
  line_ = scanned_;
  if (!is_empty) {
    ++lines_;
  } else if (lines_ > 0) {
    TakeHead(scanned_);
  } else {  // an empty line before a request, which some clients send after a body
    at_ += scanned_;
    line_ = scanned_ = 0;
    if (rest().empty()) state_ = State::kIdle;
  }
  return true;
}

void RequestReader::TakeHead(size_t bytes) {
  auto refusal = ParseHead(rest().substr(0, bytes), &head_);
  at_ += bytes;
  lines_ = 0;
  line_ = scanned_ = trailer_bytes_ = 0;
  left_ = head_.length;
  part_ = head_.is_chunked ? Part::kChunkSize : Part::kData;
  if (!refusal && head_.length > limits_.body_bytes) refusal = BodyTooLarge(limits_.body_bytes);
  if (refusal) {
    RefuseWith(*std::move(refusal));
  } else if (head_.has_body()) {
    state_ = State::kBody;
  } else {
    Complete();
  }
}

bool RequestReader::ReadBody() {
  switch (part_) {
    case Part::kData:
      return ReadData();
    case Part::kChunkSize:
      return ReadChunkSize();
    case Part::kChunkEnd:
      return ReadChunkEnd();
    case Part::kTrailers:
      return ReadTrailer();
  }
  return false;
}

bool RequestReader::ReadData() {
  const auto count = static_cast<size_t>(std::min<uint64_t>(left_, rest().size()));
  body_.append(rest().substr(0, count));
  at_ += count;
  left_ -= count;
  if (left_ > 0) return false;
  if (head_.is_chunked) {
    part_ = Part::kChunkEnd;
  } else {
    Complete();
  }
  return true;
}

bool RequestReader::ReadChunkSize() {
  const auto line = TakeLine(kMostChunkLine);
  if (!line) return false;
  const auto size = ChunkSize(*line);
  if (!size) {
    RefuseWith(BadChunk());
  } else if (*size > limits_.body_bytes - body_.size()) {
    RefuseWith(BodyTooLarge(limits_.body_bytes));
  } else {
    left_ = *size;
    part_ = left_ > 0 ? Part::kData : Part::kTrailers;
  }
  return true;
}

bool RequestReader::ReadChunkEnd() {
  if (rest().size() < 2) return false;
  if (!rest().starts_with("\r\n")) {
    RefuseWith(BadChunk());
  } else {
    at_ += 2;
    part_ = Part::kChunkSize;
  }
  return true;
}

bool RequestReader::ReadTrailer() {
  const auto line = TakeLine(kMostTrailers);
  if (!line) return false;
  trailer_bytes_ += line->size();
  if (line->empty()) {
    Complete();
  } else if (trailer_bytes_ > kMostTrailers) {
    RefuseWith(HeadTooLarge());
  }
  return true;
}

std::optional<string_view> RequestReader::TakeLine(size_t most) {
  const string_view text = rest();
  const size_t end = text.find('\n');
  if (std::min(end, text.size()) > most) {
    RefuseWith(BadChunk());
    return std::nullopt;
  }
  if (end == string_view::npos) return std::nullopt;
  if (end == 0 || text[end - 1] != '\r') {
    RefuseWith(NoLineEnd());
    return std::nullopt;
  }
  at_ += end + 1;
  return text.substr(0, end - 1);
}

void RequestReader::RefuseWith(HttpRefusal refusal) {
  refusal_ = std::move(refusal);
  state_ = State::kRefused;
  std::string().swap(input_);
  std::string().swap(body_);
  at_ = 0;
}

}  // namespace foretoken
