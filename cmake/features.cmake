# SPDX-License-Identifier: BSD-3-Clause
# One set of words for the summary and for tnr_features(): they cannot differ, and a test compares them all the same.

set(TENURE_WORD_SANITIZE off)
if(TENURE_SANITIZE)
    set(TENURE_WORD_SANITIZE "${TENURE_SANITIZE}")
endif()
if(TENURE_BOUNDED)
    set(bounded on)
    set(threads off)
    set(TENURE_BOUNDED_C true)
    set(TENURE_THREADS_C false)
else()
    set(bounded off)
    set(threads on)
    set(TENURE_BOUNDED_C false)
    set(TENURE_THREADS_C true)
endif()

# A debug build is one without NDEBUG, whatever its name.
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
set(debug on)
if("${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}}" MATCHES "-D *NDEBUG")
    set(debug off)
endif()
get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(multi_config)
    set(debug "by configuration")
endif()

configure_file(cmake/features_config.h.in "${TENURE_GENERATED}/private/features_config.h" @ONLY)

set(TENURE_SUMMARY "tenure ${PROJECT_VERSION}
  max rank  ${TENURE_MAX_RANK}
  bounded   ${bounded}
  threads   ${threads}
  debug     ${debug}
  hwloc     ${TENURE_WORD_HWLOC}
  blis      ${TENURE_WORD_BLIS}
  math      ${TENURE_WORD_VECTOR_MATH}
  mpi       ${TENURE_WORD_MPI}
  cuda      ${TENURE_WORD_CUDA}
  sanitize  ${TENURE_WORD_SANITIZE}")
file(WRITE "${PROJECT_BINARY_DIR}/tenure-summary.txt" "${TENURE_SUMMARY}\n")
