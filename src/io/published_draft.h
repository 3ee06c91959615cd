// Drafts in their authors' formats, presented under the names of docs/formats.md.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "io/draft_file.h"
#include "io/published_layout.h"

namespace foretoken {

// Whether `path` is a directory, or a weights file other than GGUF (.safetensors, .bin, .pt).
bool IsPublishedDraft(const std::string& path);

// Opens a draft in directory `path`, or in the directory of file `path`, by the first of `layouts`
// whose files are there. Layouts with files of the same name are told apart by a field of
// config.json. Such drafts say little about their target: hidden size and vocabulary, some also the
// size of its heads. Errors name the file and the tensor: weights of another layout, shapes that no
// draft has.
Result<std::unique_ptr<DraftFile>> OpenPublishedDraft(
    const std::string& path, std::span<const PublishedLayout* const> layouts);

}  // namespace foretoken
