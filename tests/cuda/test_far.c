/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements that lie further apart than 32 bits reach, in bytes and in counts, and kernels whose elements have numbers beyond 2^31 and 2^32.
 * Few elements are touched, and the fake's memory is sparse; a device must have the memory.
 *
 * Launches of more elements than a host can go through run their last blocks alone, which the fake can do.
 */
#include "launching.h"

#include "../../src/cuda/engine_internal.h"

#define FAR ((INT64_C(1) << 30) - 3)     /* elements: four of them are beyond 2^32 bytes of four */
#define ROOM ((INT64_C(1) << 32) + 4096) /* elements of four bytes */
#define MEMORY (UINT64_C(100) << 30)     /* of the fake's device */
#define NEEDED (UINT64_C(60) << 30)      /* of a real one */

static tnr_domain *vast; /* device memory without a cap that matters */

/* False: there is no room; nothing is open then. */
static bool far_begin(stage *of, const char *cublas)
{
    tnr_cuda_device_info info;
    tnr_cuda_domain_options room = TNR_CUDA_DOMAIN_OPTIONS;
    tnr_cuda_engine_options options = TNR_CUDA_ENGINE_OPTIONS;
    options.cublas = cublas;
    stage_begin(of, 1, &options);
    OK(tnr_cuda_device_describe(of->s.device, &info));
    if (scene_fake() != NULL) {
        scene_fake()->memory_bytes = MEMORY;
    } else if (info.total_bytes < NEEDED) {
        stage_end(of);
        print_message("skipped: %llu GiB of a device's memory are needed\n", (unsigned long long)(NEEDED >> 30));
        return false;
    }
    room.max_bytes = MEMORY;
    OK(tnr_cuda_domain_create(of->s.device, TNR_CUDA_PLAIN, &room, &vast));
    return true;
}

static void far_end(stage *of)
{
    OK(tnr_domain_close(&vast));
    stage_end(of);
}

/* Memory that nobody has written. */
static tnr_tensor *room_of(tnr_dtype dtype, int64_t count)
{
    tnr_draft *draft = NULL;
    tnr_tensor *tensor = NULL;
    OK(tnr_draft_begin(vast, dtype, 1, &count, &draft));
    OK(tnr_draft_commit(&draft, &tensor));
    return tensor;
}

/* A layout far apart on the device, and a compact tensor of the host with the same elements. */
typedef struct both {
    tnr_view_mut away;
    tnr_tensor *host;
    tnr_view near;
} both;

static both both_make(const stage *of, tnr_tensor *room, int rank, const int64_t *shape, const int64_t *strides,
                      int64_t offset, int first)
{
    both made = {.host = NULL};
    int64_t count = 1;
    double wide[64];
    int32_t narrow[64];
    tnr_tensor_info info;
    OK(tnr_tensor_describe(room, &info));
    for (int axis = 0; axis < rank; axis++) {
        count *= shape[axis];
    }
    assert_true(count <= 64);
    for (int at = 0; at < count; at++) {
        narrow[at] = first + (at * 7) % 11;
        wide[at] = (double)narrow[at];
    }
    const bool whole = info.dtype == TNR_I32;
    OK(tnr_tensor_from_column_major(of->s.heap, info.dtype, rank, shape, whole ? (const void *)narrow : wide,
                                    (uint64_t)count * tnr_dtype_size(info.dtype), &made.host));
    OK(tnr_tensor_region_mut(room, rank, shape, strides, offset, &made.away));
    made.near = view_of(made.host);
    OK(tnr_cuda_upload_into(of->s.lane[1], &made.near, &made.away));
    return made;
}

/* What is on the device, against a tensor of the host; that one goes. */
static void expect_same(const stage *of, const tnr_view *away, tnr_tensor *expected)
{
    tnr_tensor *down = NULL;
    tnr_tensor_info info;
    const void *found;
    const void *wanted;
    OK(tnr_cuda_download(of->s.lane[1], away, of->s.heap, &down));
    OK(tnr_tensor_host_data(down, &found));
    OK(tnr_tensor_host_data(expected, &wanted));
    OK(tnr_tensor_describe(expected, &info));
    assert_memory_equal(found, wanted, (size_t)info.count * tnr_dtype_size(info.dtype));
    release(&down);
    release(&expected);
}

