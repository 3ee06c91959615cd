// Exports drafters' checkpoints as directories for other servers, via a temporary draft file.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/comma_list.h"
#include "base/writable.h"
#include "draft/open_draft.h"
#include "draft/serve_draft.h"
#include "draft/served_layout.h"
#include "export.h"
#include "method.h"

namespace foretoken::train {
namespace {

// A file that is removed on destruction.
struct TemporaryFile {
  std::string path;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

Result<DType> ServedType(FileType type) {
  for (const auto& [file, dtype] : {std::pair{FileType::kF32, DType::kF32},
                                    {FileType::kF16, DType::kF16},
                                    {FileType::kBF16, DType::kBF16}}) {
    if (type == file) return dtype;
  }
  return Error{"--type is " + std::string(FileTypeName(type)) +
               ", expected f16, bf16 or f32 with --layout"};
}

std::string DrafterOf(const Method& method) {
  return method.defaults.drafter == nullptr ? method.name : method.defaults.drafter;
}

// Checks that the layout supports the method. Errors: a method whose drafts no other server loads,
// a layout that does not support its drafts.
Status CheckIsServed(const ExportRequest& request, const Method& method) {
  const ServedLayout* served = FindServedLayout(DrafterOf(method));
  if (served == nullptr) {
    std::vector<const Method*> exported;
    std::ranges::copy_if(AllMethods(), std::back_inserter(exported), [](const Method* candidate) {
      return FindServedLayout(DrafterOf(*candidate)) != nullptr;
    });
    return Error{request.checkpoint + ": is a draft of " + method.name +
                 ", expected one that --layout exports: " + CommaList(exported, &Method::name)};
  }
  const auto& forms = served->forms;
  if (std::ranges::find(forms, request.layout, &ServedForm::layout) != forms.end()) return {};
  return Error{"--layout is '" + request.layout + "', expected for drafts of " + method.name +
               ": " + CommaList(forms, &ServedForm::layout)};
}

}  // namespace

Status CheckServedPath(const ExportRequest& request) {
  for (const char* name : kServedFiles) {
    FT_RETURN_IF_ERROR(CheckReplaces(request.path + "/" + name, request.force));
  }
  return {};
}

Status ExportServed(const ExportRequest& request, const CheckpointInfo& info,
                    const Method& method) {
  FT_ASSIGN_OR_RETURN(const DType type, ServedType(request.type));
  if (info.recipe.settings.find("target") == info.recipe.settings.end()) {
    return Error{request.checkpoint + ": is a language model; --layout is only for drafts"};
  }
  FT_RETURN_IF_ERROR(CheckIsServed(request, method));
  std::error_code fault;
  std::filesystem::create_directories(request.path, fault);
  if (fault) return Error{request.path + ": cannot create: " + fault.message()};
  const TemporaryFile draft{request.path + "/.draft.gguf"};
  ExportRequest draft_request = request;
  draft_request.path = draft.path;
  draft_request.type = FileType::kF32;
  draft_request.force = true;
  FT_RETURN_IF_ERROR(method.export_to(draft_request, info));
  FT_ASSIGN_OR_RETURN(const auto file, OpenDraft(draft.path));
  const std::string target =
      request.target.empty() ? info.recipe.settings.at("target") : request.target;
  FT_ASSIGN_OR_RETURN(const auto model, ModelFile::Open(target));
  return WriteServedDraft(*file, *model, {request.path, request.layout, type});
}

}  // namespace foretoken::train
