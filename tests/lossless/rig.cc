#include "rig.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "backend/strict_backend_testing.h"
#include "base/rng.h"
#include "io/model_config_testing.h"
#include "model/weight_source.h"

namespace foretoken {
namespace {

struct OracleState final : DraftState {
  int committed = 0;
};

}  // namespace

ModelConfig TinyConfig(int kv_heads) {
  return TestConfig(
      {.vocab = 97, .layers = 4, .hidden = 64, .ffn = 96, .kv_heads = kv_heads, .context = 512});
}

Target::Target(const ModelConfig& config, int threads, uint64_t weights, int max_rows)
    : Target(config, NewTestedBackend({.threads = threads}), weights, max_rows) {}

Target::Target(const ModelConfig& config, std::unique_ptr<Backend> on, uint64_t weights,
               int max_rows)
    : backend(std::move(on)),
      model(*NewRandomModel(config, DType::kF32, weights, *backend, {.max_rows = max_rows})),
      tokenizer(ToyTokenizer(config.vocab)),
      seed(weights) {}

namespace {

// Texts that a target with these weights writes. Cached, because they depend on neither threads nor
// rows.
const std::vector<std::vector<Token>>& TextsOf(const ModelConfig& config, uint64_t weights) {
  static std::map<std::tuple<int, int, uint64_t>, std::vector<std::vector<Token>>> texts;
  auto& written = texts[{config.vocab, config.kv_heads, weights}];
  if (!written.empty()) return written;
  Target target(config, 1, weights);
  Rig plain(target, "none");
  for (uint64_t i = 0; i < 48; ++i) {
    const std::vector<Token> prompt =
        RepetitivePrompt(i, 1 + static_cast<int>(i * 7 % 90), config.vocab);
    written.push_back(plain.Decode(prompt, 24)->tokens);
  }
  return written;
}

}  // namespace

const Json& Target::OptionsFor(std::string_view drafter) {
  const std::vector<std::string_view> parts = SplitDrafters(drafter);
  if (parts.size() > 1) {
    Json& all = options_[std::string(drafter)];
    for (std::string_view part : parts) {
      const Json own = OptionsFor(part);
      for (const auto& [key, value] : own.items()) all[std::string(part) + "." + key] = value;
    }
    if (all.is_null()) all = Json::object();
    return all;
  }
  const auto [made, fresh] = options_.try_emplace(std::string(drafter));
  if (fresh) {
    const auto weights = NewRandomWeights(DType::kF32, seed, *backend);
    const auto texts = [this] { return TextsOf(model->config(), seed); };
    made->second = TestOptions(drafter, {model->config(), *tokenizer, *weights, *backend, texts,
                                         folder_ / ("drafter" + std::to_string(options_.size()))});
  }
  return made->second;
}

std::unique_ptr<DraftState> OracleDrafter::NewState() const {
  return std::make_unique<OracleState>();
}

Status OracleDrafter::Observe(std::span<const Observation> seen) {
  for (const Observation& o : seen) {
    static_cast<OracleState&>(o.state).committed += static_cast<int>(o.committed.size());
  }
  return {};
}

Status OracleDrafter::Propose(std::span<const DraftSlot> batch) {
  for (const DraftSlot& slot : batch) {
    const auto next = static_cast<size_t>(static_cast<OracleState&>(slot.state).committed) + 1;
    if (next < answer_.size()) slot.builder.OfferRun(0, std::span(answer_).subspan(next), -0.1f);
  }
  return {};
}

void OracleDrafter::Truncate(DraftState& state, int length) {
  static_cast<OracleState&>(state).committed = length;
}

Result<std::unique_ptr<DraftState>> OracleDrafter::Fork(const DraftState& /*state*/,
                                                        int length) const {
  auto fork = std::make_unique<OracleState>();
  fork->committed = length;
  return std::unique_ptr<DraftState>(std::move(fork));
}

std::vector<std::string> DrafterNames() {
  std::vector<std::string> names{"none"};
  for (const DrafterEntry& e : AllDrafters()) names.emplace_back(e.name);
  return names;
}

std::vector<Combination> AllCombinations() {
  std::vector<std::string> drafters = DrafterNames();
  drafters.erase(drafters.begin());  // "none" needs no tree
  std::string joined;
  for (const std::string& name : drafters) joined.append(joined.empty() ? "" : ",").append(name);
  drafters.push_back(joined);
  std::vector<Combination> all{{}};
  for (const std::string& drafter : drafters) {
    for (const TreeEntry& tree : AllTrees()) all.push_back({drafter, std::string(tree.name)});
  }
  return all;
}

std::vector<std::string> LosslessVerifiers() {
  std::vector<std::string> names;
  for (const VerifierEntry& e : AllVerifiers()) {
    if (e.lossless()) names.emplace_back(e.name);
  }
  return names;
}

std::string ParameterName(const Combination& combination) {
  const bool joined = combination.drafter.find(',') != std::string::npos;
  return (joined ? "joined" : ParameterName(combination.drafter)) + "_" +
         ParameterName(combination.tree);
}

std::string ParameterName(std::string_view drafter) {
  std::string name;
  for (char c : drafter) {
    if (c == '+') {
      name += "Plus";
    } else {
      name += c == '-' ? '_' : c;
    }
  }
  return name;
}

Rig::Rig(Target& target, std::string_view drafter, int capacity, TreeLimits limits,
         const Json& options)
    : Rig(target, Build(target, drafter, capacity, options), limits) {}

Rig::Rig(Target& target, const Combination& combination, int capacity, TreeLimits limits)
    : Rig(target, Build(target, combination.drafter, capacity, Json::object()), limits,
          combination.tree, combination.verifier) {}

std::unique_ptr<Drafter> Rig::Build(Target& target, std::string_view drafter, int capacity,
                                    const Json& options) {
  if (drafter == "none") return nullptr;
  Json all = target.OptionsFor(drafter);
  all.update(options);
  return *NewDrafter(drafter, {*target.model, capacity, all, "", target.tokenizer.get()});
}

Rig::Rig(Target& target, std::unique_ptr<Drafter> drafter, TreeLimits limits, std::string_view tree,
         std::string_view verifier)
    : drafter_(std::move(drafter)),
      tree_(*NewTreePolicy(tree)),
      verifier_(*NewVerifier(verifier, {*target.backend, Json::object()})),
      generator_(std::make_unique<Generator>(
          *target.model, drafter_.get(), *verifier_,
          GeneratorOptions{
              .limits = limits, .policy = tree_.get(), .costs = &costs_, .refresh_costs = false})) {
}

std::unique_ptr<Session> Rig::Start(const SamplingParams& sampling, int capacity,
                                    std::vector<Token> stop) {
  return generator_->Start({.sampling = sampling,
                            .stop = std::move(stop),
                            .capacity = capacity,
                            .cache_type = DType::kF32});
}

std::unique_ptr<Session> Rig::Decode(std::span<const Token> prompt, int max_new,
                                     const SamplingParams& sampling, int capacity,
                                     std::vector<Token> stop) {
  auto session = Start(sampling, capacity, std::move(stop));
  const Status prefilled = generator_->Prefill(*session, prompt, max_new);
  EXPECT_TRUE(prefilled.ok()) << prefilled.error().message;
  Session* batch[] = {session.get()};
  while (!session->done()) EXPECT_TRUE(generator_->Step(batch).ok());
  return session;
}

void Step(Generator& generator, std::span<Session* const> batch) {
  const Status status = generator.Step(batch);
  EXPECT_TRUE(status.ok()) << status.error().message;
}

std::vector<Token> RepetitivePrompt(uint64_t seed, int length, int vocab) {
  std::vector<Token> prompt;
  for (uint64_t i = 0; static_cast<int>(prompt.size()) < length; ++i) {
    const uint64_t phrase = Mix(seed * 1000 + i) % 5;  // one of five phrases of this seed
    const int words = 3 + static_cast<int>(Mix(seed + phrase) % 6);
    for (int w = 0; w < words; ++w) {
      const uint64_t word = Mix(seed ^ (phrase * 64 + static_cast<uint64_t>(w)));
      prompt.push_back(static_cast<Token>(word % static_cast<uint64_t>(vocab)));
    }
  }
  prompt.resize(static_cast<size_t>(length));
  return prompt;
}

SamplingParams VariedSampling(uint64_t i) {
  switch (i % 6) {
    case 0:
      return {.temperature = 0.3f, .seed = i};
    case 1:
      return {.temperature = 1.0f, .seed = i};
    case 2:
      return {.temperature = 0.7f, .top_k = 8, .seed = i};
    case 3:
      return {.temperature = 1.0f, .top_p = 0.6f, .seed = i};
    case 4:
      return {.temperature = 0.8f, .min_p = 0.2f, .repetition_penalty = 1.1f, .seed = i};
    default:
      return {.frequency_penalty = 0.3f, .presence_penalty = 0.1f, .seed = i};
  }
}

std::string Print(const CandidateTree& tree) {
  std::string text;
  for (Node n = 0; n < tree.size(); ++n) {
    text += std::to_string(tree.parent(n)) + ":" + std::to_string(tree.token(n)) + " ";
  }
  return text;
}

}  // namespace foretoken
