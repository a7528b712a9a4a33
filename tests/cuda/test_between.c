/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between two device objects, on one device and on two: layouts of any kind, tickets, what is refused, faults. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "scene.h"

enum { ROWS = 30, COLUMNS = 41, COUNT = ROWS * COLUMNS };

/* A scene, and another device object beside it. */
typedef struct pair {
    scene s;
    tnr_cuda_device *other;
    tnr_domain *there[2]; /* pool, plain */
    tnr_cuda_lane *lane[2];
} pair;

static void pair_begin(pair *of, uint64_t seed, int ordinal, const char *nvrtc)
{
    tnr_cuda_options options = SCENE_SMALL;
    scene_begin(&of->s, seed, NULL);
    options.driver = scene_driver();
    options.nvrtc = nvrtc;
    options.ordinal = ordinal;
    of->other = NULL;
    OK(tnr_cuda_device_open(of->s.heap, &options, &of->other));
    for (int at = 0; at < 2; at++) {
        OK(tnr_cuda_domain_create(of->other, at == 0 ? TNR_CUDA_POOL : TNR_CUDA_PLAIN, NULL, &of->there[at]));
        of->lane[at] = tnr_cuda_device_lane(of->other, at);
    }
}

static void pair_end(pair *of)
{
    OK(tnr_domain_close(&of->there[0]));
    OK(tnr_domain_close(&of->there[1]));
    OK(tnr_cuda_device_close(&of->other));
    scene_end(&of->s);
}

static const char *kernels(void) { return scene_fake() != NULL ? scene_driver() : NULL; }

/* How many devices there are to try: on a real driver, one. */
static int devices(void) { return scene_fake() != NULL ? 2 : 1; }

static tnr_cuda_statistics counts_of(const pair *of)
{
    tnr_cuda_statistics counts;
    OK(tnr_cuda_statistics_get(of->other, &counts));
    return counts;
}

/* Layouts of ROWS by COLUMNS elements: as they lie, transposed, backwards, every third one. */
typedef struct layout {
    int64_t strides[2];
    int64_t first;
    int64_t room;
} layout;

static const layout LAYOUTS[] = {{{1, ROWS}, 0, COUNT},
                                 {{COLUMNS, 1}, 0, COUNT},
                                 {{-1, -ROWS}, COUNT - 1, COUNT},
                                 {{3, 3 * ROWS}, 1, 3 * COUNT},
                                 {{3 * COLUMNS, 3}, 2, 3 * COUNT}};
enum { LAYOUT_COUNT = 5 };

/* Element (i, j) of a room that counts from `first` is there. */
static int32_t value_at(const layout *of, int32_t first, int64_t i, int64_t j)
{
    return first + (int32_t)(of->first + i * of->strides[0] + j * of->strides[1]);
}

/* What is in the target's room: the source's values where the view lies, else 0. */
static void expect_copied(const pair *of, const tnr_tensor *target, const layout *to, const layout *from, int32_t first)
{
    static int32_t expected[3 * COUNT];
    tnr_tensor *down = NULL;
    const void *data = NULL;
    const tnr_view all = view_of(target);
    memset(expected, 0, sizeof(expected));
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < COLUMNS; j++) {
            expected[to->first + i * to->strides[0] + j * to->strides[1]] = value_at(from, first, i, j);
        }
    }
    OK(tnr_cuda_download(of->lane[1], &all, of->s.heap, &down));
    OK(tnr_tensor_host_data(down, &data));
    assert_memory_equal(data, expected, (size_t)to->room * 4);
    release(&down);
}

typedef struct copied {
    tnr_tensor *source;
    tnr_tensor *target;
    tnr_view from;
    tnr_view_mut to;
} copied;

static void copied_begin(const pair *of, const layout *to, const layout *from, int32_t first, copied *made)
{
    made->source = scene_on_device(&of->s, TNR_CUDA_POOL, from->room, first);
    made->target = NULL;
    OK(tnr_cuda_zeros(of->lane[1], of->there[0], TNR_I32, 1, SHAPE(to->room), &made->target));
    OK(tnr_tensor_region(made->source, 2, SHAPE(ROWS, COLUMNS), from->strides, from->first, &made->from));
    OK(tnr_tensor_region_mut(made->target, 2, SHAPE(ROWS, COLUMNS), to->strides, to->first, &made->to));
}

static void copied_end(copied *made)
{
    OK(tnr_tensor_release(&made->source));
    OK(tnr_tensor_release(&made->target));
}

