# SPDX-License-Identifier: BSD-3-Clause
# cmake -DPROGRAM=... -DSUMMARY=... -P: what the program prints is the configure summary, word for word.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE said RESULT_VARIABLE result)
file(READ "${SUMMARY}" printed)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} ended with ${result}")
endif()
if(NOT said MATCHES "^tenure [0-9]+\\.[0-9]+\\.[0-9]+\n")
    message(FATAL_ERROR "no version in:\n${said}")
endif()
if(printed MATCHES "by configuration") # several configurations: what holds for all is compared
    string(REGEX REPLACE "  debug +(on|off)\n" "" said "${said}")
    string(REGEX REPLACE "  debug +[a-z ]+\n" "" printed "${printed}")
endif()
if(NOT said STREQUAL printed)
    message(FATAL_ERROR "tnr_features() says\n${said}configure said\n${printed}")
endif()
message(STATUS "tnr_features() and the configure summary agree")
