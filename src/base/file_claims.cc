#include "base/file_claims.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace foretoken {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct ClaimedOutput {
  std::string path;          // absolute; links in its folders are resolved
  std::optional<FileId> id;  // of the existing file, if any
};

struct Claims {
  std::mutex mutex;
  bool remember_inputs = false;
  std::set<FileId> inputs;
  uint64_t last_number = 0;
  std::map<uint64_t, ClaimedOutput> outputs;
};

Claims& AllClaims() {
  static Claims* const claims = new Claims;  // outlives every static object that holds a claim
  return *claims;
}

FileId IdOf(const struct stat& info) { return {info.st_dev, info.st_ino}; }

}  // namespace

void RememberInputs(bool on) {
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  claims.remember_inputs = on;
  claims.inputs.clear();
}

Status ClaimForReading(const struct stat& info, const std::string& path, FileUse use) {
  if (!S_ISREG(info.st_mode)) return {};
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  const FileId id = IdOf(info);
  if (use == FileUse::kOwnState) {
    if (!claims.inputs.contains(id)) return {};
    return Error{path + ": is an input of this command; an output never replaces one"};
  }
  for (const auto& [number, output] : claims.outputs) {
    if (output.id != id) continue;
    return Error{path + ": is named as an output of this command too (" + output.path +
                 "); an output never replaces an input"};
  }
  if (claims.remember_inputs) claims.inputs.insert(id);
  return {};
}

void ForgetDeletedInput(const struct stat& created) {
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  claims.inputs.erase(IdOf(created));
}

Result<OutputClaim> OutputClaim::Make(const std::string& path) {
  std::error_code ignored;
  ClaimedOutput output{.path = std::filesystem::weakly_canonical(path, ignored).string()};
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) return OutputClaim();  // writing to a stream replaces no file
    output.id = IdOf(info);
  }
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  if (output.id && claims.inputs.contains(*output.id)) {
    return Error{path + ": is an input of this command; an output never replaces one"};
  }
  for (const auto& [number, held] : claims.outputs) {
    const bool is_same_file = output.id && output.id == held.id;
    if (is_same_file || output.path == held.path) {
      return Error{path + ": is named for two outputs of this command"};
    }
  }
  OutputClaim claim;
  claim.number_ = ++claims.last_number;
  claims.outputs.emplace(claim.number_, std::move(output));
  return claim;
}

OutputClaim& OutputClaim::operator=(OutputClaim&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

OutputClaim::~OutputClaim() {
  if (number_ == 0) return;
  Claims& claims = AllClaims();
  const std::lock_guard lock(claims.mutex);
  claims.outputs.erase(number_);
}

}  // namespace foretoken
