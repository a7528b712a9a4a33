/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines that compute the same and must agree: one as it comes, one without a cache of plans, and one with workers where a topology is to
 * be had. They live in a domain whose blocks come dirty and that counts them.
 */
#ifndef TENURE_TESTS_SUPPORT_ENGINES_WORLD_H
#define TENURE_TESTS_SUPPORT_ENGINES_WORLD_H

#include "catalogue/catalogue.h"
#include "support/storage_test.h"
#include "tenure/tenure.h"

typedef struct world {
    tnr_domain *heap;
    tnr_domain *domain; /* its blocks come dirty */
    catalogue_probe probe;
    tnr_topology *topology; /* NULL: none to be had */
    tnr_engine *engine;
    tnr_engine *bare; /* without a cache */
    tnr_engine *team; /* or NULL */
} world;

static inline void open_engines(world *w)
{
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    OK(tnr_engine_create(w->domain, &options, &w->engine));
    options.plan_cache_bytes = 0;
    OK(tnr_engine_create(w->domain, &options, &w->bare));
    if (w->topology != NULL) {
        options.topology = w->topology;
        OK(tnr_engine_create(w->domain, &options, &w->team));
    }
}

static inline void close_engines(world *w)
{
    OK(tnr_engine_destroy(&w->engine));
    OK(tnr_engine_destroy(&w->bare));
    OK(tnr_engine_destroy(&w->team));
}

static inline void open_world(world *w)
{
    memset(w, 0, sizeof *w);
    w->heap = make_heap();
    catalogue_probe_domain(w->heap, &w->probe, &w->domain);
    if (tnr_topology_create(w->heap, NULL, &w->topology) != TNR_OK) {
        print_message("no workers: %s\n", tnr_last_error());
        w->topology = NULL;
    }
    open_engines(w);
}

static inline void close_world(world *w)
{
    close_engines(w);
    if (w->topology != NULL) {
        OK(tnr_topology_destroy(&w->topology));
    }
    close_domain(&w->domain);
    close_domain(&w->heap);
    assert_int_equal(w->probe.live, 0);
    assert_int_equal(w->probe.misuse, 0);
}

#endif /* TENURE_TESTS_SUPPORT_ENGINES_WORLD_H */
