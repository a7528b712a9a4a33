/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of ownership of a device's memory, each by its number. */
#define _POSIX_C_SOURCE 200809L /* setenv, fork */
#include "scene.h"

#include <unistd.h>

enum { SEEDS = 60, MANY = 6000 };

#define EACH_SEED(seed) for (uint64_t seed = 1; seed <= scene_seeds(SEEDS); seed++)

/* Rule 1: one owner frees, exactly once; descriptors never do. */
static void rule_01_one_owner_frees_once(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 1, NULL);
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
        tnr_domain *domain = s.domain[memory];
        tnr_draft *draft = NULL;
        tnr_tensor *tensor = NULL;
        OK(tnr_draft_begin(domain, TNR_F64, 2, SHAPE(3, 4), &draft));
        OK(tnr_draft_commit(&draft, &tensor));
        tnr_view view = view_of(tensor);
        tnr_view other = view;
        OK(tnr_view_permute(&view, NULL, &other));
        tnr_tensor *copied_pointer = tensor;
        assert_int_equal(statistics_of(domain).blocks, 1);
        OK(tnr_tensor_release(&tensor));
        assert_int_equal(statistics_of(domain).blocks, 0);
        EXPECT(TNR_ERR_STALE, tnr_tensor_release(&copied_pointer));
        tnr_block block;
        OK(tnr_domain_allocate(domain, 1000, 0, &block));
        assert_int_equal((uintptr_t)block.address % 256, 0);
        assert_true(block.bytes >= 1000);
        OK(tnr_domain_release(domain, &block));
        EXPECT(TNR_ERR_STALE, tnr_domain_release(domain, &block));
    }
    scene_end(&s);
}

/* Rule 2: freed with work in flight: the bytes go when that is over, and the call does not wait. */
static void rule_02_free_with_work_in_flight(void **state)
{
    (void)state;
    EACH_SEED(seed)
    {
        scene s;
        scene_begin(&s, seed, NULL);
        if (scene_fake() != NULL) {
            scene_fake()->eagerness = 0; /* nothing runs before somebody waits */
        }
        for (int memory = 0; memory < 2; memory++) {
            tnr_tensor *first = scene_on_device(&s, (tnr_cuda_memory)memory, MANY, 5);
            tnr_tensor *second = NULL;
            tnr_view view = view_of(first);
            OK(tnr_cuda_duplicate(s.lane[1], &view, s.domain[memory], &second));
            const uint64_t waits = scene_counts(&s).host_waits;
            OK(tnr_tensor_release(&first));
            assert_int_equal(scene_counts(&s).host_waits, waits);
            scene_expect_counting(&s, second, 5);
            release(&second);
        }
        if (scene_fake() != NULL) {
            assert_true(scene_counts(&s).retired > 0);
        }
        OK(tnr_cuda_synchronize(s.device));
        assert_int_equal(scene_counts(&s).retiring, 0);
        scene_end(&s);
    }
}

/* Rule 3: use in another lane waits for the last writer, and counts for the release. */
static void rule_03_lanes_are_ordered(void **state)
{
    (void)state;
    EACH_SEED(seed)
    {
        scene s;
        scene_begin(&s, seed, NULL);
        tnr_tensor *a = scene_on_device(&s, TNR_CUDA_POOL, MANY, 100);
        tnr_tensor *b = scene_on_device(&s, TNR_CUDA_PLAIN, MANY, 900);
        tnr_tensor *c = scene_on_device(&s, TNR_CUDA_MANAGED, MANY, 0);
        const tnr_view of_a = view_of(a);
        const tnr_view of_b = view_of(b);
        const tnr_view_mut to_b = view_mut_of(b);
        const tnr_view_mut to_c = view_mut_of(c);
        OK(tnr_cuda_copy_into(s.lane[1], &of_b, &to_c)); /* reads b */
        OK(tnr_cuda_copy_into(s.lane[0], &of_a, &to_b)); /* writes b behind that */
        release(&a);
        scene_expect_counting(&s, c, 900);
        scene_expect_counting(&s, b, 100);
        OK(tnr_cuda_copy_into(s.lane[1], &of_b, &to_c));
        release(&b);
        scene_expect_counting(&s, c, 100);
        release(&c);
        scene_end(&s);
    }
}

