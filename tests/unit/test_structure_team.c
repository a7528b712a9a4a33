/* SPDX-License-Identifier: BSD-3-Clause */
/* Large rearrangements on two workers: bit for bit what the calling thread alone makes. Workers are pthreads. */
#include "support/structure_test.h"

enum { SIDE = 700 };

typedef tnr_status (*operation)(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made);

static tnr_status padded(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    const tnr_padding paddings[2] = {{3, -5, 1}, {-4, 9, 0}};
    (void)indices;
    return tnr_pad(on, a, paddings, made);
}

static tnr_status lower(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    (void)indices;
    return tnr_tril(on, a, 7, made);
}

static tnr_status reversed(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    (void)indices;
    return tnr_reverse(on, a, AXES(0, 1), 2, made);
}

static tnr_status joined(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    const tnr_view *list[40];
    (void)indices;
    for (int k = 0; k < 40; k++) {
        list[k] = a;
    }
    return tnr_concatenate(on, list, 40, 0, made);
}

static tnr_status gathered(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    tnr_index_options options;
    const tnr_status status = tnr_index_along(a, indices, 0, &options);
    return status == TNR_OK ? tnr_gather(on, a, indices, &options, made) : status;
}

/* Rows added to few rows: every sum has hundreds of terms, which do not add up in another order. */
static tnr_status scattered(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    tnr_index_options options;
    const tnr_status status = tnr_index_along(a, indices, 0, &options);
    return status == TNR_OK ? tnr_scatter(on, a, indices, a, &options, made) : status;
}

/* Windows of so many elements added to a large tensor. Windows of 28 are long enough for two lanes to share out the places. */
static tnr_status scattered_far(tnr_engine *on, const tnr_view *a, int64_t window, tnr_tensor **made)
{
    const int64_t rows = 12 * (100000 / window);
    tnr_tensor *table = NULL;
    tnr_tensor *places = NULL;
    tnr_view flat;
    tnr_view updates;
    tnr_index_options options = TNR_INDEX_OPTIONS;
    const int64_t count = SIDE * SIDE / window;
    options.index_axis = 1;
    options.axis_count = 1;
    options.axes[0] = 1;
    options.window[0] = window;
    options.window[1] = 1;
    options.collapsed[1] = true;
    OK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(window, rows), &table));
    OK(tnr_tensor_zeros(heap, TNR_I32, 1, SHAPE(count), &places));
    int32_t *at;
    OK(tnr_tensor_host_data_mut(places, (void **)(void *)&at));
    for (int64_t i = 0; i < count;
         i++) { /* a few hundred places, many times each; those at which shares may begin and end */
        const int64_t edge = rows / 12 * (i / 4 % 12) - i / 2 % 2;
        at[i] = (int32_t)(i % 2 == 0 && edge >= 0 ? edge : (i * 7919 % 613) * 853 % rows);
    }
    OK(tnr_view_reshape(a, 1, SHAPE(SIDE * SIDE), &flat));
    OK(tnr_view_reshape(&flat, 2, SHAPE(window, count), &updates));
    const tnr_view tensor = view_of(table);
    const tnr_view indices = view_of(places);
    const tnr_status status = tnr_scatter(on, &tensor, &indices, &updates, &options, made);
    release(&places);
    release(&table);
    return status;
}

static tnr_status scattered_elements(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    (void)indices;
    return scattered_far(on, a, 1, made);
}

static tnr_status scattered_rows(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    (void)indices;
    return scattered_far(on, a, 28, made);
}

/* Runs of 691 against runs of 677: no common shape. */
static tnr_status reshaped(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    (void)indices;
    const tnr_range from[2] = {{4, 695, 1}, {0, 677, 1}};
    const tnr_range to[2] = {{0, 677, 1}, {3, 694, 1}};
    tnr_view part;
    tnr_view_mut place;
    tnr_view_mut whole;
    OK(tnr_view_slice(a, from, &part));
    OK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(SIDE, SIDE), made));
    OK(tnr_tensor_view_mut(*made, &whole));
    OK(tnr_view_mut_slice(&whole, to, &place));
    OK(tnr_reshape_into(on, &part, &place));
    return TNR_OK;
}

