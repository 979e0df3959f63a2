# SPDX-License-Identifier: BSL-1.0
# ration_add_misuse_test(NAME "sentence" ["another sentence"...] [LIBRARIES target...])
#
# NAME.cpp in the calling folder is one source that is compiled twice: unchanged it has to compile, with RATION_MISUSE defined
# it has to fail and to print each sentence (a regular expression) within the first lines. One ctest case, misuse.NAME.COMPILER,
# for each compiler found. The compiler is called directly, so no build tree is touched and the cases may run side by side.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_program(RATION_MISUSE_GXX NAMES g++ DOC "The g++ of the misuse tests")
find_program(RATION_MISUSE_CLANGXX NAMES clang++-19 DOC "The clang++ of the misuse tests")

function(ration_add_misuse_test name sentence)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LIBRARIES")
  if(NOT arg_LIBRARIES)
    set(arg_LIBRARIES ration::core)
  endif()
  set(sentences "")
  foreach(said IN LISTS sentence arg_UNPARSED_ARGUMENTS)
    if(said STREQUAL "")
      message(FATAL_ERROR "misuse test ${name}: an empty sentence fits every output")
    endif()
    list(APPEND sentences --sentence "${said}")
  endforeach()
  set(directories "")
  foreach(library IN LISTS arg_LIBRARIES)
    list(APPEND directories "$<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>")
  endforeach()
  foreach(compiler IN ITEMS GXX CLANGXX)
    if(RATION_MISUSE_${compiler})
      string(TOLOWER misuse.${name}.${compiler} test)
      add_test(NAME ${test} COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/misuse/check.py
        --compiler ${RATION_MISUSE_${compiler}} --include "${directories}" ${sentences}
        ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cpp)
      set_tests_properties(${test} PROPERTIES TIMEOUT 300 LABELS misuse)
    endif()
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY RATION_MISUSE_CASES ${name}.cpp)
endfunction()

# A wrong program that no test compiles proves nothing: each source in the calling folder has to be a case.
function(ration_require_all_misuse_sources)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  get_property(cases DIRECTORY PROPERTY RATION_MISUSE_CASES)
  list(REMOVE_ITEM sources ${cases})
  if(sources)
    message(FATAL_ERROR "tests/misuse: no ration_add_misuse_test names ${sources}")
  endif()
endfunction()
