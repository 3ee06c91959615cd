#include "base/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace foretoken {
namespace {

constexpr int kBarWidth = 24;
constexpr double kTerminalInterval = 0.1;  // seconds between redraws
constexpr double kLogInterval = 30;        // seconds between lines if stderr is no terminal

double SecondsBetween(std::chrono::steady_clock::time_point a,
                      std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

std::string FormatDuration(double seconds) {
  const long s = std::lround(std::max(0.0, seconds));
  char text[32];
  if (s >= 3600) {
    std::snprintf(text, sizeof(text), "%ldh%02ldm", s / 3600, s / 60 % 60);
  } else if (s >= 60) {
    std::snprintf(text, sizeof(text), "%ldm%02lds", s / 60, s % 60);
  } else {
    std::snprintf(text, sizeof(text), "%lds", s);
  }
  return text;
}

Progress::Progress(std::string label, int64_t total, bool quiet)
    : label_(std::move(label)),
      total_(total),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_draw_(start_) {}

Progress::~Progress() {
  if (!finished_ && terminal_ && !quiet_ && last_draw_ != start_) std::fputc('\n', stderr);
}

void Progress::Update(int64_t done, const std::string& note, double seconds_left) {
  if (before_ < 0) before_ = done;
  // Work done side by side gives its first unit late: the pace is that of the units after it.
  if (paced_ < 0 && done > before_) {
    paced_ = done;
    paced_since_ = Clock::now();
  }
  done_ = done;
  note_ = note;
  seconds_left_ = seconds_left;
  const double since = SecondsBetween(last_draw_, Clock::now());
  if (since >= (terminal_ ? kTerminalInterval : kLogInterval)) Draw(/*final_line=*/false);
}

void Progress::Finish(const std::string& note) {
  if (!note.empty()) note_ = note;
  Draw(/*final_line=*/true);
  finished_ = true;
}

void Progress::Draw(bool final_line) {
  if (quiet_) return;
  last_draw_ = Clock::now();
  const double fraction =
      total_ > 0 ? std::clamp(static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0)
                 : 0;
  const double elapsed = SecondsBetween(start_, last_draw_);
  std::string eta = "--";
  if (final_line) {
    eta = FormatDuration(elapsed);
  } else if (seconds_left_ >= 0.0) {
    eta = FormatDuration(seconds_left_);
  } else if (paced_ >= 0 && done_ > paced_) {
    eta = FormatDuration(SecondsBetween(paced_since_, last_draw_) *
                         static_cast<double>(total_ - done_) / static_cast<double>(done_ - paced_));
  }
  std::string bar(kBarWidth, '-');
  std::fill_n(bar.begin(), static_cast<int>(fraction * kBarWidth), '#');
  std::fprintf(stderr, "%s%s [%s] %3.0f%% %s %s %s%s", terminal_ ? "\r\033[K" : "", label_.c_str(),
               bar.c_str(), fraction * 100, final_line ? "in" : "ETA", eta.c_str(), note_.c_str(),
               terminal_ && !final_line ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace foretoken
