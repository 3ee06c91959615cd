#include "serve/openai/metrics.h"

namespace foretoken::openai {
namespace {

constexpr double kFirstTokenBounds[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5,
                                        0.75,  1,     2.5,  5,    7.5,  10,   20,   40,  80,   160};
constexpr double kTokenBounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15,
                                   0.2,   0.3,    0.4,   0.5,  0.75,  1,    2.5,   5,   10};
constexpr double kRequestBounds[] = {0.1, 0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,
                                     15,  20,  30,  40,  50, 60,  120, 240, 480, 960};
constexpr double kLengthBounds[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16};

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

Labels With(Labels labels, const char* name, std::string value) {
  labels.emplace_back(name, std::move(value));
  return labels;
}

void WriteGauge(Exposition& page, const char* name, const char* help, const Labels& labels,
                double value) {
  page.Gauge(name, help);
  page.Sample(labels, value);
}

template <typename Number>
void WriteCounter(Exposition& page, const char* name, const char* help, const Labels& labels,
                  Number value) {
  page.Counter(name, help);
  page.Sample(labels, static_cast<double>(value));
}

void WriteHistogram(Exposition& page, const char* name, const char* help, const Labels& labels,
                    const Histogram& histogram) {
  page.Distribution(name, help);
  page.Sample(labels, histogram);
}

}  // namespace

void DraftCounts::Add(const SpeculationLog& log) {
  drafts += log.steps();
  drafted += log.drafted();
  accepted += log.accepted();
  const std::vector<int64_t> by_depth = log.AcceptedByDepth();
  if (accepted_by_depth.size() < by_depth.size()) accepted_by_depth.resize(by_depth.size());
  for (size_t i = 0; i < by_depth.size(); ++i) accepted_by_depth[i] += by_depth[i];
}

ServerMetrics::ServerMetrics()
    : first_token_seconds(kFirstTokenBounds),
      token_seconds(kTokenBounds),
      request_seconds(kRequestBounds),
      queue_seconds(kRequestBounds),
      acceptance_length(kLengthBounds) {}

void ServerMetrics::ObservePass(int accepted) { acceptance_length.Observe(accepted + 1); }

std::string ServerMetrics::Text(const std::string& model) const {
  Exposition page;
  const Labels labels = {{"model_name", model}};
  WriteVllm(labels, page);
  WriteLatencies(labels, page);
  WriteLlamaCpp(page);
  WriteOwn(page);
  return page.text();
}

void ServerMetrics::WriteVllm(const Labels& model, Exposition& page) const {
  WriteGauge(page, "vllm:num_requests_running", "Requests being processed.", model, running);
  WriteGauge(page, "vllm:num_requests_waiting", "Requests in the queue.", model, waiting);
  WriteGauge(page, "vllm:kv_cache_usage_perc", "Fraction of the cache in use, from 0 to 1.", model,
             cache_usage);
  WriteCounter(page, "vllm:prompt_tokens_total", "Prompt tokens.", model, prompt_tokens);
  WriteCounter(page, "vllm:prefix_cache_queries_total", "Prompt tokens looked up in the cache.",
               model, prompt_tokens);
  WriteCounter(page, "vllm:prefix_cache_hits_total", "Prompt tokens found in the cache.", model,
               cached_tokens);
  WriteCounter(page, "vllm:generation_tokens_total", "Generated tokens.", model, generated_tokens);
  page.Counter("vllm:request_success_total", "Finished answers, by finish reason.");
  for (const auto& [reason, count] : finished)
    page.Sample(With(model, "finished_reason", reason), static_cast<double>(count));
  WriteDrafts("vllm", model, page);
}

void ServerMetrics::WriteLatencies(const Labels& model, Exposition& page) const {
  WriteHistogram(page, "vllm:time_to_first_token_seconds",
                 "Time from a request's submission to the engine to its first token.", model,
                 first_token_seconds);
  WriteHistogram(page, "vllm:inter_token_latency_seconds",
                 "Time between tokens; the tokens of one step share its time.", model,
                 token_seconds);
  WriteHistogram(page, "vllm:e2e_request_latency_seconds",
                 "Time from a request's submission to the engine to the end of its answer.", model,
                 request_seconds);
  WriteHistogram(page, "vllm:request_queue_time_seconds", "Time in the queue.", model,
                 queue_seconds);
}

void ServerMetrics::WriteLlamaCpp(Exposition& page) const {
  const int64_t computed = prompt_tokens - cached_tokens;
  WriteCounter(page, "llamacpp:prompt_tokens_total",
               "Prompt tokens that were computed, not cached.", {}, computed);
  WriteCounter(page, "llamacpp:prompt_seconds_total", "Time spent on prompts.", {}, prompt_seconds);
  WriteCounter(page, "llamacpp:tokens_predicted_total", "Generated tokens.", {}, generated_tokens);
  WriteCounter(page, "llamacpp:tokens_predicted_seconds_total", "Time spent on answers.", {},
               generation_seconds);
  WriteGauge(page, "llamacpp:prompt_tokens_seconds", "Prompt tokens per second, on average.", {},
             Ratio(static_cast<double>(computed), prompt_seconds));
  WriteGauge(page, "llamacpp:predicted_tokens_seconds", "Generated tokens per second, on average.",
             {}, Ratio(static_cast<double>(generated_tokens), generation_seconds));
  WriteGauge(page, "llamacpp:kv_cache_usage_ratio", "Fraction of the cache in use.", {},
             cache_usage);
  WriteGauge(page, "llamacpp:requests_processing", "Requests being processed.", {}, running);
  WriteGauge(page, "llamacpp:requests_deferred", "Requests in the queue.", {}, waiting);
  WriteCounter(page, "llamacpp:n_decode_total", "Model passes.", {}, passes);
  WriteGauge(page, "llamacpp:n_busy_slots_per_decode", "Requests per pass, on average.", {},
             Ratio(static_cast<double>(busy_slots), static_cast<double>(passes)));
  WriteDrafts("llamacpp", {}, page);
}

void ServerMetrics::WriteOwn(Exposition& page) const {
  page.Counter("foretoken:requests_refused_total", "Refused requests, by HTTP status.");
  for (const auto& [status, count] : refused)
    page.Sample({{"status", std::to_string(status)}}, static_cast<double>(count));
  WriteHistogram(page, "foretoken:acceptance_length_tokens",
                 "Tokens added per pass with drafted tokens, including the bonus token.", {},
                 acceptance_length);
}

void ServerMetrics::WriteDrafts(const std::string& space, const Labels& labels,
                                Exposition& page) const {
  const auto write = [&](const char* name, const char* help, int64_t DraftCounts::*member) {
    page.Counter(space + ":spec_decode_" + name, help);
    for (const auto& [method, counts] : drafts)
      page.Sample(With(labels, "method", method), static_cast<double>(counts.*member));
  };
  write("num_drafts_total", "Passes that verified drafted tokens.", &DraftCounts::drafts);
  write("num_draft_tokens_total", "Drafted tokens, that is, tree nodes.", &DraftCounts::drafted);
  write("num_accepted_tokens_total", "Accepted drafted tokens.", &DraftCounts::accepted);
  page.Counter(space + ":spec_decode_num_accepted_tokens_per_pos_total",
               "Accepted drafted tokens, by depth in the tree, from 0.");
  for (const auto& [method, counts] : drafts) {
    for (size_t i = 0; i < counts.accepted_by_depth.size(); ++i) {
      page.Sample(With(With(labels, "method", method), "position", std::to_string(i)),
                  static_cast<double>(counts.accepted_by_depth[i]));
    }
  }
}

}  // namespace foretoken::openai
