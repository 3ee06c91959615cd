// Drafts as their authors publish them, under the names of docs/formats.md.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "io/draft_file.h"
#include "io/published_layout.h"

namespace foretoken {

// Whether `path` is a directory, or weights that are no GGUF file (.safetensors, .bin, .pt).
bool IsPublishedDraft(const std::string& path);

// Opens the first of `layouts` whose files are in the directory `path`, or in that of the file
// `path`; of several with files of the same name, one whose field config.json has. What the target
// is, such files hardly say: hidden size and vocabulary, some the size of its heads. Errors name
// file and tensor: weights of another layout, shapes that no draft has.
Result<std::unique_ptr<DraftFile>> OpenPublishedDraft(
    const std::string& path, std::span<const PublishedLayout* const> layouts);

}  // namespace foretoken
