// Tests of rejection sampling from what is left of the target's distribution.
#include "verify/residual.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace foretoken {
namespace {

using Law = std::vector<double>;

Draws DrawsFrom(std::vector<float> q, std::vector<Token> order = {}) {
  return {std::make_shared<const std::vector<float>>(std::move(q)), std::move(order)};
}

void ExpectNear(std::span<const float> actual, const Law& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6) << i;
}

// After a refused draw, the mass that the draft did not cover is left (the vector of V-6).
TEST(Residual, WhatTheDraftDidNotCoverIsLeft) {
  const std::vector<float> p{0.2f, 0.5f, 0.3f};
  const Draws draws = DrawsFrom({0.6f, 0.3f, 0.1f});
  Residual residual(p, &draws);
  double alpha = 0;  // of a single draw
  for (Token t : {0, 1, 2}) alpha += (*draws.q)[t] * residual.AcceptDrawn(t);
  EXPECT_NEAR(alpha, 0.6, 1e-6);
  EXPECT_NEAR(residual.Overlap(), 0.6, 1e-6);
  EXPECT_EQ(Residual(p, nullptr).Overlap(), 0);
  residual.RefuseDrawn(0);
  ExpectNear(residual.left(), {0, 0.5, 0.5});
}

// V-5: draw order (1, 0) from (.5, .3, .2) has q_1 = .3 and q_2 = .5 / .7.
TEST(Residual, LaterDrawsAreWeighedByWhatIsLeftOfTheDraft) {
  const Draws draws = DrawsFrom({0.5f, 0.3f, 0.2f});
  Residual residual({0.6f, 0.1f, 0.3f}, &draws);
  EXPECT_NEAR(residual.AcceptDrawn(1), 0.1 / 0.3, 1e-6);
  residual.RefuseDrawn(1);
  ExpectNear(residual.left(), {0.5, 0, 0.5});
  EXPECT_NEAR(residual.AcceptDrawn(0), 0.5 / (0.5 / 0.7), 1e-6);
}

TEST(Residual, ChosenTokensArePointMasses) {
  Residual residual({0.5f, 0.3f, 0.2f}, nullptr);
  EXPECT_NEAR(residual.AcceptChosen(1), 0.3, 1e-6);
  residual.RefuseChosen(1);
  ExpectNear(residual.left(), {5.0 / 7, 0, 2.0 / 7});
  EXPECT_NEAR(residual.AcceptChosen(2), 2.0 / 7, 1e-6);
}

// V-6: if the draft equals the target, rounding may leave no mass.
TEST(Residual, NothingLeftOfEqualsKeepsTheTarget) {
  const std::vector<float> p{0.25f, 0.75f};
  const Draws draws = DrawsFrom(p);
  Residual residual(p, &draws);
  EXPECT_EQ(residual.AcceptDrawn(0), 1);
  residual.RefuseDrawn(0);
  ExpectNear(residual.left(), {0.25, 0.75});
}

// The distribution of the resulting token, over every order of `draws` draws from Q and every
// decision, followed by the tokens `chosen`.
Law Enumerate(const std::vector<float>& p, const std::vector<float>& q, int draws,
              const std::vector<Token>& chosen) {
  Law out(p.size());
  const std::function<void(std::vector<Token>, double, double)> draw =
      [&](std::vector<Token> order, double weight, double rest) {
        if (static_cast<int>(order.size()) < draws) {
          for (Token t = 0; t < static_cast<Token>(q.size()); ++t) {
            if (q[t] == 0 || std::find(order.begin(), order.end(), t) != order.end()) continue;
            std::vector<Token> longer = order;
            longer.push_back(t);
            draw(longer, weight * q[t] / rest, rest - q[t]);
          }
          return;
        }
        const Draws made = DrawsFrom(q, order);
        Residual residual(p, &made);
        for (Token t : order) {
          const double accept = residual.AcceptDrawn(t);
          out[t] += weight * accept;
          weight *= 1 - accept;
          residual.RefuseDrawn(t);
        }
        for (Token t : chosen) {
          if (std::find(order.begin(), order.end(), t) != order.end()) continue;
          const double accept = residual.AcceptChosen(t);
          out[t] += weight * accept;
          weight *= 1 - accept;
          residual.RefuseChosen(t);
        }
        for (size_t t = 0; t < out.size(); ++t) out[t] += weight * residual.left()[t];
      };
  draw({}, 1, 1);
  return out;
}

void ExpectLaw(const std::vector<float>& p, const std::vector<float>& q, int draws,
               const std::vector<Token>& chosen = {}) {
  const Law law = Enumerate(p, q, draws, chosen);
  for (size_t t = 0; t < p.size(); ++t) EXPECT_NEAR(law[t], p[t], 2e-6) << "token " << t;
}

// V-5: for any draws, the result follows the target's distribution.
TEST(Residual, TheLawIsTheTargets) {
  ExpectLaw({0.2f, 0.5f, 0.3f}, {0.6f, 0.3f, 0.1f}, 1);
  ExpectLaw({0.2f, 0.5f, 0.3f}, {0.6f, 0.3f, 0.1f}, 2);
  ExpectLaw({0.2f, 0.5f, 0.3f, 0}, {0.4f, 0.3f, 0.2f, 0.1f}, 3);
  ExpectLaw({0.2f, 0.5f, 0.3f, 0}, {0.4f, 0.3f, 0.2f, 0.1f}, 4);
  ExpectLaw({0.1f, 0.2f, 0.3f, 0.4f}, {0.4f, 0.3f, 0.2f, 0.1f}, 2);
  ExpectLaw({0.1f, 0.2f, 0.3f, 0.4f}, {0.0f, 0.0f, 0.9f, 0.1f}, 2);
  ExpectLaw({0.1f, 0.2f, 0.3f, 0.4f}, {0.4f, 0.3f, 0.2f, 0.1f}, 2, {3, 1});
  ExpectLaw({0.1f, 0.2f, 0.3f, 0.4f}, {0.4f, 0.3f, 0.2f, 0.1f}, 0, {0, 2, 3});
}

}  // namespace
}  // namespace foretoken
