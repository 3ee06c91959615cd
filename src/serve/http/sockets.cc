#include "serve/http/sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace foretoken {
namespace {

constexpr int kBacklog = 512;

void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof(value));
}

bool IsLoopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in ip4{};
    std::memcpy(&ip4, &address, sizeof(ip4));
    return ntohl(ip4.sin_addr.s_addr) >> 24 == 127;
  }
  sockaddr_in6 ip6{};
  std::memcpy(&ip6, &address, sizeof(ip6));
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&ip6.sin6_addr);
}

int PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  sockaddr_in6 ip6{};  // the port is at the same offset as in sockaddr_in
  std::memcpy(&ip6, &address, sizeof(ip6));
  return ntohs(ip6.sin6_port);
}

// Returns a closed handle if the address is not available; errno says why.
FileHandle ListenAt(const addrinfo& address) {
  FileHandle socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return socket;
  // Lets a restarted server bind while old connections are in TIME_WAIT.
  SetOption(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  const bool listens = bind(socket.get(), address.ai_addr, address.ai_addrlen) == 0 &&
                       listen(socket.get(), kBacklog) == 0;
  return listens ? std::move(socket) : FileHandle();
}

}  // namespace

Result<Listener> Listen(const std::string& host, int port) {
  const std::string where = host + ":" + std::to_string(port);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (failed != 0) return Error{where + ": cannot listen: " + gai_strerror(failed)};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  int reason = 0;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    FileHandle socket = ListenAt(*a);
    if (socket.is_open()) {
      const int bound = PortOf(socket.get());
      return Listener{std::move(socket), bound, IsLoopback(*a->ai_addr)};
    }
    if (reason == 0) reason = errno;
  }
  return Error{where + ": cannot listen: " + std::strerror(reason)};
}

FileHandle Accept(int listener) {
  FileHandle socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) return socket;
  SetOption(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);  // send each token immediately
  // Clients that vanish silently are noticed within two minutes.
  SetOption(socket.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, 60);
  SetOption(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, 15);
  SetOption(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, 4);
  return socket;
}

bool PeerIsGone(int socket) {
  pollfd state{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return poll(&state, 1, 0) > 0;
}

size_t Send(int socket, std::string_view bytes, std::chrono::steady_clock::time_point deadline,
            const std::atomic<bool>& is_stopped) {
  using std::chrono::milliseconds;
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    if ((errno != EAGAIN && errno != EWOULDBLOCK) || is_stopped) break;
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= milliseconds(0)) break;
    constexpr milliseconds kBetweenLooks(100);  // between checks of `is_stopped`
    pollfd state{.fd = socket, .events = POLLOUT, .revents = 0};
    poll(&state, 1, static_cast<int>(std::min(left, kBetweenLooks).count()));
  }
  return sent;
}

size_t RaiseFileLimit(size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < wanted) {
    rlimit raised = limit;
    raised.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return static_cast<size_t>(std::min<rlim_t>(limit.rlim_cur, wanted));
}

}  // namespace foretoken
