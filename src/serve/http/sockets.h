// Sockets and the limit of open files.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/input_file.h"
#include "base/result.h"

namespace foretoken {

// Minimum transfer rate of a client that sends a body or takes an answer.
inline constexpr double kLeastBytesPerSecond = 65'536;

// A listening socket.
struct Listener {
  FileHandle socket;
  int port = 0;
  bool is_loopback = false;  // reachable only from this machine
};

// Listens on an address of this machine. `host`: a name or an address. `port`: 0 takes any free
// port. Errors: no such host, a port that is in use or not permitted to this user.
Result<Listener> Listen(const std::string& host, int port);

// Accepts a pending connection as a non-blocking socket. Returns a closed handle if there is none;
// errno says why.
FileHandle Accept(int listener);

// Whether the peer has closed the connection, even if received bytes are still unread.
bool PeerIsGone(int socket);

// Sends `bytes`, waiting for the peer to take them until `deadline` passes or `is_stopped` is set.
// Returns the number of bytes sent.
size_t Send(int socket, std::string_view bytes, std::chrono::steady_clock::time_point deadline,
            const std::atomic<bool>& is_stopped);

// Raises this process's limit of open files to `wanted`, or as far as permitted. Returns the limit,
// at most `wanted`.
size_t RaiseFileLimit(size_t wanted);

}  // namespace foretoken