/* Rule 4: a ticket holds both sides; its ends are waiting and asking, and giving up only before anything moved. */
static void rule_04_tickets_hold_both_sides(void **state)
{
    (void)state;
    EACH_SEED(seed)
    {
        scene s;
        scene_begin(&s, seed, NULL);
        tnr_tensor *host = scene_counting(s.domain[TNR_CUDA_PINNED], MANY, 7);
        tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, MANY, 0);
        const tnr_view source = view_of(host);
        const tnr_view_mut target = view_mut_of(away);
        tnr_ticket *ticket = NULL;
        OK(tnr_cuda_upload_start(s.lane[0], &source, &target, &ticket));
        assert_int_equal(scene_counts(&s).tickets, 1);
        tnr_tensor *held = host;
        EXPECT(TNR_ERR_BUSY, tnr_tensor_release(&held));
        held = away;
        EXPECT(TNR_ERR_BUSY, tnr_tensor_release(&held));
        tnr_tensor *out = NULL;
        EXPECT(TNR_ERR_BUSY, tnr_cuda_download(s.lane[1], &target.view, s.heap, &out));
        EXPECT(TNR_ERR_BUSY, tnr_ticket_abandon(&ticket));
        assert_non_null(ticket);
        tnr_cuda_device *closing = s.device;
        EXPECT(TNR_ERR_BUSY, tnr_cuda_device_close(&closing));
        if (seed % 2 == 0) {
            OK(tnr_ticket_wait(&ticket));
        } else {
            bool done = false;
            for (int tries = 0; !done; tries++) {
                assert_true(tries < 1000000);
                OK(tnr_ticket_test(&ticket, &done));
            }
        }
        assert_null(ticket);
        assert_int_equal(scene_counts(&s).tickets, 0);
        scene_expect_counting(&s, away, 7);
        release(&host);
        release(&away);
        scene_end(&s);
    }
}

/* Rule 4: giving up succeeds while nothing was given to the driver, because all chunks are taken. */
static void rule_04_giving_up_early(void **state)
{
    (void)state;
    NEEDS_FAKE();
    int given_up = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        scene s;
        scene_begin(&s, seed, NULL);
        tnr_tensor *host = scene_counting(s.heap, MANY, 7);
        tnr_tensor *first = scene_on_device(&s, TNR_CUDA_POOL, MANY, 0);
        tnr_tensor *second = scene_on_device(&s, TNR_CUDA_POOL, MANY, 3);
        OK(tnr_cuda_synchronize(s.device));
        scene_fake()->eagerness = 0;
        const tnr_view source = view_of(host);
        const tnr_view_mut to_first = view_mut_of(first);
        const tnr_view_mut to_second = view_mut_of(second);
        tnr_ticket *tickets[2] = {NULL, NULL};
        OK(tnr_cuda_upload_start(s.lane[0], &source, &to_first, &tickets[0]));
        OK(tnr_cuda_upload_start(s.lane[1], &source, &to_second, &tickets[1]));
        if (tnr_ticket_abandon(&tickets[1]) == TNR_OK) {
            assert_null(tickets[1]);
            given_up++;
            scene_expect_counting(&s, second, 3); /* nothing was moved */
        } else {
            OK(tnr_ticket_wait(&tickets[1]));
            scene_expect_counting(&s, second, 7);
        }
        OK(tnr_ticket_wait(&tickets[0]));
        scene_expect_counting(&s, first, 7);
        assert_int_equal(scene_counts(&s).tickets, 0);
        release(&host);
        release(&first);
        release(&second);
        scene_end(&s);
    }
    assert_true(given_up > 0);
}

