// A set has kernels for every configuration that it supports, and a backend cannot be created with
// any other configuration.
#include "backend/cpu/isa/kernel_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/isa/kernel_sets_testing.h"
#include "backend/cpu/rows/tiles.h"

namespace foretoken {
namespace {

using testing::KernelSet;

class KernelConfigTest : public ::testing::TestWithParam<KernelSet> {
 protected:
  const Kernels& kernels() const { return *GetParam().kernels; }
};

// The default configuration for every CPU passes CheckConfig.
TEST_P(KernelConfigTest, AcceptsTheDefaultOfEveryCpu) {
  EXPECT_TRUE(CheckConfig(kernels(), kernels().on_amd).ok());
  EXPECT_TRUE(CheckConfig(kernels(), kernels().elsewhere).ok());
}

// Every supported configuration cuts any number of rows into tiles that have kernels.
TEST_P(KernelConfigTest, EverySupportedConfigHasKernelsAndTiles) {
  const std::vector<KernelConfig> supported = AdmittedConfigs(kernels());
  ASSERT_FALSE(supported.empty());
  std::vector<Tile> tiles;
  for (const KernelConfig& config : supported) {
    SCOPED_TRACE(Describe(config));
    for (int rows = 1; rows <= 3 * kMaxTileRows; ++rows) {
      CutTiles(rows, config, tiles);
      int covered = 0;
      for (const Tile& tile : tiles) {
        ASSERT_EQ(tile.row, covered) << rows;
        ASSERT_GE(tile.padded_rows(), tile.rows) << rows;
        ASSERT_LE(tile.padded_rows(), kMaxTileRows) << rows;
        covered += tile.rows;
        for (const auto& sizes : kernels().linear) ASSERT_NE(sizes[tile.size], nullptr) << rows;
        for (int f = 0; kernels().limits.two_units && f < kQuantisedFormats; ++f) {
          ASSERT_NE(kernels().vector_linear[f][tile.size], nullptr) << rows;
        }
      }
      ASSERT_EQ(covered, rows);
    }
  }
}

// Changes one field at a time: first to values that no set supports in place of its default, then
// to values that this set does not support.
TEST_P(KernelConfigTest, RefusesUnsupportedValues) {
  const auto refuses = [&](auto change) {
    KernelConfig config = kernels().elsewhere;
    change(config);
    const auto backend = CpuBackend::Create(kernels(), config, 1);
    return !backend.ok() && backend.error().message.find(kernels().name) != std::string::npos;
  };
  EXPECT_TRUE(refuses([](KernelConfig& c) { c.most_chunk_rows = 0; }));
  EXPECT_TRUE(refuses([](KernelConfig& c) { c.most_chunk_rows = 5; }));
  EXPECT_TRUE(refuses([](KernelConfig& c) { c.most_chunk_rows = 32; }));
  EXPECT_TRUE(refuses([&](KernelConfig& c) { c.least_chunk_rows = 2 * c.most_chunk_rows; }));
  EXPECT_TRUE(refuses([](KernelConfig& c) { c.least_chunk_rows = 2; }));
  EXPECT_TRUE(refuses([](KernelConfig& c) { c.least_chunk_rows = 6; }));
  EXPECT_TRUE(refuses([](KernelConfig& c) { c.streams = 2; }));
  EXPECT_TRUE(refuses([](KernelConfig& c) { c.interleaved_panels = 2; }));
  if (kernels().limits.most_interleaved_panels == 1) {
    EXPECT_TRUE(refuses([](KernelConfig& c) { c.interleaved_panels = kMostTogether; }));
  }
  if (!kernels().limits.two_units) {
    EXPECT_TRUE(refuses([](KernelConfig& c) { c.unit = ProductUnit::kVector; }));
    EXPECT_TRUE(refuses([](KernelConfig& c) { c.unit = ProductUnit::kMatrix; }));
  }
  if (kernels().limits.most_chunk_rows < 16) {
    EXPECT_TRUE(refuses([](KernelConfig& c) { c.most_chunk_rows = 16; }));
  }
}

// With chunks of exactly twelve rows a tile has at most sixty rows, so 61 to kMaxTileRows rows fit
// no tile. AMD's largest chunk and the matrix unit's smallest both have twelve rows, so an AMD CPU
// with AMX would get this configuration if FillTileLinear did not raise the largest to sixteen.
TEST_P(KernelConfigTest, RefusesChunksThatLeaveSomeRowsWithoutTile) {
  if (kernels().limits.most_chunk_rows < 12) GTEST_SKIP() << "no chunks of twelve rows";
  KernelConfig config = kernels().elsewhere;
  config.most_chunk_rows = config.least_chunk_rows = 12;
  const auto backend = CpuBackend::Create(kernels(), config, 1);
  ASSERT_FALSE(backend.ok());
  EXPECT_THAT(backend.error().message, ::testing::HasSubstr("chunks of 12 to 12 rows"));
  EXPECT_THAT(backend.error().message,
              ::testing::HasSubstr("61 rows do not fit in one tile of such chunks"));
}

INSTANTIATE_TEST_SUITE_P(Sets, KernelConfigTest, ::testing::ValuesIn(testing::TestedSets()),
                         [](const auto& info) { return std::string(info.param.name()); });

}  // namespace
}  // namespace foretoken
