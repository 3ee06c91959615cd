#include "draft/lookahead/window.h"

#include <algorithm>

namespace foretoken {
namespace {

// Calls place(parent, token), which returns a Node, for every cell, row by row. Returns the last
// row's nodes.
template <typename Place>
std::vector<Node> PlaceCells(std::span<const std::vector<Token>> cells, const Place& place) {
  std::vector<Node> row{0};
  for (const Token token : cells[0]) row.push_back(place(row.back(), token));
  for (const std::vector<Token>& tokens : cells.subspan(1)) {
    row.resize(tokens.size());
    for (size_t c = 0; c < tokens.size(); ++c) row[c] = place(row[c], tokens[c]);
  }
  return row;
}

}  // namespace

void LookaheadWindow::AddTo(TreeBuilder& builder) const {
  size_t nodes = 1, depth = 0;
  for (size_t a = 0; a < cells_.size(); ++a) {
    nodes += cells_[a].size();
    depth = std::max(depth, a == 0 ? cells_[a].size() : a + cells_[a].size() - 1);
  }
  if (static_cast<int>(nodes) > builder.limits().max_nodes ||
      static_cast<int>(depth) > builder.limits().max_depth) {
    return;
  }
  PlaceCells(cells_, [&](Node parent, Token token) { return builder.AddProbe(parent, token); });
}

std::optional<std::vector<Node>> LookaheadWindow::LastRow(const CandidateTree& tree) const {
  bool whole = true;
  std::vector<Node> row = PlaceCells(cells_, [&](Node parent, Token token) {
    const Node node = whole ? tree.Child(parent, token) : kNoNode;
    whole = node != kNoNode;
    return node;
  });
  if (!whole) return std::nullopt;
  return row;
}

std::vector<std::vector<Token>> LookaheadWindow::Ngrams(Token root,
                                                        std::span<const Token> last) const {
  std::vector<std::vector<Token>> ngrams;
  ngrams.reserve(last.size());
  for (size_t c = 0; c < last.size(); ++c) {
    std::vector<Token> ngram{c == 0 ? root : cells_[0][c - 1]};
    for (size_t a = 1; a < cells_.size(); ++a) ngram.push_back(cells_[a][c]);
    ngram.push_back(last[c]);
    ngrams.push_back(std::move(ngram));
  }
  return ngrams;
}

std::vector<std::vector<Token>> LookaheadWindow::Advance(const CandidateTree& tree,
                                                         std::span<const Token> answers) {
  const std::optional<std::vector<Node>> row = LastRow(tree);
  if (!row) return {};
  FT_CHECK(answers.size() == static_cast<size_t>(tree.size()));
  std::vector<Token> latest;
  latest.reserve(row->size());
  for (const Node n : *row) latest.push_back(answers[static_cast<size_t>(n)]);
  if (full()) {
    std::vector<std::vector<Token>> ngrams = Ngrams(tree.token(0), latest);
    cells_.push_back(std::move(latest));
    cells_.erase(cells_.begin());
    cells_[0].erase(cells_[0].begin());
    return ngrams;
  }
  latest.erase(latest.begin());
  for (std::vector<Token>& tokens : cells_) tokens.erase(tokens.begin());
  cells_.push_back(std::move(latest));
  return {};
}

}  // namespace foretoken
