// Statuses of child processes.
#include "base/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>

namespace foretoken {
namespace {

using ::testing::HasSubstr;

TEST(ChildProcess, ItsExitStatusIsReturned) {
  const pid_t child = fork();
  if (child == 0) _exit(7);
  const Result<int> status = WaitForExit(child);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(DescribeExit(*status), "exited with status 7");
}

TEST(ChildProcess, ItsSignalIsReturned) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  kill(child, SIGKILL);
  const Result<int> status = WaitForExit(child);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(DescribeExit(*status), "was killed by signal 9");
}

// The timer's signals interrupt waitpid several times before the child ends.
TEST(ChildProcess, SignalsDoNotEndTheWait) {
  struct sigaction count = {}, before = {};
  static volatile std::sig_atomic_t signals = 0;
  count.sa_handler = [](int) { signals = signals + 1; };  // without SA_RESTART
  ASSERT_EQ(sigaction(SIGALRM, &count, &before), 0);
  const pid_t child = fork();
  if (child == 0) {
    usleep(100'000);
    _exit(3);
  }
  const itimerval every_5_ms = {{0, 5'000}, {0, 5'000}}, off = {};
  ASSERT_EQ(setitimer(ITIMER_REAL, &every_5_ms, nullptr), 0);
  const Result<int> status = WaitForExit(child);
  setitimer(ITIMER_REAL, &off, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(DescribeExit(*status), "exited with status 3");
  EXPECT_GT(signals, 0);
}

TEST(ChildProcess, AProcessThatIsNoChildIsAnError) {
  const Result<int> status = WaitForExit(getpid());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("No child processes"));
}

}  // namespace
}  // namespace foretoken
