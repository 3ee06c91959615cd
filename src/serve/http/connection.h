// One client's connection. It has one owner at a time: the loop that reads requests, or the worker
// that answers one.
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
  bool peer_has_ended = false;  // no more bytes will come

  // Of the request that is being read.
  bool has_begun = false;
  Clock::time_point begin;     // when its first byte came
  bool is_admitted = false;    // its head is good
  Clock::time_point head_end;  // when that was found
  size_t counted_bytes = 0;    // of its body, in the loop's count of all bodies

  bool is_closing = false;  // all is sent; waits for the client to close, too
  Clock::time_point deadline;
  // Its place among those that are between two requests, while it is one of them.
  std::optional<std::list<int>::iterator> idle;

  // Of a request that was answered: whether all of the answer was sent.
  bool was_answered = false;
  std::unique_ptr<Connection> next;  // in the list of those that were
};

}  // namespace foretoken
