/* SPDX-License-Identifier: BSD-3-Clause */
/* Wire headers: the very bytes, back and forth, and everything about one that can be wrong. Needs no MPI that runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "../../src/mpi/mpi_internal.h"
#include "support/wire_seal.h"

static const tnri_wire_limits any_size = {7, 3, 12, UINT64_MAX};

static tnri_header sample(void)
{
    tnri_header header;
    memset(&header, 0, sizeof(header));
    header.dtype = TNR_F64;
    header.rank = 3;
    header.epoch = 7;
    header.number = 0x01020304;
    header.source = 3;
    header.channel = 12;
    header.ack = 0xA0B0C0D0;
    header.count = 24;
    header.bytes = 192;
    header.chunk = 1 << 20;
    header.domain = UINT64_C(0x1122334455667788);
    header.allocation = 99;
    header.shape[0] = 2;
    header.shape[1] = 3;
    header.shape[2] = 4;
    return header;
}

/* Decode from a block of exactly so many bytes, so that sanitizers see a step outside. */
static tnr_status decode(const unsigned char *bytes, size_t length, const tnri_wire_limits *limits, tnri_header *header)
{
    unsigned char *exact = malloc(length != 0 ? length : 1);
    assert_non_null(exact);
    if (length != 0) {
        memcpy(exact, bytes, length);
    }
    const tnr_status status = tnri_wire_decode("receive", exact, length, limits, header);
    free(exact);
    return status;
}

static void refused(tnr_status expected, const char *words, const unsigned char *bytes, size_t length)
{
    tnri_header header;
    memset(&header, 0x5A, sizeof(header));
    const tnri_header before = header;
    assert_int_equal(decode(bytes, length, &any_size, &header), expected);
    assert_memory_equal(&header, &before, sizeof(header)); /* written on success only */
    if (strstr(tnr_last_error(), words) == NULL || strncmp(tnr_last_error(), "receive: ", 9) != 0) {
        fail_msg("\"%s\" is not in \"%s\"", words, tnr_last_error());
    }
}

static void test_the_very_bytes(void **state)
{
    (void)state;
    const tnri_header header = sample();
    unsigned char bytes[TNRI_WIRE_MOST_BYTES];
    memset(bytes, 0xEE, sizeof(bytes));
    assert_int_equal(tnri_wire_encode(&header, bytes), 120);
    static const unsigned char expected[112] = {
        'T',  'N',  'T',  'R',  1,    0,    0,    0,    TNR_F64, 0, 0,    0, 3, 0, 0, 0, /* dtype, rank */
        0,    0,    0,    0,    7,    0,    0,    0,    4,       3, 2,    1, 3, 0, 0, 0, /* number, source */
        12,   0,    0,    0,    0xD0, 0xC0, 0xB0, 0xA0, 24,      0, 0,    0, 0, 0, 0, 0, /* ack, count */
        192,  0,    0,    0,    0,    0,    0,    0,    0,       0, 0x10, 0, 0, 0, 0, 0, /* bytes, chunk */
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 99,      0, 0,    0, 0, 0, 0, 0, /* domain */
        120,  0,    0,    0,    0,    0,    0,    0,    2,       0, 0,    0, 0, 0, 0, 0, /* length, shape */
        3,    0,    0,    0,    0,    0,    0,    0,    4,       0, 0,    0, 0, 0, 0, 0};
    assert_memory_equal(bytes, expected, sizeof(expected));
    unsigned char sealed[120];
    memcpy(sealed, expected, sizeof(expected));
    wire_seal(sealed, sizeof(sealed));
    assert_memory_equal(bytes, sealed, sizeof(sealed));
    for (size_t at = 120; at < sizeof(bytes); at++) {
        assert_int_equal(bytes[at], 0xEE); /* nothing is written behind it */
    }
    tnri_header back;
    assert_int_equal(decode(bytes, 120, &any_size, &back), TNR_OK);
    assert_memory_equal(&back, &header, sizeof(header));
}

static uint64_t state64;
static uint64_t random64(void)
{
    state64 ^= state64 << 13;
    state64 ^= state64 >> 7;
    state64 ^= state64 << 17;
    return state64 * UINT64_C(0x2545F4914F6CDD1D);
}

