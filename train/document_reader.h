// Reads documents with the target in a thread of its own, so that training need not wait for it.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "document_rows.h"

namespace foretoken::train {

// All documents are read by this thread, with one number of threads, whoever needs them first: so
// their rows have the same bits in a run that was resumed.
class DocumentReader {
 public:
  // `threads`: libtorch's in this thread. `reads_ahead`: whether documents are read before they are
  // needed. Keeps a reference to `file`.
  DocumentReader(FeatureFile& file, int threads, bool reads_ahead);
  DocumentReader(const DocumentReader&) = delete;
  DocumentReader& operator=(const DocumentReader&) = delete;
  ~DocumentReader();

  // Adds pieces that will be needed, in their order, after those of earlier calls.
  void AddComing(const DocumentWork& work, const std::vector<ReadPiece>& coming);
  // Returns the rows of the piece's document, or nothing if the file has the piece by now. Rethrows
  // what the computation throws.
  std::vector<torch::Tensor> Read(const DocumentWork& work, const ReadPiece& piece);
  double seconds() const;  // of reading, so far
  bool reads_ahead() const;

 private:
  struct Request {
    DocumentWork work;
    ReadPiece piece;
    std::vector<torch::Tensor> rows;
    std::exception_ptr fault;
    bool is_done = false;
  };

  void Run();
  std::vector<torch::Tensor> ReadTimed(const DocumentWork& work, const ReadPiece& piece);
  bool NextComing(ReadPiece& piece);

  FeatureFile& file_;
  const int threads_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool stops_ = false, reads_ahead_;
  double seconds_ = 0.0;
  Request* request_ = nullptr;
  DocumentWork work_;  // of coming_
  std::deque<ReadPiece> coming_;
  std::thread thread_;
};

}  // namespace foretoken::train
