#include "draft/joined/joined.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/json.h"

namespace foretoken {
namespace {

struct State final : DraftState {
  std::vector<std::unique_ptr<DraftState>> parts;
};

class Joined final : public Drafter {
 public:
  Joined(std::vector<std::string> names, std::vector<std::unique_ptr<Drafter>> parts)
      : names_(std::move(names)), parts_(std::move(parts)) {}

  TapSpec Needs() const override { return OfParts(&Drafter::Needs); }
  TapSpec NeedsUnread() const override { return OfParts(&Drafter::NeedsUnread); }

  std::unique_ptr<DraftState> NewState() const override {
    auto state = std::make_unique<State>();
    state->parts.reserve(parts_.size());
    for (const auto& part : parts_) state->parts.push_back(part->NewState());
    return state;
  }

  Status Observe(std::span<const Observation> seen) override {
    for (size_t p = 0; p < parts_.size(); ++p) {
      std::vector<Observation> of_part;
      of_part.reserve(seen.size());
      for (const Observation& o : seen) {
        of_part.push_back({PartOf(o.state, p), o.committed, o.next, o.tree, o.path, o.taps,
                           o.prompt, o.may_read});
      }
      FT_RETURN_IF_ERROR(parts_[p]->Observe(of_part));
    }
    return {};
  }

  Status Propose(std::span<const DraftSlot> batch) override {
    for (size_t p = 0; p < parts_.size(); ++p) {
      std::vector<DraftSlot> of_part;
      of_part.reserve(batch.size());
      for (const DraftSlot& slot : batch) {
        if (p > 0) slot.builder.NextDrafter();
        of_part.push_back({PartOf(slot.state, p), slot.builder, slot.sampling});
      }
      const auto start = std::chrono::steady_clock::now();
      FT_RETURN_IF_ERROR(parts_[p]->Propose(of_part));
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (parts_[p]->Parts().size() > 1) continue;  // it has timed its own
      for (const DraftSlot& slot : batch) {
        slot.builder.SetPartSeconds(spent.count() / static_cast<double>(batch.size()));
      }
    }
    return {};
  }

  std::vector<DraftPart> Parts() const override {
    std::vector<DraftPart> parts;
    for (size_t p = 0; p < parts_.size(); ++p) {
      for (DraftPart& part : parts_[p]->Parts()) {
        if (part.name.empty()) part.name = names_[p];
        parts.push_back(std::move(part));
      }
    }
    return parts;
  }

  void Truncate(DraftState& state, int length) override {
    for (size_t p = 0; p < parts_.size(); ++p) parts_[p]->Truncate(PartOf(state, p), length);
  }

  std::vector<Tally> Tallies() const override {
    std::vector<Tally> all;
    for (const auto& part : parts_) {
      for (Tally& tally : part->Tallies()) all.push_back(std::move(tally));
    }
    return all;
  }

  std::string Remark() const override {
    std::string all;
    for (const auto& part : parts_) {
      const std::string remark = part->Remark();
      if (!remark.empty()) all.append(all.empty() ? "" : "; ").append(remark);
    }
    return all;
  }

 private:
  TapSpec OfParts(TapSpec (Drafter::*needs_of)() const) const {
    TapSpec needs;
    for (const auto& part : parts_) needs = Merge(needs, (*part.*needs_of)());
    return needs;
  }

  static DraftState& PartOf(DraftState& state, size_t p) {
    return *static_cast<State&>(state).parts[p];
  }

  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Drafter>> parts_;
};

// The part that an option belongs to, and the option's name there.
struct Address {
  size_t part;
  std::string key;
};

Result<Address> AddressOf(const std::string& option, std::span<const std::string_view> parts) {
  for (size_t p = 0; p < parts.size(); ++p) {
    const std::string prefix = std::string(parts[p]) + ".";
    if (option.starts_with(prefix)) return Address{p, option.substr(prefix.size())};
    const auto entry = std::ranges::find(AllDrafters(), parts[p], &DrafterEntry::name);
    if (entry != AllDrafters().end() && !option.empty() && entry->needs == option) {
      return Address{p, option};
    }
  }
  return Error{"option " + option + ": joined drafters' options begin with a drafter's name, as " +
               std::string(parts[0]) + ".KEY"};
}

}  // namespace

Result<std::unique_ptr<Drafter>> NewJoined(std::span<const std::string_view> parts,
                                           const DraftContext& context) {
  std::vector<Json> options(parts.size(), Json::object());
  for (const auto& [name, value] : context.options.items()) {
    FT_ASSIGN_OR_RETURN(const Address address, AddressOf(name, parts));
    options[address.part][address.key] = value;
  }
  std::vector<std::unique_ptr<Drafter>> drafters;
  for (size_t p = 0; p < parts.size(); ++p) {
    if (std::ranges::count(parts, parts[p]) > 1) {
      return Error{"drafter: '" + std::string(parts[p]) + "' is joined with itself"};
    }
    DraftContext of_part{context.target,      context.capacity,  options[p],
                         context.target_path, context.tokenizer, context.notes};
    FT_ASSIGN_OR_RETURN(auto drafter, NewDrafter(parts[p], of_part));
    drafters.push_back(std::move(drafter));
  }
  return std::unique_ptr<Drafter>(std::make_unique<Joined>(
      std::vector<std::string>(parts.begin(), parts.end()), std::move(drafters)));
}

}  // namespace foretoken
