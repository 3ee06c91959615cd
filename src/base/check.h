// FT_CHECK: checks an internal invariant; prints it and aborts if it does not hold. External faults
// (files, requests, memory) are returned as a Result (result.h) instead.
#pragma once

#include <cstdio>
#include <cstdlib>

#define FT_CHECK(cond)                                                              \
  do {                                                                              \
    if (!(cond)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #cond); \
      std::abort();                                                                 \
    }                                                                               \
  } while (false)
