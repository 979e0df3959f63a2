# SPDX-License-Identifier: BSL-1.0
# cmake -D FOLDER=folder -D FILES="path|path|..." -D OUT=file.cpp -P embed.cmake
#
# The templates of `ration new` as C++: what the tests build is what the program writes.
string(REPLACE "|" ";" files "${FILES}")
set(rows "")
foreach(file IN LISTS files)
  file(READ ${FOLDER}/${file} text)
  if(text MATCHES "\\)ration\"")
    message(FATAL_ERROR "${file} has the mark that ends a text")
  endif()
  string(FIND ${file} / slash)
  string(SUBSTRING ${file} 0 ${slash} set_name)
  math(EXPR slash "${slash} + 1")
  string(SUBSTRING ${file} ${slash} -1 path)
  string(APPEND rows "    {\"${set_name}\", \"${path}\", R\"ration(${text})ration\"},\n")
endforeach()
file(WRITE ${OUT} "// Written by tools/ration/new/embed.cmake.
#include \"cli/new_templates.hpp\"

namespace ration::program {
namespace {
constexpr template_file files[] = {
${rows}};
}  // namespace

std::span<template_file const> template_files() noexcept { return files; }

}  // namespace ration::program
")
