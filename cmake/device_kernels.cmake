# SPDX-License-Identifier: BSD-3-Clause
#
# The kernels of src/cuda/kernels: their text, which NVRTC compiles at run time, and, where nvcc works, an image of each module
# for TENURE_CUDA_ARCHITECTURES, and the assembler's report of each (kernels/<module>.report in the build folder). Appends to cuda_sources.

set(kernel_folder "${PROJECT_SOURCE_DIR}/src/cuda/kernels")
set(kernel_modules move map cast math math_complex reduce index product) # in the order of tnri_module
set(kernel_headers contract.h common.cuh walk.cuh functions.cuh)
set(kernel_made "${PROJECT_BINARY_DIR}/kernels")
file(MAKE_DIRECTORY "${kernel_made}")

set(kernel_files ${kernel_headers})
foreach(module IN LISTS kernel_modules)
    list(APPEND kernel_files "${module}.cu")
endforeach()
list(TRANSFORM kernel_files PREPEND "${kernel_folder}/")
list(TRANSFORM kernel_headers PREPEND "${kernel_folder}/")
# Lists go through a command line with another separator.
add_custom_command(OUTPUT "${kernel_made}/kernel_texts.c"
    COMMAND "${CMAKE_COMMAND}" "-DOUT=${kernel_made}/kernel_texts.c" -DNAME=tnri_kernel_files -DHEADER=cuda/kernels_internal.h
        -DKIND=texts "-DFILES=${kernel_files}" -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS ${kernel_files} "${PROJECT_SOURCE_DIR}/cmake/embed.cmake" VERBATIM)
list(APPEND cuda_sources "${kernel_made}/kernel_texts.c")

set(nvcc_works FALSE)
if(CUDAToolkit_NVCC_EXECUTABLE AND TENURE_CUDA_ARCHITECTURES)
    set(targets "")
    foreach(architecture IN LISTS TENURE_CUDA_ARCHITECTURES)
        list(APPEND targets "-gencode=arch=compute_${architecture},code=sm_${architecture}")
    endforeach()
    list(GET TENURE_CUDA_ARCHITECTURES -1 newest) # and text that newer ones compile when it is loaded
    list(APPEND targets "-gencode=arch=compute_${newest},code=compute_${newest}")
    # It needs a C++ compiler of the host's, and may not know these architectures.
    file(WRITE "${kernel_made}/probe.cu" "__global__ void probe() {}\n")
    execute_process(COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" -std=c++17 -fatbin ${targets} -o "${kernel_made}/probe.fatbin"
            "${kernel_made}/probe.cu"
        RESULT_VARIABLE nvcc_result OUTPUT_VARIABLE nvcc_says ERROR_VARIABLE nvcc_says)
    if(nvcc_result EQUAL 0)
        set(nvcc_works TRUE)
    else()
        message(STATUS "nvcc does not compile here, kernels are left to NVRTC when a program runs: ${nvcc_says}")
    endif()
endif()
if(nvcc_works)
    set(images "")
    set(nvcc_command "${CUDAToolkit_NVCC_EXECUTABLE}" -std=c++17 --fmad=false -Xfatbin=-compress-all -fatbin ${targets})
    set(image_script "${PROJECT_SOURCE_DIR}/cmake/device_image.cmake")
    foreach(module IN LISTS kernel_modules)
        add_custom_command(OUTPUT "${kernel_made}/${module}.fatbin" "${kernel_made}/${module}.report"
            COMMAND "${CMAKE_COMMAND}" "-DOUT=${kernel_made}/${module}.fatbin" "-DREPORT=${kernel_made}/${module}.report"
                "-DSOURCE=${kernel_folder}/${module}.cu" "-DCOMMAND=${nvcc_command}" -P "${image_script}"
            DEPENDS "${kernel_folder}/${module}.cu" ${kernel_headers} "${image_script}"
            COMMENT "Kernels for devices: ${module}" VERBATIM)
        list(APPEND images "${kernel_made}/${module}.fatbin")
    endforeach()
    add_custom_command(OUTPUT "${kernel_made}/kernel_images.c"
        COMMAND "${CMAKE_COMMAND}" "-DOUT=${kernel_made}/kernel_images.c" -DNAME=tnri_module_images
            -DHEADER=cuda/kernels_internal.h -DKIND=images "-DFILES=${images}" -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
        DEPENDS ${images} "${PROJECT_SOURCE_DIR}/cmake/embed.cmake" VERBATIM)
    list(APPEND cuda_sources "${kernel_made}/kernel_images.c")
else()
    list(APPEND cuda_sources src/cuda/kernel_images_none.c)
endif()
