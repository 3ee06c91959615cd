// What the server asks of the system: sockets, and how many of them it may have.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/input_file.h"
#include "base/result.h"

namespace foretoken {

// How slowly a client may send a body or take an answer before it is given up.
inline constexpr double kLeastBytesPerSecond = 65'536;

// A socket that listens.
struct Listener {
  FileHandle socket;
  int port = 0;
  bool is_loopback = false;  // only this machine reaches it
};

// `host`: a name or an address. `port`: 0 takes any that is free. Errors: no such host, a port that
// is taken or that this user may not have.
Result<Listener> Listen(const std::string& host, int port);

// Accepts a connection that is waiting, as a socket that never blocks. A closed handle where there
// is none; errno says why.
FileHandle Accept(int listener);

// Whether the other side has closed the connection. Bytes that have come and were not read yet do
// not matter.
bool PeerIsGone(int socket);

// Sends all of it, waiting for the other side to take it until `deadline` passes or `is_stopped`
// is set. Returns how many bytes were sent.
size_t Send(int socket, std::string_view bytes, std::chrono::steady_clock::time_point deadline,
            const std::atomic<bool>& is_stopped);

// Lets this process have `wanted` files open, or as many as it may. Returns how many.
size_t RaiseFileLimit(size_t wanted);

}  // namespace foretoken