/* A new tensor of the device, likewise; it goes too. */
static void expect_made(const stage *of, tnr_tensor *made, tnr_tensor *expected)
{
    const tnr_view view = view_of(made);
    expect_same(of, &view, expected);
    release(&made);
}

/* Copies both ways, maps, transposition, triangles, windows of shape, reductions: each step of some axis is beyond 2^32 bytes. */
static void steps_beyond_32_bits(void **state)
{
    (void)state;
    stage of;
    if (!far_begin(&of, "off")) {
        skip();
        return;
    }
    tnr_tensor *rooms[3];
    tnr_tensor *made = NULL;
    tnr_tensor *expected = NULL;
    for (int at = 0; at < 3; at++) {
        rooms[at] = room_of(TNR_I32, ROOM);
    }
    both a = both_make(&of, rooms[0], 2, SHAPE(5, 3), SHAPE(FAR, 7), 11, 1);
    both b = both_make(&of, rooms[1], 2, SHAPE(5, 3), SHAPE(-FAR, 5), 4 * FAR + 100, 3);
    both c = both_make(&of, rooms[2], 2, SHAPE(5, 3), SHAPE(FAR, -3), 3000, 0);
    expect_same(&of, &b.away.view, b.host); /* there and back */
    b = both_make(&of, rooms[1], 2, SHAPE(5, 3), SHAPE(-FAR, 5), 4 * FAR + 100, 3);
    OK(tnr_add_into(of.engine, &a.away.view, &b.away.view, &c.away));
    OK(tnr_add(of.cpu, &a.near, &b.near, &expected));
    expect_same(&of, &c.away.view, expected);
    OK(tnr_cuda_copy_into(of.s.lane[1], &b.away.view, &c.away));
    OK(tnr_to_contiguous(of.cpu, &b.near, &expected));
    expect_same(&of, &c.away.view, expected);
    OK(tnr_cast(of.engine, &a.away.view, TNR_F64, &made));
    OK(tnr_cast(of.cpu, &a.near, TNR_F64, &expected));
    expect_made(&of, made, expected);
    OK(tnr_div_into(of.engine, &a.away.view, &b.away.view, &c.away)); /* looks for zeros first */
    OK(tnr_div(of.cpu, &a.near, &b.near, &expected));
    expect_same(&of, &c.away.view, expected);
    for (int axis = 0; axis < 2; axis++) {
        OK(tnr_sum(of.engine, &b.away.view, &axis, 1, &made));
        OK(tnr_sum(of.cpu, &b.near, &axis, 1, &expected));
        expect_made(&of, made, expected);
        OK(tnr_argmax(of.engine, &b.away.view, axis, &made));
        OK(tnr_argmax(of.cpu, &b.near, axis, &expected));
        expect_made(&of, made, expected);
    }
    OK(tnr_tril_into(of.engine, &a.away.view, 0, &c.away));
    OK(tnr_tril(of.cpu, &a.near, 0, &expected));
    expect_same(&of, &c.away.view, expected);
    OK(tnr_reshape(of.engine, &b.away.view, 2, SHAPE(3, 5), &made));
    OK(tnr_reshape(of.cpu, &b.near, 2, SHAPE(3, 5), &expected));
    expect_made(&of, made, expected);
    tnr_view_mut turned;
    OK(tnr_tensor_region_mut(rooms[2], 2, SHAPE(3, 5), SHAPE(FAR, 9), 50, &turned));
    OK(tnr_permute_into(of.engine, &a.away.view, (const int[]){1, 0}, &turned));
    OK(tnr_permute(of.cpu, &a.near, (const int[]){1, 0}, &expected));
    expect_same(&of, &turned.view, expected);
    release(&a.host);
    release(&b.host);
    release(&c.host);
    for (int at = 0; at < 3; at++) {
        release(&rooms[at]);
    }
    far_end(&of);
}

