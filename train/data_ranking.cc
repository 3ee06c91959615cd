#include "data_ranking.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/output_file.h"
#include "draft/rank_tokens.h"
#include "io/draft_file.h"

namespace foretoken::train {

std::string DataRankingPath(const std::string& run) { return run + "/ranks.json"; }

TokenRanking RankData(const Corpus& corpus, int vocab) {
  std::vector<int64_t> other_counts(static_cast<size_t>(vocab));
  std::vector<std::vector<Token>> answers;
  for (const CorpusDocument& document : corpus.documents) {
    if (document.heldout) continue;
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
  return answers.empty() ? TokenRanking() : RankTokens(answers, other_counts, vocab);
}

Status WriteDataRanking(const TokenRanking& ranking, const ModelFile& target,
                        const std::string& run) {
  if (ranking.empty()) return {};
  const auto fingerprint = TargetFingerprint::Of(target.config(), target.tokenizer());
  const RankingFile file{ranking, fingerprint.vocab, fingerprint.vocabulary};
  return WriteFileAtomically(DataRankingPath(run), RankingText(file));
}

}  // namespace foretoken::train