/* Rows and columns in turn: short runs, which are written strip by strip. */
static tnr_status joined_columns(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    (void)indices;
    const tnr_range few[2] = {{5, 8, 1}, TNR_RANGE_ALL};
    const tnr_view *list[90];
    tnr_view part;
    OK(tnr_view_slice(a, few, &part));
    for (int k = 0; k < 90; k++) {
        list[k] = &part;
    }
    return tnr_concatenate(on, list, 90, 0, made);
}

static tnr_status joined_unequal(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    (void)indices;
    const tnr_range few[2] = {TNR_RANGE_ALL, {1, 2, 1}};
    tnr_view part;
    OK(tnr_view_slice(a, few, &part));
    const tnr_view *list[4] = {&part, a, &part, a};
    return tnr_concatenate(on, list, 4, 1, made);
}

static tnr_status large_diagonal(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    (void)indices;
    const tnr_range few[2] = {TNR_RANGE_ALL, {1, 4, 1}};
    tnr_view part;
    OK(tnr_view_slice(a, few, &part));
    return tnr_embed_diagonal(on, &part, 0, 2, made);
}

static tnr_status diagonals(tnr_engine *on, const tnr_view *a, const tnr_view *indices, tnr_tensor **made)
{
    const tnr_range few[2] = {{0, 3, 1}, TNR_RANGE_ALL};
    tnr_view part;
    (void)indices;
    const tnr_status status = tnr_view_slice(a, few, &part);
    return status == TNR_OK ? tnr_embed_diagonal(on, &part, 0, 1, made) : status;
}

static void test_two_workers_make_the_same_bits(void **state)
{
    (void)state;
    static const operation operations[] = {
        padded,        lower,     reversed,           joined,         joined_columns, joined_unequal,
        gathered,      scattered, scattered_elements, scattered_rows, reshaped,       diagonals,
        large_diagonal};
    tnr_topology *topology = NULL;
    tnr_engine *team = NULL;
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_engine_info info;
    OK(tnr_topology_create(heap, NULL, &topology));
    options.topology = topology;
    OK(tnr_engine_create(heap, &options, &team));
    OK(tnr_engine_describe(team, &info));
    if (info.workers < 2) {
        OK(tnr_engine_destroy(&team));
        OK(tnr_topology_destroy(&topology));
        print_message("skipped: this process may use one core only\n");
        skip();
    }
    tnr_tensor *in = make_counting(heap, 2, SHAPE(SIDE, SIDE));
    tnr_tensor *picks = NULL;
    int64_t rows[SIDE];
    for (int i = 0; i < SIDE; i++) {
        rows[i] = (i * 31) % 5;
    }
    double *values;
    OK(tnr_tensor_host_data_mut(in, (void **)(void *)&values));
    for (int i = 0; i < SIDE * SIDE; i++) {
        values[i] = (double)(i % 977) * (i % 2 == 0 ? 1e16 : 1.0) * (i % 3 == 0 ? -1.0 : 1.0);
    }
    OK(tnr_tensor_from_column_major(heap, TNR_I64, 1, SHAPE(SIDE), rows, sizeof rows, &picks));
    const tnr_view a = view_of(in);
    const tnr_view indices = view_of(picks);
    for (size_t k = 0; k < sizeof operations / sizeof *operations; k++) {
        tnr_tensor *alone = NULL;
        tnr_tensor *together = NULL;
        int64_t count = 0;
        OK(operations[k](engine, &a, &indices, &alone));
        OK(operations[k](team, &a, &indices, &together));
        const tnr_view view = view_of(alone);
        OK(tnr_view_count(&view, &count));
        assert_memory_equal(host_of(alone), host_of(together), (size_t)count * sizeof(double));
        release(&alone);
        release(&together);
    }
    release(&picks);
    release(&in);
    OK(tnr_engine_destroy(&team));
    OK(tnr_topology_destroy(&topology));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_workers_make_the_same_bits)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
