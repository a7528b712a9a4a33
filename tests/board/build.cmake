# SPDX-License-Identifier: BSD-3-Clause
# cmake -DSOURCE=... -DBINARY=... -DCORE=... -DTOOLCHAIN=... -DLAUNCHER=... -DGENERATOR=... -DNM=... -P
# Builds the images of one board, and looks at what the library asks of the world outside it: memory, mathematics and the compiler's
# own arithmetic, nothing else.
cmake_minimum_required(VERSION 3.25)
function(step)
    execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        string(REPLACE ";" " " line "${ARGN}")
        message(FATAL_ERROR "failed (${result}): ${line}\n${output}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()
step("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}" -G "${GENERATOR}" "-DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN}" "-DTENURE_CORE=${CORE}"
    -DCMAKE_BUILD_TYPE=MinSizeRel "-DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER}")
step("${CMAKE_COMMAND}" --build "${BINARY}" -j 2)
if(CORE STREQUAL cortex-m3)
    step("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}/smallest" -G "${GENERATOR}" "-DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN}" "-DTENURE_CORE=${CORE}"
        -DCMAKE_BUILD_TYPE=MinSizeRel "-DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER}" -DTENURE_DTYPES=f32 -DTENURE_TEXTS=OFF
        -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON
        "-DTENURE_FAMILIES=arithmetic\;matmul\;group")
    step("${CMAKE_COMMAND}" --build "${BINARY}/smallest" -j 2 --target smallest)
endif()

step("${NM}" -g "${BINARY}/tenure/libtenure.a")
string(REGEX MATCHALL "[^\n]+" lines "${output}")
set(outside "")
foreach(line IN LISTS lines)
    if(line MATCHES "^ +U ([^ ]+)$")
        list(APPEND outside "${CMAKE_MATCH_1}")
    endif()
    if(line MATCHES "(_GLOBAL__sub_I|\\.init_array|__emutls|__tls_get_addr|__aeabi_read_tp)")
        message(FATAL_ERROR "the library has dynamic initialisation or thread-local storage: ${line}")
    endif()
endforeach()
list(REMOVE_DUPLICATES outside)
if(NOT "memcpy" IN_LIST outside)
    message(FATAL_ERROR "nm shows no use of memcpy: was the archive read at all?\n${output}")
endif()
list(FILTER outside EXCLUDE REGEX "^tnri?_")
list(FILTER outside EXCLUDE REGEX "^__aeabi_[a-z0-9]+$")
list(FILTER outside EXCLUDE REGEX "^__(ctzdi2|clzdi2|popcountsi2|popcountdi2)$")
list(REMOVE_ITEM outside memcpy memmove memset memcmp strlen memchr strcmp strncmp
    exp expf sin sinf cos cosf sqrt sqrtf fabs fabsf hypot hypotf copysign copysignf ldexp ldexpf fmod fmodf ilogb ilogbf
    log logf tanh tanhf expm1 expm1f log1p log1pf pow powf atan2 cexp clog csin ccos ctanh csqrt fegetround fesetround)
if(outside)
    message(FATAL_ERROR "the library reaches for: ${outside}")
endif()