/* Strided on both sides: a few operations, or one launch in the target's lane. Without kernels the same, slowly. */
static void layouts_of_any_kind(void **state)
{
    (void)state;
    for (int how = 0; how < 2 * devices(); how++) {
        const bool has_kernels = how % 2 == 0;
        if (!has_kernels) {
            assert_int_equal(setenv("TENURE_CUDA_IMAGES", "off", 1), 0);
        }
        for (int pick = 0; pick < LAYOUT_COUNT * LAYOUT_COUNT; pick++) {
            pair of;
            copied made;
            const layout *to = &LAYOUTS[pick / LAYOUT_COUNT];
            const layout *from = &LAYOUTS[pick % LAYOUT_COUNT];
            pair_begin(&of, 1 + (uint64_t)pick, how / 2, has_kernels ? kernels() : "off");
            copied_begin(&of, to, from, 7, &made);
            const tnr_cuda_statistics before = counts_of(&of);
            OK(tnr_cuda_copy_between(of.s.lane[1], &made.from, of.lane[0], &made.to));
            const tnr_cuda_statistics after = counts_of(&of);
            assert_true(after.operations - before.operations <= (has_kernels ? 4 : COUNT));
            assert_int_equal(after.staged_bytes, before.staged_bytes);
            assert_int_equal(after.device_bytes - before.device_bytes, COUNT * 4);
            if (has_kernels && (to->strides[0] < to->strides[1]) != (from->strides[0] < from->strides[1])) {
                assert_int_equal(after.launches - before.launches, 1);
                assert_int_equal(after.operations - before.operations, 1);
            }
            release(&made.source); /* the copy is ordered before its end */
            expect_copied(&of, made.target, to, from, 7);
            copied_end(&made);
            pair_end(&of);
        }
        assert_int_equal(unsetenv("TENURE_CUDA_IMAGES"), 0);
    }
}

/* On one device any memory of its serves; between two, what the library can give access to. */
static void which_memory_serves(void **state)
{
    (void)state;
    for (int ordinal = 0; ordinal < devices(); ordinal++) {
        static const tnr_cuda_memory kinds[] = {TNR_CUDA_POOL, TNR_CUDA_PLAIN, TNR_CUDA_MANAGED};
        pair of;
        pair_begin(&of, 3, ordinal, kernels());
        for (int pick = 0; pick < 6; pick++) {
            const tnr_cuda_memory kind = kinds[pick / 2];
            tnr_tensor *source = scene_on_device(&of.s, kind, COUNT, 4);
            tnr_tensor *target = NULL;
            OK(tnr_cuda_zeros(of.lane[1], of.there[pick % 2], TNR_I32, 1, SHAPE(COUNT), &target));
            const tnr_view from = view_of(source);
            const tnr_view_mut to = view_mut_of(target);
            if (ordinal == 0 || (kind == TNR_CUDA_POOL && pick % 2 == 0)) {
                tnr_tensor *down = NULL;
                OK(tnr_cuda_copy_between(of.s.lane[0], &from, of.lane[0], &to));
                OK(tnr_cuda_download(of.lane[1], &to.view, of.s.heap, &down));
                scene_expect_counting(&of.s, down, 4);
                release(&down);
            } else {
                tnr_ticket *ticket = untouched();
                EXPECT(TNR_ERR_UNSUPPORTED, tnr_cuda_copy_between(of.s.lane[0], &from, of.lane[0], &to));
                TEXT_HAS("pool domain");
                TEXT_HAS("download and upload");
                EXPECT(TNR_ERR_UNSUPPORTED, tnr_cuda_copy_between_start(of.s.lane[0], &from, of.lane[0], &to, &ticket));
                assert_ptr_equal(ticket, untouched());
            }
            release(&source);
            release(&target);
        }
        if (ordinal == 1) {
            copied made;
            copied_begin(&of, &LAYOUTS[1], &LAYOUTS[0], 7, &made);
            scene_fake()->reaches = false;
            EXPECT(TNR_ERR_UNSUPPORTED, tnr_cuda_copy_between(of.s.lane[0], &made.from, of.lane[0], &made.to));
            TEXT_HAS("does not reach");
            copied_end(&made);
        }
        pair_end(&of);
    }
}

/* A ticket of the target's object: both sides are held until it is ended, and what is in the lanes stays in order. */
static void tickets(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        pair of;
        copied made;
        tnr_ticket *ticket = NULL;
        const layout *to = &LAYOUTS[seed % LAYOUT_COUNT];
        const layout *from = &LAYOUTS[seed / LAYOUT_COUNT % LAYOUT_COUNT];
        pair_begin(&of, seed, devices() == 2 ? (int)(seed % 2) : 0, kernels());
        if (scene_fake() != NULL) {
            scene_fake()->eagerness = seed % 3 == 0 ? 0 : 32;
        }
        copied_begin(&of, to, from, 7, &made);
        const tnr_ledger before = ledger_of(of.there[0]);
        EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_copy_between_start(of.s.lane[0], &made.from, of.lane[0], &made.to, NULL));
        OK(tnr_cuda_copy_between_start(of.s.lane[0], &made.from, of.lane[0], &made.to, &ticket));
        assert_int_equal(counts_of(&of).tickets, 1);
        tnr_tensor *none = untouched();
        tnr_tensor *twice = NULL;
        const tnr_view target = view_of(made.target);
        const tnr_view source = view_of(made.source);
        const tnr_view_mut source_mut = {source};
        EXPECT(TNR_ERR_BUSY, tnr_cuda_download(of.lane[1], &target, of.s.heap, &none));
        EXPECT(TNR_ERR_BUSY, tnr_tensor_release(&made.source));
        EXPECT(TNR_ERR_BUSY, tnr_cuda_copy_between(of.s.lane[0], &made.from, of.lane[0], &made.to));
        EXPECT(TNR_ERR_BUSY, tnr_cuda_copy_into(of.s.lane[0], &source, &source_mut));
        OK(tnr_cuda_duplicate(of.s.lane[1], &source, of.s.domain[TNR_CUDA_PLAIN], &twice)); /* readers side by side */
        EXPECT(TNR_ERR_BUSY, tnr_ticket_abandon(&ticket));
        EXPECT(TNR_ERR_BUSY, tnr_cuda_device_close(&of.other));
        bool done = false;
        if (seed % 2 == 0) {
            OK(tnr_ticket_wait(&ticket));
        }
        while (ticket != NULL) {
            OK(tnr_ticket_test(&ticket, &done));
        }
        const tnr_ledger after = ledger_of(of.there[0]);
        assert_int_equal(after.copies[TNR_COPY_COPY_INTO].count - before.copies[TNR_COPY_COPY_INTO].count, 1);
        assert_int_equal(after.copies[TNR_COPY_COPY_INTO].bytes - before.copies[TNR_COPY_COPY_INTO].bytes, COUNT * 4);
        release(&made.source);
        expect_copied(&of, made.target, to, from, 7);
        scene_expect_counting(&of.s, twice, 7);
        release(&twice);
        copied_end(&made);
        pair_end(&of);
    }
}

