#include "apps/models/inspect_draft.h"

#include <cstdio>

#include "base/json.h"
#include "base/legible.h"
#include "base/number_text.h"
#include "draft/found_drafts.h"

namespace foretoken {

namespace {

// Results of the training run: steps, learnt tokens, tau; null if the draft has none.
Json TrainedPart(const DraftInfo& info) {
  const Result<Json> recipe = ParseJson(info.recipe, "");
  const bool says = recipe.ok() && recipe->is_object() && recipe->contains("trained");
  return says && (*recipe)["trained"].is_object() ? (*recipe)["trained"] : Json(nullptr);
}

}  // namespace

Json DraftJson(const DraftInfo& info) {
  const TargetFingerprint& t = info.target;
  const std::string_view drafter = DrafterOfMethod(info.method);
  return {{"method", info.method},
          {"drafter", drafter.empty() ? Json(nullptr) : Json(drafter)},
          {"name", info.name},
          {"target",
           {{"architecture", t.architecture},
            {"name", t.name},
            {"vocab", t.vocab},
            {"layers", t.layers},
            {"hidden", t.hidden},
            {"heads", t.heads},
            {"kv_heads", t.kv_heads},
            {"head_dim", t.head_dim}}},
          {"layers", info.blocks.layers},
          {"output_heads", info.output_heads},
          {"hidden_states_read", info.taps},
          {"kv_layers_read", info.kv_layers},
          {"shared", info.shared},
          {"trained", TrainedPart(info)},
          {"ranked_tokens", info.ranking.tokens.size()},
          {"acceptance", info.acceptance}};
}

namespace {

// Joins known values as "a, b"; published files do not state all of them.
class Listed {
 public:
  void Add(const std::string& text) {
    if (!text.empty()) text_.append(text_.empty() ? "" : ", ").append(Printable(text));
  }
  void Add(const char* what, int64_t number, const char* unit = "") {
    if (number > 0) Add(what + std::to_string(number) + unit);
  }
  void Print(const char* label) const {
    if (!text_.empty()) std::printf("  %-13s %s\n", label, text_.c_str());
  }

 private:
  std::string text_;
};

void PrintTau(const Json& trained) {
  const auto text = [&](const char* name) {
    const bool is_known =
        trained.is_object() && trained.contains(name) && trained[name].is_number();
    return is_known ? NumberText("%.2f", trained[name].get<double>()) : "";
  };
  const std::string own = text("tau"), forced = text("teacher_forced_tau");
  Listed tau;
  if (!own.empty()) tau.Add(own + " in the target's own answers");
  if (!forced.empty()) tau.Add(forced + " teacher-forced");
  tau.Print("tau");
}

std::string Named(const char* what, const std::vector<int>& numbers) {
  return numbers.empty() ? "" : what + JsonText(Json(numbers));
}

}  // namespace

void PrintDraft(const DraftFile& draft) {
  const DraftInfo& info = draft.info();
  const TargetFingerprint& t = info.target;
  std::printf("%s\n", draft.path().c_str());
  Listed what, used_by, target, reads, shares;
  what.Add(info.method);
  what.Add(info.name);
  what.Print("draft");
  const std::string_view drafter = DrafterOfMethod(info.method);
  used_by.Add(drafter.empty()
                  ? "no drafter of this program"
                  : "--drafter " + std::string(drafter) +
                        " or auto, given with --draft or found in drafts/ beside the model");
  used_by.Print("used by");
  target.Add(t.name);
  target.Add(t.architecture);
  target.Add("vocabulary ", t.vocab);
  target.Add("", t.layers, " layers");
  target.Add("hidden ", t.hidden);
  target.Print("target");
  reads.Add(Named("hidden states ", info.taps));
  reads.Add(Named("keys and values of layers ", info.kv_layers));
  reads.Print("reads");
  for (const std::string& part : info.shared) shares.Add(part);
  shares.Print("shares");
  if (!info.ranking.empty()) {
    std::printf("  %-13s %zu tokens, which cover %.1f %% of the target's text\n", "ranks",
                info.ranking.tokens.size(), 100 * info.ranking.coverage.back());
  }
  PrintTau(TrainedPart(info));
  if (info.acceptance.empty()) return;
  std::printf("  %-13s", "acceptance");
  for (const float share : info.acceptance) std::printf(" %.2f", share);
  std::printf("\n");
}

}  // namespace foretoken
