/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies by name: what they do, which way they go, what they refuse and how they count. */
#include "scene.h"

static tnr_tensor *drafted(tnr_domain *domain, int rank, const int64_t *shape)
{
    tnr_draft *draft = NULL;
    tnr_tensor *tensor = NULL;
    OK(tnr_draft_begin(domain, TNR_I32, rank, shape, &draft));
    OK(tnr_draft_commit(&draft, &tensor));
    return tensor;
}

static void every_pair_of_places(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    scene s;
    scene_begin(&s, 1, NULL);
    static const tnr_cuda_memory aways[] = {TNR_CUDA_POOL, TNR_CUDA_PLAIN, TNR_CUDA_MANAGED};
    for (int from = 0; from < 3; from++) {
        tnr_tensor *source = scene_on_device(&s, aways[from], COUNT, from);
        const tnr_view view = view_of(source);
        for (int to = 0; to < 3; to++) {
            tnr_tensor *copy = NULL;
            OK(tnr_cuda_duplicate(s.lane[to % 2], &view, s.domain[aways[to]], &copy));
            scene_expect_counting(&s, copy, from);
            tnr_tensor *second = drafted(s.domain[aways[to]], 1, SHAPE(COUNT));
            const tnr_view_mut target = view_mut_of(second);
            tnr_ticket *ticket = NULL;
            OK(tnr_cuda_copy_start(s.lane[0], &view, &target, &ticket));
            OK(tnr_ticket_wait(&ticket));
            scene_expect_counting(&s, second, from);
            release(&copy);
            release(&second);
        }
        tnr_domain *hosts[] = {s.heap, s.domain[TNR_CUDA_PINNED], s.domain[TNR_CUDA_MANAGED]};
        for (int to = 0; to < 3; to++) {
            tnr_tensor *down = NULL;
            OK(tnr_cuda_download(s.lane[0], &view, hosts[to], &down));
            scene_expect_counting(&s, down, from);
            release(&down);
        }
        release(&source);
    }
    scene_end(&s);
}

/* CU-09: strided ends move exactly their elements, whichever way they go. */
static void CU_09_strided_blocks(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 2, NULL);
    tnr_domain *hosts[] = {s.heap, s.domain[TNR_CUDA_PINNED]};
    for (int at = 0; at < 2; at++) {
        int32_t nine[16];
        int32_t block[6] = {1, 2, 3, 4, 5, 6};
        tnr_tensor *host = NULL;
        tnr_tensor *values = NULL;
        tnr_tensor *first = NULL;
        tnr_tensor *away = NULL;
        tnr_view_mut view;
        for (int i = 0; i < 16; i++) {
            nine[i] = 9;
        }
        OK(tnr_tensor_from_column_major(hosts[at], TNR_I32, 2, SHAPE(4, 4), nine, sizeof(nine), &host));
        OK(tnr_tensor_from_column_major(s.heap, TNR_I32, 2, SHAPE(2, 3), block, sizeof(block), &values));
        OK(tnr_tensor_region_mut(host, 2, SHAPE(2, 3), SHAPE(1, 4), 1, &view));
        const tnr_view from = view_of(values);
        OK(tnr_cuda_upload(s.lane[1], &from, s.domain[TNR_CUDA_PLAIN], &first));
        const tnr_view up = view_of(first);
        OK(tnr_cuda_download_into(s.lane[0], &up, &view));
        OK(tnr_cuda_upload(s.lane[0], &view.view, s.domain[TNR_CUDA_POOL], &away));
        tnr_tensor *fresh = NULL;
        tnr_view_mut into;
        OK(tnr_tensor_from_column_major(hosts[at], TNR_I32, 2, SHAPE(4, 4), nine, sizeof(nine), &fresh));
        OK(tnr_tensor_region_mut(fresh, 2, SHAPE(2, 3), SHAPE(1, 4), 1, &into));
        const tnr_view device = view_of(away);
        OK(tnr_cuda_download_into(s.lane[1], &device, &into));
        const void *data = NULL;
        OK(tnr_tensor_host_data(fresh, &data));
        const int32_t expected[16] = {9, 1, 2, 9, 9, 3, 4, 9, 9, 5, 6, 9, 9, 9, 9, 9};
        assert_memory_equal(data, expected, sizeof(expected));
        /* the same with the strided end on the device */
        tnr_tensor *padded = NULL;
        tnr_tensor *all = NULL;
        tnr_view whole = view_of(fresh);
        OK(tnr_cuda_upload(s.lane[0], &whole, s.domain[TNR_CUDA_PLAIN], &padded));
        OK(tnr_tensor_region_mut(padded, 2, SHAPE(2, 3), SHAPE(-4, 1), 12, &view));
        OK(tnr_cuda_upload_into(s.lane[1], &from, &view));
        whole = view_of(padded);
        OK(tnr_cuda_download(s.lane[0], &whole, s.heap, &all));
        OK(tnr_tensor_host_data(all, &data));
        const int32_t crossed[16] = {9, 1, 2, 9, 9, 3, 4, 9, 2, 4, 6, 9, 1, 3, 5, 9};
        assert_memory_equal(data, crossed, sizeof(crossed));
        tnr_tensor *gone[] = {host, values, first, away, fresh, padded, all};
        for (int i = 0; i < 7; i++) {
            release(&gone[i]);
        }
    }
    scene_end(&s);
}

