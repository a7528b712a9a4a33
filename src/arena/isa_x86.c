/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPUID and XGETBV for the levels of the x86-64 psABI ("x86-64 psABI", section 3.1.1, micro-architecture levels).
 *
 * Guarantees: a level is reported only with every flag that it names, and only when the operating system saves the
 * registers that it uses.
 *
 * Includes nothing that a build makes, for CMake asks it before there is one (cmake/kernels.cmake).
 */
#include "isa_levels.h"

#include <cpuid.h>
#include <stddef.h>

typedef struct registers {
    unsigned a, b, c, d;
} registers;

static registers leaf(unsigned function, unsigned index)
{
    registers r = {0, 0, 0, 0};
    if (function <= (unsigned)__get_cpuid_max(function & 0x80000000U, NULL)) {
        __cpuid_count(function, index, r.a, r.b, r.c, r.d);
    }
    return r;
}

static bool has(unsigned word, unsigned bits) { return (word & bits) == bits; }

#define BIT(n) (1U << (n))

/* SSE3 SSSE3 CX16 SSE4.1 SSE4.2 POPCNT in leaf 1; LAHF in 0x80000001 */
static bool runs_v2(registers one, registers extended)
{
    return has(one.c, BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23)) && has(extended.c, BIT(0));
}

/* FMA MOVBE OSXSAVE AVX F16C in leaf 1; BMI1 AVX2 BMI2 in 7; LZCNT in 0x80000001; the system saves xmm and ymm */
static bool runs_v3(registers one, registers seven, registers extended, unsigned saved)
{
    return has(one.c, BIT(12) | BIT(22) | BIT(27) | BIT(28) | BIT(29)) && has(seven.b, BIT(3) | BIT(5) | BIT(8)) &&
           has(extended.c, BIT(5)) && has(saved, 0x6U);
}

/* AVX512 F DQ CD BW VL in leaf 7; the system saves mask registers and all of zmm */
static bool runs_v4(registers seven, unsigned saved)
{
    return has(seven.b, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31)) && has(saved, 0xE6U);
}

static unsigned saved_registers(registers one)
{
    if (!has(one.c, BIT(27))) {
        return 0;
    }
    unsigned low;
    unsigned high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return low;
}

bool tnri_isa_runs(tnri_isa isa)
{
    const registers one = leaf(1, 0);
    const registers seven = leaf(7, 0);
    const registers extended = leaf(0x80000001U, 0);
    const unsigned saved = saved_registers(one);
    switch (isa) {
    case TNRI_ISA_BASELINE:
        return true;
    case TNRI_ISA_V2:
        return runs_v2(one, extended);
    case TNRI_ISA_V3:
        return runs_v2(one, extended) && runs_v3(one, seven, extended, saved);
    case TNRI_ISA_V4:
        return runs_v2(one, extended) && runs_v3(one, seven, extended, saved) && runs_v4(seven, saved);
    default:
        return false;
    }
}
