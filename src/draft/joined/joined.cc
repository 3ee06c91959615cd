#include "draft/joined/joined.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/timer.h"

namespace foretoken {
namespace {

struct JoinedState final : DraftState {
  std::vector<std::unique_ptr<DraftState>> parts;
};

class Joined final : public Drafter {
 public:
  Joined(std::span<const std::string_view> names, std::vector<std::unique_ptr<Drafter>> parts)
      : parts_(std::move(parts)) {
    for (size_t p = 0; p < parts_.size(); ++p) {
      std::vector<DraftPart> own = parts_[p]->Parts();
      times_itself_.push_back(own.size() > 1);
      for (DraftPart& part : own) {
        if (part.name.empty()) part.name = names[p];
        all_parts_.push_back(std::move(part));
      }
    }
  }

  TapSpec Needs() const override { return OfParts(&Drafter::Needs); }
  TapSpec NeedsUnread() const override { return OfParts(&Drafter::NeedsUnread); }

  std::unique_ptr<DraftState> NewState() const override {
    auto state = std::make_unique<JoinedState>();
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
        of_part.push_back({PartOf(slot.state, p), slot.builder, slot.sampling, slot.predicted});
      }
      double seconds = 0;
      {
        const Timer timer(seconds);
        FT_RETURN_IF_ERROR(parts_[p]->Propose(of_part));
      }
      if (times_itself_[p]) continue;
      for (const DraftSlot& slot : batch) {
        slot.builder.SetPartSeconds(seconds / static_cast<double>(batch.size()));
      }
    }
    return {};
  }

  std::vector<DraftPart> Parts() const override { return all_parts_; }

  void Truncate(DraftState& state, int length) override {
    for (size_t p = 0; p < parts_.size(); ++p) parts_[p]->Truncate(PartOf(state, p), length);
  }

  Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const override {
    auto fork = std::make_unique<JoinedState>();
    for (size_t p = 0; p < parts_.size(); ++p) {
      FT_ASSIGN_OR_RETURN(auto part, parts_[p]->Fork(PartOf(state, p), length));
      fork->parts.push_back(std::move(part));
    }
    return std::unique_ptr<DraftState>(std::move(fork));
  }

  size_t StateBytes(const DraftState& state) const override {
    size_t sum = 0;
    for (size_t p = 0; p < parts_.size(); ++p) sum += parts_[p]->StateBytes(PartOf(state, p));
    return sum;
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
    return *static_cast<JoinedState&>(state).parts[p];
  }
  static const DraftState& PartOf(const DraftState& state, size_t p) {
    return *static_cast<const JoinedState&>(state).parts[p];
  }

  std::vector<std::unique_ptr<Drafter>> parts_;
  // [parts_] whether a part is itself joined and times its own parts.
  std::vector<bool> times_itself_;
  // All parts, those of joined parts included; cached because Drafter::Parts may hash weights.
  std::vector<DraftPart> all_parts_;
};

// The part that an option belongs to, and the option's name within it.
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
  return Error{"option " + option +
               ": options of joined drafters begin with a drafter's name, such as " +
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
    FT_ASSIGN_OR_RETURN(auto drafter, NewDrafter(parts[p], context.With(options[p])));
    drafters.push_back(std::move(drafter));
  }
  return std::unique_ptr<Drafter>(std::make_unique<Joined>(parts, std::move(drafters)));
}

}  // namespace foretoken
