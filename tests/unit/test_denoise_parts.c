/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of examples/denoise that its two programs share: figures have the same bits however a volume is cut, slices may be kept one by one
 * from thin volumes, options, and outputs that do not stay when they did not become whole.
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

#include "../../examples/denoise/figures.h"
#include "../../examples/denoise/options.h"
#include "../../examples/denoise/output.h"
#include "../../examples/denoise/perona_malik.h"
#include "../../examples/denoise/slices_png.h"

typedef struct fixture {
    tnr_domain *heap;
    tnr_engine *engine;
} fixture;

static int set_up(void **state)
{
    fixture *const f = calloc(1, sizeof *f);
    if (f == NULL || tnr_heap_create(&f->heap) != TNR_OK || tnr_engine_create(f->heap, NULL, &f->engine) != TNR_OK) {
        return -1;
    }
    *state = f;
    return 0;
}

/* The heap closes only when every tensor was given back. */
static int tear_down(void **state)
{
    fixture *const f = *state;
    if (tnr_engine_destroy(&f->engine) != TNR_OK || tnr_domain_close(&f->heap) != TNR_OK) {
        return -1;
    }
    free(f);
    return 0;
}

/* Values whose sum depends on the order of additions. */
static tnr_tensor *make_volume(fixture *f, const int64_t shape[3])
{
    tnr_tensor *volume = NULL;
    void *data = NULL;
    assert_int_equal(tnr_tensor_zeros(f->heap, TNR_F64, 3, shape, &volume), TNR_OK);
    assert_int_equal(tnr_tensor_host_data_mut(volume, &data), TNR_OK);
    uint64_t random = 7;
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        ((double *)data)[i] = (double)(random >> 40) / 977.0 - (i % 5 == 0 ? 1e4 : 0.0);
    }
    return volume;
}

/* ---- Figures ------------------------------------------------------------------------------------------------------- */

static tnr_view_mut view_of(tnr_tensor *tensor)
{
    tnr_view_mut view;
    assert_int_equal(tnr_tensor_view_mut(tensor, &view), TNR_OK);
    return view;
}

static double value_of(tnr_tensor *scalar)
{
    const tnr_view_mut view = view_of(scalar);
    double value = 0.0;
    assert_int_equal(tnr_view_get(&view.view, NULL, &value), TNR_OK);
    return value;
}

/* Slabs of so many planes, as ranks have them, each in memory of its own. */
static figures figures_in_slabs(fixture *f, tnr_tensor *volume, int64_t planes_each)
{
    const tnr_view_mut all = view_of(volume);
    const int64_t *shape = all.view.shape;
    figures_scratch whole;
    figures result;
    double lowest = INFINITY;
    double highest = -INFINITY;
    assert_int_equal(figures_begin(f->heap, shape[2], &whole), TNR_OK);
    const tnr_view_mut sums = view_of(whole.sums);
    for (int64_t z = 0; z < shape[2] + planes_each; z += planes_each) { /* the last one is empty */
        const int64_t end = z + planes_each < shape[2] ? z + planes_each : shape[2];
        const tnr_range planes = {z < shape[2] ? z : shape[2], end, 1};
        figures_scratch scratch;
        tnr_view slab;
        tnr_view_mut place;
        tnr_tensor *copy = NULL;
        assert_int_equal(tnr_view_slice_axis(&all.view, 2, planes, &slab), TNR_OK);
        assert_int_equal(tnr_tensor_duplicate(&slab, f->heap, &copy), TNR_OK);
        assert_int_equal(figures_begin(f->heap, slab.shape[2], &scratch), TNR_OK);
        const tnr_view_mut own = view_of(copy);
        const tnr_view_mut own_sums = view_of(scratch.sums);
        assert_int_equal(figures_of_planes(f->engine, &own.view, &scratch), TNR_OK);
        assert_int_equal(tnr_view_mut_slice_axis(&sums, 0, planes, &place), TNR_OK);
        assert_int_equal(tnr_copy_into(f->engine, &own_sums.view, &place), TNR_OK);
        lowest = fmin(lowest, value_of(scratch.lowest));
        highest = fmax(highest, value_of(scratch.highest));
        figures_end(&scratch);
        assert_int_equal(tnr_tensor_release(&copy), TNR_OK);
    }
    const tnr_view_mut least = view_of(whole.lowest);
    const tnr_view_mut greatest = view_of(whole.highest);
    assert_int_equal(tnr_view_set(&least, NULL, &lowest), TNR_OK);
    assert_int_equal(tnr_view_set(&greatest, NULL, &highest), TNR_OK);
    assert_int_equal(figures_finish(f->engine, whole.sums, (double)(shape[0] * shape[1] * shape[2]), &whole, &result),
                     TNR_OK);
    figures_end(&whole);
    return result;
}

