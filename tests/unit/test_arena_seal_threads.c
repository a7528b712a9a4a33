/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An arena is sealed while other threads make pools and tensors in it: what was made works and ends, and once the seal is seen to be
 * there nothing more is made.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "support/storage_test.h"

enum { THREADS = 3, ROUNDS = 200 };

typedef struct maker {
    tnr_domain *arena;
    atomic_int *begun;
    int made;
    pthread_t thread;
} maker;

static void *make_until_sealed(void *argument)
{
    maker *own = argument;
    bool sealed_before = false;
    atomic_fetch_add(own->begun, 1);
    for (;;) {
        tnr_domain *pool = NULL;
        tnr_tensor *tensor = NULL;
        sealed_before = tnr_arena_is_sealed(own->arena);
        const tnr_status status = tnr_pool_create(own->arena, NULL, &pool);
        if (status != TNR_OK) {
            assert_int_equal(status, TNR_ERR_UNSUPPORTED);
            break;
        }
        assert_false(sealed_before);
        own->made++;
        OK(tnr_tensor_zeros(pool, TNR_F32, 1, SHAPE(10), &tensor));
        OK(tnr_domain_close(&pool));
        OK(tnr_tensor_release(&tensor));
    }
    for (int i = 0; i < 10; i++) {
        tnr_tensor *tensor = NULL;
        OK(tnr_tensor_zeros(own->arena, TNR_F32, 1, SHAPE(10), &tensor));
        OK(tnr_tensor_release(&tensor));
        assert_true(tnr_arena_is_sealed(own->arena));
    }
    return NULL;
}

static void sealed_while_others_make(void **state)
{
    (void)state;
    int made = 0;
    for (int round = 0; round < ROUNDS; round++) {
        void *region;
        tnr_domain *arena = make_arena(&region, 0);
        maker makers[THREADS] = {{0}};
        atomic_int begun = 0;
        for (int i = 0; i < THREADS; i++) {
            makers[i].arena = arena;
            makers[i].begun = &begun;
            assert_int_equal(pthread_create(&makers[i].thread, NULL, make_until_sealed, &makers[i]), 0);
        }
        while (atomic_load(&begun) < THREADS && round % 2 == 0) {
        }
        OK(tnr_arena_seal(arena));
        tnr_domain *pool = NULL;
        EXPECT(TNR_ERR_UNSUPPORTED, tnr_pool_create(arena, NULL, &pool));
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(makers[i].thread, NULL), 0);
            made += makers[i].made;
        }
        OK(tnr_arena_check(arena));
        close_domain(&arena);
        free(region);
    }
    print_message("%d pools were made before their arenas were sealed\n", made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sealed_while_others_make)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
