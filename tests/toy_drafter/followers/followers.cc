// A minimal drafter, built as docs/adding_a_drafter.md describes: a file names one successor for
// each token, and the draft is a chain of successors.
#include <charconv>
#include <string>
#include <vector>

#include "base/input_file.h"
#include "draft/options.h"
#include "draft/text_state.h"

namespace foretoken {
namespace {

struct FollowersOptions {
  std::string table;
  int k = 4;
  void Visit(OptionFields& fields) {
    fields.Text("table", table, "a file", "ids, one for each token of the vocabulary");
    fields.Int("k", k, 1, 64, "tokens drafted");
  }
};

class Followers final : public TextDrafter {
 public:
  Followers(std::vector<Token> table, int k) : table_(std::move(table)), k_(k) {}

 private:
  void Offer(std::span<const Token> text, TreeBuilder& builder) override {
    std::vector<Token> run;
    Token at = text.back();
    while (std::ssize(run) < k_) run.push_back(at = table_[static_cast<size_t>(at)]);
    builder.OfferRun(0, run, /*log_q=*/-0.5f);
  }

  std::vector<Token> table_;
  int k_;
};

Result<std::vector<Token>> ReadTable(const std::string& path, int vocab) {
  FT_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  std::vector<Token> table;
  const char *at = text.data(), *const end = at + text.size();
  for (Token token = 0; at != end; ++at) {
    const auto [next, error] = std::from_chars(at, end, token);
    if (error != std::errc() || token < 0 || token >= vocab) break;
    table.push_back(token);
    if ((at = next) == end) break;
  }
  if (std::ssize(table) == vocab) return table;
  return Error{path + ": holds " + std::to_string(table.size()) + " ids of tokens, expected " +
               std::to_string(vocab)};
}

}  // namespace

OptionTable DescribeFollowers() { return DescribeOptions<FollowersOptions>(); }

Result<std::unique_ptr<Drafter>> NewFollowers(const DraftContext& context) {
  FollowersOptions options;
  FT_RETURN_IF_ERROR(ReadOptions("toy", context.options, options));
  FT_ASSIGN_OR_RETURN(std::vector<Token> table,
                      ReadTable(options.table, context.target.config().vocab));
  return std::unique_ptr<Drafter>(std::make_unique<Followers>(std::move(table), options.k));
}

}  // namespace foretoken