static void figures_do_not_depend_on_the_cut(void **state)
{
    static const int64_t shapes[][3] = {{31, 17, 13}, {1, 9, 5}, {63, 65, 7}, {1, 1, 1}};
    fixture *const f = *state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        tnr_tensor *volume = make_volume(f, shapes[s]);
        const int64_t count = shapes[s][0] * shapes[s][1] * shapes[s][2];
        const void *data = NULL;
        long double sum = 0.0L;
        assert_int_equal(tnr_tensor_host_data(volume, &data), TNR_OK);
        for (int64_t i = 0; i < count; i++) {
            sum += (long double)((const double *)data)[i];
        }
        const figures whole = figures_in_slabs(f, volume, shapes[s][2]);
        assert_true(fabs(whole.mean - (double)(sum / (long double)count)) <= 1e-9);
        for (int64_t planes = 1; planes < shapes[s][2]; planes++) {
            const figures parts = figures_in_slabs(f, volume, planes);
            assert_memory_equal(&parts, &whole, sizeof whole);
        }
        assert_int_equal(tnr_tensor_release(&volume), TNR_OK);
    }
}

/* ---- Slices -------------------------------------------------------------------------------------------------------- */

static void slices_of_thin_volumes(void **state)
{
    static const int64_t shape[3] = {6, 5, 4};
    static const nifti_orientation orientations[] = {
        {{0, 1, 2}, {false, false, false}, {1.0, 2.0, 3.0}},
        {{2, 0, 1}, {true, false, false}, {3.0, 1.0, 2.0}},
        {{1, 2, 0}, {true, true, true}, {1.0, 1.0, 1.0}},
    };
    fixture *const f = *state;
    tnr_tensor *volume = make_volume(f, shape);
    const tnr_view_mut all = view_of(volume);
    for (size_t o = 0; o < sizeof orientations / sizeof orientations[0]; o++) {
        slices whole;
        slices thin = {.plane = {NULL}};
        assert_int_equal(slices_take(&all.view, &orientations[o], f->heap, &whole), TNR_OK);
        for (int i = 0; i < SLICES; i++) {
            int axis = -1;
            int64_t index = -1;
            tnr_view part;
            tnr_tensor *copy = NULL;
            slices_place(shape, &orientations[o], i, &axis, &index);
            assert_int_equal(index, whole.index[i]);
            assert_int_equal(tnr_view_slice_axis(&all.view, axis, (tnr_range){index, index + 1, 1}, &part), TNR_OK);
            assert_int_equal(tnr_tensor_duplicate(&part, f->heap, &copy), TNR_OK);
            const tnr_view_mut own = view_of(copy);
            assert_int_equal(slices_keep(&own.view, &orientations[o], i, index, f->heap, &thin), TNR_OK);
            assert_int_equal(tnr_tensor_release(&copy), TNR_OK);
            const tnr_view_mut one = view_of(whole.plane[i]);
            const tnr_view_mut other = view_of(thin.plane[i]);
            const void *data[2];
            assert_int_equal(one.view.shape[0], other.view.shape[0]);
            assert_int_equal(one.view.shape[1], other.view.shape[1]);
            assert_int_equal(tnr_tensor_host_data(whole.plane[i], &data[0]), TNR_OK);
            assert_int_equal(tnr_tensor_host_data(thin.plane[i], &data[1]), TNR_OK);
            assert_memory_equal(data[0], data[1], (size_t)(one.view.shape[0] * one.view.shape[1]) * sizeof(double));
        }
        assert_memory_equal(thin.spacing, whole.spacing, sizeof whole.spacing);
        slices_release(&whole);
        slices_release(&thin);
    }
    assert_int_equal(tnr_tensor_release(&volume), TNR_OK);
}

/* ---- Options and outputs ------------------------------------------------------------------------------------------- */

static bool read_words(bool ranks, options *o, char *message, size_t count, const char *const *words)
{
    char *copies[8];
    assert_in_range(count, 0, 8);
    for (size_t i = 0; i < count; i++) {
        copies[i] = (char *)(uintptr_t)words[i]; /* options_read changes no word */
    }
    return options_read((int)count, copies, ranks, o, message);
}

