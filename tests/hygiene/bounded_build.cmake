# SPDX-License-Identifier: BSD-3-Clause
# cmake -DSOURCE=... -DBINARY=... -DCOMPILER=... -DNM=... -DGENERATOR=... -P
#
# Builds the library bounded (-O1: whether it reaches out does not depend on how hard a compiler tries), checks by its symbol
# table that it reaches for no allocator, no stdio, no threads, no system, and runs the main line in an arena.
cmake_minimum_required(VERSION 3.25)
function(step what)
    execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        string(REPLACE ";" " " line "${ARGN}")
        message(FATAL_ERROR "${what} failed (${result}): ${line}\n${output}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${BINARY}")
step("configuring" "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}/build" -G "${GENERATOR}" "-DCMAKE_C_COMPILER=${COMPILER}"
    -DTENURE_BOUNDED=ON -DTENURE_WERROR=ON -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_C_FLAGS_RELEASE=-O1 -DTENURE_KERNELS_O3=OFF)
set(configured "${output}")
step("building" "${CMAKE_COMMAND}" --build "${BINARY}/build")

# What the whole archive asks of the world outside it: memory and mathematics, nothing else.
step("nm" "${NM}" -g "${BINARY}/build/libtenure.a")
string(REGEX MATCHALL "[^\n]+" lines "${output}")
set(outside "")
foreach(line IN LISTS lines)
    if(line MATCHES "^ +U ([^ ]+)$")
        set(name "${CMAKE_MATCH_1}")
        if(NOT name MATCHES "^tnri?_")
            list(APPEND outside "${name}")
        endif()
    endif()
endforeach()
list(REMOVE_DUPLICATES outside)
set(refused "")
set(allowed memcpy memmove memset memcmp strlen memchr strcmp strncmp
    exp expf sin sinf cos cosf sincos sincosf sqrt sqrtf fabs fabsf hypot hypotf copysign copysignf ldexp ldexpf
    fmod fmodf ilogb ilogbf log logf tanh tanhf expm1 expm1f log1p log1pf pow powf atan2 fegetround fesetround cexp clog csin ccos ctanh csqrt
    _GLOBAL_OFFSET_TABLE_ __stack_chk_fail)
foreach(name IN LISTS outside)
    if(NOT name IN_LIST allowed)
        list(APPEND refused "${name}")
    endif()
endforeach()
if(refused)
    message(FATAL_ERROR "a bounded library reaches for: ${refused}")
endif()
list(FIND outside memcpy found)
if(found EQUAL -1)
    message(FATAL_ERROR "nm shows no use of memcpy: was the archive read at all?\n${output}")
endif()
message(STATUS "asks of the outside: ${outside}")

step("compiling the program" "${COMPILER}" -std=c11 -Wall -Wextra -Werror "-I${SOURCE}/include"
    "-I${BINARY}/build/generated/include" "${SOURCE}/tests/hygiene/bounded.c"
    -Wl,--whole-archive "${BINARY}/build/libtenure.a" -Wl,--no-whole-archive -lm # all of it: nothing of ours is missing
    -o "${BINARY}/bounded")
step("running the program" "${BINARY}/bounded")
if(NOT output MATCHES "bounded: good")
    message(FATAL_ERROR "the bounded program did not say good:\n${output}")
endif()

step("compiling print_features" "${COMPILER}" -std=c11 "-I${SOURCE}/include" "-I${BINARY}/build/generated/include"
    "${SOURCE}/tests/hygiene/print_features.c" "${BINARY}/build/libtenure.a" -lm -o "${BINARY}/print_features")
step("print_features" "${BINARY}/print_features")
string(FIND "${configured}" "${output}" place)
if(place EQUAL -1)
    message(FATAL_ERROR "tnr_features() says\n${output}configure printed\n${configured}")
endif()
