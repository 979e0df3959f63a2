# SPDX-License-Identifier: BSL-1.0
# `cpack --config build/release/CPackConfig.cmake -B dist` makes three Debian packages: ration (the program), ration-plugins (its policies
# for other hosts) and ration-dev (the headers); with `-G TZST` it makes one archive of all of them.
set(CPACK_PACKAGE_NAME ration)
set(CPACK_PACKAGE_VENDOR "the ration authors")
set(CPACK_PACKAGE_CONTACT "the ration authors <ration@localhost>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL ration-program ration-plugins ration-development)
set(CPACK_COMPONENTS_GROUPING IGNORE)  # each component is a package
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian_files.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RATION-PROGRAM_PACKAGE_NAME ration)
set(CPACK_DEBIAN_RATION-PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RATION-PROGRAM_PACKAGE_SUGGESTS "ration-plugins, python3-torch")
set(CPACK_COMPONENT_RATION-PROGRAM_DESCRIPTION
  "shares a machine among deep-learning jobs\n ration runs training jobs under a policy, simulates policies on traces,\n and compares them.")
set(CPACK_DEBIAN_RATION-PLUGINS_PACKAGE_NAME ration-plugins)
set(CPACK_DEBIAN_RATION-PLUGINS_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_RATION-PLUGINS_DESCRIPTION
  "policies of ration as plugins\n A host that loads plugins of the ration ABI finds each policy here\n as one shared object.")
set(CPACK_DEBIAN_RATION-DEVELOPMENT_PACKAGE_NAME ration-dev)
set(CPACK_DEBIAN_RATION-DEVELOPMENT_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_RATION-DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_RATION-DEVELOPMENT_PACKAGE_SUGGESTS "cmake, libboost-dev, libhwloc-dev")
set(CPACK_COMPONENT_RATION-DEVELOPMENT_DESCRIPTION
  "headers for policies, hosts and backends of ration\n The framework is headers only. This package has its CMake and\n pkg-config files too.")
include(CPack)
