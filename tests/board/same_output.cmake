# SPDX-License-Identifier: BSD-3-Clause
# cmake -DCOMMAND=... -DEXPECTED=file -P: the command succeeds and prints the file.
execute_process(COMMAND ${COMMAND} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
file(READ "${EXPECTED}" expected)
if(NOT result EQUAL 0 OR NOT output STREQUAL expected)
    message(FATAL_ERROR "answered ${result} and printed\n${output}\nexpected\n${expected}")
endif()