/* Places of windows beyond 2^31 and 2^32, and one that is just beyond the end. */
static void places_beyond_32_bits(void **state)
{
    (void)state;
    stage of;
    if (!far_begin(&of, "off")) {
        skip();
        return;
    }
    static const int64_t places[6] = {5, (INT64_C(1) << 31) + 7, (INT64_C(1) << 32) + 11, ROOM - 1, 3, ROOM - 1};
    tnr_tensor *room = room_of(TNR_I32, ROOM);
    tnr_tensor *host = NULL;
    tnr_tensor *indices = NULL;
    tnr_tensor *updates = scene_on_device(&of.s, TNR_CUDA_POOL, 6, 100);
    tnr_tensor *made = NULL;
    tnr_index_options options = TNR_INDEX_OPTIONS;
    for (int at = 0; at < 6; at++) {
        tnr_view_mut one;
        tnr_tensor *value = scene_counting(of.s.heap, 1, at == 5 ? 3 : at);
        const tnr_view view = view_of(value);
        OK(tnr_tensor_region_mut(room, 1, SHAPE(1), SHAPE(1), places[at], &one));
        OK(tnr_cuda_upload_into(of.s.lane[0], &view, &one));
        release(&value);
    }
    OK(tnr_tensor_from_column_major(of.s.heap, TNR_I64, 1, SHAPE(6), places, sizeof(places), &host));
    tnr_view near = view_of(host);
    OK(tnr_cuda_upload(of.s.lane[0], &near, of.s.domain[TNR_CUDA_POOL], &indices));
    release(&host);
    const tnr_view where = view_of(indices);
    const tnr_view more = view_of(updates);
    tnr_view_mut all;
    OK(tnr_tensor_view_mut(room, &all));
    OK(tnr_index_along(&all.view, &where, 0, &options));
    OK(tnr_gather(of.engine, &all.view, &where, &options, &made));
    const int32_t first[6] = {0, 1, 2, 3, 4, 3};
    OK(tnr_tensor_from_column_major(of.s.heap, TNR_I32, 1, SHAPE(6), first, sizeof(first), &host));
    expect_made(&of, made, host);
    OK(tnr_scatter_into(of.engine, &all.view, &where, &more, &options, &all));
    OK(tnr_gather(of.engine, &all.view, &where, &options, &made));
    const int32_t then[6] = {100, 102, 104, 3 + 103 + 105, 108, 3 + 103 + 105};
    OK(tnr_tensor_from_column_major(of.s.heap, TNR_I32, 1, SHAPE(6), then, sizeof(then), &host));
    expect_made(&of, made, host);
    release(&indices);
    const int64_t beyond[2] = {7, ROOM};
    OK(tnr_tensor_from_column_major(of.s.heap, TNR_I64, 1, SHAPE(2), beyond, sizeof(beyond), &host));
    near = view_of(host);
    OK(tnr_cuda_upload(of.s.lane[0], &near, of.s.domain[TNR_CUDA_POOL], &indices));
    release(&host);
    const tnr_view stray = view_of(indices);
    made = NULL;
    EXPECT(TNR_ERR_BOUNDS, tnr_gather(of.engine, &all.view, &stray, &options, &made));
    TEXT_HAS("4294971392");
    assert_null(made);
    release(&indices);
    release(&updates);
    release(&room);
    far_end(&of);
}

