// The ranking of the target's tokens by how often a run's data have them. The run's draft contains
// it, so that the draft scores only the tokens that the target writes often
// (docs/draft_vocabulary.md).
#pragma once

#include <string>

#include "base/result.h"
#include "corpus.h"
#include "io/model_file.h"
#include "io/token_ranking.h"

namespace foretoken::train {

std::string DataRankingPath(const std::string& run);

// Ranks the tokens below `vocab` by how often they occur with a loss, then without a loss, then by
// id. Held-out documents do not count. Empty if no token has a loss.
TokenRanking RankData(const Corpus& corpus, int vocab);

// Writes a ranking of the target's tokens (docs/formats.md, "Token rankings") to the directory
// `run`; an empty one is not written. Errors: a file that cannot be written.
Status WriteDataRanking(const TokenRanking& ranking, const ModelFile& target,
                        const std::string& run);

}  // namespace foretoken::train
