/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of memory as domains: identity, placement, caps, what is kept, what is given back, who may touch what when. */
#include "scene.h"

#include "../../src/storage/provider.h"
#include "tenure/tenure.h"

static tnr_cuda_domain_info info_of(const scene *s, const tnr_domain *domain)
{
    tnr_cuda_domain_info info;
    OK(tnr_cuda_domain_describe(s->device, domain, &info));
    return info;
}

static tnr_tensor *bytes_of(tnr_domain *domain, int64_t bytes)
{
    tnr_draft *draft = NULL;
    tnr_tensor *tensor = NULL;
    OK(tnr_draft_begin(domain, TNR_BOOL, 1, &bytes, &draft));
    OK(tnr_draft_commit(&draft, &tensor));
    return tensor;
}

static void identity_and_placement(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 1, NULL);
    static const tnr_memory_kind kinds[] = {TNR_MEMORY_DEVICE, TNR_MEMORY_DEVICE, TNR_MEMORY_PINNED,
                                            TNR_MEMORY_MANAGED};
    static const tnr_host_access accesses[] = {TNR_ACCESS_NONE, TNR_ACCESS_NONE, TNR_ACCESS_DIRECT, TNR_ACCESS_MAPPED};
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
        tnr_domain *domain = s.domain[memory];
        const tnr_placement placement = tnr_domain_placement(domain);
        assert_int_equal(placement.kind, kinds[memory]);
        assert_int_equal(placement.device, 0);
        assert_int_equal(placement.cpu_affinity, TNR_NONE);
        assert_int_equal(tnr_domain_access(domain), accesses[memory]);
        for (int other = 0; other < memory; other++) {
            assert_false(tnr_domain_id_equal(tnr_domain_identity(domain), tnr_domain_identity(s.domain[other])));
        }
        tnr_tensor *first = bytes_of(domain, 1);
        tnr_tensor *second = bytes_of(domain, 1);
        tnr_tensor_info a;
        tnr_tensor_info b;
        OK(tnr_tensor_describe(first, &a));
        OK(tnr_tensor_describe(second, &b));
        assert_true(a.allocation != b.allocation && a.allocation != 0);
        assert_int_equal(a.placement.kind, kinds[memory]);
        release(&first);
        release(&second);
        assert_int_equal(info_of(&s, domain).memory, memory);
        assert_int_equal(info_of(&s, domain).exportable, memory == TNR_CUDA_PLAIN);
    }
    tnr_cuda_domain_info info;
    EXPECT(TNR_ERR_FOREIGN, tnr_cuda_domain_describe(s.device, s.heap, &info));
    EXPECT(TNR_ERR_FOREIGN, tnr_cuda_domain_trim(s.device, s.heap, 0));
    /* two objects of one device are each other's foreigners */
    tnr_cuda_device *other = NULL;
    tnr_cuda_options options = SCENE_SMALL;
    options.driver = scene_driver();
    OK(tnr_cuda_device_open(s.heap, &options, &other));
    EXPECT(TNR_ERR_FOREIGN, tnr_cuda_domain_describe(other, s.domain[0], &info));
    OK(tnr_cuda_device_close(&other));
    scene_end(&s);
}

static void by_uuid(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_cuda_device *device = NULL;
    tnr_cuda_device_info info;
    tnr_cuda_options options = TNR_CUDA_OPTIONS;
    scene_reset(1);
    options.driver = scene_driver();
    options.ordinal = scene_fake() != NULL ? 1 : 0;
    OK(tnr_cuda_device_open(heap, &options, &device));
    OK(tnr_cuda_device_describe(device, &info));
    assert_true(info.name[0] != '\0' && info.lanes == 2);
    assert_true(scene_fake() == NULL || strstr(info.name, "fake") != NULL);
    assert_non_null(tnr_cuda_device_lane(device, 1));
    assert_null(tnr_cuda_device_lane(device, 2));
    OK(tnr_cuda_device_close(&device));
    memcpy(options.uuid, info.uuid, sizeof(info.uuid));
    const int ordinal = options.ordinal;
    options.by_uuid = true;
    options.ordinal = 99;
    OK(tnr_cuda_device_open(heap, &options, &device));
    OK(tnr_cuda_device_describe(device, &info));
    assert_int_equal(info.ordinal, ordinal);
    OK(tnr_cuda_device_close(&device));
    OK(tnr_domain_close(&heap));
    scene_expect_clean();
}