/* CU-08: nothing to copy is nothing to ask the driver for. */
static void CU_08_empty_and_scalar(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 3, NULL);
    tnr_tensor *host = drafted(s.heap, 3, SHAPE(4, 0, 5));
    tnr_tensor *away = NULL;
    tnr_tensor *back = NULL;
    tnr_ticket *ticket = NULL;
    const tnr_view view = view_of(host);
    OK(tnr_cuda_upload(s.lane[0], &view, s.domain[TNR_CUDA_POOL], &away));
    tnr_tensor_info info;
    OK(tnr_tensor_describe(away, &info));
    assert_int_equal(info.bytes, 0);
    assert_true(info.allocation != 0); /* no bytes, still a number */
    const tnr_view device = view_of(away);
    const tnr_view_mut target = view_mut_of(away);
    OK(tnr_cuda_download(s.lane[0], &device, s.heap, &back));
    OK(tnr_cuda_upload_start(s.lane[0], &view, &target, &ticket));
    OK(tnr_ticket_wait(&ticket));
    assert_int_equal(scene_counts(&s).operations, 0);
    assert_int_equal(ledger_of(s.domain[TNR_CUDA_POOL]).copies[TNR_COPY_UPLOAD].count, 2);
    release(&host);
    release(&away);
    release(&back);
    const int32_t one = 41;
    OK(tnr_tensor_from_column_major(s.heap, TNR_I32, 0, NULL, &one, 4, &host));
    const tnr_view scalar = view_of(host);
    OK(tnr_cuda_upload(s.lane[0], &scalar, s.domain[TNR_CUDA_PLAIN], &away));
    scene_expect_counting(&s, away, 41);
    release(&host);
    release(&away);
    scene_end(&s);
}

static void ways_are_chosen(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    scene s;
    scene_begin(&s, 4, NULL);
    tnr_tensor *pageable = scene_counting(s.heap, COUNT, 1);
    tnr_tensor *pinned = scene_counting(s.domain[TNR_CUDA_PINNED], COUNT, 1);
    tnr_tensor *away = drafted(s.domain[TNR_CUDA_POOL], 1, SHAPE(COUNT));
    const tnr_view_mut target = view_mut_of(away);
    tnr_view view = view_of(pinned);
    tnr_cuda_statistics before = scene_counts(&s);
    OK(tnr_cuda_upload_into(s.lane[0], &view, &target)); /* page-locked: straight, at once */
    tnr_cuda_statistics after = scene_counts(&s);
    assert_int_equal(after.operations - before.operations, 1);
    assert_int_equal(after.direct_bytes - before.direct_bytes, COUNT * 4);
    before = after;
    view = view_of(pageable);
    OK(tnr_cuda_upload_into(s.lane[0], &view, &target)); /* ordinary: in chunks of 1024 elements */
    after = scene_counts(&s);
    assert_int_equal(after.operations - before.operations, 3);
    assert_int_equal(after.staged_bytes - before.staged_bytes, COUNT * 4);
    before = after;
    /* every second element of page-locked memory: rows of one element, straight */
    tnr_view_mut half;
    OK(tnr_tensor_region(pinned, 1, SHAPE(1000), SHAPE(2), 0, &view));
    OK(tnr_tensor_region_mut(away, 1, SHAPE(1000), SHAPE(1), 0, &half));
    OK(tnr_cuda_upload_into(s.lane[0], &view, &half));
    after = scene_counts(&s);
    assert_int_equal(after.operations - before.operations, 1);
    assert_int_equal(after.staged_bytes, before.staged_bytes);
    release(&pageable);
    release(&pinned);
    release(&away);
    scene_end(&s);
}

