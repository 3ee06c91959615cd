#include "backend/cpu/isa/kernel_config.h"

#include <algorithm>
#include <iterator>

#include "backend/cpu/rows/tiles.h"

namespace foretoken {
namespace {

bool IsChunk(int rows) {
  return std::find(std::begin(kChunkRows), std::end(kChunkRows), rows) != std::end(kChunkRows);
}

bool IsOneOrMost(int panels, int most) {
  return panels == 1 || (panels == kMostTogether && panels <= most);
}

// The smallest number of rows, up to kMaxTileRows, that fits no tile; 0 if every number fits one.
int RowsWithoutTile(const KernelConfig& config) {
  std::vector<Tile> tiles;
  for (int rows = 1; rows <= kMaxTileRows; ++rows) {
    CutTiles(rows, config, tiles);
    if (tiles[0].chunks == 0) return rows;
  }
  return 0;
}

// Says what is wrong with `config`; empty if nothing is.
std::string FaultOf(const KernelLimits& limits, const KernelConfig& config) {
  if (!IsChunk(config.most_chunk_rows) || config.most_chunk_rows > limits.most_chunk_rows) {
    return "the largest chunk must have a supported size of at most " +
           std::to_string(limits.most_chunk_rows) + " rows";
  }
  if (!IsChunk(config.least_chunk_rows) || MostChunks(config.least_chunk_rows) == 1 ||
      config.least_chunk_rows > config.most_chunk_rows) {
    return "the smallest of several chunks must have 4, 8, 12 or 16 rows, and no more than the "
           "largest";
  }
  if (!IsOneOrMost(config.streams, kMostTogether)) return "streams must be 1 or 4";
  if (!IsOneOrMost(config.interleaved_panels, limits.most_interleaved_panels)) {
    return limits.most_interleaved_panels == 1 ? "panels cannot be interleaved"
                                               : "interleaved panels must be 1 or 4";
  }
  if (config.unit != ProductUnit::kFastest && !limits.two_units) {
    return "the unit cannot be chosen without a matrix unit";
  }
  if (const int rows = RowsWithoutTile(config); rows != 0) {
    return std::to_string(rows) + " rows do not fit in one tile of such chunks";
  }
  return "";
}

}  // namespace

Status CheckConfig(const Kernels& kernels, const KernelConfig& config) {
  const std::string fault = FaultOf(kernels.limits, config);
  if (fault.empty()) return {};
  return Error{"the kernels '" + std::string(kernels.name) + "' cannot run " + Describe(config) +
               ": " + fault};
}

std::vector<KernelConfig> AdmittedConfigs(const Kernels& kernels) {
  std::vector<KernelConfig> admitted;
  for (const int most : kChunkRows) {
    for (const int least : kChunkRows) {
      for (const int streams : {1, kMostTogether}) {
        for (const int interleaved_panels : {1, kMostTogether}) {
          for (const bool near : {false, true}) {
            for (const ProductUnit unit :
                 {ProductUnit::kFastest, ProductUnit::kVector, ProductUnit::kMatrix}) {
              const KernelConfig config{most, least, streams, interleaved_panels, near, unit};
              if (CheckConfig(kernels, config).ok()) admitted.push_back(config);
            }
          }
        }
      }
    }
  }
  return admitted;
}

std::string Describe(const KernelConfig& config) {
  static constexpr const char* kUnits[] = {"", ", on the vector unit", ", on the matrix unit"};
  return "chunks of " + std::to_string(config.least_chunk_rows) + " to " +
         std::to_string(config.most_chunk_rows) +
         " rows, streams: " + std::to_string(config.streams) +
         ", interleaved panels: " + std::to_string(config.interleaved_panels) +
         (config.prefetches_near ? ", attention prefetches into L1"
                                 : ", attention prefetches into L2") +
         kUnits[static_cast<int>(config.unit)];
}

}  // namespace foretoken
