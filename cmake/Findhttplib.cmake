# SPDX-License-Identifier: BSL-1.0
# cpp-httplib 0.11 or later: target httplib::httplib. Its own package is preferred (Conan, vcpkg, its own install); Debian installs a
# compiled library and a file for pkg-config, whose definitions belong to that library.
find_package(httplib CONFIG QUIET)
if(NOT TARGET httplib::httplib)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(HTTPLIB QUIET IMPORTED_TARGET cpp-httplib)
  endif()
  if(HTTPLIB_FOUND)
    add_library(httplib::httplib ALIAS PkgConfig::HTTPLIB)
    set(httplib_VERSION ${HTTPLIB_VERSION})
  endif()
endif()

include(FindPackageHandleStandardArgs)
if(TARGET httplib::httplib)
  set(httplib_TARGET httplib::httplib)
endif()
find_package_handle_standard_args(httplib REQUIRED_VARS httplib_TARGET VERSION_VAR httplib_VERSION)