/* Element (column, row) of a target of `height` elements a row is first + column + height * row. */
static void expect_columns(const scene *s, tnr_cuda_lane *lane, const tnr_view *away, int32_t first, int64_t height)
{
    tnr_tensor *down = NULL;
    const void *data = NULL;
    OK(tnr_cuda_download(lane, away, s->heap, &down));
    OK(tnr_tensor_host_data(down, &data));
    for (int64_t at = 0; at < away->shape[0] * away->shape[1]; at++) {
        const int64_t place = at % away->shape[0] + height * (at / away->shape[0]);
        assert_int_equal(((const int32_t *)data)[at], first + (int32_t)place);
    }
    release(&down);
}

/* What the driver says it takes from row to row, it is given; longer steps go by a kernel, in pieces, or one by one. */
static void pitches_are_the_drivers(void **state)
{
    (void)state;
    NEEDS_FAKE();
    enum { WIDTH = 4, ROWS = 70, STEP = 40 };
    for (int limit = STEP * 4 - 1; limit <= STEP * 4; limit++) {
        scene s;
        tnr_cuda_options options = SCENE_SMALL;
        tnr_cuda_device *narrow = NULL;
        tnr_domain *there = NULL;
        tnr_tensor *away[2] = {NULL, NULL};
        tnr_view from;
        tnr_view_mut to;
        scene_begin(&s, 1, NULL);
        scene_fake()->max_pitch = limit;
        options.driver = scene_driver();
        options.nvrtc = scene_driver();
        OK(tnr_cuda_device_open(s.heap, &options, &narrow));
        OK(tnr_cuda_domain_create(narrow, TNR_CUDA_POOL, NULL, &there));
        tnr_cuda_lane *lane = tnr_cuda_device_lane(narrow, 0);
        tnr_tensor *pinned = scene_counting(s.domain[TNR_CUDA_PINNED], STEP * ROWS, 5);
        for (int at = 0; at < 2; at++) {
            OK(tnr_cuda_zeros(lane, there, TNR_I32, 1, SHAPE(STEP * ROWS), &away[at]));
        }
        const uint64_t launches = scene_counts(&(scene){.device = narrow}).launches;
        OK(tnr_tensor_region(pinned, 2, SHAPE(WIDTH, ROWS), SHAPE(1, STEP), 0, &from));
        OK(tnr_tensor_region_mut(away[0], 2, SHAPE(WIDTH, ROWS), SHAPE(1, STEP), 8, &to));
        OK(tnr_cuda_upload_into(lane, &from, &to));
        expect_columns(&s, lane, &to.view, 5, STEP);
        OK(tnr_tensor_region_mut(away[1], 2, SHAPE(WIDTH, ROWS), SHAPE(1, STEP), 3, &to));
        OK(tnr_tensor_region(away[0], 2, SHAPE(WIDTH, ROWS), SHAPE(1, STEP), 8, &from));
        OK(tnr_cuda_copy_into(lane, &from, &to));
        expect_columns(&s, lane, &to.view, 5, STEP);
        assert_int_equal(scene_counts(&(scene){.device = narrow}).launches - launches, limit < STEP * 4 ? 1 : 0);
        release(&pinned);
        release(&away[0]);
        release(&away[1]);
        OK(tnr_domain_close(&there));
        OK(tnr_cuda_device_close(&narrow));
        scene_end(&s);
    }
}

