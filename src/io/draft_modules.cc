#include "io/draft_modules.h"

#include <charconv>
#include <optional>
#include <utility>

#include "io/draft_keys.h"
#include "io/hf_names.h"
#include "io/model_limits.h"

namespace foretoken {
namespace {

constexpr std::string_view kWeight = ".weight", kBias = ".bias";

struct Placeholder {
  std::string_view text;
  int ModuleIndex::*number;
  int count;    // numbers are 0 to count - 1
  bool is_odd;  // written as twice the number plus one
};
constexpr Placeholder kPlaceholders[] = {{"{k}", &ModuleIndex::k, kMostOutputHeads, false},
                                         {"{j}", &ModuleIndex::j, kMostHeadLayers, false},
                                         {"{2j+1}", &ModuleIndex::j, kMostHeadLayers, true},
                                         {"{n}", &ModuleIndex::n, kMostLayers, false}};

// The placeholder at the front of `pattern`; null if there is none.
const Placeholder* PlaceholderAt(std::string_view pattern) {
  for (const Placeholder& p : kPlaceholders) {
    if (pattern.starts_with(p.text)) return &p;
  }
  return nullptr;
}

std::string Numbered(std::string_view pattern, const ModuleIndex& index) {
  std::string name;
  while (!pattern.empty()) {
    const Placeholder* p = PlaceholderAt(pattern);
    if (p == nullptr) {
      name += pattern.front();
      pattern.remove_prefix(1);
      continue;
    }
    const int number = index.*p->number;
    name += std::to_string(p->is_odd ? 2 * number + 1 : number);
    pattern.remove_prefix(p->text.size());
  }
  return name;
}

// Removes the number in place of `placeholder` from the front of `name`, and stores it in `index`.
// Returns false if there is no number that fits.
bool TakeNumber(const Placeholder& placeholder, std::string_view& name, ModuleIndex& index) {
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || number < 0 || number >= placeholder.count) return false;
  if (placeholder.is_odd && number % 2 == 0) return false;
  name.remove_prefix(static_cast<size_t>(end - name.data()));
  index.*placeholder.number = placeholder.is_odd ? number / 2 : number;
  return true;
}

// The numbers that turn `pattern` into `name`; nullopt if `name` does not match.
std::optional<ModuleIndex> Match(std::string_view pattern, std::string_view name) {
  ModuleIndex index;
  while (!pattern.empty()) {
    if (const Placeholder* p = PlaceholderAt(pattern)) {
      if (!TakeNumber(*p, name, index)) return std::nullopt;
      pattern.remove_prefix(p->text.size());
      continue;
    }
    if (name.empty() || name.front() != pattern.front()) return std::nullopt;
    name.remove_prefix(1);
    pattern.remove_prefix(1);
  }
  return name.empty() ? std::optional(index) : std::nullopt;
}

TensorSpec Parameter(const DraftModule& module, std::string_view kind, std::vector<int64_t> shape,
                     const ModuleIndex& index) {
  TensorSpec tensor{Numbered(module.own, index).append(kind), "", std::move(shape)};
  if (module.published.empty()) return tensor;
  tensor.published = Numbered(module.published, index).append(kind);
  return tensor;
}

using NameSide = std::string_view DraftModule::*;

// Translates `name` by the first of `modules` that has it; "" if none has.
std::string Translated(std::span<const DraftModule> modules, std::string_view name, NameSide from,
                       NameSide to) {
  for (const std::string_view kind : {kWeight, kBias}) {
    if (!name.ends_with(kind)) continue;
    const std::string_view stem = name.substr(0, name.size() - kind.size());
    for (const DraftModule& module : modules) {
      if (module.published.empty() || (kind == kBias && !module.may_have_bias)) continue;
      if (const auto index = Match(module.*from, stem)) {
        return Numbered(module.*to, *index).append(kind);
      }
    }
  }
  return {};
}

}  // namespace

TensorSpec WeightOf(const DraftModule& module, std::vector<int64_t> shape, ModuleIndex index) {
  return Parameter(module, kWeight, std::move(shape), index);
}

TensorSpec BiasOf(const DraftModule& module, int64_t n, ModuleIndex index) {
  return Parameter(module, kBias, {n}, index);
}

std::string OwnName(std::span<const DraftModule> modules, std::string_view published) {
  return Translated(modules, published, &DraftModule::published, &DraftModule::own);
}

std::string PublishedName(std::span<const DraftModule> modules, std::string_view own) {
  return Translated(modules, own, &DraftModule::own, &DraftModule::published);
}

std::string OwnLayerName(std::string_view prefix, int layer, std::string_view published) {
  if (!published.starts_with(prefix)) return {};
  return GgufTensorName("model.layers." + std::to_string(layer) + "." +
                        std::string(published.substr(prefix.size())));
}

}  // namespace foretoken
