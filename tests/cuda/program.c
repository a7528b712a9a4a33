/* SPDX-License-Identifier: BSD-3-Clause */
#include "program_internal.h"

uint64_t roll(program *p, uint64_t below)
{
    p->state ^= p->state << 13;
    p->state ^= p->state >> 7;
    p->state ^= p->state << 17;
    return (p->state >> 9) % below;
}

void complain(program *p, const char *what, long long number)
{
    if (p->answer.text[0] == '\0') {
        (void)snprintf(p->answer.text, sizeof(p->answer.text), "%s (%lld)", what, number);
    }
}

bool fine(program *p, tnr_status status, const char *call)
{
    if (status == TNR_OK) {
        return true;
    }
    p->answer.failed++;
    const fake_cuda *fake = scene_fake();
    if (!p->faulty || fake == NULL || fake->faults == 0) {
        if (p->answer.text[0] == '\0') {
            (void)snprintf(p->answer.text, sizeof(p->answer.text), "%s: %s", call, tnr_last_error());
        }
    }
    return false;
}

tnr_domain *domain_of(program *p, int place) { return place == HEAP ? p->s.heap : p->s.domain[place]; }
bool on_device(int place) { return place != HEAP && place != TNR_CUDA_PINNED; }

/* ---- Layouts ----------------------------------------------------------------------------------------------------------------- */

void any_layout(program *p, int rank, const int64_t *shape, int64_t count, layout *of)
{
    int order[4] = {0, 1, 2, 3};
    of->rank = rank;
    for (int tries = 0; tries < 6; tries++) {
        const bool plain = tries == 5 || roll(p, 3) == 0;
        int64_t step = 1;
        int64_t reach = 0;
        of->offset = 0;
        for (int axis = rank - 1; axis > 0 && !plain; axis--) {
            const int other = (int)roll(p, (uint64_t)axis + 1);
            const int kept = order[axis];
            order[axis] = order[other];
            order[other] = kept;
        }
        for (int at = 0; at < rank; at++) {
            const int axis = plain ? at : order[at];
            step *= !plain && roll(p, 4) == 0 ? 2 : 1;
            of->shape[axis] = shape[axis];
            of->strides[axis] = step;
            reach += step * (shape[axis] - 1);
            if (!plain && roll(p, 4) == 0) {
                of->offset += step * (shape[axis] - 1);
                of->strides[axis] = -step;
            }
            step *= shape[axis] + (plain ? 0 : (int64_t)roll(p, 2));
        }
        if (reach < count) {
            of->offset += (int64_t)roll(p, (uint64_t)(count - reach));
            return;
        }
    }
}

int64_t any_shape(program *p, int64_t most, int *rank, int64_t *shape)
{
    int64_t count = 1;
    *rank = (int)roll(p, 4) + 1;
    for (int axis = 0; axis < *rank; axis++) {
        const int64_t left = most / count;
        shape[axis] = left <= 1 ? 1 : 1 + (int64_t)roll(p, (uint64_t)(*rank == 1 ? left : left < 24 ? left : 24));
        count *= shape[axis];
    }
    return count;
}

void repeat(program *p, layout *of)
{
    if (of->rank > 0 && roll(p, 4) == 0) {
        of->offset = of->strides[0] < 0 ? of->offset + of->strides[0] * (of->shape[0] - 1) : of->offset;
        of->strides[0] = 0;
    }
}

/* The next index, first axis fastest, and the elements at it; false after the last. */
static bool next(int count, const layout *const *layouts, int64_t *index, int64_t *at)
{
    for (int axis = 0; axis < layouts[0]->rank; axis++) {
        const int64_t extent = layouts[0]->shape[axis];
        const bool over = ++index[axis] == extent;
        for (int which = 0; which < count; which++) {
            at[which] += layouts[which]->strides[axis] * (over ? 1 - extent : 1);
        }
        if (!over) {
            return true;
        }
        index[axis] = 0;
    }
    return false;
}

static void model_copy(owner *target, const layout *to, const owner *source, const layout *from)
{
    const layout *const layouts[2] = {to, from};
    const size_t width = target->width;
    int64_t index[4] = {0};
    int64_t at[2] = {to->offset, from->offset};
    do {
        memcpy(target->model + (size_t)at[0] * width, source->model + (size_t)at[1] * width, width);
        target->unknown[at[0]] = source->unknown[at[1]];
    } while (next(2, layouts, index, at));
    target->tainted = target->tainted || source->tainted;
}

void taint(owner *of, const layout *at, bool unknown)
{
    int64_t index[4] = {0};
    int64_t place = at->offset;
    do {
        of->unknown[place] = unknown ? 1 : 0;
    } while (next(1, &at, index, &place));
    of->tainted = of->tainted || unknown;
}