/* Rule 5: the host sees a download by its end alone; later device work is ordered behind an upload. */
static void rule_05_downloads_are_seen_by_waiting(void **state)
{
    (void)state;
    EACH_SEED(seed)
    {
        scene s;
        scene_begin(&s, seed, NULL);
        tnr_tensor *away = scene_on_device(&s, TNR_CUDA_PLAIN, MANY, 31);
        for (int memory = 0; memory < 2; memory++) { /* staged, direct */
            tnr_tensor *host = scene_counting(memory == 0 ? s.heap : s.domain[TNR_CUDA_PINNED], MANY, 0);
            const tnr_view source = view_of(away);
            const tnr_view_mut target = view_mut_of(host);
            tnr_ticket *ticket = NULL;
            tnr_read_map map;
            OK(tnr_cuda_download_start(s.lane[0], &source, &target, &ticket));
            EXPECT(TNR_ERR_BUSY, tnr_map_read(&target.view, &map));
            OK(tnr_ticket_wait(&ticket));
            scene_expect_counting(&s, host, 31);
            release(&host);
        }
        release(&away);
        scene_end(&s);
    }
}

/* Rule 6: the program's memory is page-locked when it says so, and must stay while a transfer uses it. */
static void rule_06_registered_memory(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 3, NULL);
    static int32_t buffer[MANY];
    for (int at = 0; at < MANY; at++) {
        buffer[at] = at + 3;
    }
    tnr_tensor *host = NULL;
    OK(tnr_tensor_adopt(s.heap, TNR_I32, 1, SHAPE(MANY), buffer, sizeof(buffer), NULL, NULL, &host));
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, MANY, 0);
    const tnr_view source = view_of(host);
    const tnr_view_mut target = view_mut_of(away);
    tnr_ticket *ticket = NULL;
    OK(tnr_cuda_register(s.device, buffer, sizeof(buffer)));
    EXPECT(TNR_ERR_OVERLAP, tnr_cuda_register(s.device, buffer + 10, 40));
    EXPECT(TNR_ERR_FOREIGN, tnr_cuda_unregister(s.device, buffer + 10));
    tnr_cuda_device *closing = s.device;
    EXPECT(TNR_ERR_BUSY, tnr_cuda_device_close(&closing));
    if (scene_fake() != NULL) {
        static int32_t more[100];
        scene_fake()->fail_entry = "cuMemHostRegister_v2";
        scene_fake()->fail_at = 1;
        scene_fake()->fail_code = 1;
        EXPECT(TNR_ERR_BACKEND, tnr_cuda_register(s.device, more, sizeof(more)));
        OK(tnr_cuda_register(s.device, more, sizeof(more)));
        scene_fake()->fail_entry = "cuMemHostUnregister";
        scene_fake()->fail_at = 1;
        EXPECT(TNR_ERR_BACKEND, tnr_cuda_unregister(s.device, more));
        EXPECT(TNR_ERR_OVERLAP, tnr_cuda_register(s.device, more, sizeof(more))); /* as before */
        OK(tnr_cuda_unregister(s.device, more));
    }
    const uint64_t direct = scene_counts(&s).direct_bytes;
    OK(tnr_cuda_upload_start(s.lane[0], &source, &target, &ticket));
    assert_int_equal(scene_counts(&s).direct_bytes - direct, sizeof(buffer));
    EXPECT(TNR_ERR_BUSY, tnr_cuda_unregister(s.device, buffer));
    OK(tnr_ticket_wait(&ticket));
    OK(tnr_cuda_unregister(s.device, buffer));
    scene_expect_counting(&s, away, 3);
    release(&host);
    release(&away);
    scene_end(&s);
}

