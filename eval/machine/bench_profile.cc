// foretoken bench profile: how the time of a pass divides among its parts. Profiled and unprofiled
// passes are interleaved, so that the profiler's own cost shows.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/profile.h"
#include "eval/machine/bench.h"
#include "eval/machine/bench_model.h"
#include "eval/machine/timed_passes.h"
#include "eval/report/write_json.h"

namespace foretoken {
namespace {

struct PassProfile {
  int rows = 0;
  double profiled = 0, unprofiled = 0;  // medians, seconds
  std::vector<Profile::Share> shares;   // seconds of a pass, all threads together; largest first
};

PassProfile ProfilePasses(const BenchOptions& options, Backend& backend, TimedPasses& passes,
                          int rows) {
  passes.Time(rows, /*all_logits=*/true);  // warms up: the first pass of this size
  PassProfile result{.rows = rows};
  Profile profile(backend.threads());
  std::vector<double> profiled, unprofiled;
  for (int i = 0; i < options.repeats; ++i) {
    unprofiled.push_back(passes.Time(rows, /*all_logits=*/true));
    backend.Watch(&profile);
    profile.Take();  // discards what was counted before
    profiled.push_back(passes.Time(rows, /*all_logits=*/true));
    std::vector<Profile::Share> shares = profile.Take();
    backend.Watch(nullptr);
    result.shares.resize(shares.size());
    for (size_t p = 0; p < shares.size(); ++p) {
      result.shares[p].name = std::move(shares[p].name);
      result.shares[p].seconds += shares[p].seconds / options.repeats;
    }
  }
  result.profiled = Median(std::move(profiled));
  result.unprofiled = Median(std::move(unprofiled));
  std::ranges::sort(result.shares, std::greater{}, &Profile::Share::seconds);
  return result;
}

void Print(const PassProfile& pass, int threads) {
  double total = 0;
  for (const Profile::Share& share : pass.shares) total += share.seconds;
  std::printf("\n%d rows: %.2f ms a pass (%.2f without the profiler)\n", pass.rows,
              pass.profiled * 1e3, pass.unprofiled * 1e3);
  std::printf("part                       ms per thread   share\n");
  for (const Profile::Share& share : pass.shares) {
    if (share.seconds == 0) continue;
    std::printf("%-28s %11.3f %6.1f%%\n", share.name.c_str(), share.seconds / threads * 1e3,
                100 * share.seconds / total);
  }
}

Json PassJson(const PassProfile& pass) {
  Json parts = Json::object();
  for (const Profile::Share& share : pass.shares) parts[share.name] = share.seconds;
  return {{"rows", pass.rows},
          {"seconds", pass.profiled},
          {"unwatched_seconds", pass.unprofiled},
          {"thread_seconds", parts}};
}

}  // namespace

Status BenchProfile(const BenchOptions& options) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(options.json));
  FT_ASSIGN_OR_RETURN(const DType type, ParseOneType(options.types));
  FT_ASSIGN_OR_RETURN(const DType cache, ParseDType(options.cache));
  FT_ASSIGN_OR_RETURN(BenchModel subject, LoadBenchModel(options, type));
  const int threads = subject.backend->threads();
  std::printf("%s, %d threads, %d cached positions; %d passes\n", subject.backend->Name().c_str(),
              threads, options.contexts.front(), options.repeats);
  TimedPasses passes(*subject.model, cache, options.contexts.front());
  FT_RETURN_IF_ERROR(passes.status());
  Json profiles = Json::array();
  for (const int rows : options.rows) {
    const PassProfile pass = ProfilePasses(options, *subject.backend, passes, rows);
    FT_RETURN_IF_ERROR(passes.status());
    Print(pass, threads);
    profiles.push_back(PassJson(pass));
  }
  return WriteJson(json, {{"threads", threads}, {"passes", profiles}});
}

}  // namespace foretoken
