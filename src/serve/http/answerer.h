// Answers as they go over a connection. The only part that knows cpp-httplib.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "serve/http/head.h"
#include "serve/http/message.h"

namespace foretoken {

// An answer on its way.
struct Exchange {
  int socket = -1;
  const RequestHead* head = nullptr;
  bool keeps_alive = false;          // whether the client may use the connection again
  HttpHeaders headers;               // besides those of the reply
  std::function<HttpReply()> reply;  // called once
  double patience_seconds = 30;      // with a client that takes nothing; 0: none

  // What came of it.
  int status = 0;
  int64_t bytes = 0;
};

// Thread-safety: any number of threads.
class Answerer {
 public:
  // `ping_seconds`: after which a silent stream of events gets a comment. `most_waiting`: answers
  // that may wait at once for their clients to take them, so that clients that do not read leave
  // threads for others; more are cut off. Once `is_stopped` is set nothing is waited for any more.
  // Borrows it.
  Answerer(double ping_seconds, int most_waiting, const std::atomic<bool>& is_stopped);
  ~Answerer();

  // Sends the answer. Returns whether all of it was sent, so that another may follow.
  bool Answer(Exchange& exchange);

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace foretoken