/* Rule 6: what the driver does not let go of stays registered, until the end of its context is the proof. */
static void rule_06_registered_memory_of_a_lost_context(void **state)
{
    (void)state;
    NEEDS_FAKE();
    scene s;
    scene_begin(&s, 3, NULL);
    static int32_t buffer[100];
    fake_cuda *fake = scene_fake();
    tnr_cuda_device *closing = s.device;
    OK(tnr_cuda_register(s.device, buffer, sizeof(buffer)));
    fake->fail_entry = "cuMemHostUnregister";
    fake->fail_at = 1;
    fake->fail_code = 700;
    fake->fail_fatal = true;
    for (int tries = 0; tries < 2; tries++) {
        EXPECT(TNR_ERR_BACKEND, tnr_cuda_unregister(s.device, buffer));
    }
    EXPECT(TNR_ERR_BUSY, tnr_cuda_device_close(&closing)); /* but the context has ended */
    TEXT_HAS("and registered memory");
    OK(tnr_cuda_unregister(s.device, buffer));
    EXPECT(TNR_ERR_FOREIGN, tnr_cuda_unregister(s.device, buffer));
    scene_close(&s);
    scene_expect_clean();
}

/* Rule 7: what failed before is heard of before a copy, which then does nothing. */
static void rule_07_errors_before_a_copy(void **state)
{
    (void)state;
    NEEDS_FAKE();
    scene s;
    scene_begin(&s, 4, NULL);
    fake_cuda *fake = scene_fake();
    tnr_tensor *host = scene_counting(s.heap, 10, 1);
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, 10, 1);
    const tnr_view source = view_of(host);
    const tnr_view_mut target = view_mut_of(away);
    fake->fail_entry = "cuStreamQuery";
    fake->fail_at = 1;
    fake->fail_code = 1;
    const uint64_t operations = scene_counts(&s).operations;
    EXPECT(TNR_ERR_BACKEND, tnr_cuda_upload_into(s.lane[0], &source, &target));
    TEXT_HAS("cuStreamQuery");
    assert_int_equal(scene_counts(&s).operations, operations);
    OK(tnr_cuda_upload_into(s.lane[0], &source, &target)); /* it was nothing that lasts */
    release(&host);
    release(&away);
    scene_end(&s);
}

/* Rule 8: a fatal error poisons; every later call answers with it, releases quarantine, and the context's end frees. */
static void rule_08_fatal_errors_poison(void **state)
{
    (void)state;
    NEEDS_FAKE();
    scene s;
    scene_begin(&s, 5, NULL);
    fake_cuda *fake = scene_fake();
    tnr_tensor *host = scene_counting(s.domain[TNR_CUDA_PINNED], MANY, 1);
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, MANY, 1);
    tnr_tensor *plain = scene_on_device(&s, TNR_CUDA_PLAIN, 10, 1);
    const tnr_view source = view_of(host);
    const tnr_view_mut target = view_mut_of(away);
    tnr_ticket *ticket = NULL;
    fake->eagerness = 0;
    OK(tnr_cuda_upload_start(s.lane[0], &source, &target, &ticket));
    fake->fail_entry = "cuEventSynchronize";
    fake->fail_at = 1;
    fake->fail_code = 700;
    fake->fail_fatal = true;
    EXPECT(TNR_ERR_BACKEND, tnr_ticket_wait(&ticket));
    TEXT_HAS("CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_null(ticket);
    tnr_tensor *none = untouched();
    const uint64_t calls = fake->calls;
    EXPECT(TNR_ERR_BACKEND, tnr_cuda_upload(s.lane[1], &source, s.domain[TNR_CUDA_POOL], &none));
    TEXT_HAS("CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_int_equal(fake->calls, calls); /* nobody asks a lost context */
    assert_int_equal(scene_counts(&s).poison, TNR_ERR_BACKEND);
    OK(tnr_tensor_release(&plain));
    OK(tnr_tensor_release(&away));
    EXPECT(TNR_ERR_BUSY, tnr_tensor_release(&host)); /* the device may still read it */
    assert_true(scene_counts(&s).quarantined >= 3);  /* and chunks of earlier uploads in that lane */
    tnr_cuda_device *closing = s.device;
    EXPECT(TNR_ERR_BUSY, tnr_cuda_device_close(&closing)); /* domains live; but the context has ended */
    assert_int_equal(scene_counts(&s).quarantined, 0);
    OK(tnr_tensor_release(&host));
    scene_close(&s);
    scene_expect_clean();
}

typedef struct inherited {
    scene *s;
    tnr_tensor *away;
} inherited;

static void use_inherited(void *context)
{
    inherited *from = context;
    scene *s = from->s;
    const uint64_t calls = scene_fake()->calls;
    const tnr_view view = view_of(from->away);
    tnr_tensor *out = NULL;
    bool good = tnr_cuda_download(s->lane[0], &view, s->heap, &out) == TNR_ERR_BACKEND &&
                strstr(tnr_last_error(), "forked before its parent") != NULL;
    good = good && tnr_cuda_synchronize(s->device) == TNR_ERR_BACKEND;
    good = good && tnr_cuda_lane_synchronize(s->lane[0]) == TNR_ERR_BACKEND;
    good = good && tnr_tensor_release(&from->away) == TNR_OK; /* the parent's bytes stay */
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
        (void)tnr_domain_close(&s->domain[memory]);
    }
    good =
        good && tnr_cuda_device_close(&s->device) == TNR_ERR_BUSY; /* it had domains: left to the end of the process */
    _exit(good && scene_fake()->calls == calls ? 0 : 1);
}

