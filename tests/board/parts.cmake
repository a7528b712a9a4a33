# SPDX-License-Identifier: BSD-3-Clause
# cmake -DSOURCE=... -DBINARY=... -DCOMPILER=... -DLAUNCHER=... -DNM=... -DGENERATOR=... -P
# A bounded library with one dtype and few families, on the host: it links as a whole, what is left out is not in it, and calls that
# need a dtype that is left out say so.
cmake_minimum_required(VERSION 3.25)
function(step)
    execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        string(REPLACE ";" " " line "${ARGN}")
        message(FATAL_ERROR "failed (${result}): ${line}\n${output}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

# build(name dtypes families): the library, and a program that has all of it.
function(build name dtypes families)
    set(folder "${BINARY}/${name}")
    step("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${folder}" -G "${GENERATOR}" "-DCMAKE_C_COMPILER=${COMPILER}"
        "-DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER}" -DTENURE_BOUNDED=ON -DTENURE_WERROR=ON -DCMAKE_BUILD_TYPE=MinSizeRel
        "-DTENURE_DTYPES=${dtypes}" "-DTENURE_FAMILIES=${families}")
    step("${CMAKE_COMMAND}" --build "${folder}" --target tenure_static)
    step("${COMPILER}" -std=c11 -Wall -Wextra -Werror "-I${SOURCE}/include" "-I${folder}/generated/include"
        "${SOURCE}/tests/board/parts.c" -Wl,--whole-archive "${folder}/libtenure.a" -Wl,--no-whole-archive -lm -o "${folder}/parts")
    step("${folder}/parts")
    step("${NM}" -g "${folder}/libtenure.a")
    set(output "${output}" PARENT_SCOPE)
endfunction()

function(has name)
    if(NOT output MATCHES " T ${name}\n")
        message(FATAL_ERROR "${name} is missing")
    endif()
endfunction()
function(lacks)
    foreach(name IN LISTS ARGN)
        if(output MATCHES " T ${name}\n")
            message(FATAL_ERROR "${name} is there, but its family was left out")
        endif()
    endforeach()
endfunction()

build(few f32 "arithmetic,reduction,structure")
has(tnr_add)
has(tnr_sum)
has(tnr_pad)
lacks(tnr_exp tnr_cast tnr_maximum tnr_matmul tnr_contract tnr_einsum tnr_gather tnr_group_create tnr_machine_create)
