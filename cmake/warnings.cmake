# SPDX-License-Identifier: BSD-3-Clause
# Warnings of our own code; errors where TENURE_WERROR says so.

set(TENURE_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
set(TENURE_C_WARNINGS -Wstrict-prototypes)

function(tenure_warnings target)
    target_compile_options(${target} PRIVATE ${TENURE_WARNINGS} $<$<COMPILE_LANGUAGE:C>:${TENURE_C_WARNINGS}>)
    if(TENURE_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()
