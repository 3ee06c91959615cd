// Truncating a mapped file ends the process with a message that names the file.
#include "base/bus_error.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/mapped_file.h"

namespace foretoken {
namespace {

TEST(BusError, AFileThatGetsShorterIsNamed) {
  const std::string path = ::testing::TempDir() + "ft_shrinks_" + std::to_string(getpid());
  std::ofstream(path) << std::string(1 << 16, 'x');
  const auto read = [&path] {
    ExplainBusErrors();
    const auto file = MappedFile::Open(path);
    const volatile char* text = file->text().data();
    if (truncate(path.c_str(), 100) != 0) return;
    std::printf("%c", text[1 << 15]);
  };
  EXPECT_EXIT(read(), ::testing::ExitedWithCode(EXIT_FAILURE),
              path + ": cannot read: it got shorter");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace foretoken
