#include "backend/tested_backends_testing.h"

#include <algorithm>

#include "backend/strict_backend_testing.h"
#include "base/check.h"

namespace foretoken::testing {

std::unique_ptr<Backend> TestedBackend::New(int threads) const {
  if (emulated.has_value()) return NewBackend(*emulated, threads);
  auto backend = NewTestBackend(name, {.threads = threads});
  FT_CHECK(backend.ok());
  return *std::move(backend);
}

std::string TestedBackend::ParameterName() const {
  std::string text = name;
  std::ranges::replace(text, ':', '_');
  return text;
}

std::vector<TestedBackend> TestedBackends() {
  std::vector<TestedBackend> all;
  const std::vector<std::string> names = BackendNames();
  for (const std::string& name : names) {
    const bool has_variants = std::ranges::any_of(
        names, [&](const std::string& other) { return other.starts_with(name + ":"); });
    if (!has_variants) all.push_back({name, std::nullopt});
  }
  all.push_back({"strict:cpu", std::nullopt});
  for (const KernelSet& set : TestedSets()) {
    if (set.IsEmulated()) all.push_back({std::string(set.name()), set});
  }
  return all;
}

}  // namespace foretoken::testing
