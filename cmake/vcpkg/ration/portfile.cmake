# SPDX-License-Identifier: BSL-1.0
# An overlay port for the checkout that contains it: vcpkg install ration --overlay-ports=CHECKOUT/cmake/vcpkg
set(VCPKG_BUILD_TYPE release)  # headers only: nothing differs in debug
cmake_path(SET SOURCE_PATH NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../..")

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    boost CMAKE_REQUIRE_FIND_PACKAGE_Boost
    hwloc CMAKE_REQUIRE_FIND_PACKAGE_hwloc
  INVERTED_FEATURES
    boost CMAKE_DISABLE_FIND_PACKAGE_Boost
    hwloc CMAKE_DISABLE_FIND_PACKAGE_hwloc)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${FEATURE_OPTIONS}
    -DRATION_BUILD_TOOLS=OFF -DRATION_BUILD_TESTS=OFF -DRATION_BUILD_EXAMPLES=OFF -DRATION_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/ration)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")  # the licence, which vcpkg wants as `copyright`
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