/* ---- Steps --------------------------------------------------------------------------------------------------------------------- */

/* Whole numbers, half of the time small ones. */
static void fresh(program *p, owner *of)
{
    const bool small = of->dtype != TNR_I32 || roll(p, 2) == 0;
    const uint64_t range = small ? 9 : UINT64_C(1) << 30;
    of->bound = (double)range;
    of->tainted = false;
    memset(of->unknown, 0, (size_t)of->count);
    for (int64_t at = 0; at < of->count; at++) {
        const int64_t value = (int64_t)roll(p, range) - (small ? 3 : 0);
        const double parts[2] = {(double)value, (double)(value / 2)};
        const int32_t narrow = (int32_t)value;
        const void *from = of->dtype == TNR_I32 ? (const void *)&narrow : (const void *)parts;
        memcpy(of->model + (size_t)at * of->width, of->dtype == TNR_I64 ? (const void *)&value : from, of->width);
    }
}

void adopt(program *p, owner *of, tnr_tensor *tensor, int place, tnr_dtype dtype, int64_t count, double bound)
{
    of->tensor = tensor;
    of->place = place;
    of->dtype = dtype;
    of->width = tnr_dtype_size(dtype);
    of->count = count;
    of->bound = bound;
    of->held = 0;
    of->tainted = false;
    memset(of->unknown, 0, (size_t)count);
    OK(tnr_tensor_adopt(p->s.heap, dtype, 1, &count, of->model, (uint64_t)count * of->width, NULL, NULL, &of->shadow));
}

/* Host tensor with fresh values, in heap or pinned memory; by a copy to the device where it is to be there. */
static void make(program *p, owner *of)
{
    static const tnr_dtype dtypes[8] = {TNR_I32, TNR_F64, TNR_I32, TNR_F64, TNR_I32, TNR_C64, TNR_I32, TNR_I64};
    of->dtype = dtypes[roll(p, 8)];
    of->width = tnr_dtype_size(of->dtype);
    of->count = 1 + (int64_t)roll(p, roll(p, 3) == 0 ? BYTES / of->width : 60);
    of->place = (int)roll(p, PLACES);
    fresh(p, of);
    tnr_tensor *host = NULL;
    const int first = on_device(of->place) ? HEAP : of->place;
    if (!fine(p,
              tnr_tensor_from_column_major(domain_of(p, first), of->dtype, 1, &of->count, of->model,
                                           (uint64_t)of->count * of->width, &host),
              "make")) {
        return;
    }
    tnr_tensor *made = host;
    if (on_device(of->place)) {
        const tnr_view view = view_of(host);
        made = NULL;
        (void)fine(p, tnr_cuda_upload(p->s.lane[roll(p, 2)], &view, domain_of(p, of->place), &made), "upload");
        release_or_stray(p, host);
    }
    if (made != NULL) {
        adopt(p, of, made, of->place, of->dtype, of->count, of->bound);
    }
}

void release_or_stray(program *p, tnr_tensor *tensor)
{
    if (tnr_tensor_release(&tensor) == TNR_OK) {
        return;
    }
    if (!p->faulty || p->stray_count == TENSORS) {
        complain(p, "release refused", p->stray_count);
        return;
    }
    p->strays[p->stray_count++] = tensor;
}

/* False: the library does not let go of it now. */
static bool drop(owner *of)
{
    tnr_tensor *tensor = of->tensor;
    if (tnr_tensor_release(&tensor) != TNR_OK) {
        return false;
    }
    of->tensor = NULL;
    OK(tnr_tensor_release(&of->shadow));
    return true;
}

/* Numbers, so that both zeros are one. */
static bool same(const owner *of, const char *data, int64_t at)
{
    const size_t byte = (size_t)at * of->width;
    if (of->dtype != TNR_F64 && of->dtype != TNR_C64) {
        return memcmp(data + byte, of->model + byte, of->width) == 0;
    }
    double a[2] = {0.0, 0.0};
    double b[2] = {0.0, 0.0};
    memcpy(a, data + byte, of->width);
    memcpy(b, of->model + byte, of->width);
    return a[0] == b[0] && a[1] == b[1];
}

static void compare(program *p, const owner *of, const tnr_view *view)
{
    tnr_read_map map;
    if (!fine(p, tnr_map_read(view, &map), "map_read")) {
        return;
    }
    for (int64_t at = 0; at < of->count; at++) {
        if (of->unknown[at] == 0 && !same(of, map.data, at)) {
            p->answer.wrong++;
            complain(p, "wrong value at", at);
            break;
        }
    }
    OK(tnr_unmap_read(&map));
}

