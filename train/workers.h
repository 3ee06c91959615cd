// The processes that learn one run together, each its share of a step's batches on a device of its
// own: data parallelism by libtorch's c10d, over Gloo.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "weights.h"

namespace foretoken::train {

// Whether this process was started by another's Workers::Start.
bool IsWorker();

// All of them call the same functions in the same order. A sum has the same bits in every process
// and in every run with as many of them. Errors: one of them is gone.
class Workers {
 public:
  // The caller leads, and starts the others: its own executable with `command` (argv, the first
  // word included). A process started so finds in its environment that it was, and joins. One
  // process is alone and needs no command. Errors: a libtorch without Gloo, a process that cannot
  // be started.
  static Result<std::unique_ptr<Workers>> Start(int count, const std::vector<std::string>& command);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  // The leader ends the others.
  ~Workers();

  int count() const { return count_; }
  int rank() const { return rank_; }
  bool leads() const { return rank_ == 0; }

  // Adds up `values`, which become the sums.
  Status Sum(std::vector<double>& values);
  // `values` become the leader's.
  Status Follow(std::vector<double>& values);
  // Goes on when everyone is here.
  Status Meet();
  // Adds up the gradients that the parameters hold; one that nobody has stays undefined.
  Status SumGradients(const std::vector<NamedParameter>& parameters);

 private:
  struct Group;  // c10d's

  Workers(int rank, int count);
  Status StartOthers(const std::vector<std::string>& command, const std::string& meeting_point);
  Status Join(const std::string& meeting_point);
  Status AddUp(torch::Tensor& values);
  Status CheckOthers();
  Error Lost(const std::string& fault);

  int rank_, count_;
  std::vector<pid_t> others_;  // of the leader; 0 where it is known to be over
  std::unique_ptr<Group> group_;
};

}  // namespace foretoken::train
