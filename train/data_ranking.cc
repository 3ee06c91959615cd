#include "data_ranking.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/output_file.h"
#include "draft/rank_tokens.h"
#include "io/draft_file.h"
#include "io/token_ranking.h"

namespace foretoken::train {

std::string DataRankingPath(const std::string& run) { return run + "/ranks.json"; }

Status WriteDataRanking(const Corpus& corpus, const ModelFile& target, const std::string& run) {
  const auto fingerprint = TargetFingerprint::Of(target.config(), target.tokenizer());
  std::vector<int64_t> other_counts(static_cast<size_t>(fingerprint.vocab));
  std::vector<std::vector<Token>> answers;
  for (const CorpusDocument& document : corpus.documents) {
    std::vector<Token> learned;
    for (int64_t i = document.first; i < document.first + document.length; ++i) {
      const uint32_t id = corpus.ids[static_cast<size_t>(i)];
      if (corpus.learn[static_cast<size_t>(i)] != 0) {
        learned.push_back(static_cast<Token>(id));
      } else {
        ++other_counts[id];
      }
    }
    if (!learned.empty()) answers.push_back(std::move(learned));
  }
  if (answers.empty()) return {};
  const RankingFile file{RankTokens(answers, other_counts, fingerprint.vocab), fingerprint.vocab,
                         fingerprint.vocabulary};
  return WriteFileAtomically(DataRankingPath(run), RankingText(file));
}

}  // namespace foretoken::train
