/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structs across versions of the header: settings that are shorter than the first version are refused, longer ones are
 * accepted while what this library does not know is zero; what it fills in has zeros where later versions may say more. And
 * the need of a program's domain, which is asked for by the same settings.
 */
#include "support/storage_test.h"
#include "tenure/topology.h"

#define TAIL 24

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

/* What a call makes of these settings; a domain that it made is closed again. */
typedef tnr_status (*taker)(tnr_domain *heap, const void *settings);

static tnr_status close_made(tnr_status status, tnr_domain **made)
{
    if (status == TNR_OK) {
        close_domain(made);
    } else {
        assert_ptr_equal(*made, untouched());
    }
    return status;
}

static tnr_status take_pool(tnr_domain *heap, const void *settings)
{
    tnr_domain *made = untouched();
    return close_made(tnr_pool_create(heap, settings, &made), &made);
}

static tnr_status take_arena(tnr_domain *heap, const void *settings)
{
    (void)heap;
    static _Alignas(64) unsigned char region[65536];
    tnr_domain *made = untouched();
    return close_made(tnr_arena_create(region, sizeof(region), settings, &made), &made);
}

static tnr_status take_arena_bytes(tnr_domain *heap, const void *settings)
{
    (void)heap;
    const tnr_need need = {640, 2, 3};
    uint64_t answers[3];
    return tnr_arena_bytes(&need, settings, &answers[0], &answers[1], &answers[2]);
}

static tnr_status take_domain(tnr_domain *heap, const void *settings)
{
    tnr_domain *made = untouched();
    return close_made(tnr_domain_create(heap, settings, &made), &made);
}

static tnr_status take_domain_need(tnr_domain *heap, const void *settings)
{
    (void)heap;
    tnr_need need;
    return tnr_domain_need(settings, &need);
}

static void check_sizes(const char *name, taker take, const void *initialiser, size_t size)
{
    tnr_domain *heap = make_heap();
    union {
        max_align_t aligned;
        unsigned char bytes[512];
    } settings;
    assert_true(size + TAIL <= sizeof(settings.bytes));
    for (size_t said = 0; said <= size + TAIL; said++) {
        memset(settings.bytes, 0, sizeof(settings.bytes));
        memcpy(settings.bytes, initialiser, size);
        memcpy(settings.bytes, &said, sizeof(said));
        tnr_status expected = said < size ? TNR_ERR_ARGUMENT : TNR_OK;
        if (take(heap, settings.bytes) != expected) {
            print_error("%s of %zu bytes, %zu said\n", name, size, said);
            fail();
        }
        for (size_t at = size; at < size + TAIL; at++) { /* any byte of the tail that counts, and none that does not */
            settings.bytes[at] = 1;
            expected = said < size || at < said ? TNR_ERR_ARGUMENT : TNR_OK;
            if (take(heap, settings.bytes) != expected) {
                print_error("%s of %zu bytes, %zu said, byte %zu set\n", name, size, said, at);
                fail();
            }
            settings.bytes[at] = 0;
        }
    }
    static const size_t garbage[] = {4097, (size_t)1 << 40, SIZE_MAX}; /* nothing behind the struct is looked at then */
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        memcpy(settings.bytes, &garbage[i], sizeof(garbage[i]));
        assert_int_equal(take(heap, settings.bytes), TNR_ERR_ARGUMENT);
    }
    close_domain(&heap);
}

static void settings_may_be_longer_when_the_rest_is_zero(void **state)
{
    (void)state;
    const tnr_pool_options pool = TNR_POOL_OPTIONS;
    const tnr_arena_options arena = TNR_ARENA_OPTIONS;
    test_memory memory = {0};
    test_memory *where = &memory;
    const tnr_domain_ops ops = test_ops(TNR_ACCESS_DIRECT);
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    config.config = &where;
    check_sizes("pool options", take_pool, &pool, sizeof(pool));
    check_sizes("arena options", take_arena, &arena, sizeof(arena));
    check_sizes("arena options", take_arena_bytes, &arena, sizeof(arena));
    check_sizes("domain config", take_domain, &config, sizeof(config));
    check_sizes("domain config", take_domain_need, &config, sizeof(config));
    assert_int_equal(memory.opens, memory.closes);
}

