// Tests of InterruptGuard: which signals it catches, and what it restores.
#include "base/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace foretoken {
namespace {

using Notes = InterruptGuard::Notes;

TEST(InterruptGuard, ASecondInterruptEndsTheProcess) {
  const auto interrupt_twice = [] {
    const InterruptGuard guard;
    std::raise(SIGINT);
    if (!InterruptGuard::Requested()) std::exit(1);
    std::raise(SIGINT);
  };
  EXPECT_EXIT(interrupt_twice(), ::testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptGuard, ClearLetsInterruptsBeNotedAgain) {
  const InterruptGuard guard;
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(InterruptGuard::Requested());
    std::raise(SIGINT);
    EXPECT_TRUE(InterruptGuard::Requested());
    InterruptGuard::Clear();
  }
}

TEST(InterruptGuard, NotesEveryStopWhereAStepMustBeFinished) {
  const InterruptGuard guard(Notes::kEveryStop);
  for (const int signal : {SIGTERM, SIGINT, SIGTERM}) std::raise(signal);
  EXPECT_TRUE(InterruptGuard::Requested());
}

// Without kEveryStop, SIGTERM keeps its handler.
TEST(InterruptGuard, LeavesSigtermAloneWithoutEveryStop) {
  const auto terminate = [] {
    const InterruptGuard guard;
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(terminate(), ::testing::KilledBySignal(SIGTERM), "");
}

// The guard's destructor restores the earlier handlers.
TEST(InterruptGuard, RestoresTheEarlierHandlers) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  { const InterruptGuard guard(Notes::kEveryStop); }
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_IGN);
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_IGN);
}

}  // namespace
}  // namespace foretoken