static void nothing_to_copy(void **state)
{
    (void)state;
    pair of;
    tnr_ticket *ticket = NULL;
    tnr_tensor *none[2] = {NULL, NULL};
    pair_begin(&of, 5, 0, kernels());
    OK(tnr_cuda_zeros(of.s.lane[0], of.s.domain[TNR_CUDA_POOL], TNR_F64, 2, SHAPE(3, 0), &none[0]));
    OK(tnr_cuda_zeros(of.lane[0], of.there[0], TNR_F64, 2, SHAPE(3, 0), &none[1]));
    const tnr_view from = view_of(none[0]);
    const tnr_view_mut to = view_mut_of(none[1]);
    const uint64_t operations = counts_of(&of).operations;
    OK(tnr_cuda_copy_between(of.s.lane[0], &from, of.lane[0], &to));
    for (int end = 0; end < 2; end++) {
        OK(tnr_cuda_copy_between_start(of.s.lane[0], &from, of.lane[0], &to, &ticket));
        OK(end == 0 ? tnr_ticket_wait(&ticket) : tnr_ticket_abandon(&ticket));
        assert_null(ticket);
    }
    assert_int_equal(counts_of(&of).operations, operations);
    assert_int_equal(counts_of(&of).tickets, 0);
    assert_int_equal(ledger_of(of.there[0]).copies[TNR_COPY_COPY_INTO].count, 2); /* one was given up */
    release(&none[0]);
    release(&none[1]);
    pair_end(&of);
}

/* A fault at each call of the driver in turn: right values or an error, nothing touched that is gone, every ticket ends. */
static void faults(void **state)
{
    (void)state;
    NEEDS_FAKE();
    fake_cuda *fake = scene_fake();
    int failed = 0;
    int good = 0;
    for (uint64_t number = 1; number <= 240; number++) {
        pair of;
        copied made;
        tnr_ticket *ticket = NULL;
        pair_begin(&of, number, (int)(number % 2), kernels());
        fake->eagerness = 0;
        copied_begin(&of, &LAYOUTS[number / 2 % 2 == 0 ? 1 : 4], &LAYOUTS[0], 7, &made);
        fake->fail_at = (number + 3) / 4;
        fake->fail_code = 1;
        tnr_status status = tnr_cuda_copy_between_start(of.s.lane[1], &made.from, of.lane[0], &made.to, &ticket);
        assert_true((status == TNR_OK) == (ticket != NULL));
        const tnr_status ended = tnr_ticket_wait(&ticket);
        assert_null(ticket);
        status = status == TNR_OK ? ended : status;
        assert_true(status == TNR_OK || fake->faults != 0);
        fake->fail_at = 0;
        OK(tnr_tensor_release(&made.source));
        if (status == TNR_OK) {
            expect_copied(&of, made.target, number / 2 % 2 == 0 ? &LAYOUTS[1] : &LAYOUTS[4], &LAYOUTS[0], 7);
        }
        *(status == TNR_OK ? &good : &failed) += 1;
        copied_end(&made);
        OK(tnr_domain_close(&of.there[0]));
        OK(tnr_domain_close(&of.there[1]));
        (void)tnr_cuda_device_close(&of.other);
        assert_null(of.other);
        for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
            OK(tnr_domain_close(&of.s.domain[memory]));
        }
        (void)tnr_cuda_device_close(&of.s.device);
        assert_null(of.s.device);
        OK(tnr_domain_close(&of.s.heap));
        scene_expect_clean();
        assert_true(fake->leaked <= 1);
        assert_int_equal(fake->live, 0);
    }
    print_message("%d failed, %d went well\n", failed, good);
    assert_true(failed > 20 && good > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_of_any_kind),
        cmocka_unit_test(which_memory_serves),
        cmocka_unit_test(tickets),
        cmocka_unit_test(nothing_to_copy),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
