// REST: the most frequent continuations of the last few tokens in a corpus (B-28, B-29).
#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "draft/options.h"
#include "draft/rest/continuation_trie.h"
#include "draft/rest/datastore.h"
#include "draft/text_state.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

struct RestRule {
  int max_suffix = 16;  // longest suffix searched for; tried first
  int min_suffix = 2;
  int matches = 5000;  // maximum occurrences examined
  int cont = 10;       // tokens copied after each occurrence
  int tree = 64;       // maximum nodes offered
};

struct RestOptions {
  std::string datastore;
  RestRule rule;
  void Visit(OptionFields& fields) {
    fields.Text("datastore", datastore, "a file",
                "the corpus of continuations, made by build-datastore");
    fields.Int("max_suffix", rule.max_suffix, 1, 1024,
               "tokens of the longest suffix searched for, tried first");
    rule.min_suffix = std::min(rule.min_suffix, rule.max_suffix);
    fields.Int("min_suffix", rule.min_suffix, 1, rule.max_suffix,
               "tokens of the shortest suffix searched for", {.values = "1 to max_suffix"});
    fields.Int("matches", rule.matches, 1, 1 << 20, "maximum occurrences examined");
    fields.Int("cont", rule.cont, 1, 1024, "tokens taken from each occurrence");
    fields.Int("tree", rule.tree, 1, 4096, "maximum nodes offered");
    fields.Note("the paper's tree is --tree eagle2:total_token=65,top_k=64");
  }
};

class Rest final : public TextDrafter {
 public:
  Rest(Datastore store, RestRule rule) : store_(std::move(store)), rule_(rule) {}

 private:
  void Offer(std::span<const Token> text, TreeBuilder& builder) override {
    OfferAll(Continuations(text), builder);
  }
  int MostCopied() const override { return rule_.cont; }

  // The continuations of the longest suffix of `text` that occurs in the corpus. If it occurs too
  // often, evenly spaced occurrences are used, so that no continuation is favoured by its sort
  // order.
  ContinuationTrie Continuations(std::span<const Token> text) const {
    ContinuationTrie trie;
    std::vector<Token> continuation(static_cast<size_t>(rule_.cont));
    const int size = static_cast<int>(text.size());
    for (int n = std::min(rule_.max_suffix, size); n >= rule_.min_suffix; --n) {
      const Datastore::Range found = store_.Find(text.last(static_cast<size_t>(n)));
      if (found.count == 0) continue;
      const int64_t examined = std::min<int64_t>(found.count, rule_.matches);
      for (int64_t i = 0; i < examined; ++i) {
        const int64_t rank = found.first + i * found.count / examined;
        const int count = store_.CopyAfter(rank, n, continuation);
        trie.Add(std::span(continuation).first(static_cast<size_t>(count)));
      }
      break;
    }
    return trie;
  }

  // Offers the children of each node together, the most frequent first.
  void OfferAll(const ContinuationTrie& trie, TreeBuilder& builder) const {
    const std::vector<ContinuationTrie::Item> items = trie.MostFrequent(rule_.tree);
    std::vector<std::vector<const ContinuationTrie::Item*>> children(items.size() + 1);
    for (const auto& item : items) children[static_cast<size_t>(item.parent) + 1].push_back(&item);
    std::vector<Node> nodes(items.size() + 1, kNoNode);
    nodes[0] = 0;
    for (size_t p = 0; p < children.size(); ++p) {
      if (nodes[p] == kNoNode || children[p].empty()) continue;
      std::ranges::stable_sort(children[p],
                               [](const auto* a, const auto* b) { return a->count > b->count; });
      const int total = p == 0 ? trie.continuations() : items[p - 1].count;
      std::vector<Scored> offers;
      offers.reserve(children[p].size());
      for (const auto* child : children[p]) {
        offers.push_back({child->token, std::log(static_cast<float>(child->count) / total)});
      }
      builder.Offer(nodes[p], offers);
      for (const auto* child : children[p]) {
        nodes[static_cast<size_t>(child - items.data()) + 1] =
            builder.tree().Child(nodes[p], child->token);
      }
    }
  }

  Datastore store_;
  RestRule rule_;
};

Status CheckVocabulary(const Datastore& store, const DraftContext& context,
                       const std::string& path) {
  if (store.vocab() > context.target.config().vocab) {
    return Error{path + ": vocab: found " + std::to_string(store.vocab()) +
                 ", expected at most the model's " + std::to_string(context.target.config().vocab)};
  }
  if (context.tokenizer == nullptr ||
      VocabularyFingerprint(context.tokenizer->data()) == store.vocabulary_fingerprint()) {
    return {};
  }
  return Error{path + ": vocabulary: found another model's; build the datastore with this model"};
}

}  // namespace

OptionTable DescribeRest() { return DescribeOptions<RestOptions>(); }

Result<std::unique_ptr<Drafter>> NewRest(const DraftContext& context) {
  RestOptions options;
  FT_RETURN_IF_ERROR(ReadOptions("rest", context.options, options));
  FT_ASSIGN_OR_RETURN(Datastore store, Datastore::Open(options.datastore));
  FT_RETURN_IF_ERROR(CheckVocabulary(store, context, options.datastore));
  return std::unique_ptr<Drafter>(std::make_unique<Rest>(std::move(store), options.rule));
}

}  // namespace foretoken
