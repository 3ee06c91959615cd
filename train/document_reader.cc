#include "document_reader.h"

#include <ATen/Parallel.h>
#include <omp.h>
#include <torch/types.h>

#include <chrono>

namespace foretoken::train {

using torch::Tensor;

DocumentReader::DocumentReader(FeatureFile& file, int threads, bool reads_ahead)
    : file_(file), threads_(threads), reads_ahead_(reads_ahead), thread_([this] { Run(); }) {}

double DocumentReader::seconds() const {
  const std::lock_guard lock(mutex_);
  return seconds_;
}

bool DocumentReader::reads_ahead() const {
  const std::lock_guard lock(mutex_);
  return reads_ahead_;
}

DocumentReader::~DocumentReader() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void DocumentReader::AddComing(const DocumentWork& work, const std::vector<ReadPiece>& coming) {
  {
    const std::lock_guard lock(mutex_);
    if (!reads_ahead_) return;
    work_ = work;
    coming_.insert(coming_.end(), coming.begin(), coming.end());
  }
  changed_.notify_all();
}

std::vector<Tensor> DocumentReader::Read(const DocumentWork& work, const ReadPiece& piece) {
  Request request{work, piece, {}, {}, false};
  std::unique_lock lock(mutex_);
  request_ = &request;
  changed_.notify_all();
  changed_.wait(lock, [&] { return request.is_done; });
  if (request.fault) std::rethrow_exception(request.fault);
  return request.rows;
}

// Finds the next coming piece whose rows are not in the file.
bool DocumentReader::NextComing(ReadPiece& piece) {
  if (!reads_ahead_) return false;
  while (!coming_.empty()) {
    piece = coming_.front();
    coming_.pop_front();
    if (!file_.Has(KeyOfRead(work_.computation, piece))) return true;
  }
  return false;
}

std::vector<Tensor> DocumentReader::ReadTimed(const DocumentWork& work, const ReadPiece& piece) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Tensor> rows = ReadDocument(work, piece, torch::kCPU, file_);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  const std::lock_guard lock(mutex_);
  seconds_ += passed.count();
  return rows;
}

void DocumentReader::Run() {
  at::get_num_threads();  // libtorch sets its number once in every thread
  omp_set_num_threads(threads_);
  const torch::NoGradGuard no_grad;
  std::unique_lock lock(mutex_);
  while (!stops_) {
    ReadPiece coming;
    if (Request* request = request_) {
      request_ = nullptr;
      lock.unlock();
      try {
        if (!file_.Has(KeyOfRead(request->work.computation, request->piece))) {
          request->rows = ReadTimed(request->work, request->piece);
        }
      } catch (...) {
        request->fault = std::current_exception();
      }
      lock.lock();
      request->is_done = true;
      changed_.notify_all();
    } else if (NextComing(coming)) {
      const DocumentWork work = work_;
      lock.unlock();
      bool is_stored = false;
      try {
        ReadTimed(work, coming);
        is_stored = file_.Has(KeyOfRead(work.computation, coming));
      } catch (...) {
        // Read reports the same error when the piece is needed.
      }
      lock.lock();
      if (!is_stored) reads_ahead_ = false;  // the file is full
    } else {
      changed_.wait(lock);
    }
  }
}

}  // namespace foretoken::train
