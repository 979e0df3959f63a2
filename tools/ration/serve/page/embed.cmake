# SPDX-License-Identifier: BSL-1.0
# cmake -D FOLDER=folder -D OUT=file.cpp -P embed.cmake
#
# The files of the service's page as C++.
set(types "html|text/html" "css|text/css" "js|text/javascript")
set(rows "")
foreach(type IN LISTS types)
  string(REPLACE "|" ";" type "${type}")
  list(GET type 0 extension)
  list(GET type 1 media_type)
  file(GLOB names RELATIVE ${FOLDER} ${FOLDER}/*.${extension})
  foreach(name IN LISTS names)
    file(READ ${FOLDER}/${name} text)
    if(text MATCHES "\\)ration\"")
      message(FATAL_ERROR "${name} has the mark that ends a text")
    endif()
    string(REPLACE "index.html" "" target ${name})
    string(APPEND rows "    {\"/${target}\", \"${media_type}\", R\"ration(${text})ration\"},\n")
  endforeach()
endforeach()
file(WRITE ${OUT} "// Written by tools/ration/serve/page/embed.cmake.
#include \"serve/page_files.hpp\"

#pragma GCC diagnostic ignored \"-Woverlength-strings\"

namespace ration::program {
namespace {
constexpr page_file files[] = {
${rows}};
}  // namespace

std::span<page_file const> page_files() noexcept { return files; }

}  // namespace ration::program
")