static void options_of_both_programs(void **state)
{
    (void)state;
    options o;
    char message[NIFTI_MESSAGE_BYTES] = "";
    const char *const plain[] = {"in", "out"};
    assert_true(read_words(false, &o, message, 2, plain));
    assert_string_equal(o.input, "in");
    assert_string_equal(o.output, "out");
    assert_true(o.steps == 10 && o.kappa == 0.0 && o.dt <= PERONA_MALIK_MAX_DT && o.voxels == NULL && !o.no_shared);
    const char *const more[] = {"--voxels=raw", "--steps", "3", "--no-shared", "in", "--", "--out"};
    assert_true(read_words(true, &o, message, 7, more));
    assert_string_equal(o.voxels, "raw");
    assert_string_equal(o.output, "--out");
    assert_true(o.steps == 3 && o.no_shared);
    assert_false(read_words(false, &o, message, 7, more)); /* an option of ranks */
    assert_non_null(strstr(message, "unknown option --no-shared"));
    const char *const nothing[] = {"--voxels", "", "in", "out"};
    assert_false(read_words(false, &o, message, 4, nothing));
    const char *const both[] = {"--voxels", "out", "in", "out"};
    assert_false(read_words(false, &o, message, 4, both));
    assert_non_null(strstr(message, "one path"));
    assert_true(options_default_kappa(10.0, 110.0) == 3.0 && options_default_kappa(5.0, 5.0) == 1.0);
}

static void engines_by_their_names(void **state)
{
    (void)state;
    options o;
    char message[NIFTI_MESSAGE_BYTES] = "";
    const char *const words[] = {"--engine=cuda", "in", "out"};
    assert_true(read_words(false, &o, message, 2, words + 1));
    assert_int_equal(o.engine, ENGINE_CPU);
    assert_true(read_words(false, &o, message, 3, words));
    assert_int_equal(o.engine, ENGINE_CUDA);
    assert_false(read_words(true, &o, message, 3, words)); /* not of ranks */
    assert_non_null(strstr(message, "unknown option --engine"));
    const char *const other[] = {"--engine", "gpu", "in", "out"};
    assert_false(read_words(false, &o, message, 4, other));
    assert_non_null(strstr(message, "\"gpu\""));
}

/* This test is linked without tenure::cuda, as are programs of builds without it. */
static void no_device_where_it_is_not_built_in(void **state)
{
    fixture *const f = *state;
    char text[DEVICE_TEXT_BYTES] = "";
    device *opened = NULL;
    assert_int_equal(device_open(f->heap, &opened, text), DEVICE_NONE);
    assert_null(opened);
    assert_string_equal(text, "tenure::cuda is not built in");
    assert_false(device_has(f->engine));
    assert_int_equal(device_wait(NULL), TNR_OK);
    assert_int_equal(device_close(&opened), TNR_OK);
}

static void outputs_that_did_not_become_whole_go(void **state)
{
    fixture *const f = *state;
    char folder[] = "/tmp/tenure-denoise-XXXXXX";
    char path[sizeof folder + 16];
    char message[NIFTI_MESSAGE_BYTES] = "";
    double back[6] = {0.0};
    output o = {.file = NULL};
    tnr_tensor *tensor = make_volume(f, (const int64_t[]){3, 2, 1});
    const void *data = NULL;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    assert_true(output_close(&o, true, message)); /* never opened */

    assert_true(output_open(&o, path, "/dev/null", message));
    assert_true(output_write(&o, tensor, message));
    assert_true(output_close(&o, false, message));
    assert_int_not_equal(access(path, F_OK), 0);

    assert_true(output_open(&o, path, "/dev/null", message));
    assert_true(output_write(&o, tensor, message));
    assert_true(output_close(&o, true, message));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(back, sizeof back[0], 6, file), 6);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(tnr_tensor_host_data(tensor, &data), TNR_OK);
    assert_memory_equal(back, data, sizeof back);

    assert_false(output_open(&o, path, path, message));
    assert_non_null(strstr(message, "replace the input"));
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(tnr_tensor_release(&tensor), TNR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(figures_do_not_depend_on_the_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slices_of_thin_volumes, set_up, tear_down),
        cmocka_unit_test(options_of_both_programs),
        cmocka_unit_test(engines_by_their_names),
        cmocka_unit_test_setup_teardown(no_device_where_it_is_not_built_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outputs_that_did_not_become_whole_go, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("denoise_parts", tests, NULL, NULL);
}