static void verify(program *p, owner *of)
{
    const tnr_view view = view_of(of->tensor);
    if (!on_device(of->place) || (of->place == TNR_CUDA_MANAGED && roll(p, 2) == 0)) {
        compare(p, of, &view);
        return;
    }
    tnr_tensor *host = NULL;
    if (fine(p,
             tnr_cuda_download(p->s.lane[roll(p, 2)], &view, domain_of(p, roll(p, 2) == 0 ? HEAP : TNR_CUDA_PINNED),
                               &host),
             "download")) {
        const tnr_view down = view_of(host);
        compare(p, of, &down);
        OK(tnr_tensor_release(&host));
    }
}

/* The host writes a managed or host tensor through a mapping. */
static void scribble(program *p, owner *of)
{
    tnr_write_map map;
    const tnr_view_mut view = view_mut_of(of->tensor);
    if ((on_device(of->place) && of->place != TNR_CUDA_MANAGED) || of->dtype == TNR_BOOL ||
        !fine(p, tnr_map_write(&view, &map), "map_write")) {
        return;
    }
    fresh(p, of);
    memcpy(map.data, of->model, (size_t)of->count * of->width);
    OK(tnr_unmap_write(&map));
}

typedef tnr_status (*copy_fn)(tnr_cuda_lane *, const tnr_view *, const tnr_view_mut *);
typedef tnr_status (*start_fn)(tnr_cuda_lane *, const tnr_view *, const tnr_view_mut *, tnr_ticket **);

static void copy(program *p, int to, int from, flight *ticket)
{
    owner *target = &p->owners[to];
    owner *source = &p->owners[from];
    layout t;
    layout f;
    int rank;
    int64_t shape[4];
    tnr_view view;
    tnr_view_mut view_mut;
    if ((!on_device(target->place) && !on_device(source->place)) || target->dtype != source->dtype) {
        return;
    }
    (void)any_shape(p, target->count < source->count ? target->count : source->count, &rank, shape);
    any_layout(p, rank, shape, target->count, &t);
    any_layout(p, rank, shape, source->count, &f);
    repeat(p, &f);
    OK(tnr_tensor_region_mut(target->tensor, rank, shape, t.strides, t.offset, &view_mut));
    OK(tnr_tensor_region(source->tensor, rank, shape, f.strides, f.offset, &view));
    const int way = !on_device(source->place) ? 0 : !on_device(target->place) ? 1 : 2;
    static const copy_fn copies[] = {tnr_cuda_upload_into, tnr_cuda_download_into, tnr_cuda_copy_into};
    static const start_fn starts[] = {tnr_cuda_upload_start, tnr_cuda_download_start, tnr_cuda_copy_start};
    tnr_cuda_lane *lane = p->s.lane[roll(p, 2)];
    const tnr_status status =
        ticket != NULL ? starts[way](lane, &view, &view_mut, &ticket->ticket) : copies[way](lane, &view, &view_mut);
    if (!fine(p, status, "copy")) {
        taint(target, &t, true);
        return;
    }
    model_copy(target, &t, source, &f);
    target->bound = target->bound > source->bound ? target->bound : source->bound;
    if (ticket != NULL) {
        ticket->at = t;
        ticket->target = to;
        ticket->source = from;
        target->held++;
        source->held++;
    }
}

static void end_ticket(program *p, flight *of, bool wait)
{
    bool done = true;
    const tnr_status status = wait ? tnr_ticket_wait(&of->ticket) : tnr_ticket_test(&of->ticket, &done);
    if (of->ticket != NULL) {
        (void)fine(p, status, "ticket, refused");
        return;
    }
    p->owners[of->target].held--;
    p->owners[of->source].held--;
    if (!fine(p, status, "ticket")) {
        taint(&p->owners[of->target], &of->at, true);
    }
}

