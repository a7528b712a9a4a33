# SPDX-License-Identifier: BSD-3-Clause
# Where vector exp, log, sin, cos, tanh, expm1, log1p and pow come from: TENURE_VECTOR_MATH_FILE, a file of
# src/engine/kernels, and TENURE_WORD_VECTOR_MATH, what the summary says. Whatever is linked is added to the lists of
# dependencies.cmake; before the C library's own, which a static libmvec needs.

set(TENURE_VECTOR_MATH_FILE vector_math_libm.inl.h)
set(TENURE_WORD_VECTOR_MATH off)
set(TENURE_HAS_SLEEF OFF)

# libmvec: every function of every width that kernels may call.
if(TENURE_WANT_VECTOR_MATH MATCHES "^(AUTO|MVEC)$")
    include(CheckCSourceCompiles)
    set(declarations "")
    set(uses "")
    foreach(kind "bN4|f" "dN8|f" "eN16|f" "bN2|" "dN4|" "eN8|")
        string(REGEX REPLACE "[|].*" "" width "${kind}")
        string(REGEX REPLACE ".*[|]" "" end "${kind}")
        foreach(function v_exp v_log v_sin v_cos v_tanh v_expm1 v_log1p vv_pow)
            string(APPEND declarations "void _ZGV${width}${function}${end}(void);\n")
            string(APPEND uses "_ZGV${width}${function}${end},\n")
        endforeach()
    endforeach()
    set(CMAKE_REQUIRED_LIBRARIES mvec m)
    check_c_source_compiles("${declarations}
        int main(int count, char **words)
        {
            void (*volatile all[])(void) = {${uses}};
            return words == 0 && all[count] == 0;
        }" TENURE_MVEC_LINKS)
    unset(CMAKE_REQUIRED_LIBRARIES)
    if(TENURE_MVEC_LINKS)
        set(TENURE_VECTOR_MATH_FILE vector_math_mvec.inl.h)
        set(TENURE_WORD_VECTOR_MATH libmvec)
        list(APPEND TENURE_LINK_FILES mvec)
        list(APPEND TENURE_LINK_TARGETS mvec)
        set(TENURE_PC_LIBS "${TENURE_PC_LIBS} -lmvec")
    elseif(TENURE_WANT_VECTOR_MATH STREQUAL MVEC)
        message(FATAL_ERROR "TENURE_VECTOR_MATH=MVEC, but libmvec lacks functions or is not there: it is part of glibc "
                            "for x86-64 from 2.35 on. Configure with TENURE_VECTOR_MATH=SLEEF or OFF.")
    endif()
endif()

if(TENURE_WORD_VECTOR_MATH STREQUAL off AND TENURE_WANT_VECTOR_MATH MATCHES "^(AUTO|SLEEF)$")
    find_package(SLEEF QUIET)
    if(SLEEF_FOUND)
        set(TENURE_HAS_SLEEF ON)
        set(TENURE_VECTOR_MATH_FILE vector_math_sleef.inl.h)
        set(TENURE_WORD_VECTOR_MATH "SLEEF ${SLEEF_VERSION}")
        list(APPEND TENURE_LINK_FILES "${SLEEF_LIBRARY}")
        list(APPEND TENURE_LINK_TARGETS SLEEF::sleef)
        tenure_pc_library("${SLEEF_LIBRARY}")
    elseif(TENURE_WANT_VECTOR_MATH STREQUAL SLEEF)
        message(FATAL_ERROR "TENURE_VECTOR_MATH=SLEEF, but SLEEF was not found. Install it, name its place in "
                            "CMAKE_PREFIX_PATH, or configure with TENURE_VECTOR_MATH=OFF.")
    endif()
endif()
