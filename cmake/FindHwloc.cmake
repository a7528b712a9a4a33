# SPDX-License-Identifier: BSD-3-Clause
# Finds hwloc: Hwloc_FOUND, Hwloc_VERSION, Hwloc_INCLUDE_DIR, Hwloc_LIBRARY and the target Hwloc::hwloc.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(PC_HWLOC QUIET hwloc)
endif()
find_path(Hwloc_INCLUDE_DIR hwloc.h HINTS ${PC_HWLOC_INCLUDE_DIRS})
find_library(Hwloc_LIBRARY hwloc HINTS ${PC_HWLOC_LIBRARY_DIRS})
mark_as_advanced(Hwloc_INCLUDE_DIR Hwloc_LIBRARY)

# The version as the headers have it: hwloc 2 keeps it in autogen/config.h, wherever the distribution puts that.
if(Hwloc_INCLUDE_DIR AND NOT Hwloc_VERSION)
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/hwloc_version.c" "#include <hwloc.h>\nversion is HWLOC_VERSION\n")
    execute_process(
        COMMAND ${CMAKE_C_COMPILER} -E -I${Hwloc_INCLUDE_DIR} "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/hwloc_version.c"
        OUTPUT_VARIABLE preprocessed ERROR_QUIET)
    if(preprocessed MATCHES "version is \"([^\"]+)\"")
        set(Hwloc_VERSION "${CMAKE_MATCH_1}")
    elseif(PC_HWLOC_VERSION)
        set(Hwloc_VERSION "${PC_HWLOC_VERSION}")
    endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hwloc REQUIRED_VARS Hwloc_LIBRARY Hwloc_INCLUDE_DIR VERSION_VAR Hwloc_VERSION)
if(Hwloc_FOUND AND NOT TARGET Hwloc::hwloc)
    add_library(Hwloc::hwloc UNKNOWN IMPORTED)
    set_target_properties(Hwloc::hwloc PROPERTIES
        IMPORTED_LOCATION "${Hwloc_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Hwloc_INCLUDE_DIR}")
endif()
