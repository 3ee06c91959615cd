#include "io/measured_draft.h"

#include <algorithm>

#include "base/json.h"

namespace foretoken {
namespace {

// The rate of a depth counts only if at least this many guesses were judged there.
constexpr int kFewestJudged = 20;

}  // namespace

Result<MeasuredDraft> ReadMeasuredDraft(const std::string& path, const std::string& method) {
  FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  const auto field = [](const Json& object, const char* key) {
    return object.is_object() ? object.value(key, Json()) : Json();
  };
  const auto text = [&](const Json& object, const char* key) {
    const Json value = field(object, key);
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  std::vector<Json> found;
  for (const Json& result : field(json, "results")) {
    const bool is_chain = text(result, "tree").starts_with("chain");
    const bool is_greedy =
        text(result, "verifier") == "exact" && field(result, "temperature") == 0.0;
    if (is_chain && is_greedy && text(result, "task") == "overall" &&
        text(result, "method") == method) {
      found.push_back(result);
    }
  }
  if (found.size() != 1) {
    return Error{path + ": field 'results' has " + std::to_string(found.size()) +
                 " entries of task 'overall', method '" + method +
                 "', a chain and verifier 'exact' at temperature 0, expected one, as of bench spec "
                 "--methods " +
                 method + " --tree chain:gamma=5 --json FILE"};
  }
  const Json rates = field(found[0], "alpha_n"), judged = field(found[0], "alpha_n_reached");
  const auto numbers = [](const Json& list) {
    return list.is_array() &&
           std::ranges::all_of(list, [](const Json& item) { return item.is_number(); });
  };
  if (!numbers(rates) || !numbers(judged) || rates.size() != judged.size()) {
    return Error{path + ": fields 'alpha_n' and 'alpha_n_reached' are " + JsonText(rates) +
                 " and " + JsonText(judged) + ", expected lists of as many numbers"};
  }
  const Json tau = field(found[0], "tau_micro"), answered = field(json, "answered");
  MeasuredDraft measured{.tau = tau.is_number() ? tau.get<double>() : 0.0,
                         .questions = answered.is_number() ? answered.get<int64_t>() : 0};
  for (size_t i = 0; i < rates.size() && judged[i].get<double>() >= kFewestJudged; ++i) {
    measured.acceptance.push_back(rates[i].get<float>());
  }
  if (measured.acceptance.empty()) {
    return Error{path + ": field 'alpha_n_reached' is " + JsonText(judged) + ", expected " +
                 std::to_string(kFewestJudged) + " judged guesses or more of the first depth"};
  }
  if (tau.is_number()) return measured;
  return Error{path + ": field 'tau_micro' is " + JsonText(tau) + ", expected a number"};
}

}  // namespace foretoken
