// The registry of verifiers, made from verifiers.def.
#include <string>

#include "base/comma_list.h"
#include "base/json.h"
#include "verify/verifier.h"

namespace foretoken {

#define FT_VERIFIER(name, factory, guarantee, summary) \
  Result<std::unique_ptr<Verifier>> factory(Backend&, OptionFields&);
#include "verify/verifiers.def"
#undef FT_VERIFIER

std::span<const VerifierEntry> AllVerifiers() {
  static constexpr VerifierEntry kAll[] = {
#define FT_VERIFIER(name, factory, guarantee, summary) \
  {name, Guarantee::guarantee, summary, &factory},
#include "verify/verifiers.def"
#undef FT_VERIFIER
  };
  return kAll;
}

Result<const VerifierEntry*> FindVerifier(std::string_view name) {
  for (const VerifierEntry& e : AllVerifiers()) {
    if (e.name == name) return &e;
  }
  return Error{"verifier: no '" + std::string(name) +
               "'; known: " + CommaList(AllVerifiers(), &VerifierEntry::name)};
}

Result<std::unique_ptr<Verifier>> NewVerifier(std::string_view name,
                                              const VerifierContext& context) {
  FT_ASSIGN_OR_RETURN(const VerifierEntry* entry, FindVerifier(name));
  OptionReader reader("verifier " + std::string(name), context.options);
  OptionFields fields(reader);
  Result<std::unique_ptr<Verifier>> verifier = entry->make(context.backend, fields);
  FT_RETURN_IF_ERROR(reader.Finish());
  return verifier;
}

}  // namespace foretoken
