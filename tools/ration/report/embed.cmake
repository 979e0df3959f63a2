# SPDX-License-Identifier: BSL-1.0
# cmake -D STYLE=file -D SCRIPTS="file|file|..." -D CHARTS=file -D LICENCE=file -D OUT=file.cpp -P embed.cmake
#
# The files of a report's page as C++. CHARTS may be empty.
function(read_text file into)
  file(READ ${file} text)
  if(text MATCHES "\\)ration\"")
    message(FATAL_ERROR "${file} has the mark that ends a text")
  endif()
  string(TOLOWER "${text}" small)
  string(FIND "${small}" "</script" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${file} would end the element of the page that it is in")
  endif()
  set(${into} "${text}" PARENT_SCOPE)
endfunction()

read_text(${STYLE} style)
string(REPLACE "|" ";" files "${SCRIPTS}")
set(script "")
foreach(file IN LISTS files)
  read_text(${file} text)
  string(APPEND script "${text}")
endforeach()
set(charts "")
set(licence "")
if(CHARTS)
  read_text(${CHARTS} charts)
  read_text(${LICENCE} licence)
endif()
file(WRITE ${OUT} "// Written by tools/ration/report/embed.cmake.
#include \"report/assets.hpp\"

#pragma GCC diagnostic ignored \"-Woverlength-strings\"

namespace ration::program {

page_files const& page_assets() noexcept {
    static constexpr page_files files{R\"ration(${style})ration\", R\"ration(${script})ration\", R\"ration(${charts})ration\", R\"ration(${licence})ration\"};
    return files;
}

}  // namespace ration::program
")
