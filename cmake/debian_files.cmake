# SPDX-License-Identifier: BSL-1.0
# What Debian's policy asks of each package besides its files: a copyright, a compressed changelog and compressed manual pages. CPack runs
# this between the installation into its own folder and the packing.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(names_ration-program ration)
set(names_ration-plugins ration-plugins)
set(names_ration-development ration-dev)
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH where that is set
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share)
  set(doc ${root}/doc/${names_${component}})
  file(REMOVE_RECURSE ${root}/doc)
  file(MAKE_DIRECTORY ${doc})
  file(READ ${source}/LICENSE licence)
  string(REGEX REPLACE "\n\n" "\n.\n" licence "${licence}")
  string(REGEX REPLACE "\n([^\n])" "\n \\1" licence "${licence}")
  file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: ration\n\n"
    "Files: *\nCopyright: 2026 the ration authors\nLicense: BSL-1.0\n ${licence}")
  file(COPY_FILE ${source}/CHANGELOG.md ${doc}/NEWS)
  file(WRITE ${doc}/changelog "ration (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n  * NEWS.gz lists the changes.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
  file(GLOB pages ${root}/man/*/*)
  execute_process(COMMAND gzip -9nf ${doc}/changelog ${doc}/NEWS ${pages} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
