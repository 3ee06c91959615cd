#include "workers.h"

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/child_process.h"

#if FT_GLOO
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif

extern char** environ;

namespace foretoken::train {
namespace {

using torch::Tensor;

// The environment variable of processes started by the leader: "RANK COUNT FILE".
constexpr char kWorkerVariable[] = "FORETOKEN_TRAIN_WORKER";
// The timeout of collective operations. Encoding the data may take the leader hours while the
// others wait. A dead worker is detected at once, without the timeout.
constexpr std::chrono::hours kCollectiveTimeout{48};
constexpr std::chrono::milliseconds kPollInterval{5};
constexpr int kExitStatusPolls = 400;  // polls for a worker's exit status after a lost connection

struct WorkerSpec {
  int rank = 0, count = 1;
  std::string rendezvous_file;
};

// Reads kWorkerVariable; returns false in a process that was not started as a worker.
bool ReadWorkerSpec(WorkerSpec& spec) {
  const char* text = std::getenv(kWorkerVariable);
  int used = 0;
  if (text == nullptr || std::sscanf(text, "%d %d %n", &spec.rank, &spec.count, &used) != 2) {
    return false;
  }
  spec.rendezvous_file = text + used;
  return true;
}

Result<std::string> NewRendezvousFile() {
  std::error_code fault;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(fault);
  if (fault) {
    return Error{"--workers: cannot find a folder for temporary files: " + fault.message()};
  }
  std::string path = (folder / "foretoken_XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) {
    return Error{folder.string() + ": cannot create a temporary file, which --workers needs: " +
                 std::strerror(errno)};
  }
  close(file);
  return path;
}

}  // namespace

bool IsWorker() { return std::getenv(kWorkerVariable) != nullptr; }

#if FT_GLOO

struct Workers::Group {
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
};

namespace {
std::string ReadyKey(int rank) { return "ready." + std::to_string(rank); }
}  // namespace

Status Workers::Join(const std::string& rendezvous_file) {
  try {
    constexpr int kLeaveFile = -1;
    auto store = c10::make_intrusive<c10d::FileStore>(rendezvous_file, kLeaveFile);
    store->set(ReadyKey(rank_), {1});
    for (int rank = 1; leads() && rank < count_; ++rank) {  // a failed worker never becomes ready
      while (!store->check({ReadyKey(rank)})) FT_RETURN_IF_ERROR(CheckWorkers());
    }
    auto options = c10d::ProcessGroupGloo::Options::create(kCollectiveTimeout);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    group_ = std::make_unique<Group>();
    group_->gloo =
        c10::make_intrusive<c10d::ProcessGroupGloo>(std::move(store), rank_, count_, options);
  } catch (const std::exception& fault) {
    return LostConnectionError(fault.what());
  }
  return Barrier();
}

Status Workers::AllReduce(Tensor& values) {
  try {
    std::vector<Tensor> tensors = {values};
    group_->gloo->allreduce(tensors)->wait();
  } catch (const std::exception& fault) {
    return LostConnectionError(fault.what());
  }
  return {};
}

#else

struct Workers::Group {};

Status Workers::Join(const std::string&) {
  return Error{"this build's libtorch has no Gloo, which --workers needs (libgloo-dev)"};
}

Status Workers::AllReduce(Tensor&) { return {}; }

#endif

Workers::Workers(int rank, int count) : rank_(rank), count_(count) {}

// Killing the workers is safe: only the leader writes the run's results.
Workers::~Workers() {
  for (const pid_t pid : worker_pids_) {
    if (pid == 0) continue;
    kill(pid, SIGKILL);
    (void)WaitForExit(pid);
  }
}

Result<std::unique_ptr<Workers>> Workers::Start(int count,
                                                const std::vector<std::string>& command) {
  WorkerSpec spec;
  if (ReadWorkerSpec(spec)) {
    // Ctrl+C reaches every process of the terminal; the leader decides when to stop.
    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::unique_ptr<Workers> self(new Workers(spec.rank, spec.count));
    FT_RETURN_IF_ERROR(self->Join(spec.rendezvous_file));
    return self;
  }
  std::unique_ptr<Workers> self(new Workers(0, count));
  if (count == 1) return self;
  FT_ASSIGN_OR_RETURN(const std::string rendezvous_file, NewRendezvousFile());
  Status joined = self->SpawnWorkers(command, rendezvous_file);
  if (joined.ok()) joined = self->Join(rendezvous_file);
  std::error_code ignored;
  std::filesystem::remove(rendezvous_file, ignored);
  FT_RETURN_IF_ERROR(joined);
  return self;
}

Status Workers::SpawnWorkers(const std::vector<std::string>& command,
                             const std::string& rendezvous_file) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  for (int rank = 1; rank < count_; ++rank) {
    std::string spec = std::string(kWorkerVariable) + "=" + std::to_string(rank) + " " +
                       std::to_string(count_) + " " + rendezvous_file;
    std::vector<char*> environment = {spec.data()};
    for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
    environment.push_back(nullptr);
    pid_t pid = 0;
    const int fault =
        posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments.data(), environment.data());
    if (fault != 0) {
      return Error{"cannot start worker " + std::to_string(rank) + ": " + std::strerror(fault)};
    }
    worker_pids_.push_back(pid);
  }
  return {};
}

