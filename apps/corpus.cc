#include "corpus.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>

#include "base/progress.h"
#include "base/thread_pool.h"
#include "chat_prompt.h"
#include "io/model_file.h"
#include "text/documents.h"

namespace foretoken {
namespace {

Result<std::vector<TextDocument>> ReadDocuments(const std::vector<std::string>& data) {
  std::vector<TextDocument> all;
  for (const std::string& pattern : data) {
    FT_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListDataFiles(pattern, ""));
    for (const std::string& file : files) {
      FT_ASSIGN_OR_RETURN(std::vector<TextDocument> part, ReadTextDocuments(file));
      all.insert(all.end(), std::make_move_iterator(part.begin()),
                 std::make_move_iterator(part.end()));
    }
  }
  return all;
}

// Conversations as the model's chat template writes them. Errors: what the template refuses.
Result<std::vector<Token>> Encode(const TextDocument& document, const Tokenizer& tokenizer,
                                  const ChatPrompter& prompter) {
  if (document.turns[0].role.empty()) {
    return tokenizer.Encode(document.turns[0].text, {.add_bos = false});
  }
  std::vector<ChatMessage> messages;
  messages.reserve(document.turns.size());
  for (const DocumentTurn& turn : document.turns) messages.push_back({turn.role, turn.text});
  return prompter.EncodeTranscript(messages);
}

// On all threads; the result is in document order whatever their number.
Corpus EncodeAll(const std::vector<TextDocument>& documents, const Tokenizer& tokenizer,
                 const ChatPrompter& prompter, int threads, bool quiet) {
  constexpr int64_t kBatch = 512;
  Corpus corpus;
  ThreadPool pool(threads);
  Progress progress("documents", std::ssize(documents), quiet);
  for (int64_t begin = 0; begin < std::ssize(documents); begin += kBatch) {
    const int64_t count = std::min(kBatch, std::ssize(documents) - begin);
    std::vector<std::optional<std::vector<Token>>> encoded(static_cast<size_t>(count));
    pool.ParallelFor(count, 8, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        auto tokens = Encode(documents[static_cast<size_t>(begin + i)], tokenizer, prompter);
        if (tokens.ok()) encoded[static_cast<size_t>(i)] = *std::move(tokens);
      }
    });
    for (auto& tokens : encoded) {
      corpus.refused += tokens ? 0 : 1;
      if (!tokens) continue;
      corpus.tokens += std::ssize(*tokens);
      corpus.documents.push_back(*std::move(tokens));
    }
    progress.Update(begin + count);
  }
  progress.Finish();
  return corpus;
}

}  // namespace

Result<Corpus> ReadCorpus(const std::string& model, const std::vector<std::string>& data,
                          int threads, bool quiet) {
  FT_ASSIGN_OR_RETURN(const auto file, ModelFile::Open(model));
  if (file->tokenizer().tokens.empty()) return Error{model + ": the file has no tokenizer"};
  FT_ASSIGN_OR_RETURN(auto tokenizer, Tokenizer::Create(file->tokenizer(), model));
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter, ChatPrompter::Create(*tokenizer, model));
  FT_ASSIGN_OR_RETURN(const std::vector<TextDocument> documents, ReadDocuments(data));
  Corpus corpus = EncodeAll(documents, *tokenizer, prompter, threads, quiet);
  corpus.tokenizer = std::move(tokenizer);
  return corpus;
}

void ReportRefused(const Corpus& corpus) {
  if (corpus.refused == 0) return;
  std::fprintf(stderr, "%zu conversations were left out: the model's chat template refuses them\n",
               corpus.refused);
}

}  // namespace foretoken
