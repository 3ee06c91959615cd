// One client's connection. It has one owner at a time: the connection loop while a request is read,
// a worker while one is answered.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "base/input_file.h"
#include "serve/http/request_reader.h"

namespace foretoken {

struct Connection {
  using Clock = std::chrono::steady_clock;

  Connection(FileHandle accepted, const ReaderLimits& limits)
      : socket(std::move(accepted)), reader(limits) {}

  FileHandle socket;
  RequestReader reader;
  bool peer_has_ended = false;  // the client sends nothing more

  // State of the request being read.
  bool has_begun = false;
  Clock::time_point begin;     // arrival of its first byte
  bool is_admitted = false;    // its head was accepted
  Clock::time_point head_end;  // when its head was accepted
  size_t counted_bytes = 0;    // bytes of its body included in the loop's total of all bodies

  bool is_closing = false;  // everything is sent; waits for the client to close too
  Clock::time_point deadline;
  // Position in the loop's list of idle connections, while it is between two requests.
  std::optional<std::list<int>::iterator> idle;

  // Whether the answer to the last request was sent completely.
  bool was_answered = false;
  std::unique_ptr<Connection> next;  // next in the list of returned connections
};

}  // namespace foretoken