static void caps(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 2, NULL);
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
        tnr_cuda_domain_options options = TNR_CUDA_DOMAIN_OPTIONS;
        tnr_domain *domain = NULL;
        options.max_bytes = 8192;
        OK(tnr_cuda_domain_create(s.device, (tnr_cuda_memory)memory, &options, &domain));
        tnr_tensor *first = bytes_of(domain, 4096);
        tnr_tensor *second = bytes_of(domain, 4096);
        tnr_draft *draft = untouched();
        EXPECT(TNR_ERR_MEMORY, tnr_draft_begin(domain, TNR_BOOL, 1, SHAPE(1), &draft));
        TEXT_HAS("8192");
        assert_ptr_equal(draft, untouched());
        const tnr_domain_statistics statistics = statistics_of(domain);
        assert_int_equal(statistics.capacity, 8192);
        assert_int_equal(statistics.free_bytes, 0);
        assert_int_equal(statistics.failures, 1);
        release(&first);
        OK(tnr_draft_begin(domain, TNR_BOOL, 1, SHAPE(4096), &draft));
        OK(tnr_draft_abandon(&draft));
        release(&second);
        OK(tnr_domain_close(&domain));
    }
    tnr_draft *draft = untouched();
    EXPECT(TNR_ERR_MEMORY, tnr_draft_begin(s.domain[TNR_CUDA_PINNED], TNR_BOOL, 1, SHAPE(INT64_C(1) << 50), &draft));
    EXPECT(TNR_ERR_MEMORY, tnr_draft_begin(s.domain[TNR_CUDA_POOL], TNR_BOOL, 1, SHAPE(INT64_MAX), &draft));
    tnr_block block; /* that no power of two of 64 bits holds */
    EXPECT(TNR_ERR_OVERFLOW, tnr_domain_allocate(s.domain[TNR_CUDA_PINNED], (UINT64_C(1) << 63) + 64, 64, &block));
    EXPECT(TNR_ERR_OVERFLOW, tnr_domain_allocate(s.domain[TNR_CUDA_PINNED], UINT64_MAX, 64, &block));
    scene_end(&s);
}

/* Out of memory: what waits and what is kept goes back first, then the driver is asked once more. */
static void out_of_memory(void **state)
{
    (void)state;
    NEEDS_FAKE();
    scene s;
    scene_begin(&s, 3, NULL);
    tnr_cuda_domain_options options = TNR_CUDA_DOMAIN_OPTIONS;
    tnr_domain *pool = NULL;
    options.retain_bytes = UINT64_MAX;
    options.max_bytes = UINT64_MAX;
    OK(tnr_cuda_domain_create(s.device, TNR_CUDA_POOL, &options, &pool));
    scene_fake()->memory_bytes = 1 << 20;
    scene_fake()->eagerness = 0;
    tnr_tensor *big = bytes_of(pool, 900 << 10);
    release(&big); /* kept by the driver's pool */
    tnr_tensor *plain = bytes_of(s.domain[TNR_CUDA_PLAIN], 900 << 10);
    assert_true(scene_counts(&s).out_of_memory_retries > 0);
    tnr_draft *draft = untouched();
    EXPECT(TNR_ERR_MEMORY, tnr_draft_begin(pool, TNR_BOOL, 1, SHAPE(900 << 10), &draft));
    TEXT_HAS("921600");
    TEXT_HAS("(cap: none)");
    assert_ptr_equal(draft, untouched());
    release(&plain);
    big = bytes_of(pool, 900 << 10);
    release(&big);
    OK(tnr_domain_close(&pool));
    scene_end(&s);
}

