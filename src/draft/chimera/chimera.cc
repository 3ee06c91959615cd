// Chimera (C-20): a series of heads, each of which predicts one token further ahead than the one
// before it. A head reads the target's last feature and a light encoder's output for the whole text
// and the earlier guesses.
#include <algorithm>

#include "draft/chimera/chimera_net.h"
#include "draft/chimera/chimera_spec.h"
#include "draft/chimera/ngram_counts.h"
#include "draft/trained.h"

namespace foretoken {
namespace {

// A view of `count` rows of `t`: first, first + 2, ...
Tensor EverySecond(Tensor t, int first, int count) {
  t = t.Rows(first, 2 * count - 1);
  t.rows = count;
  t.row_bytes *= 2;
  return t;
}

class Chimera final : public FeatureDrafter {
 public:
  Chimera(std::unique_ptr<ChimeraNet> net, int layers, int capacity, DType cache_type)
      : FeatureDrafter(*net, {.taps = ChimeraSpec::Taps(layers)}, capacity, cache_type),
        net_(std::move(net)) {}

  Status Propose(std::span<const DraftSlot> batch) override {
    return DraftLevels(batch,
                       [&](std::span<const DraftLevel> levels) { return Expand(batch, levels); });
  }

  DraftPrior Prior() const override { return net_->Prior(); }

  std::vector<Tally> Tallies() const override {
    const NgramLookups& lookups = net_->ngrams().lookups();
    return {{"ngrams_in_memory", lookups.from_memory, lookups.total},
            {"ngrams_in_spill_file", lookups.from_file, lookups.total}};
  }

 private:
  // A node to be expanded and the network's output for it [1, hidden].
  struct ExpandedNode {
    const DraftSlot* slot;
    Node node;
    Tensor output;
  };

  Status Feed(std::span<const Run> runs) override;
  Ngram NgramOf(const State& state, Pos position) const;
  Ngram NgramOf(const State& state, const CandidateTree& tree, Node node) const;
  Status Expand(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels);
  Result<std::vector<ExpandedNode>> Encode(std::span<const DraftSlot> batch,
                                           std::span<const DraftLevel> levels);
  Status OfferFromHead(int head, std::span<const ExpandedNode> nodes);

