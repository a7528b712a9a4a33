/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts about element types, all from the one list TNR_DTYPES. Every value is answered: what is no dtype has size 0 and
 * the name "none".
 */
#include "storage.h"

typedef struct dtype_facts {
    const char *name;
    uint8_t size;
    uint8_t alignment;
} dtype_facts;

#define FACTS_ROW(CONSTANT, suffix, type, real, parts) \
    [TNR_##CONSTANT] = {.name = #suffix, .size = sizeof(type), .alignment = _Alignof(real)},

static const dtype_facts facts[TNR_DTYPE_END] = {[TNR_DTYPE_NONE] = {.name = "none"}, TNR_DTYPES(FACTS_ROW)};

#undef FACTS_ROW

/* An element is its components without padding, a power of two of bytes: views count on both. */
#define FACTS_ASSERT(CONSTANT, suffix, type, real, parts)                                              \
    _Static_assert(sizeof(type) == (parts) * sizeof(real) && (sizeof(type) & (sizeof(type) - 1)) == 0, \
                   #suffix " has padding or an odd size");
TNR_DTYPES(FACTS_ASSERT)
#undef FACTS_ASSERT

#define SHIFT_ROW(CONSTANT, suffix, type, real, parts) \
    [TNR_##CONSTANT] = sizeof(type) == 16 ? 4 : sizeof(type) == 8 ? 3 : sizeof(type) == 4 ? 2 : 0,
const uint8_t tnri_dtype_shift[TNR_DTYPE_END] = {TNR_DTYPES(SHIFT_ROW)};
#undef SHIFT_ROW

static const dtype_facts *facts_of(tnr_dtype dtype)
{
    return &facts[(unsigned)dtype < (unsigned)TNR_DTYPE_END ? dtype : TNR_DTYPE_NONE];
}

size_t tnr_dtype_size(tnr_dtype dtype) { return facts_of(dtype)->size; }

size_t tnr_dtype_alignment(tnr_dtype dtype) { return facts_of(dtype)->alignment; }

const char *tnr_dtype_name(tnr_dtype dtype) { return facts_of(dtype)->name; }

tnr_dtype tnr_dtype_real(tnr_dtype dtype)
{
    switch (dtype) {
    case TNR_C32:
        return TNR_F32;
    case TNR_C64:
        return TNR_F64;
    default:
        return dtype;
    }
}
