// A backend for tests, which checks that the host keeps its side of the contract. It computes with
// another backend, in memory that the host cannot access. Code that reads Tensor::data itself,
// keeps a tensor beyond its buffer, mixes two backends, or passes shapes that disagree or outputs
// that overlap inputs ends the process with a message.
//
// It tracks buffers, but not the pages that a pool cuts them into. So it does not notice an op that
// is given a page which went back to its pool, or one that reads rows which were not stored since
// the page was taken.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace foretoken {

// A strict backend around `inner`, with the same bits.
std::unique_ptr<Backend> NewStrictBackend(std::unique_ptr<Backend> inner);

// Like foretoken::NewBackend, but also makes "strict:NAME", a strict backend around the backend
// NAME.
Result<std::unique_ptr<Backend>> NewTestBackend(std::string_view name,
                                                const BackendOptions& options = {});

// The backend for tests that do not depend on a particular one: the one that the environment
// variable FT_TEST_BACKEND names, or "cpu" if it is not set. Ends the process if the backend cannot
// be made.
std::unique_ptr<Backend> NewTestedBackend(const BackendOptions& options = {});

}  // namespace foretoken