static void what_is_kept(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 4, NULL);
    tnr_cuda_domain_options options = TNR_CUDA_DOMAIN_OPTIONS;
    tnr_domain *pinned = NULL;
    options.retain_bytes = 4096;
    OK(tnr_cuda_domain_create(s.device, TNR_CUDA_PINNED, &options, &pinned));
    tnr_tensor *first = bytes_of(pinned, 3000);
    const void *address = NULL;
    const void *again = NULL;
    tnr_tensor_info info;
    OK(tnr_tensor_host_data(first, &address));
    OK(tnr_tensor_describe(first, &info));
    assert_int_equal(info.capacity_bytes, 4096); /* powers of two */
    release(&first);
    assert_int_equal(info_of(&s, pinned).retained_bytes, 4096);
    first = bytes_of(pinned, 2049);
    OK(tnr_tensor_host_data(first, &again));
    assert_ptr_equal(address, again);
    tnr_tensor *second = bytes_of(pinned, 4096);
    release(&first);
    release(&second); /* above the cap: given back */
    assert_int_equal(info_of(&s, pinned).retained_bytes, 4096);
    OK(tnr_cuda_domain_trim(s.device, pinned, 0));
    assert_int_equal(info_of(&s, pinned).retained_bytes, 0);
    assert_int_equal(info_of(&s, pinned).out_bytes, 0);
    OK(tnr_domain_close(&pinned));
    if (scene_fake() != NULL) { /* a driver's pool may round as it likes */
        tnr_tensor *device = bytes_of(s.domain[TNR_CUDA_POOL], 100000);
        release(&device);
        OK(tnr_cuda_synchronize(s.device));
        assert_true(info_of(&s, s.domain[TNR_CUDA_POOL]).retained_bytes >= 100000);
        OK(tnr_cuda_domain_trim(s.device, s.domain[TNR_CUDA_POOL], 0));
        assert_int_equal(info_of(&s, s.domain[TNR_CUDA_POOL]).retained_bytes, 0);
    }
    scene_end(&s);
}

/* No stream-ordered pools: plain memory, and it says so. No managed memory: no such domain. */
static void lesser_devices(void **state)
{
    (void)state;
    NEEDS_FAKE();
    tnr_domain *heap = make_heap();
    tnr_cuda_device *device = NULL;
    tnr_domain *domain = NULL;
    tnr_cuda_domain_info info;
    tnr_cuda_options options = TNR_CUDA_OPTIONS;
    scene_reset(1);
    options.driver = scene_driver();
    scene_fake()->pools = false;
    scene_fake()->managed = false;
    OK(tnr_cuda_device_open(heap, &options, &device));
    OK(tnr_cuda_domain_create(device, TNR_CUDA_POOL, NULL, &domain));
    OK(tnr_cuda_domain_describe(device, domain, &info));
    assert_int_equal(info.memory, TNR_CUDA_PLAIN);
    assert_true(info.exportable);
    OK(tnr_domain_close(&domain));
    EXPECT(TNR_ERR_UNSUPPORTED, tnr_cuda_domain_create(device, TNR_CUDA_MANAGED, NULL, &domain));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_domain_create(device, TNR_CUDA_MEMORY_END, NULL, &domain));
    OK(tnr_cuda_device_close(&device));
    OK(tnr_domain_close(&heap));
    scene_expect_clean();
}

/* Host and device in turns: mapping waits for the device, and holds it off. */
static void managed_in_turns(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scene_seeds(60); seed++) {
        scene s;
        scene_begin(&s, seed, NULL);
        tnr_tensor *managed = scene_on_device(&s, TNR_CUDA_MANAGED, 2000, 1);
        tnr_tensor *source = scene_on_device(&s, TNR_CUDA_POOL, 2000, 50);
        const tnr_view from = view_of(source);
        const tnr_view_mut to = view_mut_of(managed);
        tnr_write_map map;
        OK(tnr_cuda_copy_into(s.lane[0], &from, &to));
        scene_expect_counting(&s, managed, 50); /* by mapping */
        OK(tnr_map_write(&to, &map));
        EXPECT(TNR_ERR_BUSY, tnr_cuda_copy_into(s.lane[0], &from, &to));
        for (int at = 0; at < 2000; at++) {
            ((int32_t *)map.data)[at] += 7;
        }
        OK(tnr_unmap_write(&map));
        tnr_tensor *copy = NULL;
        OK(tnr_cuda_duplicate(s.lane[1], &to.view, s.domain[TNR_CUDA_POOL], &copy));
        OK(tnr_map_write(&to, &map)); /* waits for the read of it */
        memset(map.data, 0, 8000);
        OK(tnr_unmap_write(&map));
        scene_expect_counting(&s, copy, 57);
        release(&copy);
        release(&managed);
        release(&source);
        scene_end(&s);
    }
}

