# SPDX-License-Identifier: BSL-1.0
# ration_add_policy(NAME SOURCES file...)
# ration_add_python_policy(NAME SOURCE file [TEST file])
#
# A policy as a plugin: NAME.so with the one exported symbol `ration_policy_v1`, bound at load, that unloads when it is closed. In a
# build with tests, `ration check` looks at it as the test plugin.NAME; where the program is neither built nor installed, no test is made.
set(RATION_POLICY_EXPORTS ${CMAKE_CURRENT_LIST_DIR}/policy.map CACHE INTERNAL "the version script of policies")
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/../include/ration)  # in a checkout; an install has it elsewhere
  set(RATION_ABI_INCLUDE ${CMAKE_CURRENT_LIST_DIR}/../include CACHE INTERNAL "where ration/plugin/abi.h is")
  set(RATION_PYTHON_PACKAGE ${CMAKE_CURRENT_LIST_DIR}/../python CACHE INTERNAL "where the Python package is")
else()
  set(RATION_PYTHON_PACKAGE ${CMAKE_CURRENT_LIST_DIR}/python CACHE INTERNAL "where the Python package is")
endif()

function(ration_add_policy name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ration::plugin)
  if(TARGET ration::adapt)  # an installed one is there when it was asked for: only policies with parameters need Boost.Hana
    target_link_libraries(${name} PRIVATE ration::adapt)
  endif()
  ration_harden_policy(${name})
  if(BUILD_TESTING OR RATION_BUILD_TESTS)
    ration_check_policy(${name})
  endif()
endfunction()

# The same of a class in Python that derives from ration.policy.Policy. TEST is a file of unit tests, which become the test unit_test.
function(ration_add_python_policy name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;TEST" "")
  set(Python3_USE_STATIC_LIBS OFF)
  find_package(Python3 3.9 QUIET COMPONENTS Interpreter Development.Embed)
  if(NOT Python3_FOUND)
    message(FATAL_ERROR "There is no CPython that can be embedded: its headers or its shared library are missing. Debian and Ubuntu have "
      "them in the package `python3-dev`. Where several are installed, say which: -D Python3_EXECUTABLE=/usr/bin/python3")
  endif()
  set(python ${CMAKE_COMMAND} -E env PYTHONPATH=${RATION_PYTHON_PACKAGE} ${Python3_EXECUTABLE} -B)
  get_filename_component(source ${arg_SOURCE} ABSOLUTE)
  # The file's description of itself has to be in the .so before any Python runs.
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.python)
  file(GLOB package ${RATION_PYTHON_PACKAGE}/ration/policy/*)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/policy_manifest.h COMMAND ${python} -m ration.policy header ${source} ${folder}/policy_manifest.h
    DEPENDS ${source} ${package} VERBATIM)
  ration_add_policy(${name} SOURCES ${RATION_PYTHON_PACKAGE}/ration/policy/bridge.c ${folder}/policy_manifest.h)
  target_include_directories(${name} PRIVATE ${folder})
  target_compile_definitions(${name} PRIVATE PYTHON_EXECUTABLE="${Python3_EXECUTABLE}")
  target_link_libraries(${name} PRIVATE Python3::Python)
  if(arg_TEST)
    get_filename_component(test ${arg_TEST} ABSOLUTE)
    add_test(NAME unit_test COMMAND ${python} ${test})
  endif()
endfunction()

# Settings of a well-behaved plugin. With a sanitizer the run-time library defines symbols only later, so `-z defs` would refuse.
function(ration_harden_policy name)
  set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${RATION_POLICY_EXPORTS})
  # GCC marks inline statics as unique for the whole process, and then no library that has one ever unloads.
  # A policy is some loops over all jobs: one that begins anywhere in a cache line takes up to a tenth longer.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique> -fno-plt -falign-loops=64)
  target_link_options(${name} PRIVATE LINKER:--version-script=${RATION_POLICY_EXPORTS} LINKER:-z,now LINKER:-z,relro)
  if(NOT "${CMAKE_CXX_FLAGS} ${CMAKE_C_FLAGS}" MATCHES "-fsanitize")
    target_link_options(${name} PRIVATE LINKER:-z,defs)
  else()
    # UBSan looks through a pipe whether an object can be read; a worker process may not make one, and the check takes that for a fault.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr>)
  endif()
endfunction()

function(ration_check_policy name)
  if(TARGET ration)
    add_test(NAME plugin.${name} COMMAND ration check $<TARGET_FILE:${name}>)
  else()
    find_program(RATION_PROGRAM ration HINTS ${RATION_PROGRAM_HINT})
    if(RATION_PROGRAM)
      add_test(NAME plugin.${name} COMMAND ${RATION_PROGRAM} check $<TARGET_FILE:${name}>)
    else()
      message(STATUS "The program `ration` is not on the PATH, so `ration check` is no test here. Say where: -D RATION_PROGRAM=FILE")
    endif()
  endif()
endfunction()
