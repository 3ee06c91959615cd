#include "runtime/decoder.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>

#include "base/json.h"
#include "base/legible.h"

namespace foretoken {
namespace {

// Whether the option KEY or DRAFTER.KEY is the file that a drafter needs.
bool NamesFile(const std::string& key) {
  const std::string_view last = std::string_view(key).substr(key.rfind('.') + 1);
  return std::ranges::any_of(AllDrafters(), [&](const DrafterEntry& e) { return e.needs == last; });
}

// Parses an option's value as JSON if it is JSON ("70", "[[1,2]]"), else as text. The name of a
// file is text, even if it is 70.
Json ValueOf(const std::string& key, const std::string& text) {
  if (NamesFile(key)) return text;
  Result<Json> parsed = ParseJson(text, "option");
  return parsed.ok() ? *std::move(parsed) : Json(text);
}

// Adds an option; one that is given more than once becomes a list.
void AddOption(const std::string& key, Json value, Json& options) {
  if (!options.contains(key)) {
    options[key] = std::move(value);
  } else if (options[key].is_array()) {
    options[key].push_back(std::move(value));
  } else {
    options[key] = Json::array({options[key], std::move(value)});
  }
}

Json ObjectOf(const NamedValues& values) {
  Json object = Json::object();
  for (const auto& [key, value] : values) AddOption(key, ValueOf(key, value), object);
  return object;
}

// Prints `sentence` to standard error unless it was printed before, because a process may make many
// decoders.
void SayOnce(const std::string& sentence) {
  static std::set<std::string> said;
  if (sentence.empty() || !said.insert(sentence).second) return;
  std::fprintf(stderr, "foretoken: %s\n", Legible(sentence).c_str());
}

// Returns null for the drafter "none".
Result<std::unique_ptr<Drafter>> DrafterFor(const LoadedModel& loaded, const DraftArgs& args,
                                            int capacity) {
  if (args.drafter == "none") return std::unique_ptr<Drafter>();
  const Json options = ObjectOf(args.options);
  std::vector<std::string> notes;
  std::string choice;
  auto drafter = NewDrafter(args.drafter, {*loaded.model, capacity, options, loaded.file->path(),
                                           loaded.tokenizer.get(), &notes, &choice});
  for (const std::string& note : notes) SayOnce(note);
  if (!drafter.ok()) return drafter;
  if (!args.quiet) SayOnce(choice);
  SayOnce((*drafter)->Remark());
  return drafter;
}

// Returns the node limit of the tree. Errors: the tree does not fit into a pass.
Result<int> NodesOf(const LoadedModel& loaded, const DraftArgs& args, const std::string& name,
                    const TreePolicy& tree) {
  const int nodes = args.draft_max < 0 ? tree.DefaultNodes() : args.draft_max + 1;
  if (nodes <= loaded.model->max_rows()) return nodes;
  const std::string asked =
      args.draft_max < 0 ? "--tree " + name + ": has up to " : "--draft-max: is ";
  return Error{asked + std::to_string(nodes - 1) + " nodes, but a pass scores at most " +
               std::to_string(loaded.model->max_rows() - 1) +
               "; choose a smaller tree, or --draft-max for its likeliest nodes"};
}

struct Speculator {
  NamedDrafter made;
  GeneratorOptions options;
};

Result<Speculator> NewSpeculator(const LoadedModel& loaded, const DraftArgs& args, int capacity) {
  Speculator speculator;
  FT_ASSIGN_OR_RETURN(speculator.made.drafter, DrafterFor(loaded, args, capacity));
  const std::string tree = TreeSpecOf(args);
  FT_ASSIGN_OR_RETURN(speculator.made.tree, NewTreePolicy(tree));
  const TreePolicy& policy = *speculator.made.tree;
  FT_ASSIGN_OR_RETURN(const int nodes, NodesOf(loaded, args, tree, policy));
  FT_ASSIGN_OR_RETURN(const VerifierEntry* verifier, FindVerifier(args.verifier));
  CostModel* costs = nullptr;
  if (speculator.made.drafter != nullptr && policy.UsesEconomy()) costs = loaded.costs->Get();
  speculator.options = {.limits = {.max_nodes = nodes, .max_depth = nodes - 1},
                        .policy = &policy,
                        .costs = costs,
                        .drafter = args.drafter,
                        // If drafts affect the text, trees must not follow what this run measures.
                        .refresh_costs = verifier->guarantee == Guarantee::kSameText,
                        .noise = args.noise};
  return speculator;
}

}  // namespace

Result<Decoder> NewDecoder(const LoadedModel& loaded, const DraftArgs& args, int capacity) {
  FT_ASSIGN_OR_RETURN(Speculator speculator, NewSpeculator(loaded, args, capacity));
  Decoder decoder{.drafter = std::move(speculator.made.drafter),
                  .tree = std::move(speculator.made.tree)};
  const Json options = ObjectOf(args.verifier_options);
  FT_ASSIGN_OR_RETURN(decoder.verifier, NewVerifier(args.verifier, {*loaded.backend, options}));
  if (args.noise == DraftNoise::kShared && decoder.verifier->NeedsDraws()) {
    return Error{"--draft-noise: found shared, expected auto or none: --verifier " + args.verifier +
                 " weighs the drafter's own draws, which must not depend on the target's noise"};
  }
  decoder.generator = std::make_unique<Generator>(*loaded.model, decoder.drafter.get(),
                                                  *decoder.verifier, speculator.options);
  return decoder;
}

Result<int> AddDrafter(const LoadedModel& loaded, const DraftArgs& args, int capacity,
                       Decoder* decoder) {
  FT_ASSIGN_OR_RETURN(Speculator speculator, NewSpeculator(loaded, args, capacity));
  decoder->others.push_back(std::move(speculator.made));
  return decoder->generator->AddDrafter(decoder->others.back().drafter.get(), speculator.options);
}

}  // namespace foretoken
