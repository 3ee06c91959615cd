#include "serve/openai/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace foretoken::openai {
namespace {

using ::testing::HasSubstr;

TEST(Exposition, IsPrometheusText) {
  Exposition page;
  page.Counter("a_total", "Counts\nof \\ \"things\".");
  page.Sample({}, 3);
  page.Sample({{"x", "1"}, {"y", "\"q\" \\ \n"}}, 0.1);
  page.Gauge("g", "G.");
  page.Sample({}, std::numeric_limits<double>::infinity());
  page.Sample({}, std::nan(""));
  EXPECT_EQ(page.text(),
            "# HELP a_total Counts\\nof \\\\ \"things\".\n"
            "# TYPE a_total counter\n"
            "a_total 3\n"
            "a_total{x=\"1\",y=\"\\\"q\\\" \\\\ \\n\"} 0.10000000000000001\n"
            "# HELP g G.\n"
            "# TYPE g gauge\n"
            "g +Inf\n"
            "g NaN\n");
}

TEST(Exposition, HistogramsAreCumulative) {
  const double bounds[] = {0.1, 1};
  Histogram histogram(bounds);
  histogram.Observe(0.1);  // bounds belong to the bucket below
  histogram.Observe(0.5, 2);
  histogram.Observe(7);
  Exposition page;
  page.Distribution("h", "H.");
  page.Sample({{"m", "x"}}, histogram);
  EXPECT_EQ(page.text(),
            "# HELP h H.\n# TYPE h histogram\n"
            "h_bucket{m=\"x\",le=\"0.1\"} 1\n"
            "h_bucket{m=\"x\",le=\"1\"} 3\n"
            "h_bucket{m=\"x\",le=\"+Inf\"} 4\n"
            "h_sum{m=\"x\"} 8.0999999999999996\n"
            "h_count{m=\"x\"} 4\n");
}

ServerMetrics Filled() {
  ServerMetrics metrics;
  metrics.running = 2;
  metrics.prompt_tokens = 30;
  metrics.cached_tokens = 10;
  metrics.prompt_seconds = 4;
  metrics.generated_tokens = 50;
  metrics.generation_seconds = 5;
  metrics.passes = 8;
  metrics.busy_slots = 12;
  metrics.finished["stop"] = 3;
  metrics.refused[400] = 1;
  SpeculationLog log(false);
  log.Add(4, 4, 2);
  log.Add(4, 4, 0);
  metrics.drafts["eagle"].Add(log);
  metrics.drafts["eagle"].Add(log);
  metrics.drafts["pld"];
  metrics.first_token_seconds.Observe(0.3);
  metrics.ObservePass(2);
  return metrics;
}

TEST(Metrics, HaveVllmsAndLlamaCppsNamesWithTheMethod) {
  const std::string text = Filled().Text("m");
  for (const char* line :
       {"vllm:num_requests_running{model_name=\"m\"} 2\n",
        "vllm:prompt_tokens_total{model_name=\"m\"} 30\n",
        "vllm:prefix_cache_hits_total{model_name=\"m\"} 10\n",
        "vllm:generation_tokens_total{model_name=\"m\"} 50\n",
        "vllm:request_success_total{model_name=\"m\",finished_reason=\"stop\"} 3\n",
        "vllm:time_to_first_token_seconds_bucket{model_name=\"m\",le=\"0.25\"} 0\n",
        "vllm:time_to_first_token_seconds_bucket{model_name=\"m\",le=\"0.5\"} 1\n",
        "vllm:spec_decode_num_drafts_total{model_name=\"m\",method=\"eagle\"} 4\n",
        "vllm:spec_decode_num_draft_tokens_total{model_name=\"m\",method=\"eagle\"} 16\n",
        "vllm:spec_decode_num_accepted_tokens_total{model_name=\"m\",method=\"eagle\"} 4\n",
        "vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name=\"m\",method=\"eagle\","
        "position=\"1\"} 2\n",
        "vllm:spec_decode_num_drafts_total{model_name=\"m\",method=\"pld\"} 0\n",
        "llamacpp:prompt_tokens_total 20\n", "llamacpp:prompt_tokens_seconds 5\n",
        "llamacpp:predicted_tokens_seconds 10\n", "llamacpp:n_busy_slots_per_decode 1.5\n",
        "llamacpp:spec_decode_num_accepted_tokens_total{method=\"eagle\"} 4\n",
        "foretoken:requests_refused_total{status=\"400\"} 1\n",
        "foretoken:acceptance_length_tokens_bucket{le=\"3\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + line));
  }
}

// The requirements of a scraper: every sample belongs to the most recently declared family, names
// and values are well formed, no family is declared twice and no sample is given twice.
TEST(Metrics, EveryLineIsWellFormed) {
  const std::regex declaration("# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)");
  const std::regex sample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)+\})? (\S+))re");
  for (const ServerMetrics& metrics : {Filled(), ServerMetrics()}) {
    std::istringstream lines(metrics.Text("a \"model\"\n\\"));
    std::set<std::string> samples, types;
    std::string family, type;
    for (std::string line; std::getline(lines, line);) {
      std::smatch m;
      if (std::regex_match(line, m, declaration)) {
        family = m[2];
        if (m[1] == "TYPE") {
          type = m[3];
          EXPECT_TRUE(types.insert(family).second) << line;
        }
        continue;
      }
      ASSERT_TRUE(std::regex_match(line, m, sample)) << line;
      EXPECT_TRUE(samples.insert(m.str(1) + m.str(2)).second) << line;
      EXPECT_EQ(m.str(1).substr(0, family.size()), family) << line;
      EXPECT_EQ(type == "histogram", m.str(1) != family) << line;
      EXPECT_EQ(type == "counter", m.str(1).ends_with("_total")) << line;
      EXPECT_GE(std::stod(m.str(5)), 0) << line;
    }
  }
}

}  // namespace
}  // namespace foretoken::openai
