# SPDX-License-Identifier: BSD-3-Clause
# How tests start ranks: `launch` and a number, `launch_flags`, the program; with `environment`.
execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" --version OUTPUT_VARIABLE launcher ERROR_VARIABLE launcher)
set(launch "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG})
set(open_mpi OFF)
set(environment "")
if(launcher MATCHES "Open MPI|OpenRTE")
    set(open_mpi ON)
    set(launch_flags --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
    set(launch_on --enable-recovery) # do not end a job because a rank of it died
    # Open MPI refuses to start as root unless it is told twice; containers build as root
    set(environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
else()
    set(launch_flags "")
    set(launch_on -disable-auto-cleanup sh "${CMAKE_CURRENT_LIST_DIR}/killed.sh")
endif()
# MPI libraries leak, from plug-ins that are closed when the leak checker looks for their names. What is ours is counted by the
# tests: domains refuse to close while a block is out, and tnr_world_describe counts what MPI holds.
list(APPEND environment LSAN_OPTIONS=detect_leaks=0)
