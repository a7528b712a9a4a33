# SPDX-License-Identifier: BSD-3-Clause
#
# cmake -DOUT=file.c -DNAME=symbol [-DHEADER=included.h] -DKIND=texts|images -DFILES=a;b -P embed.cmake
#
# Files as C arrays.
#   texts    tnri_kernel_file NAME[] = {{"a", text of it}, ...}, ended by {NULL, NULL}
#   images   const unsigned char *const NAME[], and size_t NAME_bytes[] (singular: tnri_module_images, tnri_module_image_bytes)

# Sets `array` to a C array of the file's bytes.
function(tenure_array symbol file end)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "(................................................................)" "\\1\n    " hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    set(array "static const _Alignas(64) unsigned char ${symbol}[] = {\n    ${hex}${end}};\n" PARENT_SCOPE)
endfunction()

set(text "/* Made by cmake/embed.cmake. */\n#include \"${HEADER}\"\n\n")
set(list "")
set(sizes "")
set(number 0)
foreach(file IN LISTS FILES)
    get_filename_component(name "${file}" NAME)
    if(KIND STREQUAL "texts")
        tenure_array("file_${number}" "${file}" "0")
        string(APPEND list "    {\"${name}\", (const char *)file_${number}},\n")
    else()
        tenure_array("file_${number}" "${file}" "")
        string(APPEND list "    file_${number},\n")
        string(APPEND sizes "    sizeof(file_${number}),\n")
    endif()
    string(APPEND text "${array}")
    math(EXPR number "${number} + 1")
endforeach()
if(KIND STREQUAL "texts")
    string(APPEND text "\nconst tnri_kernel_file ${NAME}[] = {\n${list}    {NULL, NULL},\n};\n")
else()
    string(REGEX REPLACE "s$" "" one "${NAME}")
    string(APPEND text "\nconst unsigned char *const ${NAME}[] = {\n${list}};\n\nconst size_t ${one}_bytes[] = {\n${sizes}};\n")
endif()
file(WRITE "${OUT}" "${text}")
