// Runs a verifier on hand-made logits.
#pragma once

#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/strict_backend_testing.h"
#include "base/json.h"
#include "verify/verifier.h"

namespace foretoken {

class Judge {
 public:
  explicit Judge(std::string_view verifier, const Json& options = Json::object())
      : backend_(NewTestedBackend({.threads = 1})),
        verifier_(*NewVerifier(verifier, {*backend_, options})) {}

  const Verifier& verifier() const { return *verifier_; }

  // `rows`: the logits after each node. The last token of `history` is the tree's root.
  Acceptance Verify(const CandidateTree& tree, const std::vector<std::vector<float>>& rows,
                    const std::vector<Token>& history, const SamplingParams& asked,
                    const LogitFilter* filter = nullptr, int logprobs = -1) {
    FT_CHECK(static_cast<int>(rows.size()) == tree.size());
    packed_.clear();
    for (const auto& row : rows) packed_.insert(packed_.end(), row.begin(), row.end());
    const auto cols = static_cast<int64_t>(rows[0].size());
    if (buffer_.tensor.rows < tree.size() || buffer_.tensor.cols != cols) {
      buffer_ = *backend_->Allocate(DType::kF32, tree.size(), cols);
    }
    const Tensor logits = buffer_.tensor.Rows(0, tree.size());
    backend_->Upload(packed_.data(), logits);
    Sampler sampler(verifier_->Adapt(asked));
    const Scoring scoring{tree, logits, history, sampler, filter, logprobs};
    return verifier_->Verify(std::span(&scoring, 1))[0];
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Verifier> verifier_;
  Buffer buffer_;
  std::vector<float> packed_;
};

// Logits whose softmax is the distribution `p`.
inline std::vector<float> LogitsOf(const std::vector<double>& p) {
  std::vector<float> logits;
  logits.reserve(p.size());
  for (double x : p) logits.push_back(x > 0 ? static_cast<float>(std::log(x)) : -100.0f);
  return logits;
}

}  // namespace foretoken
