/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings structs across versions: each begins with its own size, and zero or the initialiser's value means default. */
#include "base.h"

/* No settings will ever be longer: a larger size is none, and what lies behind the struct is not looked at. */
enum { MOST_BYTES = 4096 };

tnr_status tnri_options_take(const char *op, const void *given, size_t least, void *known, size_t known_size)
{
    if (given == NULL) {
        return TNR_OK;
    }
    size_t size;
    memcpy(&size, given, sizeof(size));
    TNR_REQUIRE(size >= least, TNR_ERR_ARGUMENT,
                "%s: options of %llu bytes, at least %llu expected: start from the initialiser", op, TNRI_LLU(size),
                TNRI_LLU(least));
    TNR_REQUIRE(size <= MOST_BYTES, TNR_ERR_ARGUMENT, "%s: options of %llu bytes: start from the initialiser", op,
                TNRI_LLU(size));
    const unsigned char *bytes = given;
    for (size_t at = known_size; at < size; at++) {
        TNR_REQUIRE(bytes[at] == 0, TNR_ERR_ARGUMENT,
                    "%s: options of %llu bytes, of which this version knows %llu, set byte %llu", op, TNRI_LLU(size),
                    TNRI_LLU(known_size), TNRI_LLU(at));
    }
    memcpy(known, given, size < known_size ? size : known_size);
    memcpy(known, &known_size, sizeof(known_size));
    return TNR_OK;
}
