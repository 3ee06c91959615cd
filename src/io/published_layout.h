// What drafts of a method look like as their authors publish them: files, names and what they say
// of themselves. Each is in the folder of its method, draft/METHOD/METHOD_published.cc.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "io/draft_file.h"

namespace foretoken {

struct PublishedLayout {
  std::string_view method;
  std::array<std::string_view, 2> files;  // safetensors or "", and of torch.save
  std::string_view field;                 // of config.json, that only this layout has; or ""
  // Our name of a published tensor, "" for one that no such draft has.
  std::string (*rename)(std::string_view);
  // What the tensors, by our names, and config.json say of the draft. Errors name file and tensor.
  Status (*describe)(const std::string& directory, std::span<const TensorSource> tensors,
                     DraftInfo& info);
  std::array<std::string_view, 2> more = {};  // of torch.save, too
  std::string_view unused = "";               // a tensor that may be there
  std::string_view integers = "";             // a tensor of I64, of small numbers
};

}  // namespace foretoken
