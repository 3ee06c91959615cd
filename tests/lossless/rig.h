// Shared parts of the engine's tests: a small target with random weights, repetitive prompts, so
// that drafts are accepted, and an oracle drafter.
#pragma once

#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "draft/drafter.h"
#include "draft/test_options.h"
#include "engine/generator.h"
#include "io/model_files_testing.h"
#include "text/tokenizer.h"

namespace foretoken {

// V = 97, d = 64, 4 layers, 4 heads.
ModelConfig TinyConfig(int kv_heads);

struct Target {
  explicit Target(const ModelConfig& config, int threads = 1, uint64_t weights = 1,
                  int max_rows = 64);
  Target(const ModelConfig& config, std::unique_ptr<Backend> backend, uint64_t weights = 1,
         int max_rows = 64);
  // The options that build `drafter` for this target (draft/test_options.h), with the files they
  // name. Made on first use.
  const Json& OptionsFor(std::string_view drafter);

  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  std::shared_ptr<const Tokenizer> tokenizer;  // ToyTokenizer(config.vocab)
  uint64_t seed;                               // of the weights

 private:
  TemporaryDirectory folder_;
  std::map<std::string, Json> options_;
};

// Proposes the continuation of a text that it knows. `answer`: the whole text, prompt included.
class OracleDrafter final : public Drafter {
 public:
  explicit OracleDrafter(std::vector<Token> answer) : answer_(std::move(answer)) {}
  TapSpec Needs() const override { return {}; }
  std::unique_ptr<DraftState> NewState() const override;
  Status Observe(std::span<const Observation> seen) override;
  Status Propose(std::span<const DraftSlot> batch) override;
  void Truncate(DraftState& state, int length) override;
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const override;

 private:
  std::vector<Token> answer_;
};

// Every value of --drafter, "none" first.
std::vector<std::string> DrafterNames();
// One way to decode, by names of the registries.
struct Combination {
  std::string drafter = "none";
  std::string tree = "chain";
  std::string verifier = "exact";
  friend void PrintTo(const Combination& c, std::ostream* out) {
    *out << c.drafter << ", " << c.tree << ", " << c.verifier;
  }
};
// Every drafter, and all of them joined, with every tree; "none" once, because it drafts no tree.
std::vector<Combination> AllCombinations();
// Every verifier that preserves the target's text or its distribution (V-1).
std::vector<std::string> LosslessVerifiers();
// A name as a test parameter: letters, digits and underscores.
std::string ParameterName(std::string_view drafter);
std::string ParameterName(const Combination& combination);

// A generator for a target, with a drafter, tree policy and verifier of its own.
class Rig {
 public:
  Rig(Target& target, std::string_view drafter, int capacity = 256,
      TreeLimits limits = {.max_nodes = 16, .max_depth = 15}, const Json& options = Json::object());
  Rig(Target& target, const Combination& combination, int capacity = 256,
      TreeLimits limits = {.max_nodes = 16, .max_depth = 15});
  Rig(Target& target, std::unique_ptr<Drafter> drafter, TreeLimits limits,
      std::string_view tree = "chain", std::string_view verifier = "exact");

  Generator& generator() { return *generator_; }
  Drafter* drafter() { return drafter_.get(); }
  std::unique_ptr<Session> Start(const SamplingParams& sampling, int capacity = 256,
                                 std::vector<Token> stop = {});
  // Runs a session from its prompt to the end of the answer.
  std::unique_ptr<Session> Decode(std::span<const Token> prompt, int max_new,
                                  const SamplingParams& sampling = {}, int capacity = 256,
                                  std::vector<Token> stop = {});

 private:
  static std::unique_ptr<Drafter> Build(Target& target, std::string_view drafter, int capacity,
                                        const Json& options);

  std::unique_ptr<Drafter> drafter_;
  std::unique_ptr<TreePolicy> tree_;
  CostModel costs_{{{1, 1e-4}, {16, 2e-4}}, {}};
  std::unique_ptr<Verifier> verifier_;
  std::unique_ptr<Generator> generator_;
};

// Runs one pass over the batch. It must succeed.
void Step(Generator& generator, std::span<Session* const> batch);

// A prompt of five phrases, repeated in random order.
std::vector<Token> RepetitivePrompt(uint64_t seed, int length, int vocab);
// The sampling of run `i`: cycles through temperatures, truncated distributions and penalties. The
// last of six is greedy.
SamplingParams VariedSampling(uint64_t i);

std::string Print(const CandidateTree& tree);

}  // namespace foretoken
