# How every layer, test and fuzz target of foretoken is declared.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
if(FT_TESTS)
  find_package(GTest REQUIRED)
endif()

# Warnings, include root and sanitizers, shared by all our targets.
add_library(ft_flags INTERFACE)
target_include_directories(ft_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(ft_flags INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -fno-math-errno -ffp-contract=off
  # A tenth of the time of large files goes into looking for memory to use again.
  "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-expand=400 --param ggc-min-heapsize=500000>")
if(FT_WERROR)
  target_compile_options(ft_flags INTERFACE -Werror)
endif()
if(FT_SANITIZE)
  target_compile_options(ft_flags INTERFACE -fsanitize=${FT_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(ft_flags INTERFACE -fsanitize=${FT_SANITIZE})
endif()
target_link_libraries(ft_flags INTERFACE Threads::Threads)

# For files of vector code. GCC 12 takes the deliberately undefined registers inside its own intrinsics
# for mistakes, and vectors that are filled element by element.
set(FT_VECTOR_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>")
set(FT_AVX512_OPTIONS -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mfma -mf16c
  -mprefer-vector-width=512 ${FT_VECTOR_OPTIONS})

# GCC 12 reports what it inlines from the standard library once that is precompiled.
set(FT_PRECOMPILED_FLAGS
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread>)

# ft_precompile(TARGET <header> ...): large headers of other libraries, parsed once and not in every file
function(ft_precompile name)
  if(FT_QUICK)
    target_precompile_headers(${name} PRIVATE ${ARGN})
    target_compile_options(${name} PRIVATE ${FT_PRECOMPILED_FLAGS})
  endif()
endfunction()

# ft_together(TARGET): its files are compiled several at a time, and templates they share once. Names
# in their anonymous namespaces must then differ.
function(ft_together name)
  if(FT_QUICK)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# ft_library(NAME SOURCES a.cc ... DEPS ft_base ... [TOGETHER]): TOGETHER as in ft_together
function(ft_library name)
  cmake_parse_arguments(ARG "TOGETHER" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ft_flags ${ARG_DEPS})
  list(LENGTH ARG_SOURCES files)
  if(ARG_TOGETHER)
    ft_together(${name})
  elseif(files GREATER 15)  # fewer do not repay it
    ft_precompile(${name} <algorithm> <functional> <map> <memory> <string> <unordered_map> <vector>
      <nlohmann/json.hpp>)
  endif()
endfunction()

# ft_unhurried(TARGET): its own speed does not matter, the time to compile it does.
function(ft_unhurried name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# ft_command_code(TARGET): code of commands. It parses options, whose parser each file would compile again.
function(ft_command_code name)
  # GCC 12 takes the empty half of an optional inside a Result for an uninitialised one.
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  ft_unhurried(${name})
  ft_precompile(${name} <CLI/CLI.hpp> <nlohmann/json.hpp>)
  ft_together(${name})
endfunction()

# What tests share: GoogleTest, parsed once for each level of optimisation.
if(FT_TESTS)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_flags.cc CONTENT "int main() {}\n")
  foreach(level 0 1)
    set(flags ft_test_flags_o${level})
    add_executable(${flags} EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/test_flags.cc)
    target_link_libraries(${flags} PRIVATE ft_flags GTest::gtest GTest::gmock GTest::gtest_main)
    target_compile_definitions(${flags} PRIVATE
      FT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" FT_SHARED_DATA="${CMAKE_SOURCE_DIR}/../shared/data")
    target_compile_options(${flags} PRIVATE $<$<CONFIG:Release>:-O${level}>)
    ft_precompile(${flags} <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
  endforeach()
endif()

# ft_test(NAME SOURCES a_test.cc ... DEPS ft_base ... [LABEL unit] [TIMEOUT 120] [COMPUTES] [OWN_FLAGS])
# COMPUTES: its own loops take long, so they are optimised, as in every test that is not labelled unit. OWN_FLAGS: it is
# compiled with other options than tests share. LABEL is one of: unit, lossless, parity, fuzz, cli.
function(ft_test name)
  if(NOT FT_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "COMPUTES;OWN_FLAGS" "LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ft_flags ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    FT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" FT_SHARED_DATA="${CMAKE_SOURCE_DIR}/../shared/data")
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  set(level 1)
  if(ARG_LABEL STREQUAL unit AND NOT ARG_COMPUTES AND NOT ARG_OWN_FLAGS)
    set(level 0)
  endif()
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O${level}>)
  if(FT_QUICK AND NOT ARG_OWN_FLAGS)
    target_precompile_headers(${name} REUSE_FROM ft_test_flags_o${level})
    target_compile_options(${name} PRIVATE ${FT_PRECOMPILED_FLAGS})
  endif()
  ft_together(${name})
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(FT_LONG)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 20")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()

# ft_strict(NAME [VARIABLE=VALUE ...]): a test once more, on the backend whose memory the host cannot touch
# (backend/strict_backend_testing.h), with more variables of the environment
function(ft_strict name)
  if(FT_TESTS AND NOT FT_SANITIZE)  # sanitizers watch the host's memory already
    get_test_property(${name} LABELS label)
    add_test(NAME ${name}_strict COMMAND ${name})
    set_tests_properties(${name}_strict PROPERTIES LABELS ${label} TIMEOUT 600
      ENVIRONMENT "FT_TEST_BACKEND=strict:cpu;${ARGN}")
  endif()
endfunction()

if(FT_FUZZ)
  add_custom_target(parser_fuzzers)  # those that need no drafter, and so no model
endif()
# ft_fuzz(NAME SOURCES a_fuzz.cc DEPS ft_io CORPUS dir): a libFuzzer target, and a ctest
# (label fuzz) that runs it over the committed corpus for some seconds, with FT_LONG for ten minutes.
function(ft_fuzz name)
  if(NOT FT_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  if(NOT ft_draft IN_LIST ARG_DEPS)
    add_dependencies(parser_fuzzers ${name})
    set(is_parser parser)
  endif()
  foreach(tried ft_base ${ARG_DEPS})  # coverage of the code under test, not of the target alone
    target_compile_options(${tried} PRIVATE -fsanitize=fuzzer-no-link)
  endforeach()
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ft_flags ${ARG_DEPS})
  if(FT_LONG)
    set(seconds 600)
  else()
    set(seconds 4)
  endif()
  math(EXPR timeout "${seconds} + 114")
  add_test(NAME ${name} COMMAND ${name} -max_total_time=${seconds} -rss_limit_mb=2048
    ${CMAKE_BINARY_DIR}/fuzz_new_${name} ${ARG_CORPUS})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz_new_${name})
  set_tests_properties(${name} PROPERTIES LABELS "fuzz;${is_parser}" TIMEOUT ${timeout})
endfunction()
