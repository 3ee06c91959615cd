// Sends answers over connections. The only part of the server that uses cpp-httplib.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "serve/http/head.h"
#include "serve/http/message.h"

namespace foretoken {

// One answer to be sent, and the outcome of sending it.
struct Exchange {
  int socket = -1;
  const RequestHead* head = nullptr;
  bool keeps_alive = false;          // whether the connection may be reused
  HttpHeaders headers;               // added to those of the reply
  std::function<HttpReply()> reply;  // called once
  double patience_seconds = 30;      // write timeout for a client that reads nothing; 0: never wait

  // The outcome.
  int status = 0;
  int64_t bytes = 0;
};

// Thread-safety: any number of threads.
class Answerer {
 public:
  // `ping_seconds`: idle time after which a stream of events gets a comment. `most_waiting`: number
  // of answers that may block on their clients at the same time, so that clients that do not read
  // cannot occupy all threads; further ones are cut off. Once `is_stopped` is set, nothing blocks
  // any more. Borrows `is_stopped`.
  Answerer(double ping_seconds, int most_waiting, const std::atomic<bool>& is_stopped);
  ~Answerer();

  // Sends the answer. Returns whether it was sent completely, so that the connection may be reused.
  bool Answer(Exchange& exchange);

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace foretoken