/* A CPU engine works on managed tensors in place. */
static void managed_and_cpu_engine(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 9, NULL);
    tnr_engine *engine = NULL;
    tnr_tensor *a = scene_on_device(&s, TNR_CUDA_MANAGED, 1000, 1);
    tnr_tensor *b = scene_on_device(&s, TNR_CUDA_MANAGED, 1000, 1);
    const tnr_view of_a = view_of(a);
    const tnr_view of_b = view_of(b);
    const tnr_view_mut to_b = view_mut_of(b);
    OK(tnr_engine_create(s.heap, NULL, &engine));
    OK(tnr_add_into(engine, &of_b, &of_a, &to_b));
    tnr_tensor *down = NULL;
    OK(tnr_cuda_download(s.lane[0], &of_b, s.heap, &down));
    const void *data = NULL;
    OK(tnr_tensor_host_data(down, &data));
    assert_int_equal(((const int32_t *)data)[999], 2000);
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, 1000, 1);
    const tnr_view of_away = view_of(away);
    tnr_tensor *none = untouched();
    EXPECT(TNR_ERR_RESIDENCY, tnr_add(engine, &of_a, &of_away, &none));
    TEXT_HAS("download");
    OK(tnr_engine_destroy(&engine));
    release(&a);
    release(&b);
    release(&down);
    release(&away);
    scene_end(&s);
}

/* Without concurrent access the device stands still while the host has any managed tensor. */
static void managed_one_at_a_time(void **state)
{
    (void)state;
    NEEDS_FAKE();
    tnr_domain *heap = make_heap();
    scene s = {.heap = heap};
    tnr_cuda_options options = SCENE_SMALL;
    scene_reset(1);
    options.driver = scene_driver();
    scene_fake()->concurrent = false;
    OK(tnr_cuda_device_open(heap, &options, &s.device));
    s.lane[0] = tnr_cuda_device_lane(s.device, 0);
    s.lane[1] = tnr_cuda_device_lane(s.device, 1);
    OK(tnr_cuda_domain_create(s.device, TNR_CUDA_MANAGED, NULL, &s.domain[TNR_CUDA_MANAGED]));
    OK(tnr_cuda_domain_create(s.device, TNR_CUDA_POOL, NULL, &s.domain[TNR_CUDA_POOL]));
    tnr_tensor *managed = scene_on_device(&s, TNR_CUDA_MANAGED, 100, 1);
    tnr_tensor *other = scene_on_device(&s, TNR_CUDA_POOL, 100, 1);
    const tnr_view view = view_of(managed);
    const tnr_view of_other = view_of(other);
    tnr_read_map map;
    tnr_tensor *none = untouched();
    OK(tnr_map_read(&view, &map));
    EXPECT(TNR_ERR_BUSY, tnr_cuda_duplicate(s.lane[0], &of_other, s.domain[TNR_CUDA_POOL], &none));
    TEXT_HAS("mapped");
    OK(tnr_unmap_read(&map));
    scene_expect_counting(&s, managed, 1);
    scene_expect_counting(&s, other, 1);
    release(&managed);
    release(&other);
    OK(tnr_domain_close(&s.domain[TNR_CUDA_MANAGED]));
    OK(tnr_domain_close(&s.domain[TNR_CUDA_POOL]));
    OK(tnr_cuda_device_close(&s.device));
    OK(tnr_domain_close(&heap));
    scene_expect_clean();
}

/* Page-locked memory bound to the node near the device, where this machine lets us. */
static void pinned_near_the_device(void **state)
{
    (void)state;
    scene s;
    tnr_topology *topology = NULL;
    tnr_domain *pinned = NULL;
    tnr_cuda_domain_options options = TNR_CUDA_DOMAIN_OPTIONS;
    tnr_cuda_device_info info;
    tnr_node_info node;
    scene_begin(&s, 10, NULL);
    OK(tnr_topology_create(s.heap, NULL, &topology));
    OK(tnr_cuda_device_describe(s.device, &info));
    options.topology = topology;
    OK(tnr_cuda_domain_create(s.device, TNR_CUDA_PINNED, &options, &pinned));
    const int affinity = tnr_domain_placement(pinned).cpu_affinity;
    if (info.numa_node >= 0 && tnr_topology_node(topology, info.numa_node, &node) == TNR_OK) {
        assert_true(affinity == info.numa_node || affinity == TNR_NONE); /* where the system grants it */
    } else {
        assert_int_equal(affinity, TNR_NONE);
    }
    print_message("page-locked memory has affinity %d\n", affinity);
    tnr_tensor *host = scene_counting(pinned, 2000, 5);
    tnr_tensor *away = NULL;
    const tnr_view view = view_of(host);
    OK(tnr_cuda_upload(s.lane[0], &view, s.domain[TNR_CUDA_POOL], &away));
    assert_int_equal(scene_counts(&s).staged_bytes, 0);
    scene_expect_counting(&s, away, 5);
    release(&host);
    release(&away);
    OK(tnr_domain_close(&pinned));
    OK(tnr_topology_destroy(&topology));
    scene_end(&s);
}