static void test_back_and_forth(void **state)
{
    (void)state;
    const char *given = getenv("TENURE_TEST_SEED");
    state64 = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    print_message("TENURE_TEST_SEED=%llu\n", (unsigned long long)state64);
    state64 += UINT64_C(0x9E3779B97F4A7C15);
    for (int times = 0; times < 20000; times++) {
        tnri_header header;
        memset(&header, 0, sizeof(header));
        header.dtype = TNR_DTYPE_NONE + 1 + (uint32_t)(random64() % (TNR_DTYPE_END - TNR_DTYPE_NONE - 1));
        header.rank = (uint32_t)(random64() % (TNR_MAX_RANK + 1));
        header.count = 1;
        for (uint32_t axis = 0; axis < header.rank; axis++) {
            header.shape[axis] = (int64_t)(random64() % 5);
            header.count *= (uint64_t)header.shape[axis];
        }
        header.bytes = header.count * tnr_dtype_size((tnr_dtype)header.dtype);
        header.chunk = 1 + random64() % TNRI_CHUNK_MOST;
        header.epoch = (uint32_t)random64();
        header.number = (uint32_t)random64();
        header.source = (uint32_t)random64();
        header.channel = (uint32_t)random64();
        header.ack = (uint32_t)random64();
        header.domain = random64();
        header.allocation = random64();
        const bool eager = header.bytes <= 64 && random64() % 2 == 0;
        header.flags = (eager ? TNRI_WIRE_EAGER : 0) | (random64() % 2 == 0 ? TNRI_WIRE_SHARED : 0);
        unsigned char bytes[TNRI_WIRE_MOST_BYTES + 64] = {0};
        const uint32_t length = tnri_wire_encode(&header, bytes);
        assert_int_equal(length, TNRI_WIRE_BYTES(header.rank));
        const tnri_wire_limits limits = {header.epoch, header.source, header.channel, header.bytes};
        tnri_header back;
        assert_int_equal(decode(bytes, length + (eager ? header.bytes : 0), &limits, &back), TNR_OK);
        assert_memory_equal(&back, &header, sizeof(header));
    }
}

static void test_every_flipped_bit_is_found(void **state)
{
    (void)state;
    const tnri_header header = sample();
    unsigned char bytes[TNRI_WIRE_MOST_BYTES];
    const uint32_t length = tnri_wire_encode(&header, bytes);
    for (uint32_t bit = 0; bit < length * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
        refused(TNR_ERR_MPI, "", bytes, length);
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
    }
}

static void test_every_cut_is_found(void **state)
{
    (void)state;
    tnri_header header = sample();
    unsigned char bytes[TNRI_WIRE_MOST_BYTES + 200] = {0};
    uint32_t length = tnri_wire_encode(&header, bytes);
    for (uint32_t most = 0; most < length; most++) {
        refused(TNR_ERR_MPI, "", bytes, most);
    }
    refused(TNR_ERR_MPI, "1 bytes behind the header, 0 expected", bytes, length + 1);
    header.flags = TNRI_WIRE_EAGER;
    length = tnri_wire_encode(&header, bytes);
    for (uint32_t most = length; most < length + header.bytes; most++) {
        refused(TNR_ERR_MPI, "behind the header, 192 expected", bytes, most);
    }
    tnri_header back;
    assert_int_equal(decode(bytes, length + header.bytes, &any_size, &back), TNR_OK);
    refused(TNR_ERR_MPI, "193 bytes behind the header, 192 expected", bytes, length + header.bytes + 1);
}

/* One field of the sample is another, and the sum is right. */
static void one_bad(const char *words, size_t at, size_t count, uint64_t value)
{
    const tnri_header header = sample();
    unsigned char bytes[TNRI_WIRE_MOST_BYTES];
    const uint32_t length = tnri_wire_encode(&header, bytes);
    wire_word_set(bytes + at, count, value);
    wire_seal(bytes, length);
    refused(TNR_ERR_MPI, words, bytes, length);
}

static void test_each_field(void **state)
{
    (void)state;
    one_bad("none of tenure's", 0, 4, 0x4E54);
    one_bad("header of version 2, 1 expected", 4, 4, 2);
    one_bad("dtype 0", 8, 4, 0);
    one_bad("dtype 4294967295", 8, 4, UINT32_MAX);
    one_bad("with dtype", 8, 4, TNR_DTYPE_END);
    one_bad("with 192 bytes for 24 elements of f32", 8, 4, TNR_F32);
    one_bad("rank 17", 12, 4, TNR_MAX_RANK + 1);
    one_bad("rank 4294967295", 12, 4, UINT32_MAX);
    one_bad("header says 120 bytes", 12, 4, 2);
    one_bad("header says 120 bytes", 12, 4, 4);
    one_bad("flags 4", 16, 4, 4);
    one_bad("flags 2147483648", 16, 4, UINT32_C(1) << 31);
    one_bad("world number 8, 7 expected", 20, 4, 8);
    one_bad("of rank 2, of rank 3 expected", 28, 4, 2);
    one_bad("on channel 13, 12 expected", 32, 4, 13);
    one_bad("with 23 elements", 40, 8, 23);
    one_bad("elements", 40, 8, UINT64_MAX);
    one_bad("with 191 bytes for 24 elements of f64", 48, 8, 191);
    one_bad("for 24 elements", 48, 8, UINT64_MAX);
    one_bad("messages of 0 bytes", 56, 8, 0);
    one_bad("messages of 1073741825 bytes", 56, 8, TNRI_CHUNK_MOST + 1);
    one_bad("header says 119 bytes", 80, 4, 119);
    one_bad("header says 112 bytes", 80, 4, 112);
    one_bad("header says", 80, 4, UINT32_MAX);
    one_bad("header says", 84, 4, 1);
    one_bad("its shape does not have", 88, 8, 5);
    one_bad("its shape does not have", 88, 8, (uint64_t)-2);
    one_bad("its shape does not have", 88, 8, 0);
    one_bad("its shape does not have", 88, 8, UINT64_C(1) << 62);
}