static void zeros(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 9, NULL);
    static const tnr_cuda_memory aways[] = {TNR_CUDA_POOL, TNR_CUDA_PLAIN, TNR_CUDA_MANAGED};
    for (int at = 0; at < 3; at++) {
        tnr_domain *domain = s.domain[aways[at]];
        tnr_tensor *tensor = NULL;
        tnr_tensor *back = NULL;
        OK(tnr_cuda_zeros(s.lane[0], domain, TNR_F64, 2, SHAPE(30, 41), &tensor));
        const tnr_view view = view_of(tensor);
        OK(tnr_cuda_download(s.lane[1], &view, s.heap, &back));
        const void *data = NULL;
        OK(tnr_tensor_host_data(back, &data));
        for (int i = 0; i < 30 * 41; i++) {
            assert_true(((const double *)data)[i] == 0.0);
        }
        assert_int_equal(ledger_of(domain).allocations[TNR_ALLOCATION_CREATE].count, 1);
        release(&tensor);
        release(&back);
        OK(tnr_cuda_zeros(s.lane[0], domain, TNR_F64, 1, SHAPE(0), &tensor));
        release(&tensor);
    }
    tnr_tensor *none = untouched();
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_zeros(s.lane[0], s.heap, TNR_F64, 1, SHAPE(3), &none));
    TEXT_HAS("tnr_tensor_zeros");
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_zeros(s.lane[0], s.domain[TNR_CUDA_PINNED], TNR_F64, 1, SHAPE(3), &none));
    if (scene_fake() != NULL) {
        const tnr_ledger before = ledger_of(s.domain[TNR_CUDA_POOL]);
        scene_fake()->fail_entry = "cuMemsetD8Async";
        scene_fake()->fail_at = 1;
        scene_fake()->fail_code = 1;
        EXPECT(TNR_ERR_BACKEND, tnr_cuda_zeros(s.lane[0], s.domain[TNR_CUDA_POOL], TNR_F64, 1, SHAPE(3), &none));
        const tnr_ledger after = ledger_of(s.domain[TNR_CUDA_POOL]);
        assert_memory_equal(&after, &before, sizeof(before));
    }
    assert_ptr_equal(none, untouched());
    scene_end(&s);
}

/* When an upload returns, its source is the caller's again, whichever way it went. */
static void sources_are_free_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scene_seeds(40); seed++) {
        scene s;
        scene_begin(&s, seed, NULL);
        if (scene_fake() != NULL) {
            scene_fake()->eagerness = 0;
        }
        tnr_domain *hosts[] = {s.heap, s.domain[TNR_CUDA_PINNED]};
        for (int at = 0; at < 4; at++) { /* small and large, ordinary and page-locked */
            const int64_t count = at < 2 ? 50 : 2000;
            tnr_tensor *host = scene_counting(hosts[at % 2], count, 5);
            tnr_tensor *away = NULL;
            const tnr_view view = view_of(host);
            void *data = NULL;
            OK(tnr_cuda_upload(s.lane[0], &view, s.domain[TNR_CUDA_PLAIN], &away));
            OK(tnr_tensor_host_data_mut(host, &data));
            memset(data, 0xEE, (size_t)count * 4);
            scene_expect_counting(&s, away, 5);
            release(&host);
            release(&away);
        }
        scene_end(&s);
    }
}

static void ledger_and_statistics(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 5, NULL);
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, 100, 1);
    tnr_ledger ledger = ledger_of(s.domain[TNR_CUDA_POOL]);
    assert_int_equal(ledger.copies[TNR_COPY_UPLOAD].count, 1);
    assert_int_equal(ledger.copies[TNR_COPY_UPLOAD].bytes, 400);
    assert_int_equal(ledger.allocations[TNR_ALLOCATION_COPY].count, 1);
    const tnr_view view = view_of(away);
    tnr_tensor *copy = NULL;
    tnr_tensor *down = NULL;
    OK(tnr_cuda_duplicate(s.lane[0], &view, s.domain[TNR_CUDA_PLAIN], &copy));
    ledger = ledger_of(s.domain[TNR_CUDA_PLAIN]);
    assert_int_equal(ledger.copies[TNR_COPY_DUPLICATE].bytes, 400);
    tnr_ledger before = ledger_of(s.heap);
    OK(tnr_cuda_download(s.lane[0], &view, s.heap, &down));
    ledger = ledger_of(s.heap);
    assert_int_equal(ledger.copies[TNR_COPY_DOWNLOAD].count - before.copies[TNR_COPY_DOWNLOAD].count, 1);
    /* a failing one leaves no trace */
    before = ledger_of(s.domain[TNR_CUDA_POOL]);
    const uint64_t blocks = statistics_of(s.domain[TNR_CUDA_POOL]).blocks;
    if (scene_fake() != NULL) {
        const tnr_view host = view_of(down);
        tnr_tensor *none = untouched();
        scene_fake()->fail_entry = "cuMemcpyHtoDAsync_v2";
        scene_fake()->fail_at = 1;
        scene_fake()->fail_code = 1;
        EXPECT(TNR_ERR_BACKEND, tnr_cuda_upload(s.lane[0], &host, s.domain[TNR_CUDA_POOL], &none));
        assert_ptr_equal(none, untouched());
    }
    ledger = ledger_of(s.domain[TNR_CUDA_POOL]);
    assert_memory_equal(&ledger, &before, sizeof(ledger));
    assert_int_equal(statistics_of(s.domain[TNR_CUDA_POOL]).blocks, blocks);
    release(&away);
    release(&copy);
    release(&down);
    scene_end(&s);
}