/* A domain's own read and write, as tenure::mpi calls them: boxes of a block to and from packed memory. */
static void boxes(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    scene s;
    scene_begin(&s, 11, NULL);
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, COUNT, 0);
    int32_t packed[900];
    /* runs of 3 elements, backwards, then planes forwards */
    tnr_domain_box box = {.begin = 4 * 900, .bytes = 4 * 900, .run_bytes = 12, .rank = 2};
    box.shape[0] = 30;
    box.strides[0] = -4 * 20;
    box.shape[1] = 10;
    box.strides[1] = 4 * 150;
    for (int away_first = 0; away_first < 2; away_first++) {
        OK(tnr_provider.away_read(away, &box, packed));
        for (int at = 0; at < 900; at++) {
            const int expected = 900 + at % 3 - 20 * (at / 3 % 30) + 150 * (at / 90);
            assert_int_equal(packed[at], expected);
        }
        OK(tnr_provider.away_write(away, &box, packed)); /* the same values: nothing else may change */
    }
    scene_expect_counting(&s, away, 0);
    /* broadcast reads */
    tnr_domain_box repeat = {.begin = 40, .bytes = 24, .run_bytes = 8, .rank = 1};
    repeat.shape[0] = 3;
    repeat.strides[0] = 0;
    OK(tnr_provider.away_read(away, &repeat, packed));
    const int32_t expected[] = {10, 11, 10, 11, 10, 11};
    assert_memory_equal(packed, expected, sizeof(expected));
    release(&away);
    scene_end(&s);
}

/* Runs of two elements along all axes that a tensor may have: one axis more than a copy of the core's takes. */
static void boxes_of_full_rank(void **state)
{
    (void)state;
    enum { ELEMENTS = 1 << 18, BYTES = 16 << 16 };
    scene s;
    scene_begin(&s, 13, NULL);
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_PLAIN, ELEMENTS + 2, 0);
    tnr_domain_box box = {.begin = 8, .bytes = BYTES, .run_bytes = 16, .rank = TNR_MAX_RANK};
    for (int axis = 0; axis < TNR_MAX_RANK; axis++) {
        box.shape[axis] = 2;
        box.strides[axis] = (int64_t)16 << axis;
    }
    int32_t *packed = malloc(BYTES);
    assert_non_null(packed);
    OK(tnr_provider.away_read(away, &box, packed));
    for (int at = 0; at < BYTES / 4; at++) {
        assert_int_equal(packed[at], at + 2);
    }
    OK(tnr_provider.away_write(away, &box, packed));
    if (scene_fake() != NULL) {
        scene_fake()->fail_entry = "cuMemcpyDtoHAsync_v2";
        scene_fake()->fail_at = 2;
        scene_fake()->fail_code = 1;
        EXPECT(TNR_ERR_BACKEND, tnr_provider.away_read(away, &box, packed));
    }
    free(packed);
    scene_expect_counting(&s, away, 0);
    release(&away);
    scene_end(&s);
}

