/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of examples/denoise: diffusion against a plain loop over a small volume, what it conserves and what it
 * allocates; the reader's types, byte orders and scaling; slices that stand upright.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <tenure/tenure.h>

#include "../../examples/denoise/nifti.h"
#include "../../examples/denoise/perona_malik.h"
#include "../../examples/denoise/slices_png.h"
#include "nifti_file.h"

enum { MOST = 1024 };

typedef struct fixture {
    tnr_domain *heap;
    tnr_engine *engine;
    uint64_t random;
} fixture;

static int set_up(void **state)
{
    fixture *const f = calloc(1, sizeof *f);
    const char *seed = getenv("TENURE_TEST_SEED");
    if (f == NULL || tnr_heap_create(&f->heap) != TNR_OK || tnr_engine_create(f->heap, NULL, &f->engine) != TNR_OK) {
        return -1;
    }
    f->random = seed != NULL ? strtoull(seed, NULL, 10) : 20240607U;
    print_message("seed %llu\n", (unsigned long long)f->random);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *const f = *state;
    if (tnr_engine_destroy(&f->engine) != TNR_OK || tnr_domain_close(&f->heap) != TNR_OK) {
        return -1;
    }
    free(f);
    return 0;
}

/* splitmix64, as a number in [0, 1). */
static double draw(fixture *f)
{
    uint64_t z = (f->random += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

/* ---- The plain loop ---------------------------------------------------------------------------------------------- */

/* What enters `here` through the face to `there`. */
static double flux(double here, double there, double kappa)
{
    const double d = there - here;
    return exp(-(d / kappa) * (d / kappa)) * d;
}

static void naive_step(const int64_t n[3], double *u, double kappa, double dt)
{
    double next[MOST];
    const int64_t stride[3] = {1, n[0], n[0] * n[1]};
    const int64_t count = n[0] * n[1] * n[2];
    for (int64_t at = 0; at < count; at++) {
        const int64_t index[3] = {at % n[0], at / n[0] % n[1], at / (n[0] * n[1])};
        double sum = 0.0;
        for (int axis = 0; axis < 3; axis++) {
            if (index[axis] > 0) {
                sum += flux(u[at], u[at - stride[axis]], kappa);
            }
            if (index[axis] + 1 < n[axis]) {
                sum += flux(u[at], u[at + stride[axis]], kappa);
            }
        }
        next[at] = u[at] + dt * sum;
    }
    memcpy(u, next, (size_t)count * sizeof *u);
}

/* ---- Diffusion --------------------------------------------------------------------------------------------------- */

/* A volume of values from 1 to 256, in a tensor and, the same, in `values`. */
static tnr_tensor *random_volume(fixture *f, const int64_t shape[3], double *values)
{
    tnr_tensor *volume = NULL;
    void *data = NULL;
    const int64_t count = shape[0] * shape[1] * shape[2];
    assert_in_range(count, 1, MOST);
    for (int64_t i = 0; i < count; i++) {
        values[i] = 1.0 + 255.0 * draw(f);
    }
    assert_int_equal(tnr_tensor_zeros(f->heap, TNR_F64, 3, shape, &volume), TNR_OK);
    assert_int_equal(tnr_tensor_host_data_mut(volume, &data), TNR_OK);
    memcpy(data, values, (size_t)count * sizeof *values);
    return volume;
}

static void run_steps(fixture *f, const tnr_view_mut *view, double kappa, double dt, int steps)
{
    perona_malik pm;
    assert_int_equal(perona_malik_begin(f->engine, f->heap, view->view.shape, kappa, dt, &pm), TNR_OK);
    for (int i = 0; i < steps; i++) {
        assert_int_equal(perona_malik_step(&pm, view), TNR_OK);
    }
    perona_malik_end(&pm);
}

static void assert_same(const tnr_view *view, const double *expected)
{
    tnr_read_map map;
    assert_int_equal(tnr_map_read(view, &map), TNR_OK);
    for (tnr_cursor at = tnr_cursor_begin(view); at.valid; tnr_cursor_next(&at)) {
        const double found = ((const double *)map.data)[at.offset];
        const double wanted = expected[at.position];
        if (!(fabs(found - wanted) <= 1e-12 * fabs(wanted))) {
            fail_msg("element %lld: %.17g, expected %.17g", (long long)at.position, found, wanted);
        }
    }
    assert_int_equal(tnr_unmap_read(&map), TNR_OK);
}

static void matches_plain_loop(void **state)
{
    static const int64_t shapes[][3] = {{9, 8, 7}, {1, 1, 1}, {6, 1, 1}, {1, 5, 1}, {1, 1, 4},
                                        {2, 2, 2}, {5, 1, 3}, {1, 7, 2}, {4, 6, 1}};
    fixture *const f = *state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        double expected[MOST] = {0};
        tnr_view_mut view;
        tnr_tensor *volume = random_volume(f, shapes[s], expected);
        assert_int_equal(tnr_tensor_view_mut(volume, &view), TNR_OK);
        run_steps(f, &view, 30.0, 1.0 / 7.0, 6);
        for (int i = 0; i < 6; i++) {
            naive_step(shapes[s], expected, 30.0, 1.0 / 7.0);
        }
        assert_same(&view.view, expected);
        assert_int_equal(tnr_tensor_release(&volume), TNR_OK);
    }
}

/* The same on a view that is turned, reversed and cut out of something larger; what is around stays. */
static void matches_plain_loop_on_any_layout(void **state)
{
    static const int64_t large[3] = {9, 10, 11};
    static const int64_t small[3] = {8, 4, 5};
    static const int axes[3] = {2, 0, 1};
    fixture *const f = *state;
    double before[MOST];
    double expected[MOST] = {0};
    double outside = 0.0;
    tnr_view_mut all;
    tnr_view_mut view;
    tnr_tensor *volume = random_volume(f, large, before);
    assert_int_equal(tnr_tensor_view_mut(volume, &all), TNR_OK);
    assert_int_equal(tnr_view_mut_permute(&all, axes, &view), TNR_OK); /* 11 x 9 x 10 */
    const tnr_range parts[3] = {{2, 10, -1}, {1, 9, 2}, {0, 5, 1}};
    assert_int_equal(tnr_view_mut_slice(&view, parts, &view), TNR_OK);
    assert_memory_equal(view.view.shape, small, sizeof small);

    tnr_read_map map;
    assert_int_equal(tnr_map_read(&view.view, &map), TNR_OK);
    for (tnr_cursor at = tnr_cursor_begin(&view.view); at.valid; tnr_cursor_next(&at)) {
        expected[at.position] = ((const double *)map.data)[at.offset];
    }
    assert_int_equal(tnr_unmap_read(&map), TNR_OK);

    run_steps(f, &view, 50.0, 0.1, 3);
    for (int i = 0; i < 3; i++) {
        naive_step(small, expected, 50.0, 0.1);
    }
    assert_same(&view.view, expected);
    assert_int_equal(tnr_view_get(&all.view, (const int64_t[]){8, 9, 10}, &outside), TNR_OK);
    assert_true(outside == before[9 * 10 * 11 - 1]);
    assert_int_equal(tnr_tensor_release(&volume), TNR_OK);
}

static double mean(const tnr_tensor *volume, int64_t count)
{
    const void *data = NULL;
    long double sum = 0.0L;
    assert_int_equal(tnr_tensor_host_data(volume, &data), TNR_OK);
    for (int64_t i = 0; i < count; i++) {
        sum += (long double)((const double *)data)[i];
    }
    return (double)(sum / (long double)count);
}

static void mean_is_conserved(void **state)
{
    static const int64_t shape[3] = {9, 8, 7};
    fixture *const f = *state;
    double values[MOST];
    tnr_view_mut view;
    tnr_tensor *volume = random_volume(f, shape, values);
    const double before = mean(volume, 504);
    assert_int_equal(tnr_tensor_view_mut(volume, &view), TNR_OK);
    run_steps(f, &view, 100.0, PERONA_MALIK_MAX_DT, 200);
    assert_true(fabs(mean(volume, 504) - before) <= 1e-9 * before);
    assert_int_equal(tnr_tensor_release(&volume), TNR_OK);
}

/* At the longest step and with every kappa, from "all is an edge" to plain heat flow. */
static void range_does_not_spread(void **state)
{
    static const int64_t shape[3] = {9, 8, 7};
    static const double kappas[] = {1.0, 30.0, 300.0, 1e6};
    fixture *const f = *state;
    for (size_t k = 0; k < sizeof kappas / sizeof kappas[0]; k++) {
        double values[MOST];
        double lowest = HUGE_VAL;
        double highest = -HUGE_VAL;
        tnr_view_mut view;
        const void *data = NULL;
        tnr_tensor *volume = random_volume(f, shape, values);
        assert_int_equal(tnr_tensor_view_mut(volume, &view), TNR_OK);
        assert_int_equal(tnr_tensor_host_data(volume, &data), TNR_OK);
        for (int i = 0; i < 504; i++) {
            lowest = fmin(lowest, values[i]);
            highest = fmax(highest, values[i]);
        }
        run_steps(f, &view, kappas[k], PERONA_MALIK_MAX_DT, 10);
        bool moved = false;
        for (int i = 0; i < 504; i++) {
            const double now = ((const double *)data)[i];
            assert_true(now >= lowest * (1.0 - 1e-14) && now <= highest * (1.0 + 1e-14));
            moved = moved || now != values[i];
        }
        assert_true(moved);
        assert_int_equal(tnr_tensor_release(&volume), TNR_OK);
    }
}

static void steps_allocate_and_copy_nothing(void **state)
{
    static const int64_t shape[3] = {9, 8, 7};
    fixture *const f = *state;
    tnr_domain *const domains[2] = {f->heap, tnr_engine_pool(f->engine)};
    double values[MOST];
    tnr_view_mut view;
    perona_malik pm;
    tnr_ledger before[2];
    tnr_domain_statistics blocks[2];
    tnr_tensor *volume = random_volume(f, shape, values);
    assert_int_equal(tnr_tensor_view_mut(volume, &view), TNR_OK);
    assert_int_equal(perona_malik_begin(f->engine, f->heap, shape, 20.0, 0.1, &pm), TNR_OK);
    for (int d = 0; d < 2; d++) {
        assert_int_equal(tnr_ledger_get(domains[d], &before[d]), TNR_OK);
        assert_int_equal(tnr_domain_statistics_get(domains[d], &blocks[d]), TNR_OK);
    }
    assert_int_equal(before[0].allocations[TNR_ALLOCATION_CREATE].count +
                         before[0].allocations[TNR_ALLOCATION_COPY].count,
                     8); /* the ledger counts: the volume and seven of scratch */
    for (int step = 0; step < 4; step++) {
        assert_int_equal(perona_malik_step(&pm, &view), TNR_OK);
        for (int d = 0; d < 2; d++) {
            tnr_ledger after;
            tnr_domain_statistics now;
            assert_int_equal(tnr_ledger_get(domains[d], &after), TNR_OK);
            assert_int_equal(tnr_domain_statistics_get(domains[d], &now), TNR_OK);
            assert_memory_equal(&after, &before[d], sizeof after);
            assert_int_equal(now.allocations, blocks[d].allocations);
        }
    }
    perona_malik_end(&pm);
    assert_int_equal(tnr_tensor_release(&volume), TNR_OK);
}

static void refuses_what_is_not_stable(void **state)
{
    static const int64_t shape[3] = {4, 4, 4};
    static const double wrong[][2] = {{0.0, 0.1}, {-1.0, 0.1}, {1e-200, 0.1}, {NAN, 0.1},
                                      {1.0, 0.0}, {1.0, -0.1}, {1.0, 0.17},   {1.0, NAN}};
    fixture *const f = *state;
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    assert_int_equal(tnr_domain_statistics_get(f->heap, &before), TNR_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        perona_malik pm;
        assert_int_equal(perona_malik_begin(f->engine, f->heap, shape, wrong[i][0], wrong[i][1], &pm),
                         TNR_ERR_ARGUMENT);
        perona_malik_end(&pm);
    }
    assert_int_equal(tnr_domain_statistics_get(f->heap, &after), TNR_OK);
    assert_int_equal(after.blocks, before.blocks);
    assert_int_equal(after.bytes, before.bytes);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static const double sample[8] = {0.0, 1.0, 2.0, 3.0, 100.0, 101.0, 120.0, 127.0};

/* Write sample as another type; the bytes of one voxel. */
static size_t sample_as(int datatype, void *voxels)
{
    size_t bytes = 0;
    for (size_t i = 0; i < 8; i++) {
        const uint8_t u8 = (uint8_t)sample[i];
        const int16_t i16 = (int16_t)sample[i];
        const int32_t i32 = (int32_t)sample[i];
        const float f32 = (float)sample[i];
        const void *from = &u8;
        bytes = 1;
        if (datatype == 4 || datatype == 512) {
            from = &i16;
            bytes = sizeof i16;
        } else if (datatype == 8 || datatype == 768) {
            from = &i32;
            bytes = sizeof i32;
        } else if (datatype == 16) {
            from = &f32;
            bytes = sizeof f32;
        } else if (datatype == 64) {
            from = &sample[i];
            bytes = sizeof sample[i];
        }
        memcpy((unsigned char *)voxels + i * bytes, from, bytes);
    }
    return bytes;
}

/* A file in a folder of its own, read back as a tensor. */
static tnr_tensor *round_trip(fixture *f, const nifti_file *file, bool packed, nifti_header *header)
{
    char folder[] = "/tmp/tenure-denoise-XXXXXX";
    char path[sizeof folder + 16];
    char message[NIFTI_MESSAGE_BYTES] = "";
    tnr_tensor *volume = NULL;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/volume.nii", folder);
    assert_true(nifti_write(file, path, packed));
    const bool good = nifti_read(path, f->heap, header, &volume, message);
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(folder), 0);
    if (!good) {
        fail_msg("%s", message);
    }
    return volume;
}

static void reads_every_type_in_both_byte_orders(void **state)
{
    static const int types[] = {2, 4, 8, 16, 64, 256, 512, 768};
    fixture *const f = *state;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (int variant = 0; variant < 4; variant++) {
            nifti_file file;
            nifti_header header;
            double voxels[8];
            const void *data = NULL;
            const size_t bytes = sample_as(types[t], voxels);
            nifti_make(&file, 4, 2, 1, types[t], (int)bytes * 8, voxels, 8 * bytes);
            nifti_put_float(&file, 112, 2.0F);
            nifti_put_float(&file, 116, -1.0F);
            if ((variant & 1) != 0) {
                nifti_turn_bytes(&file, bytes);
            }
            tnr_tensor *volume = round_trip(f, &file, (variant & 2) != 0, &header);
            assert_int_equal(header.shape[0], 4);
            assert_int_equal(header.shape[1], 2);
            assert_int_equal(header.shape[2], 1);
            assert_int_equal(tnr_tensor_host_data(volume, &data), TNR_OK);
            for (int i = 0; i < 8; i++) {
                assert_true(((const double *)data)[i] == 2.0 * sample[i] - 1.0);
            }
            assert_int_equal(tnr_tensor_release(&volume), TNR_OK);
        }
    }
}

