// Layout of a method's drafts as authors publish them: files, names and configuration. Each
// method's is in its folder, draft/METHOD/METHOD_published.cc.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "io/draft_file.h"

namespace foretoken {

struct PublishedLayout {
  std::string_view method;
  std::array<std::string_view, 2> files;  // a safetensors file or "", and a torch.save file
  std::string_view field;                 // config.json field that only this layout has, or ""
  // Our name of a published tensor; "" for a tensor that no such draft has.
  std::string (*rename)(std::string_view);
  // Sets `info` from the tensors, under our names, and config.json. Errors name the file and the
  // tensor.
  Status (*describe)(const std::string& directory, std::span<const TensorSource> tensors,
                     DraftInfo& info);
  std::array<std::string_view, 2> more = {};  // further torch.save files
  std::string_view unused = "";               // a tensor that may be present and is ignored
  std::string_view integers = "";             // an I64 tensor with values up to kMostVocab
};

}  // namespace foretoken
