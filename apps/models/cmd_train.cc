// foretoken train: prepares the process for libtorch, loads the trainer's module and hands over.
// `train plot` needs neither.
#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "apps/command_line.h"
#include "apps/models/train_plot.h"

namespace foretoken {
namespace {

constexpr char kModule[] = "libforetoken_train.so";

// The OpenBLAS core to use, or nullptr for its own choice. OpenBLAS falls back to slow kernels on
// processors that it does not know by name.
const char* BlasCore() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bf16")) return "COOPERLAKE";
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return "SKYLAKEX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "HASWELL";
#endif
  return nullptr;
}

// Sets environment variables that BLAS, OpenMP and oneDNN read when they are loaded. Never
// overrides the user's settings.
void SetLibraryEnvironment() {
  constexpr int kKeepExisting = 0;
  if (const char* core = BlasCore()) setenv("OPENBLAS_CORETYPE", core, kKeepExisting);
  setenv("OMP_WAIT_POLICY", "PASSIVE", kKeepExisting);  // spinning takes CPU time from others
  // oneDNN caches up to 1,024 prepared products by shape, at more than a megabyte each. Batches
  // differ in their number of learnt rows, so few shapes recur, and a long run would accumulate
  // gigabytes.
  for (const char* cache : {"LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"}) {
    setenv(cache, "64", kKeepExisting);
  }
}

// Loads OpenBLAS first, because the libblas.so.3 that libtorch requests may be the slow reference
// BLAS, and symbols of the library loaded first take precedence.
void PreferOpenBlas() {
  for (const char* name : {"libopenblas.so.0", "libopenblas.so"}) {
    if (dlopen(name, RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  }
  std::fputs("foretoken train: libopenblas0-pthread is not installed, training will be slow\n",
             stderr);
}

std::string ModulePath() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  const std::string self(path, size > 0 ? static_cast<size_t>(size) : 0);
  return self.substr(0, self.rfind('/') + 1) + kModule;
}

// Exposes the definition of the options parsed here; those parsed by the module have none.
int DescribeTrain(int argc, char** argv) {
  CLI::App app("Trains a language model, or a drafter for one.", "foretoken train");
  app.footer(
      "If the trainer is built (make train), foretoken train --help lists the methods and their\n"
      "fields. A recipe may set the fields instead of options.\n"
      "\n"
      "Examples:\n"
      "  foretoken train hass --target model.gguf --data chats.jsonl --out runs/x --budget 20m\n"
      "  foretoken train plot runs/x\n"
      "\n"
      "Exit status: 0 done, 1 failed, 2 bad usage, 130 training was interrupted and can be\n"
      "continued.");
  app.allow_extras(access(ModulePath().c_str(), R_OK) == 0);
  TrainPlotArgs args;
  DeclareTrainPlot(*app.add_subcommand("plot", kTrainPlotSummary)->allow_extras(false), &args);
  return ParseCommandLine(app, argc, argv).value_or(kExitFailed);
}

}  // namespace

int Run_train(int argc, char** argv) {
  if (DefinitionVisit::IsActive()) return DescribeTrain(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "plot") return TrainPlot(argc - 1, argv + 1);
  const std::string path = ModulePath();
  if (access(path.c_str(), R_OK) != 0) {
    std::fprintf(stderr,
                 "foretoken train: %s: not found: foretoken was built without libtorch. `make "
                 "train` builds the trainer; `make train TORCH=FOLDER` uses a libtorch other than "
                 "Debian's, for example one with CUDA. train plot works without libtorch\n",
                 path.c_str());
    return kExitFailed;
  }
  SetLibraryEnvironment();
  PreferOpenBlas();
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = module == nullptr ? nullptr : dlsym(module, "ForetokenTrainMain");
  if (entry == nullptr) {
    std::fprintf(stderr, "foretoken train: cannot load the trainer: %s\n", dlerror());
    return kExitFailed;
  }
  return reinterpret_cast<int (*)(int, char**)>(entry)(argc, argv);
}

}  // namespace foretoken
