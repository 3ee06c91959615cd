// Data parallelism over processes, by libtorch's c10d with Gloo: each worker processes its share of
// a step's batches on its own device.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "weights.h"

namespace foretoken::train {

// Whether this process was started by Workers::Start in another process.
bool IsWorker();

// A group of workers. All of them must call the same functions in the same order. A sum has the
// same bits in every process and in every run with an equal number of workers. Sum,
// BroadcastFromLeader, Barrier and SumGradients return an error if a worker has exited.
// Thread-safety: one thread.
class Workers {
 public:
  // Starts a group. The caller is the leader and starts its own executable as the other workers,
  // with `command` (argv, program name included). In a process started this way, which an
  // environment variable marks, joins the leader's group instead. A group of one needs no command.
  // Errors: a libtorch without Gloo, a process that cannot be started, a worker that exits.
  static Result<std::unique_ptr<Workers>> Start(int count, const std::vector<std::string>& command);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  // In the leader, kills the other workers.
  ~Workers();

  int count() const { return count_; }
  int rank() const { return rank_; }
  bool leads() const { return rank_ == 0; }

  // Replaces `values` by their sums over all workers. REQUIRES: equal sizes in all workers.
  Status Sum(std::vector<double>& values);
  // Replaces `values` by those of the leader. REQUIRES: equal sizes in all workers.
  Status BroadcastFromLeader(std::vector<double>& values);
  // A barrier: returns when all workers have called it.
  Status Barrier();
  // Replaces the parameters' gradients by their sums over all workers; a gradient that no worker
  // has stays undefined. REQUIRES: the same parameters, f32, in all workers.
  Status SumGradients(const std::vector<NamedParameter>& parameters);

 private:
  struct Group;  // wraps c10d's process group

  Workers(int rank, int count);
  Status SpawnWorkers(const std::vector<std::string>& command, const std::string& rendezvous_file);
  Status Join(const std::string& rendezvous_file);
  Status AllReduce(torch::Tensor& values);
  Status CheckWorkers();
  Error LostConnectionError(const std::string& fault);

  int rank_, count_;
  // In the leader, the processes of workers 1, 2, ...; 0: known to have exited.
  std::vector<pid_t> worker_pids_;
  std::unique_ptr<Group> group_;
};

}  // namespace foretoken::train