/* Making domains and page-locked blocks fails at each call of the driver: nothing stays taken. */
static void making_fails_anywhere(void **state)
{
    (void)state;
    NEEDS_FAKE();
    scene s;
    tnr_topology *topology = NULL;
    int failures = 0;
    scene_begin(&s, 14, NULL);
    OK(tnr_topology_create(s.heap, NULL, &topology));
    tnr_cuda_domain_options options = TNR_CUDA_DOMAIN_OPTIONS;
    options.topology = topology;
    options.retain_bytes = 1;
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
        for (uint64_t number = 1; number <= 12; number++) {
            tnr_domain *domain = NULL;
            tnr_draft *draft = NULL;
            const uint64_t before = scene_fake()->live - scene_counts(&s).events; /* events stay, to be used again */
            scene_fake()->faults = 0;
            scene_fake()->fail_at = number;
            scene_fake()->fail_code = 1;
            if (tnr_cuda_domain_create(s.device, (tnr_cuda_memory)memory, &options, &domain) == TNR_OK) {
                if (tnr_draft_begin(domain, TNR_BOOL, 1, SHAPE(5000), &draft) == TNR_OK) {
                    scene_fake()->fail_at = 0;
                    OK(tnr_draft_abandon(&draft));
                }
                scene_fake()->fail_at = 0;
                OK(tnr_domain_close(&domain));
            } else {
                assert_null(domain);
            }
            failures += scene_fake()->faults != 0;
            scene_fake()->fail_at = 0;
            OK(tnr_cuda_synchronize(s.device));
            /* what the driver did not take back at the fault was asked for again, or is gone with the context at the end */
            assert_true(scene_fake()->live - scene_counts(&s).events <= before + 1);
            assert_int_equal(scene_counts(&s).quarantined, 0);
        }
    }
    assert_true(failures > 12);
    OK(tnr_topology_destroy(&topology));
    scene_end(&s);
}

/* A node that is not there, or not ours: page-locked memory where the driver puts it. */
static void unknown_node(void **state)
{
    (void)state;
    NEEDS_FAKE();
    tnr_domain *heap = make_heap();
    tnr_topology *topology = NULL;
    tnr_cuda_device *device = NULL;
    tnr_domain *pinned = NULL;
    tnr_cuda_options options = TNR_CUDA_OPTIONS;
    tnr_cuda_domain_options domain_options = TNR_CUDA_DOMAIN_OPTIONS;
    OK(tnr_topology_create(heap, NULL, &topology));
    domain_options.topology = topology;
    options.driver = scene_driver();
    for (int node = -1; node < 900; node += 900) {
        scene_reset(1);
        scene_fake()->numa = node;
        OK(tnr_cuda_device_open(heap, &options, &device));
        OK(tnr_cuda_domain_create(device, TNR_CUDA_PINNED, &domain_options, &pinned));
        assert_int_equal(tnr_domain_placement(pinned).cpu_affinity, TNR_NONE);
        OK(tnr_domain_close(&pinned));
        OK(tnr_cuda_device_close(&device));
    }
    OK(tnr_topology_destroy(&topology));
    OK(tnr_domain_close(&heap));
    scene_expect_clean();
}

static void closing_while_in_use(void **state)
{
    (void)state;
    scene s;
    scene_begin(&s, 12, NULL);
    tnr_tensor *tensor = bytes_of(s.domain[TNR_CUDA_POOL], 100);
    tnr_cuda_device *device = s.device;
    tnr_domain *domain = s.domain[TNR_CUDA_POOL];
    EXPECT(TNR_ERR_BUSY, tnr_cuda_device_close(&device));
    TEXT_HAS("domains");
    assert_ptr_equal(device, s.device);
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&domain));
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&s.heap));
    tnr_cuda_device *other = untouched(); /* homes are reached by the host directly */
    tnr_cuda_options options = TNR_CUDA_OPTIONS;
    options.driver = scene_driver();
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_device_open(s.domain[TNR_CUDA_MANAGED], &options, &other));
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_device_open(s.domain[TNR_CUDA_POOL], &options, &other));
    assert_ptr_equal(other, untouched());
    OK(tnr_cuda_synchronize(s.device)); /* nothing happened to it */
    release(&tensor);
    OK(tnr_cuda_device_close(NULL));
    tnr_cuda_device *none = NULL;
    OK(tnr_cuda_device_close(&none));
    scene_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_and_placement),
        cmocka_unit_test(by_uuid),
        cmocka_unit_test(caps),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(what_is_kept),
        cmocka_unit_test(lesser_devices),
        cmocka_unit_test(managed_in_turns),
        cmocka_unit_test(managed_and_cpu_engine),
        cmocka_unit_test(managed_one_at_a_time),
        cmocka_unit_test(pinned_near_the_device),
        cmocka_unit_test(boxes),
        cmocka_unit_test(closing_while_in_use),
        cmocka_unit_test(boxes_of_full_rank),
        cmocka_unit_test(making_fails_anywhere),
        cmocka_unit_test(unknown_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