static void table_may_be_longer_when_the_rest_is_zero(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    test_memory *where = &memory;
    struct {
        tnr_domain_ops ops;
        unsigned char tail[TAIL];
    } table;
    memset(&table, 0, sizeof(table));
    table.ops = test_ops(TNR_ACCESS_DIRECT);
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    assert_int_equal(config.ops_size, sizeof(tnr_domain_ops));
    config.ops = &table.ops;
    config.config = &where;
    const taker takers[2] = {take_domain, take_domain_need};
    for (int which = 0; which < 2; which++) {
        config.ops_size = 0;
        EXPECT(TNR_ERR_ARGUMENT, takers[which](heap, &config));
        config.ops_size = sizeof(tnr_domain_ops) - 1;
        EXPECT(TNR_ERR_ARGUMENT, takers[which](heap, &config));
        config.ops_size = offsetof(tnr_domain_ops, read) - 1;
        EXPECT(TNR_ERR_ARGUMENT, takers[which](heap, &config));
        config.ops_size = offsetof(tnr_domain_ops, read); /* the first version's */
        OK(takers[which](heap, &config));
        config.ops_size = sizeof(table);
        OK(takers[which](heap, &config));
        table.tail[TAIL - 1] = 1;
        EXPECT(TNR_ERR_ARGUMENT, takers[which](heap, &config));
        config.ops_size = sizeof(tnr_domain_ops);
        OK(takers[which](heap, &config));
        table.tail[TAIL - 1] = 0;
    }
    close_domain(&heap);
}

/* ---- Need of a program's domain ---------------------------------------------------------------------------------- */

static void domain_need_is_enough_and_no_more(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 64, 1000};
    for (size_t at = 0; at < sizeof(sizes) / sizeof(sizes[0]); at++) {
        test_memory memory = {0};
        test_memory *where = &memory;
        tnr_domain_ops ops = test_ops(TNR_ACCESS_MAPPED);
        tnr_domain_config config = TNR_DOMAIN_CONFIG;
        tnr_arena_options options = TNR_ARENA_OPTIONS;
        tnr_need need = {1, 1, 1};
        tnr_domain *arena = NULL;
        tnr_domain *domain = NULL;
        uint64_t region_bytes;
        uint64_t control_bytes;
        ops.size = sizeof(test_state) + sizes[at];
        config.ops = &ops;
        config.config = &where;
        config.access = TNR_ACCESS_MAPPED;
        OK(tnr_domain_need(&config, &need));
        assert_int_equal(need.blocks, 1);
        assert_int_equal(need.handles, 0);
        assert_int_equal(need.bytes % 64, 0);
        OK(tnr_arena_bytes(&need, NULL, &region_bytes, &control_bytes, &options.max_blocks));
        void *region = aligned_alloc(64, (size_t)region_bytes);
        assert_non_null(region);
        OK(tnr_arena_create(region, region_bytes, &options, &arena));
        OK(tnr_domain_create(arena, &config, &domain));
        assert_int_equal(statistics_of(arena).free_bytes, 0);
        close_domain(&domain);
        close_domain(&arena);
        free(region);
    }
    tnr_need need = {5, 6, 7};
    tnr_domain_ops ops = test_ops(TNR_ACCESS_DIRECT);
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_need(NULL, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_need(&config, &need)); /* no table */
    config.ops = &ops;
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_need(&config, NULL));
    ops.size = SIZE_MAX;
    EXPECT(TNR_ERR_OVERFLOW, tnr_domain_need(&config, &need));
    ops.size = 0;
    ops.release = NULL;
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_need(&config, &need));
    assert_true(need.bytes == 5 && need.blocks == 6 && need.handles == 7);
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

static void check_zero(const void *bytes, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        assert_int_equal(((const unsigned char *)bytes)[at], 0);
    }
}

