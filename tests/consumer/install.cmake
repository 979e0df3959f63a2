# SPDX-License-Identifier: BSL-1.0
# Installs BUILD into PREFIX, with nothing left of an earlier install that could hide a forgotten file.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} --component ration-development
  COMMAND_ERROR_IS_FATAL ANY)
