#include "tree/tree_shape.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/mapped_file.h"

namespace foretoken {
namespace {

constexpr int kMaxRank = 1023;

std::string Name(std::span<const int> path) {
  std::string name;
  for (int rank : path) name.append(name.empty() ? "" : ",").append(std::to_string(rank));
  return name;
}

// Reads "0, 2,1"; the path is empty for a line without ranks.
Result<RankPath> ParseLine(std::string_view line) {
  line = line.substr(0, line.find('#'));
  RankPath path;
  const auto skip_space = [&line] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
  };
  for (skip_space(); !line.empty(); skip_space()) {
    if (!path.empty()) {
      if (line.front() != ',') return Error{"found '" + std::string(line) + "', expected a comma"};
      line.remove_prefix(1);
      skip_space();
    }
    int rank = -1;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), rank);
    if (error != std::errc() || rank < 0 || rank > kMaxRank) {
      return Error{"found '" + std::string(line) + "', expected a rank from 0 to " +
                   std::to_string(kMaxRank)};
    }
    path.push_back(rank);
    line.remove_prefix(static_cast<size_t>(end - line.data()));
  }
  return path;
}

}  // namespace

int TreeShape::Child(int node, int rank) const {
  for (const auto& [r, child] : nodes_[node].children) {
    if (r == rank) return child;
  }
  return -1;
}

int TreeShape::Add(int parent, int rank) {
  const int added = size();
  nodes_.push_back({.depth = nodes_[parent].depth + 1});
  nodes_[parent].children.emplace_back(rank, added);
  width_ = std::max(width_, rank + 1);
  return added;
}

Result<TreeShape> TreeShape::Create(std::span<const RankPath> paths) {
  std::vector<RankPath> sorted(paths.begin(), paths.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const RankPath& a, const RankPath& b) { return a.size() < b.size(); });
  TreeShape shape;
  for (const RankPath& path : sorted) {
    int parent = path.empty() ? -1 : 0;
    for (size_t i = 0; i + 1 < path.size() && parent >= 0; ++i) {
      parent = shape.Child(parent, path[i]);
    }
    if (parent < 0) return Error{"node '" + Name(path) + "' has no parent"};
    if (shape.Child(parent, path.back()) >= 0) {
      return Error{"node '" + Name(path) + "' is there twice"};
    }
    shape.Add(parent, path.back());
  }
  return shape;
}

Result<TreeShape> TreeShape::Read(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  std::string_view text = file.text();
  std::vector<RankPath> paths;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    Result<RankPath> ranks = ParseLine(line);
    if (!ranks.ok()) {
      return Error{path + ":" + std::to_string(number) + ": " + ranks.error().message};
    }
    if (!ranks->empty()) paths.push_back(*std::move(ranks));
  }
  if (paths.empty()) return Error{path + ": the tree has no nodes"};
  Result<TreeShape> shape = Create(paths);
  if (!shape.ok()) return Error{path + ": " + shape.error().message};
  return shape;
}

int TreeShape::depth() const {
  int deepest = 0;
  for (const Item& item : nodes_) deepest = std::max(deepest, item.depth);
  return deepest;
}

TreeShape TreeShape::CutTo(int depth) const {
  TreeShape cut;
  std::vector<int> renamed(nodes_.size(), -1);
  renamed[0] = 0;
  for (size_t n = 0; n < nodes_.size(); ++n) {  // parents come first
    if (nodes_[n].depth >= depth) continue;
    for (const auto& [rank, child] : nodes_[n].children) {
      renamed[static_cast<size_t>(child)] = cut.Add(renamed[n], rank);
    }
  }
  return cut;
}

}  // namespace foretoken