  std::unique_ptr<ChimeraNet> net_;
};

Ngram Chimera::NgramOf(const State& state, Pos position) const {
  return NgramAt(net_->ngrams().n(), position,
                 [&](Pos p) { return state.text[static_cast<size_t>(p)]; });
}

Ngram Chimera::NgramOf(const State& state, const CandidateTree& tree, Node node) const {
  const Pos root = state.committed;
  return NgramAt(net_->ngrams().n(), root + tree.depth(node), [&](Pos p) {
    if (p <= root) return state.text[static_cast<size_t>(p)];
    Node at = node;
    while (root + tree.depth(at) > p) at = tree.parent(at);
    return tree.token(at);
  });
}

// A pair (feature i, token i + 1) takes two rows. Only a run's last row needs an output; for the
// others, keys and values are enough.
Status Chimera::Feed(std::span<const Run> runs) {
  int rows = 0;
  for (const Run& run : runs) rows += 2 * run.count - 1;
  FT_ASSIGN_OR_RETURN(const Tensor inputs, net_->Features(rows));
  RowBatch seen, last;
  std::vector<KvCache*> caches;
  std::vector<Ngram> last_ngrams;
  for (const auto& [state, first, count] : runs) {
    const int begin = seen.rows();
    net_->backend().StoreRows(state->Features(first, count), EverySecond(inputs, begin, count));
    std::vector<Ngram> ngrams;
    AddRow(seen, 0, first, kNoNode);
    for (int i = 1; i < count; ++i) {
      ngrams.push_back(NgramOf(*state, first + i));
      AddRow(seen, 0, first + i, 2 * i - 2);  // the n-gram state of token first + i
      AddRow(seen, 0, first + i, 2 * i - 1);  // the feature of token first + i
    }
    if (count > 1) {
      FT_RETURN_IF_ERROR(net_->ngrams().Encode(ngrams, EverySecond(inputs, begin + 1, count - 1)));
    }
    seen.begin.push_back(seen.rows());
    caches.push_back(state->cache.get());
    last_ngrams.push_back(NgramOf(*state, first + count));
    AddRow(last, 0, first + count, 2 * count - 2);
    last.begin.push_back(last.rows());
  }
  FT_RETURN_IF_ERROR(net_->Remember(seen, caches));
  FT_ASSIGN_OR_RETURN(const Tensor states, net_->Features(last.rows()));
  FT_RETURN_IF_ERROR(net_->ngrams().Encode(last_ngrams, states));
  FT_ASSIGN_OR_RETURN(const Tensor outputs, net_->Forward(last, caches));
  for (size_t r = 0; r < runs.size(); ++r) {
    FT_RETURN_IF_ERROR(Finish(*runs[r].state, outputs.Rows(static_cast<int64_t>(r), 1)));
  }
  return {};
}

Status Chimera::Expand(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels) {
  FT_ASSIGN_OR_RETURN(const std::vector<ExpandedNode> nodes, Encode(batch, levels));
  for (int head = 0; head < net_->heads(); ++head) {
    std::vector<ExpandedNode> of_head;
    for (const ExpandedNode& expanded : nodes) {
      if (expanded.slot->builder.tree().depth(expanded.node) == head) of_head.push_back(expanded);
    }
    if (!of_head.empty()) FT_RETURN_IF_ERROR(OfferFromHead(head, of_head));
  }
  return {};
}

// Returns those of the levels' nodes that have a head, with their outputs. All but the roots, whose
// outputs are stored, are fed in one pass.
Result<std::vector<Chimera::ExpandedNode>> Chimera::Encode(std::span<const DraftSlot> batch,
                                                           std::span<const DraftLevel> levels) {
  std::vector<ExpandedNode> nodes;
  std::vector<Ngram> ngrams;
  RowBatch rows;
  std::vector<KvCache*> caches;
  for (const DraftLevel& level : levels) {
    const DraftSlot& slot = batch[level.slot];
    State& state = StateOf(slot);
    const CandidateTree& tree = slot.builder.tree();
    for (const Node node : level.nodes) {
      if (tree.depth(node) >= net_->heads()) continue;
      nodes.push_back({&slot, node, state.root.tensor});
      if (node == 0) continue;
      ngrams.push_back(NgramOf(state, tree, node));
      state.AddNode(tree, node, state.committed + tree.depth(node), rows);
    }
    if (rows.rows() == rows.begin.back()) continue;
    rows.begin.push_back(rows.rows());
    caches.push_back(state.cache.get());
  }
  if (ngrams.empty()) return nodes;
  FT_ASSIGN_OR_RETURN(const Tensor states, net_->Features(rows.rows()));
  FT_RETURN_IF_ERROR(net_->ngrams().Encode(ngrams, states));
  FT_ASSIGN_OR_RETURN(const Tensor outputs, net_->Forward(rows, caches));
  int at = 0;
  for (ExpandedNode& expanded : nodes) {
    if (expanded.node != 0) expanded.output = outputs.Rows(at++, 1);
  }
  return nodes;
}

Status Chimera::OfferFromHead(int head, std::span<const ExpandedNode> nodes) {
  const int rows = static_cast<int>(nodes.size()), hidden = net_->hidden();
  FT_ASSIGN_OR_RETURN(const Tensor input, net_->HeadInput(rows));
  for (int r = 0; r < rows; ++r) {
    const ExpandedNode& expanded = nodes[static_cast<size_t>(r)];
    const State& state = StateOf(*expanded.slot);
    const Tensor row = input.Rows(r, 1);
    net_->backend().StoreRows(state.Features(state.committed - 1, 1), row.Cols(0, hidden));
    net_->backend().StoreRows(expanded.output, row.Cols(hidden, hidden));
  }
  std::vector<LogitsPlace> places;
  for (const ExpandedNode& expanded : nodes) {
    places.push_back({expanded.slot, expanded.node, std::ssize(places)});
  }
  FT_ASSIGN_OR_RETURN(const Tensor logits, net_->Logits(head, rows));
  offers().Offer(places, logits, net_->vocabulary());
  return {};
}

struct ChimeraOptions {
  DType cache_type = DType::kF16;
  NgramCacheRule cache;
  std::string warm;
  DraftTokenRule tokens;
  TrainedOptions file;
  void Visit(OptionFields& fields) {
    VisitCacheType(fields, cache_type);
    fields.Int("cache_entries", cache.entries, 0, 1 << 24, "n-gram states kept in memory");
    fields.Text("spill", cache.spill, "a new file",
                "where n-gram states that do not fit in memory are stored");
    fields.Text("warm", warm, "a file from count-ngrams",
                "n-grams whose states are cached from the start");
    tokens.Visit(fields);
    file.Visit(fields);
  }
};

}  // namespace

OptionTable DescribeChimera() { return DescribeOptions<ChimeraOptions>(); }

Result<std::unique_ptr<Drafter>> NewChimera(const DraftContext& context) {
  ChimeraOptions options;
  FT_RETURN_IF_ERROR(ReadOptions(ChimeraSpec::kMethod, context.options, options));
  FT_ASSIGN_OR_RETURN(auto file,
                      OpenTrained(options.file, context, {ChimeraSpec::kMethod}, options.tokens));
  FT_ASSIGN_OR_RETURN(
      auto net, ChimeraNet::Load(std::move(file), context.target, options.cache, options.tokens));
  FT_RETURN_IF_ERROR(CheckCacheType(net->config(), options.cache_type));
  if (!options.warm.empty()) {
    FT_ASSIGN_OR_RETURN(const std::vector<Ngram> ngrams,
                        ReadNgramCounts(options.warm, net->ngrams().n(),
                                        context.target.config().vocab, options.cache.entries));
    FT_RETURN_IF_ERROR(net->ngrams().Preload(ngrams));
  }
  return std::unique_ptr<Drafter>(std::make_unique<Chimera>(
      std::move(net), context.target.config().layers, context.capacity, options.cache_type));
}

}  // namespace foretoken