static void close_inherited(void *context)
{
    tnr_cuda_device **device = context;
    const uint64_t calls = scene_fake()->calls;
    const bool good = tnr_cuda_device_close(device) == TNR_OK && *device == NULL;
    _exit(good && scene_fake()->calls == calls ? 0 : 1);
}

/* Rule 9: a device object of which nothing lived at the fork is forgotten by the child. */
static void rule_09_forgotten_by_a_child(void **state)
{
    (void)state;
    NEEDS_FAKE();
    scene s;
    char said[64];
    scene_begin(&s, 6, NULL);
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
        OK(tnr_domain_close(&s.domain[memory]));
    }
    assert_int_equal(scene_in_child(close_inherited, &s.device, said, sizeof(said)), 0);
    assert_string_equal(said, "");
    OK(tnr_cuda_synchronize(s.device));
    scene_end(&s);
}

/* Rule 9: a driver that is unloading is no error, and a forked child touches nothing. */
static void rule_09_unloading_and_fork(void **state)
{
    (void)state;
    NEEDS_FAKE();
    scene s;
    char said[64];
    scene_begin(&s, 6, NULL);
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, 100, 1);
    inherited from = {&s, away};
    assert_int_equal(scene_in_child(use_inherited, &from, said, sizeof(said)), 0);
    assert_string_equal(said, "");
    scene_expect_counting(&s, away, 1);
    scene_fake()->unloading = true;
    OK(tnr_tensor_release(&away));
    scene_close(&s);
    scene_expect_clean();
}

/* Rule 10: large pageable transfers go through chunks, small ones straight; a failing one leaves nothing in flight. */
static void rule_10_chunks(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 7, NULL);
    tnr_tensor *small = scene_on_device(&s, TNR_CUDA_POOL, 64, 1);
    assert_int_equal(scene_counts(&s).staged_bytes, 0);
    assert_int_equal(scene_counts(&s).direct_bytes, 256);
    tnr_tensor *large = scene_on_device(&s, TNR_CUDA_POOL, MANY, 2);
    assert_int_equal(scene_counts(&s).staged_bytes, MANY * 4);
    scene_expect_counting(&s, large, 2);
    scene_expect_counting(&s, small, 1);
    if (scene_fake() != NULL) {
        tnr_tensor *host = scene_counting(s.heap, MANY, 3);
        const tnr_view source = view_of(host);
        const tnr_view_mut target = view_mut_of(large);
        for (uint64_t call = 1; call <= 5; call++) {
            scene_fake()->fail_entry = "cuMemcpyHtoDAsync_v2";
            scene_fake()->fail_at = call;
            scene_fake()->fail_code = 1;
            EXPECT(TNR_ERR_BACKEND, tnr_cuda_upload_into(s.lane[0], &source, &target));
            OK(tnr_cuda_upload_into(s.lane[0], &source, &target));
            scene_expect_counting(&s, large, 3);
        }
        assert_int_equal(scene_counts(&s).quarantined_ever, 0);
        release(&host);
    }
    release(&small);
    release(&large);
    scene_end(&s);
}