static void what_is_refused(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 6, NULL);
    tnr_tensor *host = scene_counting(s.heap, 12, 1);
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, 12, 1);
    tnr_tensor *pinned = scene_counting(s.domain[TNR_CUDA_PINNED], 12, 1);
    tnr_tensor *none = untouched();
    const tnr_view of_host = view_of(host);
    const tnr_view of_away = view_of(away);
    const tnr_view_mut to_away = view_mut_of(away);
    const tnr_view_mut to_pinned = view_mut_of(pinned);
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_upload(s.lane[0], &of_host, s.heap, &none));
    TEXT_HAS("tnr_copy_into");
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_upload(s.lane[0], &of_away, s.domain[TNR_CUDA_PLAIN], &none));
    TEXT_HAS("the source lies on a device");
    TEXT_HAS("tnr_cuda_duplicate");
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_download(s.lane[0], &of_host, s.heap, &none));
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_download(s.lane[0], &of_away, s.domain[TNR_CUDA_POOL], &none));
    TEXT_HAS("the target lies on a device");
    TEXT_HAS("tnr_cuda_copy_into");
    tnr_exported exported;
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_export(&away, &exported));
    TEXT_HAS("tnr_cuda_download");
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_copy_into(s.lane[0], &of_host, &to_away));
    TEXT_HAS("tnr_cuda_upload");
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_copy_into(s.lane[0], &of_away, &to_pinned));
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_upload_into(s.lane[0], &of_host, &to_pinned));
    tnr_view_mut part;
    OK(tnr_tensor_region_mut(away, 1, SHAPE(6), SHAPE(1), 0, &part));
    EXPECT(TNR_ERR_SHAPE, tnr_cuda_upload_into(s.lane[0], &of_host, &part));
    OK(tnr_tensor_region_mut(away, 2, SHAPE(3, 4), SHAPE(1, 3), 0, &part));
    EXPECT(TNR_ERR_SHAPE, tnr_cuda_upload_into(s.lane[0], &of_host, &part));
    part = to_away;
    part.view.dtype = TNR_F32;
    EXPECT(TNR_ERR_DTYPE, tnr_cuda_upload_into(s.lane[0], &of_host, &part));
    tnr_view slice;
    OK(tnr_tensor_region(away, 1, SHAPE(6), SHAPE(1), 3, &slice));
    OK(tnr_tensor_region_mut(away, 1, SHAPE(6), SHAPE(1), 0, &part));
    EXPECT(TNR_ERR_OVERLAP, tnr_cuda_copy_into(s.lane[0], &slice, &part));
    OK(tnr_tensor_region(away, 1, SHAPE(6), SHAPE(1), 6, &slice));
    OK(tnr_cuda_copy_into(s.lane[0], &slice, &part));
    tnr_tensor *gone = scene_on_device(&s, TNR_CUDA_POOL, 12, 1);
    const tnr_view stale = view_of(gone);
    release(&gone);
    EXPECT(TNR_ERR_STALE, tnr_cuda_download(s.lane[0], &stale, s.heap, &none));
    TEXT_HAS("cuda_download: the source: ");
    EXPECT(TNR_ERR_STALE, tnr_cuda_upload(s.lane[0], &stale, s.domain[TNR_CUDA_POOL], &none));
    TEXT_HAS("cuda_upload: the source: ");
    const tnr_view_mut gone_target = {stale};
    EXPECT(TNR_ERR_STALE, tnr_cuda_upload_into(s.lane[0], &of_host, &gone_target));
    TEXT_HAS("cuda_upload_into: the target: ");
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_upload(NULL, &of_host, s.domain[0], &none));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_upload(s.lane[0], NULL, s.domain[0], &none));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_upload(s.lane[0], &of_host, NULL, &none));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_upload_start(s.lane[0], &of_host, &to_away, NULL));
    assert_ptr_equal(none, untouched());
    release(&host);
    release(&away);
    release(&pinned);
    scene_end(&s);
}

