# SPDX-License-Identifier: BSD-3-Clause
# Cortex-M3 or M7, without an operating system: gcc-arm-none-eabi and newlib. -DTENURE_CORE=cortex-m3 or cortex-m7.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(TENURE_CORE cortex-m3 CACHE STRING "Core of the board: cortex-m3 or cortex-m7")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TENURE_CORE)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # nothing runs, and nothing links without a linker script

set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(flags_cortex-m3 "-mcpu=cortex-m3 -mthumb -mfloat-abi=soft")
set(flags_cortex-m7 "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16")
if(NOT DEFINED flags_${TENURE_CORE})
    message(FATAL_ERROR "TENURE_CORE is cortex-m3 or cortex-m7, not \"${TENURE_CORE}\"")
endif()
set(CMAKE_C_FLAGS_INIT "${flags_${TENURE_CORE}} -ffunction-sections -fdata-sections")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
