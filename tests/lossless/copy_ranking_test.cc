// PLD+ picks the occurrence that a reference picks, which runs the target over the text from
// scratch and ranks in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "rig.h"

namespace foretoken {
namespace {

struct Recorded {
  std::vector<std::vector<float>> hidden;   // [rows][hidden]
  std::vector<std::vector<float>> queries;  // [layer][heads * head_dim], of the last row
  std::vector<std::vector<float>> keys;     // [layer][rows * kv_cols]
};

// The states of one pass over `text` from scratch.
Recorded Record(Target& target, std::span<const Token> text, int hidden_index) {
  const ModelConfig& config = target.model->config();
  TapSpec spec{.hidden = {hidden_index}};
  for (int l = 0; l < config.layers; ++l) spec.queries.push_back(l), spec.kv_layers.push_back(l);
  RowBatch rows;
  for (size_t i = 0; i < text.size(); ++i) {
    rows.token.push_back(text[i]);
    rows.position.push_back(static_cast<Pos>(i));
    rows.parent.push_back(static_cast<Node>(i) - 1);
  }
  rows.begin.push_back(rows.rows());
  const auto cache = target.model->NewCache(256, DType::kF32);
  KvCache* caches[] = {cache.get()};
  std::vector<Taps> taps(1);
  EXPECT_TRUE(target.model->Forward(rows, caches, spec, taps).ok());
  Recorded recorded;
  const auto count = static_cast<int64_t>(text.size());
  for (int64_t r = 0; r < count; ++r) {
    recorded.hidden.emplace_back(static_cast<size_t>(config.hidden));
    target.backend->Download(taps[0].Hidden(hidden_index).Rows(r, 1),
                             recorded.hidden.back().data());
  }
  for (int l = 0; l < config.layers; ++l) {
    recorded.queries.emplace_back(static_cast<size_t>(config.heads * config.head_dim));
    target.backend->Download(taps[0].Queries(l).Rows(count - 1, 1), recorded.queries.back().data());
    recorded.keys.emplace_back(static_cast<size_t>(count * config.kv_heads * config.head_dim));
    target.backend->Download(taps[0].Keys(l), 0, count, recorded.keys.back().data());
  }
  return recorded;
}

double Cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

double Attention(const ModelConfig& c, const Recorded& r, int layer, int head, int column) {
  const int kv = head / (c.heads / c.kv_heads), cols = c.kv_heads * c.head_dim;
  const auto rows = static_cast<int>(r.keys[layer].size()) / cols;
  std::vector<double> weight;
  double sum = 0;
  for (int j = 0; j < rows; ++j) {
    double dot = 0;
    for (int d = 0; d < c.head_dim; ++d) {
      dot += static_cast<double>(r.queries[layer][head * c.head_dim + d]) *
             r.keys[layer][j * cols + kv * c.head_dim + d];
    }
    weight.push_back(std::exp(dot / std::sqrt(c.head_dim)));
    sum += weight.back();
  }
  return weight[column] / sum;
}

class CopyRanking : public ::testing::Test {
 protected:
  // Runs `drafter` and expects every draft to be the span after the occurrence that `score` ranks
  // first.
  template <typename Score>
  void ExpectRanking(std::string_view drafter, int first_place, const Score& score) {
    Json options = {{"k", 20}};
    if (!heads_.is_null()) options["heads"] = heads_;
    Rig rig(target_, drafter, 256, {.max_nodes = 40, .max_depth = 39}, options);
    int choices = 0;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const auto session = rig.Start({});
      ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(seed, 60, 97), 25).ok());
      Session* batch[] = {session.get()};
      for (; !session->done(); Step(rig.generator(), batch)) {
        const auto& text = session->tokens;
        const int t = static_cast<int>(text.size()) - 1;
        const Recorded recorded = Record(target_, std::span(text).first(t), kLayer);
        int best = -1, places = 0;
        double best_score = -2;
        for (int j = first_place; j < t; ++j) {
          if (text[j] != text[t]) continue;
          ++places;
          const double s = score(recorded, j, t);
          if (s > best_score + 1e-7) best_score = s, best = j;
        }
        choices += places > 1;
        const CandidateTree tree = (*rig.generator().Draft(batch))[0];
        const int left = 25 - static_cast<int>(session->written().size()) - 1;
        const int expected = best < 0 ? 0 : std::min({20, t - best, left});
        ASSERT_EQ(tree.size() - 1, expected) << "at " << t;
        for (int i = 1; i <= expected; ++i) ASSERT_EQ(tree.token(i), text[best + i]);
      }
    }
    EXPECT_GT(choices, 20);
  }

  static constexpr int kLayer = 1;  // round(9 / 32 * 4), the default for four layers
  Target target_{TinyConfig(2), 1, 1, 128};
  Json heads_;
};

TEST_F(CopyRanking, DefaultLayerIsTheSameShareOfTheModel) {
  Rig with_defaults(target_, "pld+h");
  ASSERT_EQ(with_defaults.drafter()->Needs().hidden, std::vector<int>{kLayer});
}

// A list beside the model and a list named by `heads` have the same effect: the first `top` heads
// are used, by default one of this model's 16. Heads given as a value are all used.
TEST_F(CopyRanking, AListBesideTheModelActsLikeANamedOne) {
  const Json list = Json::array({Json::array({3, 1}), Json::array({0, 2}), Json::array({2, 0})});
  const TemporaryDirectory folder;
  const std::string model = folder / "model.gguf", file = model + ".heads.json";
  std::ofstream(file) << Json{{"heads", list}}.dump();
  const auto make = [&](const std::string& path, const Json& options) {
    return *NewDrafter("pld+a", {*target_.model, 64, options, path, target_.tokenizer.get()});
  };
  EXPECT_EQ(make(model, Json::object())->Needs().queries, std::vector<int>{3});
  EXPECT_EQ(make("", {{"heads", file}})->Needs().queries, std::vector<int>{3});
  EXPECT_EQ(make(model, {{"heads", file}, {"top", 2}})->Needs().queries, (std::vector<int>{0, 3}));
  EXPECT_EQ(make(model, {{"heads", list}})->Needs().queries, (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(make(model, Json::object())->Remark(), "");
  EXPECT_EQ(make(model, {{"heads", "all"}})->Remark(), "");
}

TEST_F(CopyRanking, SaysThatThereIsNoListOfHeads) {
  const Json none = Json::object();
  const std::string path = "/nowhere/model.gguf";
  const auto remark = [&](const char* name) {
    return (*NewDrafter(name, {*target_.model, 64, none, path, target_.tokenizer.get()}))->Remark();
  };
  for (const char* name : {"pld+a", "pld,pld+a"}) {
    EXPECT_NE(remark(name).find("foretoken find-heads -m " + path), std::string::npos) << name;
  }
  EXPECT_EQ(remark("pld+h"), "");
}

TEST_F(CopyRanking, HiddenStatesRankByCosine) {
  ExpectRanking("pld+h", 1, [](const Recorded& r, int j, int t) {
    return Cosine(r.hidden[j - 1], r.hidden[t - 1]);
  });
}

TEST_F(CopyRanking, ChosenHeadsRankByAttention) {
  heads_ = Json::array({Json::array({3, 1}), Json::array({0, 2}), Json::array({2, 0})});
  const ModelConfig& config = target_.model->config();
  ExpectRanking("pld+a", 0, [&](const Recorded& r, int j, int) {
    return std::max({Attention(config, r, 3, 1, j), Attention(config, r, 0, 2, j),
                     Attention(config, r, 2, 0, j)});
  });
}

}  // namespace
}  // namespace foretoken
