# SPDX-License-Identifier: BSD-3-Clause
# cmake -DSOURCE=... -DBINARY=... -DCOMPILER=... -DGENERATOR=... -P
# Configure steps that must stop, each with the words that tell why; and one that must not, so that stopping means something.
cmake_minimum_required(VERSION 3.25)
function(configure name)
    file(REMOVE_RECURSE "${BINARY}/${name}")
    execute_process(
        COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}/${name}" -G "${GENERATOR}" "-DCMAKE_C_COMPILER=${COMPILER}"
                -DTENURE_TESTS=OFF -DTENURE_EXAMPLES=OFF -DTENURE_BENCH=OFF ${ARGN}
        OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
    set(output "${output}" PARENT_SCOPE)
    set(result "${result}" PARENT_SCOPE)
endfunction()

function(refused name words)
    configure(${name} ${ARGN})
    string(REGEX REPLACE "[ \n]+" " " flat "${output}")
    if(result EQUAL 0)
        message(FATAL_ERROR "${name}: configured, but should have stopped: ${ARGN}\n${output}")
    elseif(NOT flat MATCHES "${words}")
        message(FATAL_ERROR "${name}: stopped without saying \"${words}\":\n${output}")
    endif()
    message(STATUS "refused as it should be: ${ARGN}")
endfunction()

set(absent_mpi -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
set(absent_cuda -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON)
set(absent_hwloc -DCMAKE_DISABLE_FIND_PACKAGE_Hwloc=ON)
set(absent_blis -DCMAKE_DISABLE_FIND_PACKAGE_BLIS=ON)
set(absent_sleef -DCMAKE_DISABLE_FIND_PACKAGE_SLEEF=ON)

refused(mpi "TENURE_MPI=ON, but MPI was not found" -DTENURE_MPI=ON ${absent_mpi})
refused(cuda "TENURE_CUDA=ON, but CUDAToolkit was not found" -DTENURE_CUDA=ON ${absent_cuda})
refused(hwloc "TENURE_HWLOC=ON, but Hwloc was not found" -DTENURE_HWLOC=ON ${absent_hwloc})
refused(blis "TENURE_BLIS=ON, but BLIS was not found" -DTENURE_BLIS=ON ${absent_blis})
refused(option "TENURE_BLIS is AUTO, ON or OFF, not .maybe" -DTENURE_BLIS=maybe)
refused(math "TENURE_VECTOR_MATH=SLEEF, but SLEEF was not found" -DTENURE_VECTOR_MATH=SLEEF ${absent_sleef})
refused(math_word "TENURE_VECTOR_MATH is AUTO, MVEC, SLEEF or OFF, not .best" -DTENURE_VECTOR_MATH=best)
refused(rank_0 "TENURE_MAX_RANK is a number from 1 to 64, not .0" -DTENURE_MAX_RANK=0)
refused(rank_65 "TENURE_MAX_RANK is a number from 1 to 64, not .65" -DTENURE_MAX_RANK=65)
refused(rank_word "TENURE_MAX_RANK is a number from 1 to 64, not .many" -DTENURE_MAX_RANK=many)
refused(sanitize "TENURE_SANITIZE=nonsense: .* cannot build with" -DTENURE_SANITIZE=nonsense)
refused(bounded "TENURE_BOUNDED has no room for TENURE_BLIS=ON" -DTENURE_BOUNDED=ON -DTENURE_BLIS=ON)
refused(bounded_math "TENURE_BOUNDED has no room for TENURE_VECTOR_MATH=MVEC" -DTENURE_BOUNDED=ON -DTENURE_VECTOR_MATH=MVEC)

refused(atomics "TENURE_ATOMICS=PLAIN is for one thread" -DTENURE_ATOMICS=PLAIN)
refused(atomics_word "TENURE_ATOMICS is AUTO, NATIVE or PLAIN, not .some" -DTENURE_ATOMICS=some)
refused(dtypes_word "TENURE_DTYPES is all or a list of .* not .f16" -DTENURE_DTYPES=f16)
refused(dtypes "c32 needs f32" "-DTENURE_DTYPES=f64,c32")
refused(families_word "TENURE_FAMILIES is all or a list of .* not .sums" -DTENURE_FAMILIES=sums)
refused(families "index needs structure" "-DTENURE_FAMILIES=index")

# Nothing optional there: fine unless it was asked for, and the summary says so.
configure(plain ${absent_mpi} ${absent_cuda} ${absent_hwloc} ${absent_blis} -DTENURE_VECTOR_MATH=OFF -DTENURE_MAX_RANK=64)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "a build without optional parts does not configure:\n${output}")
endif()
foreach(line "max rank  64" "hwloc     off" "blis      off" "math      off" "mpi       off" "cuda      off")
    if(NOT output MATCHES "\n  ${line}\n")
        message(FATAL_ERROR "summary lacks \"${line}\":\n${output}")
    endif()
endforeach()

# An nvcc that cannot compile for what is asked stops nothing: the kernels' text is in the library.
configure(nvcc ${absent_mpi} ${absent_hwloc} ${absent_blis} -DTENURE_CUDA_ARCHITECTURES=20)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "a build with an nvcc that does not compile does not configure:\n${output}")
elseif(NOT output MATCHES "\n  cuda      off\n" AND NOT output MATCHES "kernels are left to NVRTC")
    message(FATAL_ERROR "nothing says that nvcc does not compile:\n${output}")
endif()
