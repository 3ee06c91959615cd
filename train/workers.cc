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

#if FT_GLOO
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif

extern char** environ;

namespace foretoken::train {
namespace {

using torch::Tensor;

// The environment variable of processes started by the leader: "RANK COUNT FILE".
constexpr char kPlace[] = "FORETOKEN_TRAIN_WORKER";
// The timeout of collective operations. Encoding the data may take the leader hours while the
// others wait. A dead worker is detected at once, without the timeout.
constexpr std::chrono::hours kPatience{48};
constexpr std::chrono::milliseconds kGlance{5};
constexpr int kGlances = 400;  // polls for a worker's exit status after a lost connection

struct Place {
  int rank = 0, count = 1;
  std::string meeting_point;
};

// Reads kPlace; returns false in a process that was not started as a worker.
bool ReadPlace(Place& place) {
  const char* text = std::getenv(kPlace);
  int used = 0;
  if (text == nullptr || std::sscanf(text, "%d %d %n", &place.rank, &place.count, &used) != 2) {
    return false;
  }
  place.meeting_point = text + used;
  return true;
}

std::string EndInWords(int status) {
  return WIFSIGNALED(status) ? "was killed by signal " + std::to_string(WTERMSIG(status))
                             : "exited with status " + std::to_string(WEXITSTATUS(status));
}

Result<std::string> NewMeetingPoint() {
  std::error_code fault;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(fault);
  if (fault) return Error{"--workers: cannot find a folder for a file: " + fault.message()};
  std::string path = (folder / "foretoken_XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) {
    return Error{folder.string() +
                 ": cannot create a file here, which --workers needs: " + std::strerror(errno)};
  }
  close(file);
  return path;
}

}  // namespace

bool IsWorker() { return std::getenv(kPlace) != nullptr; }

#if FT_GLOO

struct Workers::Group {
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
};

namespace {
std::string Arrival(int rank) { return "arrived." + std::to_string(rank); }
}  // namespace

Status Workers::Join(const std::string& meeting_point) {
  try {
    constexpr int kLeaveFile = -1;
    auto store = c10::make_intrusive<c10d::FileStore>(meeting_point, kLeaveFile);
    store->set(Arrival(rank_), {1});
    for (int rank = 1; leads() && rank < count_; ++rank) {  // a failed worker never arrives
      while (!store->check({Arrival(rank)})) FT_RETURN_IF_ERROR(CheckOthers());
    }
    auto options = c10d::ProcessGroupGloo::Options::create(kPatience);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    group_ = std::make_unique<Group>();
    group_->gloo =
        c10::make_intrusive<c10d::ProcessGroupGloo>(std::move(store), rank_, count_, options);
  } catch (const std::exception& fault) {
    return Lost(fault.what());
  }
  return Meet();
}

Status Workers::AddUp(Tensor& values) {
  try {
    std::vector<Tensor> tensors = {values};
    group_->gloo->allreduce(tensors)->wait();
  } catch (const std::exception& fault) {
    return Lost(fault.what());
  }
  return {};
}

#else

struct Workers::Group {};

Status Workers::Join(const std::string&) {
  return Error{"this build's libtorch has no Gloo, which --workers needs (libgloo-dev)"};
}

Status Workers::AddUp(Tensor&) { return {}; }

#endif

Workers::Workers(int rank, int count) : rank_(rank), count_(count) {}

// Killing the workers is safe: only the leader writes the run's results.
Workers::~Workers() {
  for (const pid_t pid : others_) {
    if (pid == 0) continue;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

Result<std::unique_ptr<Workers>> Workers::Start(int count,
                                                const std::vector<std::string>& command) {
  Place place;
  if (ReadPlace(place)) {
    // Ctrl+C reaches every process of the terminal; the leader decides when to stop.
    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::unique_ptr<Workers> self(new Workers(place.rank, place.count));
    FT_RETURN_IF_ERROR(self->Join(place.meeting_point));
    return self;
  }
  std::unique_ptr<Workers> self(new Workers(0, count));
  if (count == 1) return self;
  FT_ASSIGN_OR_RETURN(const std::string meeting_point, NewMeetingPoint());
  Status joined = self->StartOthers(command, meeting_point);
  if (joined.ok()) joined = self->Join(meeting_point);
  std::error_code ignored;
  std::filesystem::remove(meeting_point, ignored);
  FT_RETURN_IF_ERROR(joined);
  return self;
}

Status Workers::StartOthers(const std::vector<std::string>& command,
                            const std::string& meeting_point) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  for (int rank = 1; rank < count_; ++rank) {
    std::string place = std::string(kPlace) + "=" + std::to_string(rank) + " " +
                        std::to_string(count_) + " " + meeting_point;
    std::vector<char*> environment = {place.data()};
    for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
    environment.push_back(nullptr);
    pid_t pid = 0;
    const int fault =
        posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments.data(), environment.data());
    if (fault != 0) return Error{"cannot start worker " + std::to_string(rank)};
    others_.push_back(pid);
  }
  return {};
}

// Returns an error if a worker has exited. Sleeps briefly first, so that it can be called in a
// loop.
Status Workers::CheckOthers() {
  std::this_thread::sleep_for(kGlance);
  for (size_t i = 0; i < others_.size(); ++i) {
    int status = 0;
    if (others_[i] == 0 || waitpid(others_[i], &status, WNOHANG) != others_[i]) continue;
    others_[i] = 0;
    return Error{"worker " + std::to_string(i + 1) + " " + EndInWords(status) +
                 "; run the same command again to continue from the last checkpoint"};
  }
  return {};
}

// Returns the error for a failed call to c10d. Reports the exit status of a worker that has exited;
// only if there is none, c10d's message `fault`, which says less.
Error Workers::Lost(const std::string& fault) {
  for (int glance = 0; leads() && glance < kGlances; ++glance) {
    if (const Status s = CheckOthers(); !s.ok()) return s.error();
  }
  return Error{"worker " + std::to_string(rank_) +
               " lost its connection to the other workers: " + fault.substr(0, fault.find('\n'))};
}

Status Workers::Sum(std::vector<double>& values) {
  if (count_ == 1) return {};
  Tensor sums = torch::tensor(values, torch::kFloat64);
  FT_RETURN_IF_ERROR(AddUp(sums));
  std::copy_n(sums.data_ptr<double>(), values.size(), values.begin());
  return {};
}

Status Workers::Follow(std::vector<double>& values) {
  if (!leads()) values.assign(values.size(), 0.0);
  return Sum(values);
}

Status Workers::Meet() {
  std::vector<double> nothing(1);
  return Sum(nothing);
}

// Sums one buffer in host memory: per parameter, 1 if this worker has a gradient and 0 if not (the
// sum counts the workers that have it); then all gradients.
Status Workers::SumGradients(const std::vector<NamedParameter>& parameters) {
  if (count_ == 1) return {};
  const torch::NoGradGuard no_grad;
  const auto count = static_cast<int64_t>(parameters.size());
  int64_t total = count;
  for (const NamedParameter& p : parameters) total += p.value.numel();
  Tensor message = torch::zeros({total});
  int64_t at = count;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& gradient = parameters[i].value.grad();
    const int64_t size = parameters[i].value.numel();
    if (gradient.defined()) {
      message[i] = 1.0f;
      message.narrow(0, at, size).copy_(gradient.reshape({-1}));
    }
    at += size;
  }
  FT_RETURN_IF_ERROR(AddUp(message));
  at = count;
  for (int64_t i = 0; i < count; ++i) {
    Tensor value = parameters[i].value;
    const Tensor sum = message.narrow(0, at, value.numel()).view(value.sizes());
    if (message.data_ptr<float>()[i] > 0.0f) value.mutable_grad() = sum.to(value.device());
    at += value.numel();
  }
  return {};
}

}  // namespace foretoken::train
