/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No call of the driver waits for a lane while the device object is locked: what goes to the host arrives in page-locked memory, and the
 * wait for it is made with the lock let go. The fake counts copies that keep their caller.
 */
#include "scene.h"

enum { SMALL = 50, MANY = 5000 };

/* A lane with work that nothing but a wait lets go on. */
static void begin_late(scene *s, tnr_tensor **tensor)
{
    scene_fake()->eagerness = 0;
    *tensor = scene_on_device(s, TNR_CUDA_POOL, MANY, 3);
}

static void small_downloads(void **state)
{
    (void)state;
    NEEDS_FAKE();
    for (int at = 0; at < 3; at++) {
        scene s;
        tnr_tensor *away = NULL;
        tnr_tensor *down = NULL;
        tnr_view part;
        scene_begin(&s, 1 + (uint64_t)at, NULL);
        begin_late(&s, &away);
        OK(tnr_tensor_region(away, 1, SHAPE(SMALL), SHAPE(1), 0, &part));
        if (at == 0) {
            OK(tnr_cuda_download(s.lane[0], &part, s.heap, &down));
        } else {
            down = scene_counting(s.heap, SMALL, 900);
            const tnr_view_mut target = view_mut_of(down);
            tnr_ticket *ticket = NULL;
            if (at == 1) {
                OK(tnr_cuda_download_into(s.lane[1], &part, &target));
            } else {
                OK(tnr_cuda_download_start(s.lane[1], &part, &target, &ticket));
                OK(tnr_ticket_wait(&ticket));
            }
        }
        scene_expect_counting(&s, down, 3);
        assert_int_equal(scene_fake()->held, 0);
        release(&away);
        release(&down);
        scene_end(&s);
    }
}

/* Values that decide what an engine's call does. */
static void values_of_engines(void **state)
{
    (void)state;
    NEEDS_FAKE();
    stage of;
    stage_begin(&of, 4, NULL);
    tnr_tensor *away = NULL;
    tnr_tensor *made = NULL;
    begin_late(&of.s, &away);
    tnr_tensor *zero = scene_on_device(&of.s, TNR_CUDA_POOL, MANY, -7);
    const tnr_view view = view_of(away);
    const tnr_view by = view_of(zero);
    tnr_index_options options = TNR_INDEX_OPTIONS;
    tnr_view rows;
    tnr_view where;
    OK(tnr_div(of.engine, &view, &view, &made));
    release(&made);
    EXPECT(TNR_ERR_NUMERIC, tnr_div(of.engine, &view, &by, &made));
    OK(tnr_tensor_region(away, 2, SHAPE(8, 10), SHAPE(1, 8), 0, &rows));
    OK(tnr_tensor_region(away, 1, SHAPE(5), SHAPE(1), 0, &where)); /* 3 to 7 */
    OK(tnr_index_along(&rows, &where, 0, &options));
    OK(tnr_gather(of.engine, &rows, &where, &options, &made));
    release(&made);
    assert_int_equal(scene_fake()->held, 0);
    release(&away);
    release(&zero);
    stage_end(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_downloads),
        cmocka_unit_test(values_of_engines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
