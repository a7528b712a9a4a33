/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every elementwise kernel of every instruction set that this machine has, against the baseline's: the same bits for the
 * same elements, whatever the steps, the length and the alignment, and whether stores go past the caches; and no byte beside.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"
#include "engine/kernels/elementwise_kernels.h"
#include "storage/stream.h"

enum { MOST = 300, ROOM = 3 * 16 * (MOST + 16) };

static const tnri_arithmetic_kernels *const arithmetic[] = TNRI_ISA_TABLES(tnri_arithmetic_kernels);
static const tnri_order_kernels *const order[] = TNRI_ISA_TABLES(tnri_order_kernels);
static const tnri_cast_kernels *const casts[] = TNRI_ISA_TABLES(tnri_cast_kernels);
static const tnri_scan_kernels *const scans[] = TNRI_ISA_TABLES(tnri_scan_kernels);

static const tnr_dtype none = TNR_DTYPE_NONE;

/* Elements of many kinds, NaNs and infinities among them, none of which an operation refuses. */
static void fill(catalogue_random *random, tnr_dtype dtype, bool positive, char *data)
{
    for (int64_t at = 0; at < ROOM; at += (int64_t)tnr_dtype_size(dtype)) {
        const uint64_t bits = catalogue_next(random);
        const double real = (double)(int64_t)(bits & 0xFFFF) / 256.0 - 128.0;
        static const double list[] = {0.0, -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN, 1e300, -1e-310, 3e9};
        const double value = bits >> 60 == 0 ? list[bits >> 57 & 7] : real;
        const float single = (float)(bits >> 60 == 0 && (bits >> 57 & 7) == 5 ? 1e30 : value);
        const int64_t whole = positive ? (int64_t)(bits % 61) + 1 : (int64_t)bits >> (bits & 31);
        const int32_t half = (int32_t)(whole & INT32_MAX) - (positive ? 0 : INT32_MAX / 2);
        if (dtype == TNR_F32 || dtype == TNR_C32) {
            memcpy(data + at, &single, 4);
            memcpy(data + at + (dtype == TNR_C32 ? 4 : 0), &single, 4);
        } else if (dtype == TNR_F64 || dtype == TNR_C64) {
            const double other = value * 0.75;
            memcpy(data + at, &value, 8);
            memcpy(data + at + (dtype == TNR_C64 ? 8 : 0), dtype == TNR_C64 ? &other : &value, 8);
        } else if (dtype == TNR_I32) {
            memcpy(data + at, &half, 4);
        } else if (dtype == TNR_I64) {
            memcpy(data + at, &whole, 8);
        } else {
            data[at] = (char)(bits % 3);
        }
    }
}

/* NaNs of any payload are alike: which of two NaNs a sum has is the compiler's choice. */
static bool alike(tnr_dtype dtype, const char *a, const char *b, int64_t bytes)
{
    const tnr_dtype real = tnr_dtype_real(dtype);
    const int64_t width = (int64_t)tnr_dtype_size(real);
    for (int64_t at = 0; at < bytes; at += width) {
        if (memcmp(a + at, b + at, (size_t)width) == 0) {
            continue;
        }
        float f[2];
        double d[2];
        if (real == TNR_F32) {
            memcpy(&f[0], a + at, 4);
            memcpy(&f[1], b + at, 4);
        }
        if (real == TNR_F64) {
            memcpy(&d[0], a + at, 8);
            memcpy(&d[1], b + at, 8);
        }
        if (!((real == TNR_F32 && isnan(f[0]) && isnan(f[1])) || (real == TNR_F64 && isnan(d[0]) && isnan(d[1])))) {
            return false;
        }
    }
    return true;
}

typedef struct shape {
    tnr_dtype out;
    tnr_dtype inputs[TNRI_CALL_INPUTS];
    bool positive; /* integers of the last input are from 1 to 61 */
} shape;

static int compared;

static void compare(const char *name, tnri_isa isa, tnri_plane_kernel baseline, tnri_plane_kernel kernel, shape types)
{
    static _Alignas(64) char inputs[TNRI_CALL_INPUTS][ROOM];
    static _Alignas(64) char wanted[ROOM];
    static _Alignas(64) char found[ROOM];
    if (baseline == NULL || kernel == NULL) {
        assert_true(baseline == NULL && kernel == NULL);
        return;
    }
    ++compared;
    catalogue_random random = {99};
    tnri_plane p = {.operands = 1, .lines = 1};
    while (p.operands <= TNRI_CALL_INPUTS && types.inputs[p.operands - 1] != none) {
        const bool last = p.operands == TNRI_CALL_INPUTS || types.inputs[p.operands] == none;
        fill(&random, types.inputs[p.operands - 1], types.positive && last, inputs[p.operands - 1]);
        ++p.operands;
    }
    static const int64_t counts[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 67, 128, 130, 255, MOST};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        for (int way = 0; way < 12; ++way) { /* bit k - 1: input k is held still; 8 and up: steps, lines, streaming */
            const int64_t width = (int64_t)tnr_dtype_size(types.out);
            p.count = counts[c];
            p.lines = way == 9 ? 2 : 1;
            p.stream = way == 10 || way == 11;
            p.step[0] = way == 8 ? 2 * width : width;
            p.jump[0] = (p.count + 3) * width;
            const int64_t first = p.stream ? 0 : width * (way % 3);
            for (int k = 1; k < p.operands; ++k) {
                const int64_t step = (int64_t)tnr_dtype_size(types.inputs[k - 1]);
                p.data[k] = inputs[k - 1] + (way % 2 != 0 ? step : 0);
                p.step[k] = way < 8 && (way >> (k - 1) & 1) != 0 ? 0 : step;
                if (way == 8) { /* backwards, and by twos */
                    p.step[k] = k % 2 != 0 ? -step : 2 * step;
                    p.data[k] += k % 2 != 0 ? p.count * step : 0;
                }
                if (way == 11 && k == 2) {
                    p.step[k] = 0;
                }
                p.jump[k] = step * 5;
            }
            memset(wanted, 0x55, sizeof wanted);
            memset(found, 0x55, sizeof found);
            const bool stream = p.stream;
            p.stream = false;
            p.data[0] = wanted + first;
            baseline(&p);
            p.stream = stream;
            p.data[0] = found + first;
            kernel(&p);
            tnri_stream_fence();
            if (!alike(types.out, wanted, found, ROOM)) {
                fail_msg("%s of %s, %s, %d elements, way %d: other bits than the baseline", name,
                         tnr_dtype_name(types.inputs[0]), tnri_isa_name(isa), (int)p.count, way);
            }
        }
    }
}

