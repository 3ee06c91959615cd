// Helpers of tests that score rows with a model: they build the batch, run it and download every
// row's logits.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/rng.h"
#include "model/model.h"

namespace foretoken {

// The rows that one sequence adds to a batch. `parents` are indices into these rows, or kNoNode.
struct SequenceRows {
  KvCache* cache = nullptr;
  std::vector<Token> tokens;
  std::vector<Node> parents;
};

using RowLogits = std::vector<std::vector<float>>;  // [rows][vocab]

inline std::vector<Node> ChainParents(int count) {
  std::vector<Node> parents(count);
  for (int i = 0; i < count; ++i) parents[i] = i - 1;
  return parents;
}

inline std::vector<Node> Range(int count) {
  std::vector<Node> nodes(count);
  for (int i = 0; i < count; ++i) nodes[i] = i;
  return nodes;
}

inline std::vector<Token> RandomTokens(uint64_t seed, int count, int vocab) {
  std::vector<Token> tokens(count);
  for (int i = 0; i < count; ++i) tokens[i] = static_cast<Token>(Mix(Mix(seed) + i) % vocab);
  return tokens;
}

// A tree of `count` nodes with one root, branching anywhere but mostly near its youngest nodes.
inline std::vector<Node> RandomTree(uint64_t seed, int count) {
  std::vector<Node> parents(count, kNoNode);
  for (int i = 1; i < count; ++i) {
    const uint64_t draw = Mix(Mix(seed) + i);
    const int reach = draw % 4 == 0 ? i : std::min(i, 3);
    parents[i] = i - 1 - static_cast<int>((draw >> 8) % reach);
  }
  return parents;
}

// REQUIRES: the caches hold no provisional rows.
inline RowBatch MakeBatch(std::span<const SequenceRows> sequences) {
  RowBatch batch;
  for (const SequenceRows& s : sequences) {
    const int begin = batch.rows();
    for (size_t i = 0; i < s.tokens.size(); ++i) {
      const Node parent = s.parents[i];
      batch.position.push_back(parent == kNoNode ? s.cache->length()
                                                 : batch.position[begin + parent] + 1);
      batch.logit_rows.push_back(batch.rows());
      batch.token.push_back(s.tokens[i]);
      batch.parent.push_back(parent);
    }
    batch.begin.push_back(batch.rows());
  }
  return batch;
}

inline RowLogits Downloaded(const Model& model, Tensor logits) {
  std::vector<float> flat(logits.rows * logits.cols);
  if (!flat.empty()) model.backend().Download(logits, flat.data());
  RowLogits rows;
  for (int64_t i = 0; i < logits.rows; ++i) {
    rows.emplace_back(flat.begin() + i * logits.cols, flat.begin() + (i + 1) * logits.cols);
  }
  return rows;
}

// Logits of every row; the rows stay provisional.
inline RowLogits Score(Model& model, std::span<const SequenceRows> sequences,
                       const TapSpec& spec = {}, std::span<Taps> taps = {}) {
  std::vector<KvCache*> caches;
  for (const SequenceRows& s : sequences) caches.push_back(s.cache);
  return Downloaded(model, *model.Forward(MakeBatch(sequences), caches, spec, taps));
}

// Feeds `tokens` in chunks of `chunk` rows, committing each; returns the logits of every row.
inline RowLogits Feed(Model& model, KvCache& cache, std::span<const Token> tokens, int chunk) {
  RowLogits all;
  for (size_t at = 0; at < tokens.size(); at += chunk) {
    const int count = std::min<int>(chunk, static_cast<int>(tokens.size() - at));
    const SequenceRows rows{.cache = &cache,
                            .tokens = {tokens.begin() + at, tokens.begin() + at + count},
                            .parents = ChainParents(count)};
    for (auto& row : Score(model, {&rows, 1})) all.push_back(std::move(row));
    cache.Commit(Range(count));
  }
  return all;
}

// Computes the logits of every node of a tree by decoding one token at a time, depth first. The
// cache ends as it began.
class SequentialScorer {
 public:
  SequentialScorer(Model& model, KvCache& cache) : model_(model), cache_(cache) {}

  RowLogits Score(std::span<const Token> tokens, std::span<const Node> parents) {
    RowLogits all(tokens.size());
    VisitChildren(kNoNode, tokens, parents, all);
    return all;
  }

 private:
  void VisitChildren(Node parent, std::span<const Token> tokens, std::span<const Node> parents,
                     RowLogits& all) {
    const int length = cache_.length();
    for (Node node = parent + 1; node < static_cast<int>(tokens.size()); ++node) {
      if (parents[node] != parent) continue;
      all[node] = std::move(Feed(model_, cache_, tokens.subspan(node, 1), 1).front());
      VisitChildren(node, tokens, parents, all);
      cache_.Truncate(length);
    }
  }

  Model& model_;
  KvCache& cache_;
};

}  // namespace foretoken
