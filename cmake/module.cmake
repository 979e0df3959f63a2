# SPDX-License-Identifier: BSL-1.0
# ration_add_module(NAME DIRECTORY dir [FOLDERS folder...] [REQUIRES module...] [LIBRARY package version target])
#
# A header-only part of ration: target ration_NAME, alias ration::NAME. Its headers are those directly in the FOLDERS, named below
# `dir`; without FOLDERS every header below `dir`. They are one file set that is verified to compile alone (target all_verify_interface_header_sets), and a separate export, so that a consumer of one
# part never needs what another part needs. Without the LIBRARY the module is absent: a packager who leaves it out on
# a machine that has it sets CMAKE_DISABLE_FIND_PACKAGE_<package>.
function(ration_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DIRECTORY" "FOLDERS;REQUIRES;LIBRARY")
  if(arg_LIBRARY)
    list(POP_FRONT arg_LIBRARY package version target)
    find_package(${package} ${version} QUIET GLOBAL)
    if(NOT ${package}_FOUND)
      return()
    endif()
  endif()
  get_filename_component(base ${arg_DIRECTORY} ABSOLUTE)
  if(arg_FOLDERS)
    list(TRANSFORM arg_FOLDERS REPLACE "(.+)" "${base}/\\1/*.hpp;${base}/\\1/*.h" OUTPUT_VARIABLE patterns)
    file(GLOB headers CONFIGURE_DEPENDS ${patterns})
  else()
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${base}/*.hpp ${base}/*.h)
  endif()

  add_library(ration_${name} INTERFACE)
  add_library(ration::${name} ALIAS ration_${name})
  set_target_properties(ration_${name} PROPERTIES EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ON)
  target_compile_features(ration_${name} INTERFACE cxx_std_20)
  target_sources(ration_${name} INTERFACE FILE_SET HEADERS BASE_DIRS ${base} FILES ${headers})
  foreach(module IN LISTS arg_REQUIRES)
    target_link_libraries(ration_${name} INTERFACE ration::${module})
  endforeach()
  if(package)
    target_link_libraries(ration_${name} INTERFACE ${target})
    set_property(GLOBAL PROPERTY RATION_MODULE_${name}_LIBRARY ${package} ${version})
  endif()
  set_property(GLOBAL APPEND PROPERTY RATION_MODULES ${name})
  set_property(GLOBAL PROPERTY RATION_MODULE_${name}_REQUIRES "${arg_REQUIRES}")
endfunction()
