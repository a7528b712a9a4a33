# SPDX-License-Identifier: BSD-3-Clause
# Finds BLIS: BLIS_FOUND, BLIS_VERSION, BLIS_INCLUDE_DIR, BLIS_LIBRARY and the target BLIS::blis.
# Only a library that links and, where this machine can run it, tells its version, counts as found.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(PC_BLIS QUIET blis)
endif()
find_path(BLIS_INCLUDE_DIR blis.h HINTS ${PC_BLIS_INCLUDE_DIRS} PATH_SUFFIXES blis)
find_library(BLIS_LIBRARY blis HINTS ${PC_BLIS_LIBRARY_DIRS})
find_library(BLIS_MATH_LIBRARY m)
mark_as_advanced(BLIS_INCLUDE_DIR BLIS_LIBRARY BLIS_MATH_LIBRARY)

if(BLIS_INCLUDE_DIR AND BLIS_LIBRARY AND NOT DEFINED BLIS_VERSION)
    set(probe "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/blis_version.c")
    file(WRITE "${probe}" "#include <blis.h>\n#include <stdio.h>\n"
                          "int main(void) { return printf(\"version %s%s\\n\", bli_info_get_version_str(),\n"
                          "                               bli_info_get_enable_openmp() ? \" OpenMP\" : \"\") < 0; }\n")
    if(CMAKE_CROSSCOMPILING)
        try_compile(BLIS_LINKS "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/blis_probe" "${probe}"
            CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${BLIS_INCLUDE_DIR}" LINK_LIBRARIES ${BLIS_LIBRARY} ${BLIS_MATH_LIBRARY})
        if(BLIS_LINKS)
            set(BLIS_VERSION "found" CACHE INTERNAL "Version of BLIS")
        endif()
    else()
        try_run(BLIS_RUNS BLIS_LINKS "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/blis_probe" "${probe}"
            CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${BLIS_INCLUDE_DIR}" LINK_LIBRARIES ${BLIS_LIBRARY} ${BLIS_MATH_LIBRARY}
            RUN_OUTPUT_VARIABLE answer)
        if(BLIS_LINKS AND answer MATCHES "version ([^\n]+)\n")
            string(STRIP "${CMAKE_MATCH_1}" version)
            set(BLIS_VERSION "${version}" CACHE INTERNAL "Version of BLIS")
        endif()
    endif()
endif()

if(BLIS_INCLUDE_DIR AND BLIS_LIBRARY AND NOT DEFINED BLIS_VERSION)
    message(STATUS "BLIS is there, but a program with blis.h does not build or run with this compiler (an OpenMP build of "
                   "BLIS needs the compiler's omp.h, Debian: libomp-dev for Clang)")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BLIS REQUIRED_VARS BLIS_LIBRARY BLIS_INCLUDE_DIR BLIS_VERSION)
if(BLIS_FOUND AND NOT TARGET BLIS::blis)
    add_library(BLIS::blis UNKNOWN IMPORTED)
    set_target_properties(BLIS::blis PROPERTIES
        IMPORTED_LOCATION "${BLIS_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${BLIS_INCLUDE_DIR}")
    if(BLIS_MATH_LIBRARY)
        set_target_properties(BLIS::blis PROPERTIES INTERFACE_LINK_LIBRARIES "m")
    endif()
endif()
