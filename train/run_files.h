// The folder of a training run, checks of the files that the run will write, and paths in messages.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "recipe.h"

namespace foretoken::train {

// Checks that the run in `out` can write its files. Errors: anything but a regular file at the path
// of one of them, because opening a pipe or device could block forever; a folder with other files
// and none of a run, which would be mixed.
Status CheckRunFiles(const std::string& out);

// Checks that the run in `out` does not write to its own data. Relative data patterns are looked up
// under `base`. Errors: a data source that is the folder `out`, because the run's log would be read
// as data; a data file that is one of the run's files, by whatever name or link, because the run
// would overwrite it.
Status CheckDataAreApart(const Recipe& recipe, const std::string& base, const std::string& out);

// Returns a file's path for messages: in lexically normal form, without a slash at its end. If that
// names another file, because `path` follows links, or none, returns `path`.
std::string NormalPath(const std::string& path);

// The folder of a run or of an export. If Create has made it and the work fails before Keep, a
// run's files and the empty folder are removed.
class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();

  // Errors: the folder cannot be created.
  Status Create();
  void Keep() { is_new_ = false; }

 private:
  std::string path_;
  bool is_new_ = false;
};

}  // namespace foretoken::train