/* Rule 11: the queue of released blocks is bounded, and empty after a synchronisation. */
static void rule_11_retirement_is_bounded(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 8, NULL);
    if (scene_fake() != NULL) {
        scene_fake()->eagerness = 0;
    }
    enum { BLOCKS = 12 };
    tnr_tensor *tensors[BLOCKS];
    tnr_tensor *source = scene_on_device(&s, TNR_CUDA_PLAIN, MANY, 0);
    const tnr_view view = view_of(source);
    for (int at = 0; at < BLOCKS; at++) {
        OK(tnr_cuda_duplicate(s.lane[0], &view, s.domain[TNR_CUDA_PLAIN], &tensors[at]));
    }
    for (int at = 0; at < BLOCKS; at++) {
        release(&tensors[at]);
        assert_true(scene_counts(&s).retiring <= (uint64_t)SCENE_SMALL.retirements);
    }
    release(&source);
    OK(tnr_cuda_synchronize(s.device));
    assert_int_equal(scene_counts(&s).retiring, 0);
    if (scene_fake() != NULL) {
        assert_true(scene_counts(&s).retired > (uint64_t)SCENE_SMALL.retirements);
    }
    scene_end(&s);
}

/* Rule 12: between objects by the call of that name alone, both lanes named, never through the host. */
static void rule_12_between_objects(void **state)
{
    (void)state;
    EACH_SEED(seed)
    {
        scene s;
        scene_begin(&s, seed, NULL);
        tnr_cuda_options options = SCENE_SMALL;
        options.driver = scene_driver();
        for (int ordinal = 0; ordinal < (scene_fake() != NULL ? 2 : 1); ordinal++) { /* the same device, another one */
            tnr_cuda_device *other = NULL;
            tnr_domain *there = NULL;
            tnr_tensor *target = NULL;
            tnr_draft *draft = NULL;
            options.ordinal = ordinal;
            OK(tnr_cuda_device_open(s.heap, &options, &other));
            OK(tnr_cuda_domain_create(other, TNR_CUDA_POOL, NULL, &there));
            tnr_tensor *source = scene_on_device(&s, TNR_CUDA_POOL, MANY, 77);
            const tnr_view from = view_of(source);
            OK(tnr_draft_begin(there, TNR_I32, 1, SHAPE(MANY), &draft));
            OK(tnr_draft_commit(&draft, &target));
            const tnr_view_mut to = view_mut_of(target);
            tnr_cuda_lane *lane = tnr_cuda_device_lane(other, 0);
            EXPECT(TNR_ERR_FOREIGN, tnr_cuda_copy_into(s.lane[0], &from, &to));
            TEXT_HAS("tnr_cuda_copy_between");
            EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_copy_between(s.lane[0], &from, s.lane[1], &to));
            EXPECT(TNR_ERR_FOREIGN, tnr_cuda_copy_between(lane, &from, s.lane[0], &to)); /* lanes swapped */
            TEXT_HAS("the target's domain \"cuda pool\"");
            TEXT_HAS("name a lane of the domain's own device object");
            tnr_tensor *none = untouched();
            EXPECT(TNR_ERR_FOREIGN, tnr_cuda_zeros(s.lane[0], there, TNR_I32, 1, SHAPE(MANY), &none));
            TEXT_HAS("name a lane of the domain's own device object");
            tnr_tensor *host = scene_counting(s.heap, 4, 0);
            const tnr_view near = view_of(host);
            EXPECT(TNR_ERR_FOREIGN, tnr_cuda_upload(s.lane[0], &near, there, &none));
            TEXT_HAS("name a lane of the domain's own device object");
            EXPECT(TNR_ERR_FOREIGN, tnr_cuda_download(lane, &from, s.heap, &none));
            TEXT_HAS("the source's domain");
            assert_ptr_equal(none, untouched());
            release(&host);
            const uint64_t staged = scene_counts(&s).staged_bytes;
            OK(tnr_cuda_copy_between(s.lane[1], &from, lane, &to));
            assert_int_equal(scene_counts(&s).staged_bytes, staged);
            release(&source);
            tnr_tensor *out = NULL;
            OK(tnr_cuda_download(lane, &to.view, s.heap, &out));
            scene_expect_counting(&s, out, 77);
            release(&out);
            release(&target);
            OK(tnr_domain_close(&there));
            OK(tnr_cuda_device_close(&other));
        }
        scene_end(&s);
    }
}