/* By the library's kernel, with tables of offsets for groups of several axes, and by cuBLAS, as it lies and packed. */
static void products_beyond_32_bits(void **state)
{
    (void)state;
    for (int by = 0; by < 2; by++) {
        stage of;
        if (!far_begin(&of, by == 0 ? "off" : scene_blas())) {
            skip();
            return;
        }
        tnri_cuda_engine *inside = tnr_engine_provider.state(of.engine, &tnri_cuda_engines);
        inside->blas_from = 0.0;
        inside->pack_from = 1;
        const int64_t far = FAR / 4;
        tnr_tensor *rooms[3];
        tnr_tensor *expected = NULL;
        for (int at = 0; at < 3; at++) {
            rooms[at] = room_of(TNR_F64, ROOM / 2);
        }
        both a = both_make(&of, rooms[0], 2, SHAPE(4, 5), SHAPE(1, far), 9, 1);
        both b = both_make(&of, rooms[1], 2, SHAPE(5, 3), SHAPE(far, -2), 900, 2);
        both c = both_make(&of, rooms[2], 2, SHAPE(4, 3), SHAPE(far / 2, 2 * far), 0, 3);
        tnr_product_options options = TNR_PRODUCT_OPTIONS;
        options.beta.re = 2.0;
        OK(tnr_matmul_into(of.cpu, &a.near, &b.near, &options, &(tnr_view_mut){.view = c.near}));
        OK(tnr_matmul_into(of.engine, &a.away.view, &b.away.view, &options, &c.away));
        expect_same(&of, &c.away.view, c.host);
        release(&a.host);
        release(&b.host);
        a = both_make(&of, rooms[0], 3, SHAPE(2, 3, 2), SHAPE(2 * far, far / 2, 3), 0, 1);
        b = both_make(&of, rooms[1], 3, SHAPE(2, 3, 4), SHAPE(5, 2 * far, far / 3), 8, 2);
        c = both_make(&of, rooms[2], 2, SHAPE(2, 4), SHAPE(7, far), 5, 0);
        OK(tnr_contract(of.cpu, &a.near, "abc", &b.near, "abd", "cd", NULL, &expected));
        OK(tnr_contract_into(of.engine, &a.away.view, "abc", &b.away.view, "abd", "cd", NULL, &c.away));
        expect_same(&of, &c.away.view, expected);
        const tnr_cuda_statistics counts = scene_counts(&of.s);
        print_message("%llu by cuBLAS, %llu by the library's kernel\n", (unsigned long long)counts.blas_products,
                      (unsigned long long)counts.products);
        assert_true(scene_fake() == NULL || (by == 0 ? counts.products : counts.blas_products) >= 2);
        release(&a.host);
        release(&b.host);
        release(&c.host);
        for (int at = 0; at < 3; at++) {
            release(&rooms[at]);
        }
        far_end(&of);
    }
}

/* ---- Numbers of elements ------------------------------------------------------------------------------------------------------------------ */

enum { TAIL = 4096 };

/* The blocks that have the last of so many units of work, one for each thread. */
static void launch_last(launching *of, int kernel, int64_t units, void **parameters)
{
    const int64_t blocks = (units - 1) / TNRI_KERNEL_THREADS + 1;
    scene_fake()->first_block = (uint64_t)blocks - 8;
    device_launch(of, kernel, (unsigned)blocks, parameters);
    scene_fake()->first_block = 0;
}

static void write_device(launching *of, uint64_t address, uint64_t bytes, const void *from)
{
    tnr_cuda_device *device = of->s.device;
    OK(tnri_device_enter("test", device));
    OK(TNRI_CUDA("test", device, copy_in, address, from, bytes, device->lanes[1].stream));
    OK(TNRI_CUDA("test", device, stream_synchronize, device->lanes[1].stream));
    OK(tnri_device_leave(device, true, TNR_OK));
}

/* Element `at` of the last TAIL of `count`, as bytes. */
static uint8_t pattern(int64_t at) { return (uint8_t)(at * 13 + (at >> 32) * 5 + 1); }