static void step(program *p)
{
    const int at = (int)roll(p, TENSORS);
    const int from = (int)roll(p, TENSORS);
    flight *ticket = &p->flights[roll(p, TICKETS)];
    owner *of = &p->owners[at];
    owner *source = &p->owners[from];
    const uint64_t what = roll(p, 28);
    if (what < 3 && ticket->ticket != NULL) {
        end_ticket(p, ticket, what == 0);
        return;
    }
    if (what >= 16) {
        engine_step(p);
        return;
    }
    if (of->tensor == NULL) {
        make(p, of);
        return;
    }
    if (of->held != 0) {
        return;
    }
    if (what < 11 && source->tensor != NULL && from != at && source->held == 0) {
        copy(p, at, from, what < 7 && ticket->ticket == NULL ? ticket : NULL);
    } else if (what < 13) {
        if (!drop(of) && !p->faulty) {
            complain(p, "release refused", of->place);
        }
    } else if (what < 15) {
        verify(p, of);
    } else {
        scribble(p, of);
    }
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------------------------ */

static void finish(program *p)
{
    for (int at = 0; at < TICKETS; at++) {
        for (int tries = 0; p->flights[at].ticket != NULL; tries++) {
            end_ticket(p, &p->flights[at], true);
            if (tries > 100) {
                complain(p, "a ticket never ends", at);
                return;
            }
        }
    }
    for (int at = 0; at < TENSORS; at++) {
        if (p->owners[at].tensor != NULL) {
            verify(p, &p->owners[at]);
        }
    }
}

/* Close everything; quarantine may make it take a second look. */
static void close_all(program *p)
{
    tnr_cuda_statistics counts = scene_counts(&p->s);
    engines_end(p);
    for (int round = 0; round < 2; round++) {
        for (int at = 0; at < TENSORS; at++) {
            if (p->owners[at].tensor != NULL) {
                (void)drop(&p->owners[at]);
            }
        }
        while (p->stray_count > 0 && tnr_tensor_release(&p->strays[p->stray_count - 1]) == TNR_OK) {
            p->stray_count--;
        }
        for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
            (void)tnr_domain_close(&p->s.domain[memory]);
        }
        if (p->s.device != NULL) {
            counts = scene_counts(&p->s);
            if (round == 0 && counts.poison == TNR_OK) {
                (void)fine(p, tnr_cuda_synchronize(p->s.device), "synchronize");
            }
            (void)tnr_cuda_device_close(&p->s.device);
        }
    }
    for (int at = 0; at < TENSORS; at++) {
        if (p->owners[at].tensor != NULL) {
            complain(p, "a tensor cannot be released any more", at);
        }
    }
    if (p->s.device != NULL) {
        complain(p, tnr_cuda_device_close(&p->s.device) == TNR_OK ? "closed late" : tnr_last_error(), 0);
        return;
    }
    if (tnr_domain_close(&p->s.heap) != TNR_OK) {
        complain(p, tnr_last_error(), 0);
    }
    const fake_cuda *fake = scene_fake();
    if (fake == NULL) {
        return;
    }
    if (fake->faults == 0 && counts.quarantined_ever != 0) {
        complain(p, "something is in quarantine without a reason", (long long)counts.quarantined_ever);
    }
    /* A context that was lost takes along what is in it; else each fault and each quarantined thing explains one. */
    const uint64_t explained =
        fake->fail_fatal || counts.poison != TNR_OK ? fake->leaked : fake->faults + counts.quarantined_ever;
    if (fake->leaked + fake->live > explained) {
        complain(p, "the driver has objects that nobody gave back", (long long)(fake->leaked + fake->live));
    }
}

static void look_at_fake(program *p)
{
    const fake_cuda *fake = scene_fake();
    if (fake != NULL && fake->first[0] != '\0') {
        complain(p, fake->first, (long long)fake->calls);
    }
    if (scene_depth() != 0) {
        complain(p, "contexts left current", scene_depth());
    }
}

program_answer program_run(uint64_t seed, int steps, const program_fault *fault)
{
    static program p;
    memset(&p, 0, sizeof(p));
    p.state = seed * 6364136223846793005U + 1442695040888963407U;
    tnr_cuda_options options = SCENE_SMALL;
    options.nvrtc = seed % 3 == 0 && scene_fake() != NULL ? "off" : NULL; /* with kernels and without */
    scene_begin(&p.s, seed, &options);
    fake_cuda *fake = scene_fake();
    if (fake != NULL) {
        fake->eagerness = (unsigned)roll(&p, 160);
    }
    if (fake != NULL && fault != NULL) {
        fake->fail_at = fault->at;
        fake->fail_code = fault->code;
        fake->fail_fatal = fault->fatal;
        fake->fail_for_ever = fault->for_ever;
        fake->fail_entry = fault->entry;
        fake->planted = fault->planted;
        p.loss = fault->loss;
        p.faulty = fault->at != 0;
    }
    const uint64_t before = fake != NULL ? fake->calls : 0;
    engines_begin(&p);
    for (int at = 0; at < steps; at++) {
        step(&p);
    }
    finish(&p);
    close_all(&p);
    look_at_fake(&p);
    if (fake != NULL) {
        p.answer.calls = fake->calls - before;
        p.answer.fault = fake->faults != 0;
    }
    return p.answer;
}
