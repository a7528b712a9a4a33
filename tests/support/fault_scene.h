/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chain of operands and an output of f64 beside an engine, one of whose domains is a probe that fails on order: for tests of what is left
 * of a product, an einsum or a plan that failed.
 */
#ifndef TENURE_TESTS_SUPPORT_FAULT_SCENE_H
#define TENURE_TESTS_SUPPORT_FAULT_SCENE_H

#include "catalogue/catalogue.h"
#include "support/storage_test.h"
#include "tenure/tenure.h"

enum { OPERANDS = 4 };

typedef struct scene {
    tnr_domain *heap;
    tnr_domain *domain; /* the probe's: the engine's, or that of outputs and operands */
    catalogue_probe probe;
    tnr_engine *engine;
    tnr_tensor *operands[OPERANDS];
    tnr_view views[OPERANDS];
    const tnr_view *list[OPERANDS];
    tnr_tensor *out;
    tnr_view_mut into;
} scene;

/* Operands of ones, the first of rank 2 or 3 and the others of rank 2; the output, a matrix, holds sevens. */
static inline void open_scene(scene *s, const int64_t shapes[OPERANDS + 1][3], int first_rank, bool engine_in_probe,
                              tnr_host_access access)
{
    memset(s, 0, sizeof *s);
    s->probe.access = access;
    s->heap = make_heap();
    catalogue_probe_domain(s->heap, &s->probe, &s->domain);
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.pool_max_bytes = 0;
    options.output = engine_in_probe ? NULL : s->domain;
    OK(tnr_engine_create(engine_in_probe ? s->domain : s->heap, &options, &s->engine));
    tnr_domain *home = access == TNR_ACCESS_MAPPED ? s->domain : s->heap;
    for (int i = 0; i < OPERANDS; i++) {
        const double one = 1.0;
        OK(tnr_tensor_full(home, TNR_F64, i == 0 ? first_rank : 2, shapes[i], &one, &s->operands[i]));
        s->views[i] = view_of(s->operands[i]);
        s->list[i] = &s->views[i];
    }
    const double dirt = 7.0;
    OK(tnr_tensor_full(home, TNR_F64, 2, shapes[OPERANDS], &dirt, &s->out));
    s->into = view_mut_of(s->out);
}

static inline void close_scene(scene *s)
{
    for (int i = 0; i < OPERANDS; i++) {
        release(&s->operands[i]);
    }
    release(&s->out);
    OK(tnr_engine_destroy(&s->engine));
    close_domain(&s->domain);
    close_domain(&s->heap);
    assert_int_equal(s->probe.live, 0);
    assert_int_equal(s->probe.open_maps, 0);
    assert_int_equal(s->probe.misuse, 0);
}

/* Of a matrix. */
static inline void all_elements_are(tnr_tensor *tensor, double value)
{
    const tnr_view view = view_of(tensor);
    for (int64_t at = 0; at < view.shape[0] * view.shape[1]; at++) {
        double found;
        OK(tnr_view_get(&view, (const int64_t[]){at % view.shape[0], at / view.shape[0]}, &found));
        assert_true(found == value);
    }
}

#endif /* TENURE_TESTS_SUPPORT_FAULT_SCENE_H */
