# SPDX-License-Identifier: BSL-1.0
# Each module is exported on its own and found as a component; the package names what a component requires, in order.
# `cmake --install DIR --component ration-development` installs the headers and these files, `ration-program` the program.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Headers only, the same for every machine: hence share/ and not lib/.
set(ration_package_dir ${CMAKE_INSTALL_DATAROOTDIR}/cmake/ration)
get_property(ration_modules GLOBAL PROPERTY RATION_MODULES)
set(ration_requirements "")
foreach(module IN LISTS ration_modules)
  install(TARGETS ration_${module} EXPORT ration-${module}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ration-development)
  install(EXPORT ration-${module} NAMESPACE ration:: FILE ration-${module}-targets.cmake
    DESTINATION ${ration_package_dir} COMPONENT ration-development)
  get_property(requires GLOBAL PROPERTY RATION_MODULE_${module}_REQUIRES)
  get_property(library GLOBAL PROPERTY RATION_MODULE_${module}_LIBRARY)
  string(APPEND ration_requirements "set(_ration_${module}_requires ${requires})\nset(_ration_${module}_library ${library})\n")
endforeach()
list(JOIN ration_modules " " ration_module_names)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ration-config.cmake.in ${PROJECT_BINARY_DIR}/ration-config.cmake
  INSTALL_DESTINATION ${ration_package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ration-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_file(${CMAKE_CURRENT_LIST_DIR}/ration.pc.in ${PROJECT_BINARY_DIR}/ration.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ration-config.cmake ${PROJECT_BINARY_DIR}/ration-config-version.cmake
  DESTINATION ${ration_package_dir} COMPONENT ration-development)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/policy.cmake ${CMAKE_CURRENT_LIST_DIR}/policy.map ${CMAKE_CURRENT_LIST_DIR}/Findhwloc.cmake
  DESTINATION ${ration_package_dir} COMPONENT ration-development)
# For ration_add_python_policy; who wants it for more takes the wheel.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/ration DESTINATION ${ration_package_dir}/python
  COMPONENT ration-development PATTERN __pycache__ EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/ration.pc DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/pkgconfig COMPONENT ration-development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ration-development)

if(TARGET ration)
  install(TARGETS ration RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ration-program)
  get_property(documents GLOBAL PROPERTY RATION_DOCUMENTS)
  install(DIRECTORY ${documents}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT ration-program)
  install(DIRECTORY ${documents}/bash/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions COMPONENT ration-program)
  install(DIRECTORY ${documents}/zsh/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions COMPONENT ration-program)
  install(DIRECTORY ${documents}/fish/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d COMPONENT ration-program)
  foreach(whose IN ITEMS system user)  # below lib, wherever the libraries of this system are
    install(FILES "${PROJECT_SOURCE_DIR}/tools/ration/service/ration@.service" "${PROJECT_SOURCE_DIR}/tools/ration/service/${whose}/ration.service"
            DESTINATION lib/systemd/${whose} COMPONENT ration-program)
  endforeach()
endif()

if(SKBUILD)  # the wheel: `python3 -m ration.policy build` needs the header
  install(FILES ${PROJECT_SOURCE_DIR}/include/ration/plugin/abi.h DESTINATION ${SKBUILD_PLATLIB_DIR}/ration/policy/include/ration/plugin COMPONENT ration-wheel)
endif()

if(TARGET ration AND PROJECT_IS_TOP_LEVEL)
  get_property(plugins GLOBAL PROPERTY RATION_PLUGINS)
  install(TARGETS ${plugins} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ration/plugins COMPONENT ration-plugins)
  include(${CMAKE_CURRENT_LIST_DIR}/package.cmake)
endif()