static void numbers_beyond_32_bits(void **state)
{
    (void)state;
    NEEDS_FAKE();
    launching of;
    launching_begin(&of, 61);
    scene_fake()->memory_bytes = MEMORY;
    const int64_t count = 48 * ((INT64_C(1) << 32) / 48 + 100); /* beyond 2^32; planes and vectors are whole */
    uint8_t tail[TAIL];
    uint8_t found[TAIL];
    const uint64_t source = device_take(&of, (uint64_t)count, NULL);
    const uint64_t target = device_take(&of, (uint64_t)count, NULL);
    for (int at = 0; at < TAIL; at++) {
        tail[at] = pattern(count - TAIL + at);
    }
    write_device(&of, source + (uint64_t)(count - TAIL), TAIL, tail);

    /* compact: a flat walk of vectors of 16 */
    const int64_t step = 1;
    tnri_map_layout layout;
    tnri_kernel_operand flat[2] = {{target, 1, &step}, {source, 1, &step}};
    tnri_copy_layout_make(&layout, 1, &count, flat);
    assert_int_equal(layout.way, TNRI_WAY_FLAT);
    void *copies[] = {&layout, &flat[0].address, &flat[1].address};
    launch_last(&of, TNRI_KERNEL_pack_1, count / 8, copies);
    device_read(&of, target + (uint64_t)(count - 1024), 1024, found);
    assert_memory_equal(found, tail + TAIL - 1024, 1024);

    /* three planes side by side become three neighbours: element (i, j) is at 3 * j + i, from i * count / 3 + j */
    const int64_t shape[2] = {3, count / 3};
    const int64_t woven[2] = {1, 3};
    const int64_t apart[2] = {count / 3, 1};
    tnri_kernel_operand planes[2] = {{target, 1, woven}, {source, 1, apart}};
    tnri_map_layout_make(&layout, 2, shape, 2, planes);
    assert_int_equal(layout.way, TNRI_WAY_GENERAL);
    void *weaves[] = {&layout, &planes[0].address, &planes[1].address};
    launch_last(&of, TNRI_KERNEL_pack_1, count, weaves);
    device_read(&of, target + (uint64_t)(count - 1023), 1023, found);
    for (int at = 2; at < 1023; at += 3) { /* of the last plane: the others' sources were never written */
        assert_int_equal(found[at], pattern(count - (1023 - at - 1) / 3 - 1));
    }

    /* without a common shape, and the other way round */
    tnri_reshape_layout reshape;
    tnri_reshape_layout_make(&reshape, 1, 2, shape, apart, 1, &count, &step);
    uint64_t at[2] = {target, source};
    void *reshapes[] = {&reshape, &at[0], &at[1]};
    launch_last(&of, TNRI_KERNEL_reshape_1, count, reshapes);
    device_read(&of, target + (uint64_t)(count - 256), 256, found);
    for (int back = 0; back < 256; back++) { /* target element (2, j) is source element 3 * j + 2 */
        assert_int_equal(found[255 - back], pattern(count - 3 * back - 1));
    }

    /* a triangle of so many rows keeps what is below its diagonal */
    tnri_triangle_layout triangle = {.count = count, .rank = 2, .shape = {3, count / 3}};
    triangle.k = count / 3 - 2; /* j - i <= k: all but the last column's first row */
    memcpy(triangle.steps[0], woven, sizeof(woven));
    memcpy(triangle.steps[1], woven, sizeof(woven));
    void *triangles[] = {&triangle, &at[0], &at[1]};
    launch_last(&of, TNRI_KERNEL_triangle_1, count, triangles);
    device_read(&of, target + (uint64_t)(count - 1023), 1023, found);
    for (int place = 0; place < 1023; place++) {
        assert_int_equal(found[place], place == 1020 ? 0 : tail[TAIL - 1023 + place]);
    }
    device_give(&of, source);
    device_give(&of, target);

    /* a scan tells a number beyond 2^32 */
    const uint64_t values = device_take(&of, (uint64_t)count * 4, NULL);
    const int64_t none = INT64_MAX;
    uint64_t word = device_take(&of, 16, NULL);
    static int32_t ones[TAIL];
    memset(ones, 1, sizeof(ones));
    const int32_t zero = 0;
    int64_t answer = 0;
    write_device(&of, values + (uint64_t)(count - TAIL) * 4, sizeof(ones), ones);
    write_device(&of, values + (uint64_t)(count - 77) * 4, 4, &zero);
    write_device(&of, word, sizeof(none), &none);
    tnri_reshape_layout_make(&reshape, 4, 2, shape, woven, 0, NULL, NULL);
    int32_t kind = TNRI_SCAN_ZERO;
    uint64_t from = values;
    void *scans[] = {&reshape, &kind, &from, &word};
    launch_last(&of, TNRI_KERNEL_scan_i32, count, scans);
    device_read(&of, word, sizeof(answer), &answer);
    assert_true(answer == count - 77);
    device_give(&of, word);
    device_give(&of, values);
    launching_end(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_beyond_32_bits),
        cmocka_unit_test(places_beyond_32_bits),
        cmocka_unit_test(products_beyond_32_bits),
        cmocka_unit_test(numbers_beyond_32_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