/* Rule 12 with a fault at each call of the driver in turn: right values or an error, and nothing touched that is gone. */
static void rule_12_with_faults(void **state)
{
    (void)state;
    NEEDS_FAKE();
    fake_cuda *fake = scene_fake();
    int failed = 0;
    int good = 0;
    for (uint64_t number = 1; number <= 80; number++) {
        scene s;
        scene_begin(&s, number, NULL);
        fake->eagerness = 0;
        tnr_cuda_options options = SCENE_SMALL;
        options.driver = scene_driver();
        options.ordinal = (int)(number % 2);
        tnr_cuda_device *other = NULL;
        tnr_domain *there = NULL;
        OK(tnr_cuda_device_open(s.heap, &options, &other));
        OK(tnr_cuda_domain_create(other, TNR_CUDA_POOL, NULL, &there));
        tnr_tensor *source = scene_on_device(&s, TNR_CUDA_POOL, MANY, 77);
        tnr_tensor *target = NULL;
        tnr_tensor *out = NULL;
        OK(tnr_cuda_zeros(tnr_cuda_device_lane(other, 1), there, TNR_I32, 1, SHAPE(MANY), &target));
        const tnr_view from = view_of(source);
        const tnr_view_mut to = view_mut_of(target);
        fake->fail_at = (number + 1) / 2;
        fake->fail_code = 1;
        const tnr_status status = tnr_cuda_copy_between(s.lane[1], &from, tnr_cuda_device_lane(other, 0), &to);
        const bool fired = fake->faults != 0;
        fake->fail_at = 0;
        assert_true(status == TNR_OK || fired);
        release(&source);
        const tnr_status down = tnr_cuda_download(tnr_cuda_device_lane(other, 0), &to.view, s.heap, &out);
        if (status == TNR_OK && down == TNR_OK) {
            scene_expect_counting(&s, out, 77);
            good++;
        } else {
            failed++;
        }
        OK(tnr_tensor_release(&out));
        release(&target);
        OK(tnr_domain_close(&there));
        (void)tnr_cuda_device_close(&other);
        assert_null(other);
        for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
            OK(tnr_domain_close(&s.domain[memory]));
        }
        (void)tnr_cuda_device_close(&s.device);
        assert_null(s.device);
        OK(tnr_domain_close(&s.heap));
        scene_expect_clean();
        assert_true(fake->leaked <= 1);
        assert_int_equal(fake->live, 0);
    }
    print_message("%d failed, %d went well\n", failed, good);
    assert_true(failed > 10 && good > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_01_one_owner_frees_once),
        cmocka_unit_test(rule_02_free_with_work_in_flight),
        cmocka_unit_test(rule_03_lanes_are_ordered),
        cmocka_unit_test(rule_04_tickets_hold_both_sides),
        cmocka_unit_test(rule_04_giving_up_early),
        cmocka_unit_test(rule_05_downloads_are_seen_by_waiting),
        cmocka_unit_test(rule_06_registered_memory),
        cmocka_unit_test(rule_06_registered_memory_of_a_lost_context),
        cmocka_unit_test(rule_07_errors_before_a_copy),
        cmocka_unit_test(rule_08_fatal_errors_poison),
        cmocka_unit_test(rule_09_unloading_and_fork),
        cmocka_unit_test(rule_09_forgotten_by_a_child),
        cmocka_unit_test(rule_10_chunks),
        cmocka_unit_test(rule_11_retirement_is_bounded),
        cmocka_unit_test(rule_12_between_objects),
        cmocka_unit_test(rule_12_with_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