static void answers_have_zeros_where_later_versions_say_more(void **state)
{
    (void)state;
    void *region;
    tnr_domain *heap = make_heap();
    tnr_domain *arena = make_arena(&region, 0);
    test_memory memory = {0};
    tnr_domain *program = make_program_domain(heap, &memory, TNR_ACCESS_DIRECT);
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(heap, NULL, &pool));
    tnr_domain *domains[4] = {heap, arena, program, pool};
    for (int at = 0; at < 4; at++) {
        tnr_tensor *tensor = make_counting(domains[at], 1, SHAPE(3));
        tnr_domain_statistics statistics;
        tnr_tensor_info info;
        tnr_ledger ledger;
        tnr_group *group = NULL;
        tnr_slot slot;
        tnr_descriptor descriptor;
        memset(&statistics, 0xA5, sizeof(statistics));
        OK(tnr_domain_statistics_get(domains[at], &statistics));
        assert_int_equal(sizeof(statistics.reserved), 32);
        check_zero(statistics.reserved, sizeof(statistics.reserved));
        memset(&ledger, 0xA5, sizeof(ledger));
        OK(tnr_ledger_get(domains[at], &ledger));
        check_zero(&ledger.allocations[TNR_ALLOCATION_REASON_END],
                   (TNR_LEDGER_REASONS - TNR_ALLOCATION_REASON_END) * sizeof(ledger.allocations[0]));
        check_zero(&ledger.copies[TNR_COPY_REASON_END],
                   (TNR_LEDGER_REASONS - TNR_COPY_REASON_END) * sizeof(ledger.copies[0]));
        memset(&info, 0xA5, sizeof(info));
        OK(tnr_tensor_describe(tensor, &info));
        check_zero(info.reserved, sizeof(info.reserved));
        OK(tnr_group_create(heap, &group));
        OK(tnr_group_append(group, &tensor, &slot));
        memset(&descriptor, 0xA5, sizeof(descriptor));
        OK(tnr_group_describe(group, slot, &descriptor));
        check_zero(descriptor.reserved, sizeof(descriptor.reserved));
        OK(tnr_group_take(group, slot, &tensor));
        memset(&descriptor, 0xA5, sizeof(descriptor));
        OK(tnr_group_describe(group, slot, &descriptor)); /* vacant */
        check_zero(descriptor.reserved, sizeof(descriptor.reserved));
        OK(tnr_group_release(&group));
        release(&tensor);
    }
    tnr_pool_statistics figures;
    memset(&figures, 0xA5, sizeof(figures));
    OK(tnr_pool_statistics_get(pool, &figures));
    check_zero(figures.reserved, sizeof(figures.reserved));
    close_domain(&pool);
    close_domain(&program);
    close_domain(&arena);
    close_domain(&heap);
    free(region);
}

/* The number of a node by its place in the list. */
static int node_number(const tnr_topology *topology, int at)
{
    tnr_node_set nodes;
    OK(tnr_topology_nodes(topology, &nodes));
    int node = tnr_node_set_next(&nodes, TNR_NONE);
    while (at-- > 0) {
        node = tnr_node_set_next(&nodes, node);
    }
    return node;
}

static void places_have_zeros_where_later_versions_say_more(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_topology *topology = NULL;
    OK(tnr_topology_create(heap, NULL, &topology));
    static tnr_topology_info machine;
    static tnr_node_info node;
    static tnr_cpu_info cpu;
    tnr_cpu_set cpus;
    memset(&machine, 0xA5, sizeof(machine));
    OK(tnr_topology_describe(topology, &machine));
    check_zero(machine.reserved, sizeof(machine.reserved));
    OK(tnr_topology_cpus(topology, &cpus));
    for (int at = tnr_cpu_set_next(&cpus, TNR_NONE); at != TNR_NONE; at = tnr_cpu_set_next(&cpus, at)) {
        memset(&cpu, 0xA5, sizeof(cpu));
        OK(tnr_topology_cpu(topology, at, &cpu));
        assert_int_equal(sizeof(cpu.reserved), 32);
        check_zero(cpu.reserved, sizeof(cpu.reserved));
    }
    for (int at = 0; at < machine.nodes; at++) {
        memset(&node, 0xA5, sizeof(node));
        OK(tnr_topology_node_at(topology, at, &node));
        assert_int_equal(sizeof(node.reserved), 64);
        check_zero(node.reserved, sizeof(node.reserved));
        memset(&node, 0xA5, sizeof(node));
        OK(tnr_topology_node(topology, node_number(topology, at), &node));
        check_zero(node.reserved, sizeof(node.reserved));
    }
    tnr_residence residence;
    memset(&residence, 0xA5, sizeof(residence));
    if (tnr_residence_of(&residence, sizeof(residence), TNR_NONE, &residence) == TNR_OK) { /* else it does not tell */
        assert_int_equal(sizeof(residence.reserved), 64);
        check_zero(residence.reserved, sizeof(residence.reserved));
        assert_int_equal(residence.at_node, 0); /* against no node every page lies elsewhere */
        assert_int_equal(residence.elsewhere, residence.present);
        assert_true(residence.present >= 1);
    }
    OK(tnr_topology_destroy(&topology));
    close_domain(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_may_be_longer_when_the_rest_is_zero),
        cmocka_unit_test(table_may_be_longer_when_the_rest_is_zero),
        cmocka_unit_test(domain_need_is_enough_and_no_more),
        cmocka_unit_test(answers_have_zeros_where_later_versions_say_more),
        cmocka_unit_test(places_have_zeros_where_later_versions_say_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
