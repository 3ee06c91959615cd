#include "apps/models/token_corpus.h"

#include <algorithm>
#include <string>

#include "base/progress.h"
#include "base/thread_pool.h"
#include "base/warning.h"
#include "runtime/loaded_model.h"
#include "text/chat_prompt.h"
#include "text/documents.h"

namespace foretoken {
namespace {

// Tokenizes a document; conversations are rendered by the model's chat template. Errors: those of
// the template.
Result<std::vector<Token>> Encode(const TextDocument& document, const Tokenizer& tokenizer,
                                  const ChatPrompter& prompter) {
  if (document.turns[0].role.empty()) {
    return tokenizer.Encode(document.turns[0].text, {.add_bos = false});
  }
  return prompter.EncodeTranscript(MessagesOf(document.turns));
}

// Counts the documents that a chat template rejects.
class RefusedDocuments {
 public:
  // Adds document `number`, counted from 1.
  void Add(int64_t number, const Error& why) {
    if (count_++ == 0) first_ = "document " + std::to_string(number) + ": " + why.message;
  }
  void Report(int64_t documents) const {
    if (count_ == 0) return;
    Warn(std::to_string(count_) + " of " + std::to_string(documents) +
         " documents are skipped because the chat template rejects them; the first, " + first_);
  }

 private:
  int64_t count_ = 0;
  std::string first_;
};

// Tokenizes on all threads. The result is in document order for any number of threads.
Corpus EncodeAll(const std::vector<TextDocument>& documents, const Tokenizer& tokenizer,
                 const ChatPrompter& prompter, ThreadPool& pool, bool quiet) {
  constexpr int64_t kBatch = 512;
  Corpus corpus;
  RefusedDocuments refusals;
  Progress progress("documents", std::ssize(documents), quiet);
  for (int64_t begin = 0; begin < std::ssize(documents); begin += kBatch) {
    const int64_t count = std::min(kBatch, std::ssize(documents) - begin);
    std::vector<Result<std::vector<Token>>> encoded(static_cast<size_t>(count),
                                                    std::vector<Token>());
    pool.ParallelFor(count, 8, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        encoded[static_cast<size_t>(i)] =
            Encode(documents[static_cast<size_t>(begin + i)], tokenizer, prompter);
      }
    });
    for (int64_t i = 0; i < count; ++i) {
      auto& tokens = encoded[static_cast<size_t>(i)];
      if (!tokens.ok()) {
        refusals.Add(begin + i + 1, tokens.error());
        continue;
      }
      corpus.tokens += std::ssize(*tokens);
      corpus.documents.push_back(*std::move(tokens));
    }
    progress.Update(begin + count);
  }
  progress.Finish();
  refusals.Report(std::ssize(documents));
  return corpus;
}

}  // namespace

void AddCorpusArgs(CLI::App& app, CorpusArgs* args, const std::string& output) {
  app.add_option("-m,--model", args->model,
                 "the model whose vocabulary is used: a .gguf file or a directory")
      ->required()
      ->type_name("MODEL");
  app.add_option("--data", args->data, "files, directories or globs; repeatable")
      ->required()
      ->type_name("FILES");
  app.add_option("-o,--out", args->output, output)->required()->type_name("FILE");
  app.add_option("-t,--threads", args->threads,
                 "threads (default: one for each core that the process may use)")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--force", args->force, "replace the file if it exists");
  app.add_flag("-q,--quiet", args->quiet, "no progress");
}

Result<Corpus> ReadCorpus(const CorpusArgs& args) {
  FT_ASSIGN_OR_RETURN(const auto file, ModelFile::Open(args.model));
  FT_ASSIGN_OR_RETURN(auto tokenizer, TokenizerOf(*file));
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter, ChatPrompter::Create(*tokenizer, args.model));
  FT_ASSIGN_OR_RETURN(const auto pool, ThreadPool::Create(args.threads));
  FT_ASSIGN_OR_RETURN(const std::vector<TextDocument> documents, ReadDocuments(args.data));
  Corpus corpus = EncodeAll(documents, *tokenizer, prompter, *pool, args.quiet);
  corpus.tokenizer = std::move(tokenizer);
  return corpus;
}

}  // namespace foretoken
