// What the scheduler does with requests, one case at a time and without its thread.
#include <gtest/gtest.h>

#include "scheduler_rig.h"

namespace foretoken {
namespace {

TEST(Placeholder, Builds) {}

}  // namespace
}  // namespace foretoken
