// Backends by name: DEVICE, or DEVICE:VARIANT.
#include <algorithm>

#include "backend/backend.h"
#include "backend/cpu/cpu_options.h"
#include "base/comma_list.h"

namespace foretoken {
namespace {

Result<std::unique_ptr<Backend>> MakeCpu(std::string_view variant, const BackendOptions& options) {
  CpuOptions cpu{.threads = options.threads};
  for (const CpuIsa isa : AllCpuIsas()) {
    if (CpuIsaName(isa) == variant) cpu.isa = isa;
  }
  return NewCpuBackend(cpu);
}

std::vector<std::string_view> CpuVariants(bool on_this_machine) {
  std::vector<std::string_view> names;
  for (const CpuIsa isa : on_this_machine ? AvailableCpuIsas() : AllCpuIsas())
    names.push_back(CpuIsaName(isa));
  return names;
}

struct Device {
  std::string_view name;
  // The variants that may follow the colon: with `on_this_machine`, those that this machine
  // supports; otherwise, all known ones.
  std::vector<std::string_view> (*variants)(bool on_this_machine);
  // `variant`: a known one, or "" for the fastest on this machine.
  Result<std::unique_ptr<Backend>> (*make)(std::string_view variant, const BackendOptions& options);
};

// Every device, the default first.
constexpr Device kDevices[] = {{"cpu", &CpuVariants, &MakeCpu}};

}  // namespace

Result<std::unique_ptr<Backend>> NewBackend(std::string_view name, const BackendOptions& options) {
  const size_t colon = std::min(name.find(':'), name.size());
  const std::string_view variant = name.substr(std::min(colon + 1, name.size()));
  for (const Device& device : kDevices) {
    if (device.name != name.substr(0, colon)) continue;
    if (colon == name.size()) return device.make("", options);
    const auto known = device.variants(/*on_this_machine=*/false);
    if (std::ranges::find(known, variant) != known.end()) return device.make(variant, options);
  }
  return Error{"backend: unknown name '" + std::string(name) +
               "'; known: " + CommaList(BackendNames())};
}

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const Device& device : kDevices) {
    names.emplace_back(device.name);
    for (const std::string_view variant : device.variants(/*on_this_machine=*/true)) {
      names.push_back(std::string(device.name) + ":" + std::string(variant));
    }
  }
  return names;
}

}  // namespace foretoken
