# SPDX-License-Identifier: BSD-3-Clause
# Kernels are compiled once per instruction set from one source. Each file is built with -DTNRI_ISA=<set> and makes one table,
# <name>_<set> (src/arena/arena.h). Which table is used is decided at run time.

set(TENURE_ISAS baseline)
set(TENURE_HAS_X86_ISAS OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8 AND NOT TENURE_BOUNDED AND
   NOT TENURE_BASELINE_ONLY)
    include(CheckCCompilerFlag)
    check_c_compiler_flag(-march=x86-64-v4 TENURE_COMPILER_KNOWS_V4)
    if(TENURE_COMPILER_KNOWS_V4)
        set(TENURE_HAS_X86_ISAS ON)
        list(APPEND TENURE_ISAS v2 v3 v4)
    endif()
endif()

# The sets that programs built here can run here: tests know by it which one is the best, and a sanitizer's build, which goes
# nowhere else and is slow to make, has the best one's kernels and the baseline's, whose vectors are also v2's. It is the library
# itself that is asked.
set(TENURE_RUNNABLE_ISAS ${TENURE_ISAS})
if(TENURE_HAS_X86_ISAS AND NOT CMAKE_CROSSCOMPILING)
    if(NOT DEFINED TENURE_BEST_ISA)
        message(CHECK_START "Best instruction set that runs here")
        try_run(TENURE_BEST_ISA TENURE_BEST_ISA_COMPILED
            SOURCES "${PROJECT_SOURCE_DIR}/cmake/isa_best.c" "${PROJECT_SOURCE_DIR}/src/arena/isa_x86.c"
            CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src/arena"
            COMPILE_OUTPUT_VARIABLE output C_STANDARD 11)
        if(NOT TENURE_BEST_ISA_COMPILED)
            message(FATAL_ERROR "cmake/isa_best.c with src/arena/isa_x86.c does not compile:\n${output}")
        elseif(NOT TENURE_BEST_ISA MATCHES "^[0-3]$") # nothing that was built here runs here
            set(TENURE_BEST_ISA 0 CACHE STRING "" FORCE)
        endif()
        list(GET TENURE_ISAS ${TENURE_BEST_ISA} best) # in the order of tnri_isa
        message(CHECK_PASS "${best}")
    endif()
    math(EXPR count "${TENURE_BEST_ISA} + 1")
    list(SUBLIST TENURE_ISAS 0 ${count} TENURE_RUNNABLE_ISAS)
    if(TENURE_SANITIZE)
        set(TENURE_ISAS baseline)
        if(TENURE_BEST_ISA GREATER 1)
            list(GET TENURE_RUNNABLE_ISAS ${TENURE_BEST_ISA} best)
            list(APPEND TENURE_ISAS ${best})
        endif()
    endif()
endif()

# tenure_kernels(FILE...): one object library per set, tenure-kernels-<set>; TENURE_KERNEL_OBJECTS names all their objects.
function(tenure_kernels)
    set(objects "")
    foreach(isa IN LISTS TENURE_ISAS)
        set(library tenure-kernels-${isa})
        add_library(${library} OBJECT ${ARGN})
        target_link_libraries(${library} PRIVATE tenure-inside)
        target_compile_definitions(${library} PRIVATE TNRI_ISA=${isa} TNRI_VECTOR_MATH=\"${TENURE_VECTOR_MATH_FILE}\")
        if(TENURE_HAS_SLEEF)
            target_include_directories(${library} SYSTEM PRIVATE ${SLEEF_INCLUDE_DIR})
        endif()
        # No values change by these: nothing reads errno or the exception flags, and with both in mind compilers make no
        # vector code of choices and square roots.
        target_compile_options(${library} PRIVATE -fno-math-errno -fno-trapping-math)
        # Loops as written where a sanitizer checks each access already (unrolled, kernels would take minutes to compile), and
        # where little code is wanted.
        if(TENURE_SANITIZE OR TENURE_SMALL)
            target_compile_definitions(${library} PRIVATE TNRI_LOOPS_AS_WRITTEN)
        elseif(TENURE_KERNELS_O3)
            target_compile_options(${library} PRIVATE -O3)
        endif()
        if(NOT isa STREQUAL baseline)
            target_compile_options(${library} PRIVATE -march=x86-64-${isa})
        endif()
        if(isa STREQUAL v4) # the compilers' own default holds back to 256 bits for CPUs of a decade ago
            target_compile_options(${library} PRIVATE -mprefer-vector-width=512)
        endif()
        set_target_properties(${library} PROPERTIES
            C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
            C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ${TENURE_PIC})
        tenure_warnings(${library})
        list(APPEND objects $<TARGET_OBJECTS:${library}>)
    endforeach()
    set(TENURE_KERNEL_OBJECTS "${objects}" PARENT_SCOPE)
endfunction()
