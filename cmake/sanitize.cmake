# SPDX-License-Identifier: BSD-3-Clause
# Sanitizers for everything that is built here, and what the linker can do.

include(CheckLinkerFlag)
check_linker_flag(C "LINKER:--exclude-libs,ALL" TENURE_HAS_EXCLUDE_LIBS)

if(TENURE_SANITIZE)
    include(CheckCSourceCompiles)
    set(flags "-fsanitize=${TENURE_SANITIZE}")
    set(CMAKE_REQUIRED_FLAGS "${flags}")
    set(CMAKE_REQUIRED_LINK_OPTIONS "${flags}")
    string(MAKE_C_IDENTIFIER "TENURE_SANITIZE_WORKS_${TENURE_SANITIZE}" works)
    check_c_source_compiles("int main(void) { return 0; }" ${works})
    unset(CMAKE_REQUIRED_FLAGS)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(NOT ${works})
        message(FATAL_ERROR "TENURE_SANITIZE=${TENURE_SANITIZE}: ${CMAKE_C_COMPILER} cannot build with ${flags}")
    endif()
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    if(NOT "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}}" MATCHES "-g")
        list(APPEND flags -g1) # lines, for what is reported
    endif()
    add_compile_options(${flags} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options("-fsanitize=${TENURE_SANITIZE}")
endif()
