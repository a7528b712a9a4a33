# SPDX-License-Identifier: BSD-3-Clause
#
# cmake -DOUT=file.fatbin -DREPORT=file.txt -DSOURCE=file.cu -DCOMMAND=nvcc;options -P device_image.cmake
#
# One module of kernels by nvcc, and what its assembler says of each kernel (registers, spills), which the test cuda_kernels_compile reads.
# What else it says is passed on.

execute_process(COMMAND ${COMMAND} -Xptxas=-v -o "${OUT}" "${SOURCE}"
    RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE report)
file(WRITE "${REPORT}" "${report}")
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${said}${report}nvcc: ${result}")
endif()
string(REGEX REPLACE "(^|\n)(ptxas info|    )[^\n]*" "" rest "${said}${report}")
string(STRIP "${rest}" rest)
if(rest)
    message("${rest}")
endif()
