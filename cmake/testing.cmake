# SPDX-License-Identifier: BSL-1.0
# Catch2 2.13 (Debian 12) and 3 (Debian 13) both serve; tests include "support/catch.hpp" and never see the difference.
find_package(Catch2 QUIET)
if(NOT Catch2_FOUND)
  message(FATAL_ERROR "The tests need Catch2. Run cmake/packages.sh build test, or configure with -DRATION_BUILD_TESTS=OFF.")
endif()

add_library(ration_test_main STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/support/catch_main.cpp)
target_include_directories(ration_test_main PUBLIC ${PROJECT_SOURCE_DIR}/tests)
if(TARGET Catch2::Catch2WithMain)
  target_link_libraries(ration_test_main PUBLIC Catch2::Catch2WithMain)
else()
  target_link_libraries(ration_test_main PUBLIC Catch2::Catch2)
endif()
# Counts and refuses the allocations of the program that it is linked into.
add_library(ration_counted_allocations OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/support/allocations.cpp)
target_include_directories(ration_counted_allocations PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_compile_features(ration_counted_allocations PRIVATE cxx_std_20)
# Reading Catch2 is a third of what a test takes to compile, so it is read once for all of them, and once for those that are optimised.
foreach(header IN ITEMS ration_test_header ration_test_header_optimised)
  add_library(${header} OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/support/catch_header.cpp)
  target_link_libraries(${header} PRIVATE ration_test_main)
  target_compile_features(${header} PRIVATE cxx_std_20)
  target_precompile_headers(${header} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/catch.hpp)
endforeach()
target_compile_options(ration_test_header_optimised PRIVATE -O1)

# ration_label_target(LABEL target): builds with `cmake --build DIR --target tests_LABEL`.
function(ration_label_target label target)
  if(NOT TARGET tests_${label})
    add_custom_target(tests_${label})
  endif()
  add_dependencies(tests_${label} ${target})
endfunction()

# ration_add_test(NAME SOURCES file... LIBRARIES target... [LABELS label...] [TIMEOUT seconds] [OPTIMISED] [SAME_NAMES] [ALONE])
# One Catch2 program and one ctest case of the same name. Exit code 77 means skipped, and the output has the reason.
# Each such test has the label `program` besides its own. ALONE is for those that watch what the machine does: nothing else runs beside them.
# OPTIMISED is for those that compute so long that -O1 saves more in their run than it costs in their compilation.
# SAME_NAMES is for those whose files use the same names, and so are never one translation unit.
function(ration_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED;SAME_NAMES;ALONE" "TIMEOUT" "SOURCES;LIBRARIES;LABELS")
  string(REPLACE "/" "." target ${name})
  add_executable(test.${target} ${arg_SOURCES})
  target_link_libraries(test.${target} PRIVATE ration_test_main ${arg_LIBRARIES})
  if(arg_OPTIMISED)
    target_compile_options(test.${target} PRIVATE -O1)
    target_precompile_headers(test.${target} REUSE_FROM ration_test_header_optimised)
  else()
    target_precompile_headers(test.${target} REUSE_FROM ration_test_header)
  endif()
  set_target_properties(test.${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(RATION_UNITY_TESTS AND NOT arg_SAME_NAMES)
    set_target_properties(test.${target} PROPERTIES UNITY_BUILD ON)
  endif()
  add_test(NAME ${name} COMMAND test.${target})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)  # for one that hangs: seconds on an idle machine are minutes on a busy one
  endif()
  list(APPEND arg_LABELS program)
  set_tests_properties(${name} PROPERTIES
    SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" RUN_SERIAL ${arg_ALONE})
  foreach(label IN LISTS arg_LABELS)
    ration_label_target(${label} test.${target})
  endforeach()
endfunction()

# ration_add_session_test(NAME COMMAND...): a test in separate cgroups, or one at a time where none can be made, which session.py finds out. Where cgroup v2 is
# the only hierarchy they get none, so ctest starts one at a time itself, and no test waits within its TIMEOUT.
function(ration_add_session_test name)
  find_program(RATION_PYTHON3 NAMES python3 REQUIRED)
  add_test(NAME ${name} COMMAND ${RATION_PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/run/session.py ${ARGN})
  if(EXISTS /sys/fs/cgroup/cgroup.controllers)
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK dead_runs)
  endif()
endfunction()
