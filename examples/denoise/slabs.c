/* SPDX-License-Identifier: BSD-3-Clause */
/* See slabs.h. */
#include "slabs.h"
#include "try.h"

#include <stdio.h>
#include <string.h>

#include "device/near.h"

/* The planes of a slab, in the whole volume. */
static tnr_range planes_of(const slab *s) { return (tnr_range){s->first, s->first + s->planes, 1}; }

static tnr_status fill(slab *s, const tnr_view *volume, bool last, double kappa, double dt)
{
    const int64_t shape[3] = {volume->shape[0], volume->shape[1], s->planes};
    tnr_domain *memory = tnr_engine_pool(s->engine); /* on the engine's node, or device */
    tnr_view source;
    TRY(tnr_view_slice_axis(volume, 2, planes_of(s), &source));
    TRY(near_put(s->engine, &source, memory, &s->volume));
    if (!last) {
        TRY(near_zeros(s->engine, memory, TNR_F64, 2, shape, &s->above));
    }
    return perona_malik_begin(s->engine, memory, shape, kappa, dt, &s->pm);
}

tnr_status slabs_whole(tnr_engine *engine, const tnr_view *volume, double kappa, double dt, slabs *cut)
{
    memset(cut, 0, sizeof *cut);
    cut->count = 1;
    cut->slab[0].engine = engine;
    cut->slab[0].node = TNR_NONE;
    cut->slab[0].planes = volume->shape[2];
    const tnr_status status = fill(&cut->slab[0], volume, true, kappa, dt);
    if (status != TNR_OK) {
        slabs_release(cut);
    }
    return status;
}

tnr_status slabs_cut(tnr_machine *machine, const tnr_view *volume, double kappa, double dt, slabs *cut)
{
    memset(cut, 0, sizeof *cut);
    const int64_t planes = volume->shape[2];
    int64_t count = tnr_machine_nodes(machine);
    count = count > SLABS_MOST ? SLABS_MOST : count;
    count = count > planes ? (planes > 0 ? planes : 1) : count;
    cut->count = (int)count;
    for (int i = 0; i < cut->count; i++) {
        slab *s = &cut->slab[i];
        s->first = planes * i / count;
        s->planes = planes * (i + 1) / count - s->first;
        s->below = i > 0 ? s - 1 : NULL;
        tnr_status status = tnr_machine_engine(machine, tnr_machine_node_at(machine, i), &s->engine);
        if (status == TNR_OK) {
            s->node = tnr_domain_placement(tnr_engine_output(s->engine)).cpu_affinity;
            status = fill(s, volume, i + 1 == cut->count, kappa, dt);
        }
        if (status != TNR_OK) {
            slabs_release(cut);
            return status;
        }
    }
    return TNR_OK;
}

static tnr_status make_face(slab *lower, slab *upper)
{
    tnr_view low;
    tnr_view high;
    tnr_view_mut flux;
    TRY(tnr_tensor_view(lower->volume, &low));
    TRY(tnr_view_select(&low, 2, -1, &low));
    TRY(tnr_tensor_view(upper->volume, &high));
    TRY(tnr_view_select(&high, 2, 0, &high));
    TRY(tnr_tensor_view_mut(lower->above, &flux));
    return perona_malik_face(&lower->pm, &low, &high, &flux);
}

static tnr_status sweep(slab *s)
{
    tnr_view_mut volume;
    tnr_view below;
    tnr_view above;
    TRY(tnr_tensor_view_mut(s->volume, &volume));
    if (s->below != NULL) {
        TRY(tnr_tensor_view(s->below->above, &below));
    }
    if (s->above != NULL) {
        TRY(tnr_tensor_view(s->above, &above));
    }
    return perona_malik_sweep(&s->pm, &volume, s->below != NULL ? &below : NULL, s->above != NULL ? &above : NULL);
}

static void *sweep_thread(void *context)
{
    slab *s = context;
    s->status = sweep(s);
    if (s->status != TNR_OK) {
        (void)snprintf(s->text, sizeof s->text, "%s", tnr_last_error()); /* this thread's */
    }
    return NULL;
}

tnr_status slabs_step(slabs *cut)
{
    for (int i = 0; i + 1 < cut->count; i++) { /* all of them from old values */
        TRY(make_face(&cut->slab[i], &cut->slab[i + 1]));
    }
    pthread_t threads[SLABS_MOST];
    bool started[SLABS_MOST] = {false};
    for (int i = 1; i < cut->count; i++) {
        started[i] = pthread_create(&threads[i], NULL, sweep_thread, &cut->slab[i]) == 0;
    }
    for (int i = 0; i < cut->count; i++) {
        if (!started[i]) {
            sweep_thread(&cut->slab[i]);
        }
    }
    const slab *failed = NULL;
    for (int i = 0; i < cut->count; i++) {
        if (started[i]) {
            (void)pthread_join(threads[i], NULL);
        }
        if (failed == NULL && cut->slab[i].status != TNR_OK) {
            failed = &cut->slab[i];
        }
    }
    return failed == NULL ? TNR_OK : tnr_set_error(failed->status, failed->text);
}

tnr_status slabs_join(slabs *cut, const tnr_view_mut *volume)
{
    for (int i = 0; i < cut->count; i++) {
        slab *s = &cut->slab[i];
        tnr_view source;
        tnr_view_mut target;
        TRY(tnr_tensor_view(s->volume, &source));
        TRY(tnr_view_mut_slice_axis(volume, 2, planes_of(s), &target));
        TRY(near_get_into(s->engine, &source, &target));
    }
    return TNR_OK;
}

void slabs_release(slabs *cut)
{
    for (int i = 0; i < cut->count; i++) {
        slab *s = &cut->slab[i];
        perona_malik_end(&s->pm);
        (void)!tnr_tensor_release(&s->above);
        (void)!tnr_tensor_release(&s->volume);
    }
    memset(cut, 0, sizeof *cut);
}
