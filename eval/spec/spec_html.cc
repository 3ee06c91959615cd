#include "eval/spec/spec_html.h"

#include <algorithm>

#include "base/number_text.h"
#include "base/utf8.h"
#include "eval/report/svg.h"
#include "eval/spec/spec_plots.h"

namespace foretoken {
namespace {

constexpr const char* kStyle =
    "body{font:15px/1.45 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;font-size:13px}td,th{border:1px solid #ccc;padding:3px 8px;"
    "text-align:right}td,th:first-child{white-space:nowrap}td:first-child,th:first-child{"
    "text-align:left}svg{width:100%;height:auto}"
    "pre{white-space:pre-wrap;background:#fafafa;border:1px solid #ddd;padding:.6rem}"
    ".a{background:#bfe3cf}.b{background:#cfe0f5}.n{background:#f5d6c0}";

std::string Cell(const std::string& text, const char* tag = "td") {
  return std::string("<") + tag + ">" + EscapedXml(text) + "</" + tag + ">";
}

std::string OverallTable(const std::vector<SpecEntry>& entries) {
  std::string html = "<table><tr>";
  for (const char* head :
       {"method / tree / verifier", "speed-up", "95 %", "without prompt", "tokens/s", "tau_micro",
        "tau_macro", "alpha_tok", "alpha_edd", "nodes a pass", "drafting", "same text"}) {
    html += Cell(head, "th");
  }
  for (const SpecEntry& e : entries) {
    if (e.group != "overall") continue;
    html +=
        "</tr>\n<tr>" + Cell(MethodLabel(*e.method)) + Cell(NumberText("%.2f", e.speedup)) +
        Cell(NumberText("%.2f", e.interval.low) + " to " + NumberText("%.2f", e.interval.high)) +
        Cell(NumberText("%.2f", e.generation_only.mean_of_ratios)) +
        Cell(NumberText("%.1f", e.tokens_per_second)) +
        Cell(NumberText("%.2f", e.metrics.tau_micro)) +
        Cell(NumberText("%.2f", e.metrics.tau_macro)) +
        Cell(NumberText("%.2f", e.metrics.alpha_tok)) +
        Cell(NumberText("%.2f", e.metrics.alpha_edd)) +
        Cell(NumberText("%.1f", e.nodes_per_cycle + 1)) +
        Cell(NumberText("%.1f %%", 100 * e.metrics.draft_share)) + Cell(e.identical ? "yes" : "no");
  }
  return html + "</tr></table>\n";
}

// Returns the first turn of an answer as HTML. The accepted tokens of consecutive cycles have two
// alternating colours; the target's own tokens have a third.
std::string ColouredText(const SpecAnswer& answer, const Tokenizer& tokenizer) {
  const std::vector<Token>& tokens = answer.turns[0];
  std::string html;
  size_t begin = 0;
  bool has_first_shade = false;
  const auto add_span = [&](size_t count, const char* shade) {
    const size_t end = std::min(tokens.size(), begin + count);
    if (end == begin) return;
    // A character whose bytes are divided between two spans becomes U+FFFD in both.
    const std::string text =
        ReplaceInvalidUtf8(tokenizer.Decode(std::span(tokens).subspan(begin, end - begin)));
    html.append("<span class='").append(shade).append("'>");
    html.append(EscapedXml(text)).append("</span>");
    begin = end;
  };
  add_span(1, "n");  // the first token comes from the prompt's pass
  for (int c = 0; c < answer.turn_cycles[0]; ++c, has_first_shade = !has_first_shade) {
    const Cycle& cycle = answer.cycles[static_cast<size_t>(c)];
    add_span(static_cast<size_t>(cycle.n_acc), has_first_shade ? "a" : "b");
    add_span(static_cast<size_t>(cycle.written - cycle.n_acc), "n");
  }
  return html;
}

std::string CaseStudies(const SpecRun& run, const std::vector<SpecMethod>& methods,
                        const Tokenizer& tokenizer) {
  std::string html;
  for (size_t m = 0; m < methods.size(); ++m) {
    if (methods[m].draft.drafter == "none") continue;
    // Finds the question with the method's highest acceptance length.
    size_t best_question = 0;
    double best_tau = 0;
    for (size_t q = 0; q < run.questions.size(); ++q) {
      const SpecAnswer& a = run.answers[q][m];
      // The first token comes from the prompt's pass, not from a cycle.
      const double tau =
          (static_cast<double>(a.turns[0].size()) - 1) / std::max(1, a.turn_cycles[0]);
      if (tau > best_tau) best_tau = tau, best_question = q;
    }
    html += "<h3>" + EscapedXml(MethodLabel(methods[m])) + ", question " +
            EscapedXml(run.questions[best_question].id) + ": " + NumberText("%.2f", best_tau) +
            " tokens a pass</h3>\n<pre>" + ColouredText(run.answers[best_question][m], tokenizer) +
            "</pre>\n";
  }
  return html;
}

void AddPart(const char* title, const char* remark, const std::string& content, std::string& html) {
  html.append("<h2>").append(title).append("</h2>\n<p>").append(remark).append("</p>\n");
  html.append(content);
}

}  // namespace

std::string SpecHtml(const std::string& title, const SpecRun& run,
                     const std::vector<SpecMethod>& methods, const std::vector<SpecEntry>& entries,
                     const Tokenizer& tokenizer) {
  std::vector<SpecEntry> overall;
  for (const SpecEntry& e : entries) {
    if (e.group == "overall" && e.method->draft.drafter != "none") overall.push_back(e);
  }
  std::string html = "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>";
  html += EscapedXml(title) + "</title><style>" + kStyle + "</style></head><body>\n<h1>" +
          EscapedXml(title) + "</h1>\n";
  AddPart(
      "Overall",
      "Speed-up: the median over questions of the ratio of the baseline's time per token to the "
      "method's, prompt included; the methods and the baseline were interleaved question by "
      "question. Without prompt: the mean of this ratio over questions, without the prompt and the "
      "first token. Tau: tokens per cycle, over all cycles (micro) or averaged by question "
      "(macro). Alpha: accepted guesses per drafted node (tok), or tokens per drafted level (edd). "
      "Drafting: its share of the time of drafting and verifying.",
      OverallTable(entries), html);
  AddPart("Speed-up", "Lines: the 95 % interval of the median.", SpeedupBars(entries), html);
  AddPart("Acceptance by depth",
          "Among the cycles that reached the step with all earlier drafted tokens accepted.",
          AcceptanceByDepth(overall), html);
  AddPart("Reliability", "The share of guesses that were accepted, by the drafter's confidence.",
          ReliabilityDiagram(run, overall, methods), html);
  AddPart("Nodes a pass", "Minimum, quartiles and maximum.", NodeBoxes(run, methods), html);
  AddPart("Where the time went", "", TimeShares(run, methods), html);
  AddPart("What a pass costs", "Scoring and verifying, in this run.", PassCurve(run), html);
  AddPart("Size and speed", "", SizeTradeOff(overall), html);
  AddPart("What was accepted",
          "Green and blue, alternately: the accepted tokens of one pass. Orange: the model's own "
          "tokens.",
          CaseStudies(run, methods, tokenizer), html);
  return html + "</body></html>\n";
}

}  // namespace foretoken
