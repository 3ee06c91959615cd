// The backend that tests hold the host to its contract with: it computes as another one does, in
// memory that the host cannot touch. Whatever reads Tensor::data itself, keeps a tensor beyond its
// buffer, mixes two backends or passes shapes that disagree ends the process with a sentence.
//
// It knows buffers, not the pages that a pool cuts them into: it does not notice an op that is
// given a page which went back to its pool, or one that reads rows which nobody has stored since a
// page was taken.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace foretoken {

// Computes with `inner`, bit for bit.
std::unique_ptr<Backend> NewStrictBackend(std::unique_ptr<Backend> inner);

// As foretoken::NewBackend, and "strict:NAME" for a strict one around the backend NAME.
Result<std::unique_ptr<Backend>> NewTestBackend(std::string_view name,
                                                const BackendOptions& options = {});

// The backend that a test runs on which is about no certain one: the name is the environment
// variable FT_TEST_BACKEND, "cpu" without it.
std::unique_ptr<Backend> NewTestedBackend(const BackendOptions& options = {});

}  // namespace foretoken
