// FT_CHECK: a broken promise between two pieces of our own code. Prints and aborts.
// The world's faults (files, requests, memory) are a Result (result.h) instead.
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