static tnr_status with_shape(int rank, const int64_t *shape, uint64_t count, uint64_t bytes, tnr_dtype dtype)
{
    tnri_header header = sample();
    header.rank = (uint32_t)rank;
    memset(header.shape, 0, sizeof(header.shape));
    memcpy(header.shape, shape, (size_t)rank * sizeof(*shape));
    header.dtype = dtype;
    header.count = count;
    header.bytes = bytes;
    unsigned char wire[TNRI_WIRE_MOST_BYTES];
    const uint32_t length = tnri_wire_encode(&header, wire);
    tnri_header back;
    return decode(wire, length, &any_size, &back);
}

static void test_products_that_do_not_fit(void **state)
{
    (void)state;
    const int64_t two_62 = INT64_C(1) << 62;
    assert_int_equal(with_shape(0, (const int64_t[]){0}, 1, 8, TNR_F64), TNR_OK);
    assert_int_equal(with_shape(0, (const int64_t[]){0}, 0, 0, TNR_F64), TNR_ERR_MPI); /* rank 0 is one element */
    assert_int_equal(with_shape(2, (const int64_t[]){two_62, 4}, 0, 0, TNR_BOOL), TNR_ERR_MPI); /* 2^64 is 0 */
    assert_int_equal(with_shape(2, (const int64_t[]){INT64_C(1) << 32, INT64_C(1) << 32}, 0, 0, TNR_BOOL), TNR_ERR_MPI);
    assert_int_equal(with_shape(2, (const int64_t[]){two_62, 2}, (uint64_t)two_62 * 2, 0, TNR_BOOL), TNR_ERR_MPI);
    assert_int_equal(with_shape(1, (const int64_t[]){two_62}, (uint64_t)two_62, 0, TNR_F32), TNR_ERR_MPI);
    assert_int_equal(with_shape(1, (const int64_t[]){two_62}, (uint64_t)two_62, (uint64_t)two_62 * 2, TNR_F64),
                     TNR_ERR_MPI);
    /* an empty shape is empty, however large its other extents are; a large one is the cap's to refuse */
    assert_int_equal(with_shape(3, (const int64_t[]){two_62, two_62, 0}, 0, 0, TNR_F64), TNR_OK);
    assert_int_equal(with_shape(2, (const int64_t[]){0, -1}, 0, 0, TNR_F64), TNR_ERR_MPI);
    assert_int_equal(with_shape(1, (const int64_t[]){INT64_MAX}, INT64_MAX, INT64_MAX, TNR_BOOL), TNR_OK);
}

static void test_the_cap(void **state)
{
    (void)state;
    const tnri_header header = sample();
    unsigned char bytes[TNRI_WIRE_MOST_BYTES];
    const uint32_t length = tnri_wire_encode(&header, bytes);
    tnri_wire_limits limits = any_size;
    tnri_header back;
    limits.most_bytes = 192;
    assert_int_equal(decode(bytes, length, &limits, &back), TNR_OK);
    limits.most_bytes = 191;
    assert_int_equal(decode(bytes, length, &limits, &back), TNR_ERR_MEMORY);
    assert_non_null(strstr(tnr_last_error(), "rank 3 sends 192 bytes; options.receive_max_bytes is 191"));
}

static void test_sizes(void **state)
{
    (void)state;
    assert_int_equal(TNRI_WIRE_BYTES(0), 96);
    assert_true(TNRI_WIRE_MOST_BYTES + 3072 <= 4096 ||
                TNR_MAX_RANK > 100); /* header and eager payload: one eager message */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_very_bytes),
        cmocka_unit_test(test_back_and_forth),
        cmocka_unit_test(test_every_flipped_bit_is_found),
        cmocka_unit_test(test_every_cut_is_found),
        cmocka_unit_test(test_each_field),
        cmocka_unit_test(test_products_that_do_not_fit),
        cmocka_unit_test(test_the_cap),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