static void test_kernels_of_all_instruction_sets(void **state)
{
    (void)state;
    for (int i = TNRI_ISA_BASELINE; i < TNRI_ISA_END; ++i) { /* the baseline too: it streams */
        const tnri_isa isa = (tnri_isa)i;
        if (!tnri_isa_runs(isa)) {
            printf("this machine has no %s\n", tnri_isa_name(isa));
            continue;
        }
        for (int d = TNR_F32; d < TNR_DTYPE_END; ++d) {
            const tnr_dtype t = (tnr_dtype)d;
            const shape one = {t, {t, none, none}, false};
            const shape two = {t, {t, t, none}, false};
            const shape positive = {t, {t, t, none}, true};
            const shape three = {t, {t, t, t}, false};
            const shape truth = {TNR_BOOL, {t, t, none}, false};
            const shape chosen = {t, {TNR_BOOL, t, t}, false};
            const shape size = {tnr_dtype_real(t), {t, none, none}, false};
            compare("add", isa, arithmetic[0]->add[d], arithmetic[i]->add[d], two);
            compare("sub", isa, arithmetic[0]->sub[d], arithmetic[i]->sub[d], two);
            compare("mul", isa, arithmetic[0]->mul[d], arithmetic[i]->mul[d], two);
            compare("div", isa, arithmetic[0]->div[d], arithmetic[i]->div[d], positive);
            compare("rem", isa, arithmetic[0]->rem[d], arithmetic[i]->rem[d], positive);
            compare("pow", isa, arithmetic[0]->pow[d], arithmetic[i]->pow[d], positive);
            compare("neg", isa, arithmetic[0]->neg[d], arithmetic[i]->neg[d], one);
            compare("abs", isa, arithmetic[0]->abs[d], arithmetic[i]->abs[d], size);
            compare("sign", isa, arithmetic[0]->sign[d], arithmetic[i]->sign[d], one);
            compare("conj", isa, arithmetic[0]->conj[d], arithmetic[i]->conj[d], one);
            compare("maximum", isa, order[0]->maximum[d], order[i]->maximum[d], two);
            compare("minimum", isa, order[0]->minimum[d], order[i]->minimum[d], two);
            compare("clamp", isa, order[0]->clamp[d], order[i]->clamp[d], three);
            compare("select", isa, order[0]->select[d], order[i]->select[d], chosen);
            compare("equal", isa, order[0]->equal[d], order[i]->equal[d], truth);
            compare("not equal", isa, order[0]->not_equal[d], order[i]->not_equal[d], truth);
            compare("less", isa, order[0]->less[d], order[i]->less[d], truth);
            compare("less equal", isa, order[0]->less_equal[d], order[i]->less_equal[d], truth);
            for (int to = TNR_F32; to < TNR_DTYPE_END; ++to) {
                const shape cast = {(tnr_dtype)to, {t, none, none}, false};
                compare("cast", isa, casts[0]->to[to][d], casts[i]->to[to][d], cast);
            }
        }
    }
    assert_true(compared >= 49 + 2 * 6); /* the baseline's at least */
}

static void test_scans_of_all_instruction_sets(void **state)
{
    (void)state;
    static int64_t values[3000];
    static int32_t halves[3000];
    for (int i = 0; i < 3000; ++i) {
        values[i] = i + 1;
        halves[i] = i + 1;
    }
    for (int isa = TNRI_ISA_BASELINE; isa < TNRI_ISA_END; ++isa) {
        if (!tnri_isa_runs((tnri_isa)isa)) {
            continue;
        }
        const tnri_scan_kernels *table = scans[isa];
        for (int at = 0; at < 3000; at = at < 70 ? at + 1 : at + 331) {
            for (int64_t step = 1; step <= 3; ++step) {
                const int64_t count = 3000 / step;
                const int64_t expected = at % step == 0 && at / step < count ? at / step : -1;
                values[at] = 0;
                halves[at] = 0;
                assert_true(table->zero[TNR_I64]((const char *)values, 8 * step, count) == expected);
                assert_true(table->zero[TNR_I32]((const char *)halves, 4 * step, count) == expected);
                assert_true(table->negative[TNR_I64]((const char *)values, 8 * step, count) == -1);
                values[at] = INT64_MIN;
                halves[at] = -1;
                assert_true(table->negative[TNR_I64]((const char *)values, 8 * step, count) == expected);
                assert_true(table->negative[TNR_I32]((const char *)halves, 4 * step, count) == expected);
                values[at] = at + 1;
                halves[at] = at + 1;
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_of_all_instruction_sets),
        cmocka_unit_test(test_scans_of_all_instruction_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
