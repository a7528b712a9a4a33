# SPDX-License-Identifier: BSD-3-Clause
# What lands in a prefix. Nothing in it names the prefix: it can be moved.

set(TENURE_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/tenure")

if(TENURE_HAS_SHARED)
    install(TARGETS tenure EXPORT tenureTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
    install(EXPORT tenureTargets NAMESPACE tenure:: DESTINATION "${TENURE_CMAKE_DIR}")
endif()
install(TARGETS tenure_static EXPORT tenureStaticTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
set(left_out "")
if(NOT TENURE_HAS_MPI) # no header without its library
    list(APPEND left_out PATTERN "mpi.h" EXCLUDE)
endif()
if(NOT TENURE_HAS_CUDA)
    list(APPEND left_out PATTERN "cuda.h" EXCLUDE)
endif()
install(DIRECTORY include/tenure "${TENURE_GENERATED}/include/tenure" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.h" ${left_out})
install(EXPORT tenureStaticTargets NAMESPACE tenure:: DESTINATION "${TENURE_CMAKE_DIR}")

# Ranks: found with COMPONENTS mpi alone, so that nobody else looks for MPI.
if(TENURE_HAS_MPI)
    install(TARGETS tenure_mpi EXPORT tenureMpiTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
    install(TARGETS tenure_mpi_static EXPORT tenureMpiStaticTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(EXPORT tenureMpiTargets NAMESPACE tenure:: DESTINATION "${TENURE_CMAKE_DIR}")
    install(EXPORT tenureMpiStaticTargets NAMESPACE tenure:: DESTINATION "${TENURE_CMAKE_DIR}")
endif()

# Devices: found with COMPONENTS cuda; needs no toolkit where it is used.
if(TENURE_HAS_CUDA)
    install(TARGETS tenure_cuda EXPORT tenureCudaTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
    install(TARGETS tenure_cuda_static EXPORT tenureCudaStaticTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(EXPORT tenureCudaTargets NAMESPACE tenure:: DESTINATION "${TENURE_CMAKE_DIR}")
    install(EXPORT tenureCudaStaticTargets NAMESPACE tenure:: DESTINATION "${TENURE_CMAKE_DIR}")
endif()

configure_package_config_file(cmake/tenureConfig.cmake.in "${TENURE_GENERATED}/tenureConfig.cmake"
    INSTALL_DESTINATION "${TENURE_CMAKE_DIR}")
write_basic_package_version_file("${TENURE_GENERATED}/tenureConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${TENURE_GENERATED}/tenureConfig.cmake" "${TENURE_GENERATED}/tenureConfigVersion.cmake"
              cmake/FindHwloc.cmake cmake/FindBLIS.cmake cmake/FindSLEEF.cmake DESTINATION "${TENURE_CMAKE_DIR}")

# From <libdir>/pkgconfig up to the prefix.
file(RELATIVE_PATH TENURE_PC_UP "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" TENURE_PC_UP "${TENURE_PC_UP}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    message(FATAL_ERROR "CMAKE_INSTALL_LIBDIR and CMAKE_INSTALL_INCLUDEDIR must be relative: an installed tenure can be moved")
endif()
configure_file(cmake/tenure.pc.in "${TENURE_GENERATED}/tenure.pc" @ONLY)
install(FILES "${TENURE_GENERATED}/tenure.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(TENURE_HAS_MPI)
    configure_file(cmake/tenure-mpi.pc.in "${TENURE_GENERATED}/tenure-mpi.pc" @ONLY)
    install(FILES "${TENURE_GENERATED}/tenure-mpi.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
if(TENURE_HAS_CUDA)
    configure_file(cmake/tenure-cuda.pc.in "${TENURE_GENERATED}/tenure-cuda.pc" @ONLY)
    install(FILES "${TENURE_GENERATED}/tenure-cuda.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
