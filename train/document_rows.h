// What the frozen target computes for whole documents, of which batches hold pieces.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "feature_file.h"
#include "llama.h"

namespace foretoken::train {

// Computes the rows of a batch, one tensor [rows, width] or several.
using RowsOf = std::function<std::vector<torch::Tensor>(const Batch&)>;

// A computation of the target on documents that are cut into pieces of `length` tokens.
struct DocumentWork {
  std::string computation;  // its name, a part of the pieces' keys
  RowsOf compute;
  int64_t length = 0;
};

// Returns a batch of one sequence, what the target reads for the piece: only `ids` and `first_key`.
Batch DocumentOf(const ReadPiece& piece, torch::Device device);

PieceKey KeyOfRead(const std::string& computation, const ReadPiece& piece);

// Computes the document of `piece` and stores the rows of all its pieces that have something to
// learn and are not in the file. Returns the document's rows, on the CPU.
std::vector<torch::Tensor> ReadDocument(const DocumentWork& work, const ReadPiece& piece,
                                        torch::Device device, FeatureFile& file);

// Copies the piece's rows of its document to its rows of the batch.
void CopyPiece(const std::vector<torch::Tensor>& document, const ReadPiece& piece,
               std::vector<torch::Tensor>& batch);

// Bytes of a row of `rows`.
size_t RowBytes(const torch::Tensor& rows);
// Sets `payload` to rows [row, row + count) of each tensor, concatenated.
void GatherRows(const std::vector<torch::Tensor>& from, int64_t row, int64_t count,
                std::vector<std::byte>& payload);

}  // namespace foretoken::train
