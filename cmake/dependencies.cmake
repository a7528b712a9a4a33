# SPDX-License-Identifier: BSD-3-Clause
# Optional parts. For each: TENURE_HAS_<PART>, and TENURE_WORD_<PART>, the word that the summary and tnr_features() say.

set(TENURE_LINK_FILES "")   # of the shared library: plain files
set(TENURE_LINK_TARGETS "") # of the static library: targets that its users find again
set(TENURE_PC_LIBS "")      # for static linking by pkg-config

# Ask for one part the way its option says. `package` and what follows go to find_package.
macro(tenure_find part package)
    set(TENURE_HAS_${part} OFF)
    set(TENURE_WORD_${part} off)
    if(NOT TENURE_WANT_${part} STREQUAL OFF)
        find_package(${package} ${ARGN} QUIET)
        if(${package}_FOUND)
            set(TENURE_HAS_${part} ON)
        elseif(TENURE_WANT_${part} STREQUAL ON)
            message(FATAL_ERROR "TENURE_${part}=ON, but ${package} was not found. Install it, name its place in "
                                "CMAKE_PREFIX_PATH, or configure with TENURE_${part}=OFF.")
        endif()
    endif()
endmacro()

# -l words for a library file; -L too when the linker would not look there by itself.
function(tenure_pc_library file)
    get_filename_component(directory "${file}" DIRECTORY)
    get_filename_component(name "${file}" NAME_WE)
    string(REGEX REPLACE "^lib" "" name "${name}")
    set(words "-l${name}")
    if(NOT directory IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
        set(words "-L${directory} ${words}")
    endif()
    set(TENURE_PC_LIBS "${TENURE_PC_LIBS} ${words}" PARENT_SCOPE)
endfunction()

tenure_find(HWLOC Hwloc)
if(TENURE_HAS_HWLOC)
    set(TENURE_WORD_HWLOC "${Hwloc_VERSION}")
    list(APPEND TENURE_LINK_FILES "${Hwloc_LIBRARY}")
    list(APPEND TENURE_LINK_TARGETS Hwloc::hwloc)
    tenure_pc_library("${Hwloc_LIBRARY}")
endif()

tenure_find(BLIS BLIS)
if(TENURE_HAS_BLIS)
    set(TENURE_WORD_BLIS "${BLIS_VERSION}")
    list(APPEND TENURE_LINK_FILES "${BLIS_LIBRARY}")
    list(APPEND TENURE_LINK_TARGETS BLIS::blis)
    tenure_pc_library("${BLIS_LIBRARY}")
endif()

# Detected only: nothing of the core is built against them. A compiler wrapper without its headers, as a package of mpirun
# alone leaves it, would stop CMake's search with an error instead of an answer.
find_program(TENURE_MPI_WRAPPER NAMES mpicc)
mark_as_advanced(TENURE_MPI_WRAPPER)
if(TENURE_MPI_WRAPPER AND TENURE_WANT_MPI STREQUAL AUTO)
    execute_process(COMMAND "${TENURE_MPI_WRAPPER}" -show OUTPUT_VARIABLE words ERROR_QUIET)
    string(REGEX MATCHALL "-I[^ \n]+" folders "${words}")
    foreach(folder IN LISTS folders)
        string(SUBSTRING "${folder}" 2 -1 folder)
        if(NOT IS_DIRECTORY "${folder}")
            set(TENURE_WANT_MPI OFF)
        endif()
    endforeach()
endif()
tenure_find(MPI MPI COMPONENTS C)
if(TENURE_HAS_MPI)
    set(TENURE_WORD_MPI "${MPI_C_VERSION}")
    include(CheckCSourceCompiles)
    # How it can be asked, when it runs, whether it takes device memory: src/mpi/device_query_*.c.
    set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
    check_c_source_compiles("#include <mpi.h>
#include <mpi-ext.h>
int main(void) { return MPIX_Query_cuda_support(); }" TENURE_MPI_HAS_QUERY_CUDA)
    check_c_source_compiles("#include <mpi.h>
int main(void) { int takes; return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &takes); }" TENURE_MPI_HAS_QUERY_GPU)
    unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(NOT TARGET CUDA::nvToolsExt) # CMake 3.25.1 marks this target as old, and stops where a toolkit (13.0) has none
    add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
tenure_find(CUDA CUDAToolkit)
if(TENURE_HAS_CUDA)
    set(TENURE_WORD_CUDA "${CUDAToolkit_VERSION}")
endif()

include(vector_math)

# exp, sqrt and friends.
find_library(TENURE_MATH_LIBRARY m)
mark_as_advanced(TENURE_MATH_LIBRARY)
if(TENURE_MATH_LIBRARY)
    list(APPEND TENURE_LINK_FILES m)
    list(APPEND TENURE_LINK_TARGETS m)
    set(TENURE_PC_LIBS "${TENURE_PC_LIBS} -lm")
endif()
if(NOT TENURE_BOUNDED)
    set(TENURE_PC_LIBS "${TENURE_PC_LIBS} -pthread")
endif()
string(STRIP "${TENURE_PC_LIBS}" TENURE_PC_LIBS)

set(TENURE_STATIC_PACKAGES "") # what tenureConfig.cmake looks for
if(TENURE_HAS_HWLOC)
    string(APPEND TENURE_STATIC_PACKAGES " Hwloc")
endif()
if(TENURE_HAS_BLIS)
    string(APPEND TENURE_STATIC_PACKAGES " BLIS")
endif()
if(TENURE_HAS_SLEEF)
    string(APPEND TENURE_STATIC_PACKAGES " SLEEF")
endif()
