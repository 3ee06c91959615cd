// Checks that passes that compute only the last output of each sequence give the same bits as full
// passes.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/json.h"
#include "draft/eagle/eagle_net.h"
#include "draft/eagle3/eagle3_net.h"
#include "draft/hydra/hydra_net.h"
#include "draft/trained_fixture_testing.h"

namespace foretoken {
namespace {

class FeatureNetTest : public TrainedDrafterTest {
 protected:
  FeatureNetTest() : TrainedDrafterTest("hass") {}

  template <typename Net>
  std::unique_ptr<Net> Load(std::string_view drafter) {
    const Json options = TestOptions(drafter, Target());
    return *Net::Load(*DraftFile::Open(options["draft"].template get<std::string>()), *model_);
  }

  // Feeds 7 and 2 rows of two sequences to `net`, then 1 and 3 more. Returns the outputs of each
  // sequence's last row in each pass, computed with ForwardForLast if `last_only` is set, else
  // with Forward.
  std::vector<float> Outputs(FeatureNet& net, bool last_only) {
    const auto first = net.NewCache(32, DType::kF32), second = net.NewCache(32, DType::kF32);
    KvCache* const caches[] = {first.get(), second.get()};
    std::vector<float> outputs;
    for (const std::vector<int>& counts : {std::vector{7, 2}, {1, 3}}) {
      RowBatch batch;
      for (int s = 0; s < 2; ++s) {
        for (int i = 0; i < counts[static_cast<size_t>(s)]; ++i) {
          AddRow(batch, (3 + 5 * i + s) % config_.vocab, caches[s]->length() + i, i - 1);
        }
        batch.begin.push_back(batch.rows());
      }
      SetFeatures(net, batch.rows());
      const Tensor all =
          last_only ? *net.ForwardForLast(batch, caches) : *net.Forward(batch, caches);
      for (int s = 0; s < 2; ++s) {
        const int64_t row = last_only ? s : batch.begin[static_cast<size_t>(s) + 1] - 1;
        std::vector<float> values(static_cast<size_t>(net.hidden()));
        backend_->Download(all.Rows(row, 1), values.data());
        outputs.insert(outputs.end(), values.begin(), values.end());
      }
      for (int s = 0; s < 2; ++s) {
        std::vector<Node> path(static_cast<size_t>(counts[static_cast<size_t>(s)]));
        std::iota(path.begin(), path.end(), 0);
        caches[s]->Commit(path);
      }
    }
    return outputs;
  }

 private:
  void SetFeatures(FeatureNet& net, int rows) {
    const Buffer given = *backend_->Allocate(DType::kF32, rows, net.hidden());
    std::vector<float> values(static_cast<size_t>(rows * net.hidden()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i) * 0.7f);
    backend_->Upload(values.data(), given.tensor);
    backend_->StoreRows(given.tensor, *net.Features(rows));
  }
};

TEST_F(FeatureNetTest, ForwardForLastGivesTheBitsOfForward) {
  const auto eagle = Load<EagleNet>("hass");
  EXPECT_EQ(Outputs(*eagle, true), Outputs(*eagle, false));
  const auto eagle3 = Load<Eagle3Net>("eagle3");
  EXPECT_EQ(Outputs(*eagle3, true), Outputs(*eagle3, false));
  const auto hydra = Load<HydraNet>("hydra");
  EXPECT_EQ(Outputs(*hydra, true), Outputs(*hydra, false));
}

}  // namespace
}  // namespace foretoken
