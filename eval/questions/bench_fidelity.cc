// Scores a text with both models window by window and compares their next-token distributions at
// every position of a window but the last.
#include "eval/questions/bench_fidelity.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "base/json.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "eval/report/write_json.h"
#include "text/chat_prompt.h"
#include "text/documents.h"

namespace foretoken {
namespace {

// Reads the documents that match `pattern` and returns their first `max_tokens` tokens,
// concatenated.
Result<std::vector<Token>> ReadTokens(const std::string& pattern, size_t max_tokens,
                                      const Tokenizer& tokenizer) {
  FT_ASSIGN_OR_RETURN(const std::vector<TextDocument> documents, ReadDocuments({pattern}));
  std::vector<Token> tokens;
  for (const TextDocument& document : documents) {
    if (tokens.size() >= max_tokens) break;
    std::string text;
    for (const DocumentTurn& turn : document.turns) text.append(turn.text).append("\n\n");
    const std::vector<Token> document_tokens =
        EncodePrompt(tokenizer, text, /*parse_special=*/false);
    tokens.insert(tokens.end(), document_tokens.begin(), document_tokens.end());
  }
  tokens.resize(std::min(tokens.size(), max_tokens));
  return tokens;
}

// Returns the logits [tokens][vocab]. `cache` is empty before and after.
Result<std::vector<float>> Score(Model& model, KvCache& cache, std::span<const Token> tokens) {
  RowBatch batch;
  for (int i = 0; i < static_cast<int>(tokens.size()); ++i) {
    batch.token.push_back(tokens[static_cast<size_t>(i)]);
    batch.position.push_back(i);
    batch.parent.push_back(i == 0 ? kNoNode : i - 1);
    batch.logit_rows.push_back(i);
  }
  batch.begin.push_back(batch.rows());
  KvCache* const caches[] = {&cache};
  Taps taps[1];
  FT_ASSIGN_OR_RETURN(const Tensor logits, model.Forward(batch, caches, {}, taps));
  std::vector<float> values(static_cast<size_t>(logits.rows * logits.cols));
  model.backend().Download(logits, values.data());
  cache.Truncate(0);
  return values;
}

// Turns a row of logits into log-probabilities, in place; returns the most likely token.
size_t Normalise(std::span<float> row) {
  const auto top = static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
  const float highest = row[top];
  double sum = 0;
  for (const float x : row) sum += std::exp(static_cast<double>(x - highest));
  const auto shift = static_cast<float>(highest + std::log(sum));
  for (float& x : row) x -= shift;
  return top;
}

struct Fidelity {
  int64_t positions = 0, same_top = 0;
  double divergence = 0, nll = 0, reference_nll = 0;  // sums, in nats

  void Add(std::span<float> reference, std::span<float> tested, Token next) {
    same_top += Normalise(reference) == Normalise(tested) ? 1 : 0;
    for (size_t i = 0; i < reference.size(); ++i) {
      const double probability = std::exp(static_cast<double>(reference[i]));
      divergence += probability * (static_cast<double>(reference[i]) - tested[i]);
    }
    nll -= tested[static_cast<size_t>(next)];
    reference_nll -= reference[static_cast<size_t>(next)];
    ++positions;
  }

  double Mean(double sum) const { return sum / static_cast<double>(positions); }
};

Json ToJson(const FidelityOptions& options, const Fidelity& f) {
  return {{"model", options.model.path},
          {"reference", options.reference},
          {"positions", f.positions},
          {"nll", f.Mean(f.nll)},
          {"reference_nll", f.Mean(f.reference_nll)},
          {"kl_divergence", f.Mean(f.divergence)},
          {"same_top", f.Mean(static_cast<double>(f.same_top))}};
}

Status CheckVocabularies(const FidelityOptions& options, const LoadedModel& a,
                         const LoadedModel& b) {
  const int vocab = a.model->config().vocab, reference_vocab = b.model->config().vocab;
  if (vocab == reference_vocab && a.tokenizer->data().tokens == b.tokenizer->data().tokens)
    return {};
  return Error{options.model.path + " and " + options.reference +
               ": expected the same vocabulary, found " + std::to_string(vocab) + " and " +
               std::to_string(reference_vocab) + " tokens" +
               (vocab == reference_vocab ? " that differ" : "")};
}

}  // namespace

void AddFidelityArgs(CLI::App& app, FidelityOptions* options) {
  AddModelArgs(app, &options->model);
  app.get_option("--model")->required();
  app.add_option("--reference", options->reference, "the model to compare with")
      ->required()
      ->type_name("MODEL");
  app.add_option("--data", options->data, "text that both models score: a file, a folder or a glob")
      ->required()
      ->type_name("PATH");
  app.add_option("--window", options->window, "tokens scored in one pass")
      ->capture_default_str()
      ->check(CLI::Range(2, 512));
  app.add_option("--positions", options->positions, "maximum number of positions compared")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
  app.add_option("--json", options->json, "also write the figures to this file")
      ->check(WritableFile());
}

Status BenchFidelity(const FidelityOptions& options) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(options.json));
  FT_ASSIGN_OR_RETURN(const LoadedModel model, Load(options.model));
  ModelArgs reference_args = options.model;
  reference_args.path = options.reference;
  FT_ASSIGN_OR_RETURN(const LoadedModel reference, Load(reference_args));
  FT_RETURN_IF_ERROR(CheckVocabularies(options, model, reference));
  const auto window = static_cast<size_t>(options.window);
  const size_t windows = (static_cast<size_t>(options.positions) + window - 2) / (window - 1);
  FT_ASSIGN_OR_RETURN(const std::vector<Token> tokens,
                      ReadTokens(options.data, windows * window, *model.tokenizer));
  if (tokens.size() < window) {
    return Error{options.data + ": expected at least one window of " +
                 std::to_string(options.window) + " tokens, found " +
                 std::to_string(tokens.size())};
  }
  const auto vocab = static_cast<size_t>(model.model->config().vocab);
  const auto cache = model.model->NewCache(options.window, DType::kF32);
  const auto reference_cache = reference.model->NewCache(options.window, DType::kF32);
  const auto positions = std::min(static_cast<int64_t>(tokens.size() / window * (window - 1)),
                                  static_cast<int64_t>(options.positions));
  Fidelity fidelity;
  Progress progress("positions", positions);
  for (size_t begin = 0; fidelity.positions < positions; begin += window) {
    const auto scored = std::span(tokens).subspan(begin, window);
    FT_ASSIGN_OR_RETURN(std::vector<float> expected,
                        Score(*reference.model, *reference_cache, scored));
    FT_ASSIGN_OR_RETURN(std::vector<float> found, Score(*model.model, *cache, scored));
    for (size_t i = 0; i + 1 < window && fidelity.positions < positions; ++i) {
      fidelity.Add(std::span(expected).subspan(i * vocab, vocab),
                   std::span(found).subspan(i * vocab, vocab), scored[i + 1]);
    }
    progress.Update(fidelity.positions);
  }
  progress.Finish();
  std::printf("positions                 %lld\n", static_cast<long long>(fidelity.positions));
  std::printf("negative log likelihood   %.5f nats (reference %.5f)\n", fidelity.Mean(fidelity.nll),
              fidelity.Mean(fidelity.reference_nll));
  std::printf("KL divergence             %.3g nats\n", fidelity.Mean(fidelity.divergence));
  std::printf("same likeliest token      %.2f %%\n",
              100 * fidelity.Mean(static_cast<double>(fidelity.same_top)));
  return WriteJson(json, ToJson(options, fidelity));
}

}  // namespace foretoken
