// Exports drafters' checkpoints as directories for other servers, via a temporary draft file.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/comma_list.h"
#include "base/number_text.h"
#include "base/writable.h"
#include "draft/eagle/eagle_spec.h"
#include "draft/open_draft.h"
#include "draft/serve_draft.h"
#include "draft/served_layout.h"
#include "export.h"
#include "method.h"
#include "run_files.h"

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

// Returns how to get a draft for vLLM if `message` says that the draft has the bias that vLLM
// lacks; otherwise "".
std::string WayToVllm(const ExportRequest& request, const CheckpointInfo& info,
                      const std::string& message) {
  constexpr double kLowerRate = 0.1;  // a trained draft loses what it learned at its first rate
  const std::string bias = "'" + EagleSpec{}.ProjectionBias().name + "'";
  if (request.layout != "vllm" || message.find(bias) == std::string::npos) return "";
  const Recipe& r = info.recipe;
  return ". To train this draft further without the bias: foretoken train " + r.method +
         " --target " + NormalPath(r.Text("target")) + " --data DATA --fc-bias 0 --init " +
         request.checkpoint + " --lr " + NumberText("%.2g", kLowerRate * r.lr) +
         " --budget TIME --out OTHER";
}

// Returns an error about the temporary draft file as one about the checkpoint in it.
Error AboutCheckpoint(const Error& error, const std::string& draft, const ExportRequest& request,
                      const CheckpointInfo& info) {
  std::string message = error.message;
  if (message.starts_with(draft)) {
    message.replace(0, draft.size(), CheckpointPath(request.checkpoint));
  }
  return Error{message + WayToVllm(request, info, message)};
}

// Writes the draft file `path` in the layout that the request names.
Status WriteInLayout(const ExportRequest& request, const CheckpointInfo& info, DType type,
                     const std::string& path) {
  FT_ASSIGN_OR_RETURN(const auto file, OpenDraft(path));
  const std::string target =
      request.target.empty() ? info.recipe.settings.at("target") : request.target;
  FT_ASSIGN_OR_RETURN(const auto model, ModelFile::Open(target));
  return WriteServedDraft(*file, *model, {request.path, request.layout, type});
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
  RunFolder folder(request.path);
  FT_RETURN_IF_ERROR(folder.Create());
  const TemporaryFile draft{request.path + "/.draft.gguf"};
  ExportRequest draft_request = request;
  draft_request.path = draft.path;
  draft_request.type = FileType::kF32;
  draft_request.force = true;
  FT_RETURN_IF_ERROR(method.export_to(draft_request, info));
  const Status written = WriteInLayout(request, info, type, draft.path);
  if (!written.ok()) return AboutCheckpoint(written.error(), draft.path, request, info);
  folder.Keep();
  return {};
}

}  // namespace foretoken::train
