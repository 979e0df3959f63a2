# SPDX-License-Identifier: BSL-1.0
# A fake for the functions that vcpkg gives to a portfile, as its documentation describes them, for release only. Run with
#   cmake -D PORT_DIR= -D CURRENT_PACKAGES_DIR= -D CURRENT_BUILDTREES_DIR= -D GENERATOR= -D COMPILER= -D FEATURES=a,b -P functions.cmake
cmake_minimum_required(VERSION 3.25)
cmake_path(GET PORT_DIR FILENAME PORT)
string(REPLACE "," ";" FEATURES "core,${FEATURES}")

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS;PREFIX" "FEATURES;INVERTED_FEATURES")
  set(options "")
  foreach(kind IN ITEMS FEATURES INVERTED_FEATURES)
    while(arg_${kind})
      list(POP_FRONT arg_${kind} feature variable)
      set(value OFF)
      if("${feature}" IN_LIST FEATURES)
        set(value ON)
      endif()
      if("${kind}" STREQUAL "INVERTED_FEATURES")
        set(inverse_ON OFF)
        set(inverse_OFF ON)
        set(value ${inverse_${value}})
      endif()
      list(APPEND options -D${variable}=${value})
    endwhile()
  endforeach()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_INSTALL_DATAROOTDIR=share ${arg_OPTIONS}
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_install)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${CURRENT_BUILDTREES_DIR} --target install COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Moves the package to share/PORT, from which the prefix is two folders up, and makes what points into the packages folder relative.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  set(share ${CURRENT_PACKAGES_DIR}/share/${PORT})
  file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*)
  file(COPY ${files} DESTINATION ${share})
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH})
  cmake_path(GET arg_CONFIG_PATH PARENT_PATH above)
  if(above MATCHES "(^|/)cmake$")
    file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/${above})
  endif()
  file(GLOB_RECURSE scripts ${share}/*.cmake)
  foreach(script IN LISTS scripts)
    file(READ ${script} text)
    set(up [[get_filename_component(_IMPORT_PREFIX "${_IMPORT_PREFIX}" PATH)]])
    string(REPLACE "\n${up}\n${up}\n${up}\n" "\n${up}\n${up}\n" text "${text}")  # from share/cmake/PORT to share/PORT
    string(REGEX REPLACE "(PACKAGE_PREFIX_DIR \"[$]{CMAKE_CURRENT_LIST_DIR}/)(\\.\\./)+\"" "\\1../../\"" text "${text}")
    string(REPLACE "${CURRENT_PACKAGES_DIR}" [[${_IMPORT_PREFIX}]] text "${text}")
    file(WRITE ${script} "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)  # what vcpkg checks here, ways.py checks with pkg-config itself
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "COMMENT" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

include(${PORT_DIR}/portfile.cmake)