/* Host and device reach a managed tensor: transfers within it are copies of the device. */
static void both_sides_of_one_owner(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 6, NULL);
    const tnr_cuda_memory places[] = {TNR_CUDA_POOL, TNR_CUDA_MANAGED};
    for (int at = 0; at < 2; at++) {
        tnr_tensor *tensor = scene_on_device(&s, places[at], 12, 1);
        const tnr_view all = view_of(tensor);
        const tnr_view_mut to_all = view_mut_of(tensor);
        tnr_view source;
        tnr_view_mut target;
        tnr_ticket *ticket = untouched();
        EXPECT(TNR_ERR_OVERLAP, tnr_cuda_upload_into(s.lane[0], &all, &to_all));
        EXPECT(TNR_ERR_OVERLAP, tnr_cuda_download_into(s.lane[0], &all, &to_all));
        OK(tnr_tensor_region(tensor, 1, SHAPE(6), SHAPE(1), 0, &source));
        OK(tnr_tensor_region_mut(tensor, 1, SHAPE(6), SHAPE(1), 6, &target));
        EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_upload_into(s.lane[0], &source, &target));
        TEXT_HAS("tnr_cuda_copy_into");
        EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_download_start(s.lane[0], &source, &target, &ticket));
        TEXT_HAS("tnr_cuda_copy_into");
        assert_ptr_equal(ticket, untouched());
        OK(tnr_cuda_copy_into(s.lane[0], &source, &target)); /* and no lease is left */
        release(&tensor);
    }
    scene_end(&s);
}

/* CU-01: device memory never reaches a host path, nor the reverse. */
static void CU_01_no_hidden_path(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 7, NULL);
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, 2, 1);
    const tnr_view view = view_of(away);
    tnr_tensor *none = untouched();
    const void *data = untouched();
    tnr_read_map map;
    int32_t value = 0;
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_host_data(away, &data));
    TEXT_HAS("download");
    EXPECT(TNR_ERR_RESIDENCY, tnr_map_read(&view, &map));
    EXPECT(TNR_ERR_RESIDENCY, tnr_view_get(&view, SHAPE(0), &value));
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_duplicate(&view, s.heap, &none));
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_zeros(s.domain[TNR_CUDA_POOL], TNR_I32, 1, SHAPE(2), &none));
    release(&away);
    scene_end(&s);
}

/* Pools of the core's over device and page-locked memory. */
static void pools_over_it(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 8, NULL);
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
        tnr_domain *pool = NULL;
        OK(tnr_pool_create(s.domain[memory], NULL, &pool));
        for (int round = 0; round < 3; round++) {
            tnr_tensor *host = scene_counting(s.heap, 3000, round);
            const tnr_view view = view_of(host);
            tnr_tensor *tensor = NULL;
            if (memory == TNR_CUDA_PINNED) {
                OK(tnr_tensor_duplicate(&view, pool, &tensor));
            } else {
                OK(tnr_cuda_upload(s.lane[round % 2], &view, pool, &tensor));
            }
            scene_expect_counting(&s, tensor, round);
            if (memory != TNR_CUDA_PINNED) {
                tnr_tensor *again = NULL;
                const tnr_view up = view_of(tensor);
                OK(tnr_cuda_duplicate(s.lane[1], &up, s.domain[TNR_CUDA_POOL], &again));
                release(&tensor);
                scene_expect_counting(&s, again, round);
                release(&again);
            } else {
                release(&tensor);
            }
            release(&host);
        }
        tnr_pool_statistics statistics;
        OK(tnr_pool_statistics_get(pool, &statistics));
        assert_int_equal(statistics.hits, 2);
        OK(tnr_domain_close(&pool));
    }
    scene_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_places),
        cmocka_unit_test(CU_01_no_hidden_path),
        cmocka_unit_test(CU_08_empty_and_scalar),
        cmocka_unit_test(CU_09_strided_blocks),
        cmocka_unit_test(ways_are_chosen),
        cmocka_unit_test(pitches_are_the_drivers),
        cmocka_unit_test(zeros),
        cmocka_unit_test(sources_are_free_again),
        cmocka_unit_test(ledger_and_statistics),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(both_sides_of_one_owner),
        cmocka_unit_test(pools_over_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