static void reads_one_volume_of_four_dimensions(void **state)
{
    fixture *const f = *state;
    nifti_file file;
    nifti_header header;
    nifti_make_small(&file);
    nifti_put_int16(&file, 40, 4);
    nifti_put_int16(&file, 48, 1);
    tnr_tensor *volume = round_trip(f, &file, true, &header);
    assert_int_equal(header.shape[2], 4);
    assert_int_equal(tnr_tensor_release(&volume), TNR_OK);
}

/* ---- Upright ----------------------------------------------------------------------------------------------------- */

static double pixel(const slices *s, int plane, int64_t x, int64_t y)
{
    tnr_view view;
    double value = 0.0;
    assert_int_equal(tnr_tensor_view(s->plane[plane], &view), TNR_OK);
    assert_int_equal(tnr_view_get(&view, (const int64_t[]){x, y}, &value), TNR_OK);
    return value;
}

/*
 * A head of 6 (to the right) x 5 (to the front) x 4 (up), stored as front, up and left. Voxel values say where they
 * are: 40 right + 5 front + up.
 */
static void slices_stand_upright(void **state)
{
    fixture *const f = *state;
    unsigned char voxels[5 * 4 * 6];
    for (int i = 0; i < 120; i++) {
        const int front = i % 5;
        const int up = i / 5 % 4;
        const int right = 5 - i / 20;
        voxels[i] = (unsigned char)(40 * right + 5 * front + up);
    }
    nifti_file file;
    nifti_header header;
    nifti_make(&file, 5, 4, 6, 2, 8, voxels, sizeof voxels);
    nifti_put_int16(&file, 254, 1);      /* sform: columns are the voxel axes */
    nifti_put_float(&file, 280 + 8, -3); /* right: against voxel axis 2 */
    nifti_put_float(&file, 296 + 0, 1);  /* front: along voxel axis 0 */
    nifti_put_float(&file, 312 + 4, 2);  /* up: along voxel axis 1 */
    tnr_tensor *volume = round_trip(f, &file, false, &header);
    assert_int_equal(header.orientation.axis[0], 2);
    assert_int_equal(header.orientation.axis[1], 0);
    assert_int_equal(header.orientation.axis[2], 1);
    assert_true(header.orientation.reversed[0] && !header.orientation.reversed[1] && !header.orientation.reversed[2]);

    tnr_view view;
    slices s;
    assert_int_equal(tnr_tensor_view(volume, &view), TNR_OK);
    assert_int_equal(slices_take(&view, &header.orientation, f->heap, &s), TNR_OK);
    /* Axial, up 2: left and front is top left. */
    assert_true(pixel(&s, 0, 0, 0) == 5 * 4 + 2 && pixel(&s, 0, 5, 0) == 40 * 5 + 5 * 4 + 2);
    assert_true(pixel(&s, 0, 0, 4) == 2 && s.spacing[0][0] == 3.0 && s.spacing[0][1] == 1.0);
    /* Coronal, front 2: left and up is top left. */
    assert_true(pixel(&s, 1, 0, 0) == 5 * 2 + 3 && pixel(&s, 1, 5, 3) == 40 * 5 + 5 * 2);
    assert_true(s.spacing[1][0] == 3.0 && s.spacing[1][1] == 2.0);
    /* Sagittal, right 3: back and up is top left. */
    assert_true(pixel(&s, 2, 0, 0) == 40 * 3 + 3 && pixel(&s, 2, 4, 3) == 40 * 3 + 5 * 4);
    assert_true(s.spacing[2][0] == 1.0 && s.spacing[2][1] == 2.0);
    assert_int_equal(s.index[2], 2); /* voxel 2 of 6, counted against the axis, is 3 */
    slices_release(&s);
    assert_int_equal(tnr_tensor_release(&volume), TNR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(matches_plain_loop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(matches_plain_loop_on_any_layout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mean_is_conserved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(range_does_not_spread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_allocate_and_copy_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_is_not_stable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_every_type_in_both_byte_orders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_one_volume_of_four_dimensions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slices_stand_upright, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("denoise", tests, NULL, NULL);
}
