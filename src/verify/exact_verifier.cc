// Verifiers that accept a drafted token if it is the one that the target chooses. For one seed, the
// text is the one that the target writes without drafts.
#include "base/option_reader.h"
#include "verify/node_reader.h"

namespace foretoken {
namespace {

class ExactVerifier : public Verifier {
 public:
  explicit ExactVerifier(Backend& backend) : reader_(backend) {}

  bool SharesNoise() const final { return true; }

  std::vector<Acceptance> Verify(std::span<const Scoring> batch) final {
    std::vector<Acceptance> accepted;
    accepted.reserve(batch.size());
    for (const Scoring& s : batch) {
      accepted.push_back(reader_.Read(s, [&] { return reader_.FollowChoices(s); }));
    }
    return accepted;
  }

 private:
  NodeReader reader_;
};

// Sample-match of REST and Medusa (V-8): exact for the distribution that top-p leaves. As in those
// papers, top-p is on by default.
class NucleusVerifier final : public ExactVerifier {
 public:
  NucleusVerifier(Backend& backend, float top_p) : ExactVerifier(backend), top_p_(top_p) {}

  SamplingParams Adapt(SamplingParams asked) const override {
    if (asked.top_p >= 1) asked.top_p = top_p_;
    return asked;
  }

 private:
  float top_p_;
};

}  // namespace

std::unique_ptr<Verifier> NewExactVerifier(Backend& backend) {
  return std::make_unique<ExactVerifier>(backend);
}

Result<std::unique_ptr<Verifier>> NewExactVerifier(Backend& backend, OptionFields&) {
  return NewExactVerifier(backend);
}

Result<std::unique_ptr<Verifier>> NewNucleusVerifier(Backend& backend, OptionFields& options) {
  float top_p = 0.8f;
  options.Number("top_p", top_p, 1e-8f, 1,
                 "total probability of the likeliest tokens, which are kept");
  return std::unique_ptr<Verifier>(std::make_unique<NucleusVerifier>(backend, top_p));
}

}  // namespace foretoken