// Returns an error if a worker has exited. Sleeps briefly first, so that it can be called in a
// loop.
Status Workers::CheckWorkers() {
  std::this_thread::sleep_for(kPollInterval);
  for (size_t i = 0; i < worker_pids_.size(); ++i) {
    int status = 0;
    pid_t& pid = worker_pids_[i];
    if (pid == 0 || waitpid(pid, &status, WNOHANG) != pid) continue;
    pid = 0;
    return Error{"worker " + std::to_string(i + 1) + " " + DescribeExit(status) +
                 "; run the same command again to continue from the last checkpoint"};
  }
  return {};
}

// Returns the error for a failed call to c10d. Reports the exit status of a worker that has exited
// or, if none has, c10d's message `fault`, which says less.
Error Workers::LostConnectionError(const std::string& fault) {
  for (int polls = 0; leads() && polls < kExitStatusPolls; ++polls) {
    if (const Status s = CheckWorkers(); !s.ok()) return s.error();
  }
  return Error{"worker " + std::to_string(rank_) +
               " lost its connection to the other workers: " + fault.substr(0, fault.find('\n'))};
}

Status Workers::Sum(std::vector<double>& values) {
  if (count_ == 1) return {};
  Tensor sums = torch::tensor(values, torch::kFloat64);
  FT_RETURN_IF_ERROR(AllReduce(sums));
  std::copy_n(sums.data_ptr<double>(), values.size(), values.begin());
  return {};
}

Status Workers::BroadcastFromLeader(std::vector<double>& values) {
  if (!leads()) values.assign(values.size(), 0.0);
  return Sum(values);
}

Status Workers::Barrier() {
  std::vector<double> unused(1);
  return Sum(unused);
}

// Sums one buffer in host memory. It begins with a value per parameter, 1 if this worker has a
// gradient and 0 if not, so that the sum counts the workers that have one. All gradients follow.
Status Workers::SumGradients(const std::vector<NamedParameter>& parameters) {
  if (count_ == 1) return {};
  const torch::NoGradGuard no_grad;
  const auto count = static_cast<int64_t>(parameters.size());
  int64_t total = count;
  for (const NamedParameter& p : parameters) total += p.value.numel();
  Tensor message = torch::zeros({total});
  int64_t offset = count;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& gradient = parameters[i].value.grad();
    const int64_t size = parameters[i].value.numel();
    if (gradient.defined()) {
      message[i] = 1.0f;
      message.narrow(0, offset, size).copy_(gradient.reshape({-1}));
    }
    offset += size;
  }
  FT_RETURN_IF_ERROR(AllReduce(message));
  offset = count;
  for (int64_t i = 0; i < count; ++i) {
    Tensor value = parameters[i].value;
    const Tensor sum = message.narrow(0, offset, value.numel()).view(value.sizes());
    if (message.data_ptr<float>()[i] > 0.0f) value.mutable_grad() = sum.to(value.device());
    offset += value.numel();
  }
  return {};
}

}  // namespace foretoken::train
