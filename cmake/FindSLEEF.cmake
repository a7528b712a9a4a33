# SPDX-License-Identifier: BSD-3-Clause
# Finds SLEEF: SLEEF_FOUND, SLEEF_VERSION, SLEEF_INCLUDE_DIR, SLEEF_LIBRARY and the target SLEEF::sleef.
# Only one whose 128-bit functions link on this kind of machine counts as found.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(PC_SLEEF QUIET sleef)
endif()
find_path(SLEEF_INCLUDE_DIR sleef.h HINTS ${PC_SLEEF_INCLUDE_DIRS})
find_library(SLEEF_LIBRARY sleef HINTS ${PC_SLEEF_LIBRARY_DIRS})
mark_as_advanced(SLEEF_INCLUDE_DIR SLEEF_LIBRARY)

if(SLEEF_INCLUDE_DIR AND SLEEF_LIBRARY)
    set(probe "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/sleef_probe.c")
    file(WRITE "${probe}" "#include <math.h>\n#include <sleef.h>\n#if defined(__aarch64__)\n"
                          "int main(void) { return Sleef_finz_log1pf4_u10advsimd(vdupq_n_f32(1))[0] < 0; }\n"
                          "#else\nint main(void) { return Sleef_cinz_log1pf4_u10sse2(_mm_set1_ps(1))[0] < 0; }\n#endif\n")
    if(NOT DEFINED SLEEF_LINKS)
        try_compile(SLEEF_LINKS "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/sleef_probe" "${probe}"
            CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${SLEEF_INCLUDE_DIR}" LINK_LIBRARIES ${SLEEF_LIBRARY})
    endif()
    file(STRINGS "${SLEEF_INCLUDE_DIR}/sleef.h" words REGEX "^#define SLEEF_VERSION_(MAJOR|MINOR|PATCHLEVEL) [0-9]+")
    string(REGEX REPLACE "#define SLEEF_VERSION_[A-Z]+ " "" words "${words}")
    string(REPLACE ";" "." SLEEF_VERSION "${words}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SLEEF REQUIRED_VARS SLEEF_LIBRARY SLEEF_INCLUDE_DIR SLEEF_LINKS VERSION_VAR SLEEF_VERSION)
if(SLEEF_FOUND AND NOT TARGET SLEEF::sleef)
    add_library(SLEEF::sleef UNKNOWN IMPORTED)
    set_target_properties(SLEEF::sleef PROPERTIES
        IMPORTED_LOCATION "${SLEEF_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${SLEEF_INCLUDE_DIR}")
endif()
