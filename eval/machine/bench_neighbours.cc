// foretoken bench neighbours: decoding speed while other processes use the cores.
#include "eval/machine/bench_neighbours.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "base/child_process.h"
#include "eval/machine/bench_model.h"
#include "eval/machine/timed_passes.h"
#include "eval/report/write_json.h"

namespace foretoken {
namespace {

constexpr int kNicest = 19;

// A child process, killed on destruction or when this process ends.
class ChildProcess {
 public:
  // Forks a child that calls `body` with its end of a socket pair and then exits. socket() is the
  // parent's end.
  // REQUIRES: this process has one thread.
  static Result<std::unique_ptr<ChildProcess>> Start(const std::function<void(int socket)>& body) {
    int sockets[2];  // the parent's end, the child's end
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return StartError(errno);
    const pid_t id = fork();
    const int fork_errno = errno;
    if (id == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(sockets[0]);
      body(sockets[1]);
      _exit(0);
    }
    close(sockets[1]);
    std::unique_ptr<ChildProcess> child(new ChildProcess(id, sockets[0]));
    if (id < 0) return StartError(fork_errno);
    return child;
  }
  ~ChildProcess() {
    close(socket_);
    if (id_ < 0) return;
    kill(id_, SIGKILL);
    (void)WaitForExit(id_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  int socket() const { return socket_; }

 private:
  ChildProcess(pid_t id, int socket) : id_(id), socket_(socket) {}
  static Error StartError(int error_number) {
    return {"cannot start a process: " + std::string(strerror(error_number))};
  }

  pid_t id_;
  int socket_;
};

bool Send(int socket, const void* data, size_t size) {
  return send(socket, data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

// Waits for `size` bytes; returns false if the other process has ended.
bool Receive(int socket, void* data, size_t size) {
  return recv(socket, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

// A message from a decoding process: its token rate (0: it has loaded the model), or an error.
struct Reply {
  double tokens_per_second = 0;
  char error[1024] = {};
};

// Body of a decoding process: loads the model and sends a Reply; then, for each byte that arrives,
// measures and sends another.
Status Decode(const NeighbourOptions& options, int socket) {
  FT_ASSIGN_OR_RETURN(const DType type, ParseOneType(options.bench.types));
  FT_ASSIGN_OR_RETURN(BenchModel subject, LoadBenchModel(options.bench, type));
  TimedPasses passes(*subject.model, DType::kF16, options.bench.contexts.front());
  passes.Time(/*rows=*/1, /*all_logits=*/true);
  Reply reply;
  char command = 0;
  while (Send(socket, &reply, sizeof reply) && Receive(socket, &command, 1)) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    std::chrono::duration<double> elapsed{};
    int tokens = 0;
    for (; elapsed.count() < options.seconds; elapsed = Clock::now() - begin, ++tokens) {
      passes.Time(1, true);
    }
    FT_RETURN_IF_ERROR(passes.status());
    reply.tokens_per_second = tokens / elapsed.count();
  }
  return {};
}

void DecodeOrReport(const NeighbourOptions& options, int socket) {
  const Status status = Decode(options, socket);
  if (status.ok()) return;
  Reply reply;
  std::snprintf(reply.error, sizeof reply.error, "%s", status.error().message.c_str());
  Send(socket, &reply, sizeof reply);
}

using Children = std::vector<std::unique_ptr<ChildProcess>>;

// Waits for the next message of a decoding process. Errors: the error that it reports; its end.
Result<double> ReceiveRate(const ChildProcess& child) {
  Reply reply;
  if (!Receive(child.socket(), &reply, sizeof reply)) {
    return Error{"a decoding process ended unexpectedly"};
  }
  if (reply.error[0] != 0) return Error{reply.error};
  return reply.tokens_per_second;
}

// Lets `processes` decode simultaneously and returns their total tokens per second.
Result<double> DecodeTogether(std::span<const std::unique_ptr<ChildProcess>> processes) {
  for (const auto& child : processes) Send(child->socket(), "g", 1);
  double sum = 0;
  for (const auto& child : processes) {
    FT_ASSIGN_OR_RETURN(const double rate, ReceiveRate(*child));
    sum += rate;
  }
  return sum;
}

// Starts a process that keeps a core busy.
Result<std::unique_ptr<ChildProcess>> StartBusyLoop(int nice) {
  return ChildProcess::Start([nice](int /*socket*/) {
    setpriority(PRIO_PROCESS, 0, nice);
    for (volatile uint64_t i = 0;;) i = i + 1;
  });
}

// A load to measure: the number of decoding processes and of busy loops, and the loops' nice value.
struct Scenario {
  std::string name;
  int processes = 1, loops = 0, nice = 0;
  std::vector<double> rates;  // [rounds] tokens per second, all processes together
};

Status Measure(const Children& children, Scenario& scenario) {
  Children loops;
  for (int i = 0; i < scenario.loops; ++i) {
    FT_ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> loop, StartBusyLoop(scenario.nice));
    loops.push_back(std::move(loop));
  }
  const auto count = static_cast<size_t>(scenario.processes);
  FT_ASSIGN_OR_RETURN(const double rate, DecodeTogether(std::span(children).first(count)));
  scenario.rates.push_back(rate);
  return {};
}

std::vector<Scenario> ListScenarios(const NeighbourOptions& options) {
  std::vector<Scenario> scenarios = {{.name = "one process alone"}};
  for (const int count : options.processes) {
    scenarios.push_back(
        {.name = std::to_string(count) + " processes together", .processes = count});
  }
  scenarios.push_back({.name = "one beside a busy loop", .loops = 1});
  scenarios.push_back({.name = "one beside a busy loop, nice 19", .loops = 1, .nice = kNicest});
  return scenarios;
}

Status Report(const std::vector<Scenario>& scenarios, OutputFile& json) {
  const double alone = Median(scenarios.front().rates);
  Json list = Json::array();
  std::printf("%-34s %12s %9s\n", "", "tokens/s", "vs. alone");
  for (const Scenario& s : scenarios) {
    const double rate = Median(s.rates);
    std::printf("%-34s %12.1f %9.2f\n", s.name.c_str(), rate, rate / alone);
    list.push_back({{"name", s.name},
                    {"processes", s.processes},
                    {"busy_loops", s.loops},
                    {"nice", s.nice},
                    {"tokens_per_second", rate},
                    {"of_alone", rate / alone}});
  }
  return WriteJson(json, {{"scenarios", std::move(list)}});
}

}  // namespace

Status BenchNeighbours(const NeighbourOptions& options) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(options.bench.json));
  std::vector<Scenario> scenarios = ListScenarios(options);
  int count = 1;
  for (const Scenario& s : scenarios) count = std::max(count, s.processes);
  Children children;
  for (int i = 0; i < count; ++i) {
    FT_ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> child,
                        ChildProcess::Start([&](int socket) { DecodeOrReport(options, socket); }));
    FT_RETURN_IF_ERROR(ReceiveRate(*child));  // waits until the model is loaded
    children.push_back(std::move(child));
  }
  for (int round = 0; round < options.bench.repeats; ++round) {
    for (Scenario& s : scenarios) FT_RETURN_IF_ERROR(Measure(children, s));
  }
  return Report(scenarios, json);
}

}  // namespace foretoken
