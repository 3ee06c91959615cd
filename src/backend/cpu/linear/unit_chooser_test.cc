// The choice between two units: first a prior, then trials of both, then the faster one.
#include "backend/cpu/linear/unit_chooser.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace foretoken {
namespace {

double now = 0;
double Now() { return now; }

ProductShape ShapeOf(int rows) {
  return {.formats = 1, .inputs = 576, .outputs = 1536, .rows = rows};
}

// Runs a group of products that takes `vector_seconds` on the vector unit and `matrix_seconds` on
// the matrix unit. Returns the unit that was chosen.
ProductUnit RunGroup(UnitChooser& chooser, const ProductShape& shape, double vector_seconds,
                     double matrix_seconds) {
  const UnitChooser::Call call = chooser.Begin(shape);
  now += call.unit() == ProductUnit::kVector ? vector_seconds : matrix_seconds;
  return call.unit();
}

TEST(UnitChooser, FewRowsStartOnTheVectorUnitAndManyOnTheMatrixUnit) {
  UnitChooser chooser(&Now);
  EXPECT_EQ(chooser.Begin(ShapeOf(8)).unit(), ProductUnit::kVector);
  EXPECT_EQ(chooser.Begin(ShapeOf(16)).unit(), ProductUnit::kVector);
  EXPECT_EQ(chooser.Begin(ShapeOf(24)).unit(), ProductUnit::kMatrix);
  EXPECT_EQ(chooser.Begin(ShapeOf(64)).unit(), ProductUnit::kMatrix);
}

TEST(UnitChooser, TheFasterUnitIsKeptAfterTrialsOfBoth) {
  for (const auto& [vector, matrix] : {std::pair{1.0, 2.0}, {2.0, 1.0}}) {
    for (int rows : {8, 32}) {
      UnitChooser chooser(&Now);
      int trials[2] = {};
      for (int i = 0; i < 2 * UnitChooser::kTrials; ++i) {
        ++trials[RunGroup(chooser, ShapeOf(rows), vector, matrix) == ProductUnit::kVector ? 0 : 1];
      }
      EXPECT_EQ(trials[0], UnitChooser::kTrials);
      EXPECT_EQ(trials[1], UnitChooser::kTrials);
      const ProductUnit faster = vector < matrix ? ProductUnit::kVector : ProductUnit::kMatrix;
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(RunGroup(chooser, ShapeOf(rows), vector, matrix), faster) << rows << " rows";
      }
      // Later durations do not change the choice.
      EXPECT_EQ(RunGroup(chooser, ShapeOf(rows), 9, 9), faster);
      EXPECT_EQ(RunGroup(chooser, ShapeOf(rows), matrix, vector), faster);
    }
  }
}

// The shortest trial of each unit counts, so two slow trials out of three change nothing.
TEST(UnitChooser, SlowOutliersAreIgnored) {
  UnitChooser chooser(&Now);
  for (int i = 0; i < 2 * UnitChooser::kTrials; ++i) {
    const bool is_outlier = i < 3;
    RunGroup(chooser, ShapeOf(8), is_outlier ? 50 : 1, 2);
  }
  EXPECT_EQ(chooser.Begin(ShapeOf(8)).unit(), ProductUnit::kVector);
}

TEST(UnitChooser, EqualTimesKeepThePrior) {
  UnitChooser chooser(&Now);
  for (int rows : {8, 32}) {
    for (int i = 0; i < 2 * UnitChooser::kTrials; ++i) RunGroup(chooser, ShapeOf(rows), 1, 1);
  }
  EXPECT_EQ(chooser.Begin(ShapeOf(8)).unit(), ProductUnit::kVector);
  EXPECT_EQ(chooser.Begin(ShapeOf(32)).unit(), ProductUnit::kMatrix);
}

TEST(UnitChooser, EveryShapeIsMeasuredSeparately) {
  UnitChooser chooser(&Now);
  std::vector<ProductShape> shapes(6, ShapeOf(8));
  shapes[1].formats = 2;
  shapes[2].inputs = 1536;
  shapes[3].outputs = 576;
  shapes[4].rows = 12;
  shapes[5].gated = true;
  const auto seconds = [](size_t i) { return i % 2 == 0 ? std::pair{1, 2} : std::pair{2, 1}; };
  for (int i = 0; i < 2 * UnitChooser::kTrials; ++i) {
    for (size_t s = 0; s < shapes.size(); ++s) {
      RunGroup(chooser, shapes[s], seconds(s).first, seconds(s).second);
    }
  }
  for (size_t s = 0; s < shapes.size(); ++s) {
    EXPECT_EQ(chooser.Begin(shapes[s]).unit(),
              s % 2 == 0 ? ProductUnit::kVector : ProductUnit::kMatrix)
        << s;
  }
}

}  // namespace
}  // namespace foretoken
