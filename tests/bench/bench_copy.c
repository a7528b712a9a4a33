/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tenure-bench copy, under mpirun with two ranks: copies between them beside plain MPI, in one run, best of many rounds that take turns.
 * Time is half of there and back. Both ranks should have a core of their own.
 */
#include "bench.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenure/mpi.h"
#include "tenure/tenure.h"

static int me;
static tnr_domain *heap;
static tnr_world *world;

static void check(int line, tnr_status status)
{
    if (status != TNR_OK) {
        fprintf(stderr, "bench copy, line %d: %s\n", line, tnr_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define OK(call) check(__LINE__, call)

/* One way of moving a payload to the other rank: both calls of it block. */
typedef struct way {
    const char *name;
    void (*send)(void *context);
    void (*receive)(void *context);
    double best; /* seconds there and back */
} way;

/* All ways in turn, each `inner` times there and back, for two seconds but at least three times. */
static void race(way *ways, int count, void *context, int inner)
{
    for (int w = 0; w < count; w++) {
        ways[w].best = 1e30;
    }
    const uint64_t start = bench_now_ns();
    int again = 1;
    for (int round = 0; again != 0; round++) {
        for (int w = 0; w < count; w++) {
            MPI_Barrier(MPI_COMM_WORLD);
            const uint64_t begin = bench_now_ns();
            for (int i = 0; i < inner; i++) {
                if (me == 0) {
                    ways[w].send(context);
                    ways[w].receive(context);
                } else {
                    ways[w].receive(context);
                    ways[w].send(context);
                }
            }
            const double seconds = (double)(bench_now_ns() - begin) * 1e-9 / inner;
            if (seconds < ways[w].best) {
                ways[w].best = seconds;
            }
        }
        again = round < 2 || bench_now_ns() - start < UINT64_C(2000000000);
        MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

static void report(const char *name, const way *ways, int count, double bytes)
{
    for (int w = 1; w < count && me == 0; w++) {
        if (bytes == 0) {
            bench_row("copy", name, "ns one way", ways[0].best / 2 * 1e9, ways[w].name, ways[w].best / 2 * 1e9, true);
        } else {
            bench_row("copy", name, "GB/s", bytes * 2e-9 / ways[0].best, ways[w].name, bytes * 2e-9 / ways[w].best,
                      false);
        }
    }
}

/* ---- A payload in every form ------------------------------------------------------------------------------------------------------ */

typedef struct payload {
    tnr_tensor *tensor;
    tnr_view view;     /* what is sent */
    tnr_view_mut into; /* what is received */
    char *from;        /* their first elements */
    char *to;
    uint64_t bytes;
    MPI_Datatype from_type; /* of the whole */
    MPI_Datatype to_type;
    int64_t run; /* bytes; columns of runs lie `pitch` bytes apart */
    int64_t pitch;
    int64_t columns;
    int64_t from_step; /* bytes between elements of 8 bytes in a run */
    char *buffer;      /* of whole packing */
    char *pieces[2];
} payload;

enum { PIECE = 128 << 10, STRIDED = 4 << 20, TAG = 1 };

static void ours_send(void *context) { OK(tnr_world_send(world, &((payload *)context)->view, 1 - me, 0)); }
static void ours_receive(void *context) { OK(tnr_world_receive_into(world, &((payload *)context)->into, 1 - me, 0)); }

static void raw_send(void *context)
{
    const payload *p = context;
    MPI_Send(p->from, (int)p->bytes, MPI_BYTE, 1 - me, TAG, MPI_COMM_WORLD);
}

static void raw_receive(void *context)
{
    const payload *p = context;
    MPI_Recv(p->to, (int)p->bytes, MPI_BYTE, 1 - me, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void derived_send(void *context)
{
    const payload *p = context;
    MPI_Send(p->from, 1, p->from_type, 1 - me, TAG, MPI_COMM_WORLD);
}

static void derived_receive(void *context)
{
    const payload *p = context;
    MPI_Recv(p->to, 1, p->to_type, 1 - me, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Loops as one writes them: columns of runs, or of elements at a step. */
static void pack_columns(const payload *p, int64_t first, int64_t count, char *out)
{
    for (int64_t c = first; c < first + count; c++) {
        const char *column = p->from + c * p->pitch;
        if (p->from_step == 8) {
            memcpy(out, column, (size_t)p->run);
            out += p->run;
        } else {
            for (int64_t i = 0; i < p->run / 8; i++, out += 8) {
                memcpy(out, column + i * p->from_step, 8);
            }
        }
    }
}

static void unpack_columns(const payload *p, int64_t first, int64_t count, const char *in)
{
    const int64_t pitch = p->from_step == 8 ? p->pitch : p->run; /* a transposed source has a compact target */
    for (int64_t c = first; c < first + count; c++, in += p->run) {
        memcpy(p->to + c * pitch, in, (size_t)p->run);
    }
}

static void whole_send(void *context)
{
    const payload *p = context;
    pack_columns(p, 0, p->columns, p->buffer);
    MPI_Send(p->buffer, (int)p->bytes, MPI_BYTE, 1 - me, TAG, MPI_COMM_WORLD);
}

static void whole_receive(void *context)
{
    const payload *p = context;
    MPI_Recv(p->buffer, (int)p->bytes, MPI_BYTE, 1 - me, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    unpack_columns(p, 0, p->columns, p->buffer);
}

static int64_t piece_columns(const payload *p) { return p->run >= PIECE ? 1 : PIECE / p->run; }

static void pipelined_send(void *context)
{
    const payload *p = context;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int at = 0;
    for (int64_t first = 0; first < p->columns; first += piece_columns(p), at ^= 1) {
        const int64_t rest = p->columns - first;
        const int64_t count = rest < piece_columns(p) ? rest : piece_columns(p);
        MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
        pack_columns(p, first, count, p->pieces[at]);
        MPI_Isend(p->pieces[at], (int)(count * p->run), MPI_BYTE, 1 - me, TAG, MPI_COMM_WORLD, &requests[at]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void pipelined_receive(void *context)
{
    const payload *p = context;
    const int64_t most = piece_columns(p);
    const int64_t pieces = (p->columns + most - 1) / most;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int64_t piece = 0; piece < pieces + 1; piece++) {
        if (piece < pieces) {
            MPI_Irecv(p->pieces[piece & 1], (int)(most * p->run), MPI_BYTE, 1 - me, TAG, MPI_COMM_WORLD,
                      &requests[piece & 1]);
        }
        if (piece > 0) {
            const int64_t first = (piece - 1) * most;
            const int64_t rest = p->columns - first;
            MPI_Wait(&requests[(piece - 1) & 1], MPI_STATUS_IGNORE);
            unpack_columns(p, first, rest < most ? rest : most, p->pieces[(piece - 1) & 1]);
        }
    }
}

/* ---- Suites -------------------------------------------------------------------------------------------------------------------------- */

static char *first_byte(const tnr_view *view)
{
    const void *data;
    OK(tnr_tensor_host_data(view->root, &data));
    return (char *)(uintptr_t)data + view->window_begin + view->offset * (int64_t)tnr_dtype_size(view->dtype);
}

static void finish(payload *p)
{
    if (p->from_type != MPI_DATATYPE_NULL) {
        MPI_Type_free(&p->from_type);
        MPI_Type_free(&p->to_type);
    }
    free(p->buffer);
    free(p->pieces[0]);
    free(p->pieces[1]);
    OK(tnr_tensor_release(&p->tensor));
}

/* Two blocks of a tensor, one to send and one to receive: rank 2, the last axis cut in two. */
static void make(payload *p, int64_t rows, int64_t columns, int64_t used, bool buffers)
{
    tnr_view_mut all;
    tnr_view_mut part;
    memset(p, 0, sizeof(*p));
    p->from_type = MPI_DATATYPE_NULL;
    OK(tnr_tensor_full(heap, TNR_F64, 2, (int64_t[]){rows, 2 * columns}, &(double){me}, &p->tensor));
    OK(tnr_tensor_view_mut(p->tensor, &all));
    OK(tnr_view_mut_slice_axis(&all, 0, (tnr_range){0, used, 1}, &part));
    tnr_view_mut send;
    OK(tnr_view_mut_slice_axis(&part, 1, (tnr_range){0, columns, 1}, &send));
    OK(tnr_view_mut_slice_axis(&part, 1, (tnr_range){columns, 2 * columns, 1}, &p->into));
    p->view = send.view;
    p->from = first_byte(&p->view);
    p->to = first_byte(&p->into.view);
    p->bytes = (uint64_t)(used * columns * 8);
    p->run = used * 8;
    p->pitch = rows * 8;
    p->columns = columns;
    p->from_step = 8;
    if (buffers) {
        const size_t piece = p->run > PIECE ? (size_t)p->run : PIECE;
        p->buffer = malloc(p->bytes);
        p->pieces[0] = malloc(piece);
        p->pieces[1] = malloc(piece);
        memset(p->buffer, 1, p->bytes);
        memset(p->pieces[0], 1, piece);
        memset(p->pieces[1], 1, piece);
    }
}

static void latency(void)
{
    payload p;
    way ways[] = {{"tenure", ours_send, ours_receive, 0}, {"MPI_Send/MPI_Recv", raw_send, raw_receive, 0}};
    make(&p, 1, 1, 1, false);
    race(ways, 2, &p, 200);
    report("8 B there and back", ways, 2, 0);
    finish(&p);
}

static void contiguous(void)
{
    static const int64_t sizes[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 128 << 20};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char name[64];
        payload p;
        way ways[] = {{"tenure", ours_send, ours_receive, 0}, {"MPI_Send/MPI_Recv", raw_send, raw_receive, 0}};
        const int inner = sizes[i] >= 1 << 20 ? 1 : (int)((1 << 18) / sizes[i]) + 1;
        make(&p, sizes[i] / 8, 1, sizes[i] / 8, false);
        race(ways, 2, &p, inner);
        snprintf(name, sizeof(name), "contiguous %lld KiB", (long long)(sizes[i] >> 10));
        report(name, ways, 2, (double)p.bytes);
        finish(&p);
    }
}

static void strided(void)
{
    static const int64_t runs[] = {8, 32, 128, 256, 1 << 10, 8 << 10, 32 << 10, 128 << 10};
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        char name[64];
        payload p;
        way ways[] = {{"tenure", ours_send, ours_receive, 0},
                      {"derived type", derived_send, derived_receive, 0},
                      {"pipelined packing", pipelined_send, pipelined_receive, 0},
                      {"whole packing", whole_send, whole_receive, 0}};
        const int64_t used = runs[i] / 8;
        make(&p, 2 * used, STRIDED / runs[i], used, true);
        MPI_Type_create_hvector((int)p.columns, (int)used, p.pitch, MPI_DOUBLE, &p.from_type);
        MPI_Type_commit(&p.from_type);
        MPI_Type_dup(p.from_type, &p.to_type);
        race(ways, 4, &p, 1);
        snprintf(name, sizeof(name), "strided, runs of %lld B", (long long)runs[i]);
        report(name, ways, 4, (double)p.bytes);
        finish(&p);
    }
}

static void transposed(void)
{
    enum { SIDE = 2048 };
    payload p;
    way ways[] = {{"tenure", ours_send, ours_receive, 0},
                  {"derived type", derived_send, derived_receive, 0},
                  {"pipelined packing", pipelined_send, pipelined_receive, 0}};
    make(&p, SIDE, SIDE, SIDE, true);
    OK(tnr_view_permute(&p.view, (int[]){1, 0}, &p.view));
    p.from_step = SIDE * 8;
    p.pitch = 8; /* columns of the transposed view begin next to each other */
    MPI_Datatype column;
    MPI_Type_create_hvector(SIDE, 1, SIDE * 8, MPI_DOUBLE, &column);
    MPI_Type_create_hvector(SIDE, 1, 8, column, &p.from_type);
    MPI_Type_free(&column);
    MPI_Type_commit(&p.from_type);
    MPI_Type_contiguous(SIDE * SIDE, MPI_DOUBLE, &p.to_type);
    MPI_Type_commit(&p.to_type);
    race(ways, 3, &p, 1);
    report("transposed, 2048 x 2048 f64", ways, 3, (double)p.bytes);
    finish(&p);
}

/* ---- Halos ---------------------------------------------------------------------------------------------------------------------------- */

/* A slab with a ghost layer at each end, both neighbours being the other rank. */
typedef struct slab {
    tnr_exchange *exchange;
    MPI_Request requests[4];
} slab;

static void slab_ours(void *context) { OK(tnr_exchange_run(((slab *)context)->exchange)); }

static void slab_raw(void *context)
{
    slab *s = context;
    MPI_Startall(4, s->requests);
    MPI_Waitall(4, s->requests, MPI_STATUSES_IGNORE);
}

static void nothing(void *context) { (void)context; }

static void halos(void)
{
    enum { SIDE = 256, DEEP = 130 };
    for (int axis = 0; axis < 3; axis++) {
        static const char *const runs[] = {"8 B", "2 KiB", "512 KiB"};
        char name[64];
        int64_t shape[] = {SIDE, SIDE, SIDE};
        tnr_tensor *tensor;
        tnr_view_mut all;
        tnr_view_mut layers[4]; /* ghost, first, last, ghost */
        slab s;
        way ways[] = {{"tenure", slab_ours, nothing, 0}, {"persistent requests, derived types", slab_raw, nothing, 0}};
        shape[axis] = DEEP;
        OK(tnr_tensor_full(heap, TNR_F64, 3, shape, &(double){me}, &tensor));
        OK(tnr_tensor_view_mut(tensor, &all));
        const int sizes[] = {(int)shape[2], (int)shape[1], (int)shape[0]};
        int face[] = {sizes[0], sizes[1], sizes[2]};
        face[2 - axis] = 1;
        for (int i = 0; i < 4; i++) {
            const int64_t at = i < 2 ? i : DEEP - 4 + i;
            int starts[] = {0, 0, 0};
            MPI_Datatype type;
            OK(tnr_view_mut_slice_axis(&all, axis, (tnr_range){at, at + 1, 1}, &layers[i]));
            starts[2 - axis] = (int)at;
            MPI_Type_create_subarray(3, sizes, face, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
            MPI_Type_commit(&type);
            if (i == 0 || i == 3) {
                MPI_Recv_init(first_byte(&all.view), 1, type, 1 - me, i == 0 ? 10 : 11, MPI_COMM_WORLD, &s.requests[i]);
            } else {
                MPI_Send_init(first_byte(&all.view), 1, type, 1 - me, i == 2 ? 10 : 11, MPI_COMM_WORLD, &s.requests[i]);
            }
            MPI_Type_free(&type);
        }
        const tnr_exchange_part parts[] = {{1 - me, 0, NULL, &layers[0]},
                                           {1 - me, 1, NULL, &layers[3]},
                                           {1 - me, 0, &layers[2].view, NULL},
                                           {1 - me, 1, &layers[1].view, NULL}};
        OK(tnr_exchange_prepare(world, parts, 4, &s.exchange));
        race(ways, 2, &s, 4);
        snprintf(name, sizeof(name), "halo of 256^3 f64, runs of %s", runs[axis]);
        if (me == 0) {
            bench_row("copy", name, "us a step", ways[0].best * 1e6, ways[1].name, ways[1].best * 1e6, true);
        }
        OK(tnr_exchange_destroy(&s.exchange));
        for (int i = 0; i < 4; i++) {
            MPI_Request_free(&s.requests[i]);
        }
        OK(tnr_tensor_release(&tensor));
    }
}

/* ---- Redistribution and fetches ------------------------------------------------------------------------------------------------------- */

/* A cube cut along its last axis, and the same cut along another. */
typedef struct spread {
    tnr_distribution from, to;
    tnr_view view;
    tnr_view_mut into;
    void *target;
    MPI_Datatype sent[2];
    MPI_Datatype received[2];
} spread;

static void spread_ours(void *context)
{
    const spread *s = context;
    OK(tnr_world_redistribute_into(world, &s->from, &s->view, &s->to, &s->into));
}

static void spread_raw(void *context)
{
    const spread *s = context;
    const int counts[] = {1, 1};
    const int places[] = {0, 0};
    MPI_Alltoallw(first_byte(&s->view), counts, places, s->sent, s->target, counts, places, s->received,
                  MPI_COMM_WORLD);
}

/* The half of a view's `axis` that is rank `half`'s, in column-major order of its elements; placed by its first byte. */
static MPI_Datatype half_of(const tnr_view *view, int axis, int half)
{
    const int place = half * (int)(view->shape[axis] / 2) * (int)view->strides[axis] * 8;
    MPI_Datatype type = MPI_DOUBLE;
    for (int at = 0; at < 3; at++) {
        const int64_t extent = at == axis ? view->shape[at] / 2 : view->shape[at];
        const MPI_Datatype inner = type;
        MPI_Type_create_hvector((int)extent, 1, (MPI_Aint)(view->strides[at] * 8), inner, &type);
        if (inner != MPI_DOUBLE) {
            MPI_Datatype over = inner;
            MPI_Type_free(&over);
        }
    }
    MPI_Datatype placed;
    MPI_Type_create_hindexed(1, &(int){1}, &(MPI_Aint){place}, type, &placed);
    MPI_Type_commit(&placed);
    MPI_Type_free(&type);
    return placed;
}

static void redistribution(void)
{
    enum { SIDE = 256 };
    static const int64_t whole[] = {SIDE, SIDE, SIDE};
    static const tnr_axis_cut by_last[] = {{1, 0, NULL}, {1, 0, NULL}, {2, 0, NULL}};
    for (int way_there = 0; way_there < 4; way_there++) {
        static const char *const lies[] = {"runs of 1 KiB", "runs of 256 KiB", "runs of 1 KiB, last axis first",
                                           "runs of 256 KiB, last axis first"};
        static const int last_first[] = {1, 2, 0}; /* where each axis of the view is in the tensor */
        const int axis = way_there % 2;
        const bool turned = way_there >= 2;
        const tnr_axis_cut by_other[] = {{axis == 0 ? 2 : 1, 0, NULL}, {axis == 1 ? 2 : 1, 0, NULL}, {1, 0, NULL}};
        const int64_t before[] = {SIDE, SIDE, SIDE / 2};
        int64_t after[] = {SIDE, SIDE, SIDE};
        char name[80];
        tnr_tensor *source;
        tnr_tensor *target;
        spread s;
        way ways[] = {{"tenure", spread_ours, nothing, 0}, {"MPI_Alltoallw", spread_raw, nothing, 0}};
        after[turned ? last_first[axis] : axis] /= 2;
        s.from = (tnr_distribution){sizeof(s.from), 3, whole, by_last, NULL};
        s.to = (tnr_distribution){sizeof(s.to), 3, whole, by_other, NULL};
        OK(tnr_tensor_full(heap, TNR_F64, 3, before, &(double){me}, &source));
        OK(tnr_tensor_full(heap, TNR_F64, 3, after, &(double){-1}, &target));
        OK(tnr_tensor_view(source, &s.view));
        OK(tnr_tensor_view_mut(target, &s.into));
        if (turned) {
            OK(tnr_view_mut_permute(&s.into, last_first, &s.into));
        }
        s.target = first_byte(&s.into.view);
        for (int rank = 0; rank < 2; rank++) {
            s.sent[rank] = half_of(&s.view, axis, rank);
            s.received[rank] = half_of(&s.into.view, 2, rank);
        }
        race(ways, 2, &s, 1);
        snprintf(name, sizeof(name), "redistribution of 256^3 f64, %s", lies[way_there]);
        if (me == 0) {
            bench_row("copy", name, "us", ways[0].best * 1e6, ways[1].name, ways[1].best * 1e6, true);
        }
        for (int rank = 0; rank < 2; rank++) {
            MPI_Type_free(&s.sent[rank]);
            MPI_Type_free(&s.received[rank]);
        }
        OK(tnr_tensor_release(&source));
        OK(tnr_tensor_release(&target));
    }
}

typedef struct fetched {
    tnr_group *group;
    tnr_slot slot;
    tnr_view_mut into;
    char *from; /* for memcpy */
    size_t bytes;
} fetched;

static void fetch_ours(void *context)
{
    const fetched *f = context;
    if (me == 0) {
        OK(tnr_group_fetch_into(world, f->group, f->slot, &f->into));
    }
}

static void fetch_raw(void *context)
{
    const fetched *f = context;
    if (me == 0) {
        memcpy(first_byte(&f->into.view), f->from, f->bytes);
    }
}

/* Rank 0 fetches what rank 1 owns, beside a copy of as many bytes of its own. */
static void fetches_from(tnr_domain *domain, const char *where)
{
    static const int64_t sizes[] = {64 << 10, 1 << 20, 16 << 20};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char name[64];
        const int64_t count = sizes[i] / 8;
        tnr_tensor *owned;
        tnr_tensor *own;
        tnr_tensor *copy;
        tnr_view view;
        fetched f = {.bytes = (size_t)sizes[i]};
        way ways[] = {{"tenure", fetch_ours, nothing, 0}, {"memcpy", fetch_raw, nothing, 0}};
        OK(tnr_tensor_full(domain, TNR_F64, 1, &count, &(double){me}, &owned));
        OK(tnr_tensor_full(heap, TNR_F64, 1, &count, &(double){me}, &own));
        OK(tnr_tensor_full(heap, TNR_F64, 1, &count, &(double){-1}, &copy));
        OK(tnr_tensor_view(own, &view));
        OK(tnr_tensor_view_mut(copy, &f.into));
        f.from = first_byte(&view);
        OK(tnr_group_create(heap, &f.group));
        OK(tnr_group_append(f.group, &owned, NULL));
        OK(tnr_group_publish(world, f.group));
        OK(tnr_group_find(world, f.group, 1 - me, 0, &f.slot));
        race(ways, 2, &f, sizes[i] >= 16 << 20 ? 2 : 20);
        snprintf(name, sizeof(name), "fetch from %s, %lld KiB", where, (long long)(sizes[i] >> 10));
        if (me == 0) {
            bench_row("copy", name, "GB/s", (double)sizes[i] * 1e-9 / ways[0].best, ways[1].name,
                      (double)sizes[i] * 1e-9 / ways[1].best, false);
        }
        OK(tnr_group_unpublish(world, f.group));
        OK(tnr_group_release(&f.group));
        OK(tnr_tensor_release(&own));
        OK(tnr_tensor_release(&copy));
    }
}

static void fetches(void)
{
    tnr_window_options options = TNR_WINDOW_OPTIONS;
    tnr_domain *window;
    options.bytes = 32 << 20;
    OK(tnr_window_create(world, heap, &options, &window));
    fetches_from(window, "a window");
    fetches_from(heap, "the heap");
    OK(tnr_domain_close(&window));
}

int bench_copy(void)
{
    int started = 0;
    int size = 0;
    MPI_Initialized(&started);
    if (!started) {
        MPI_Init(NULL, NULL);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        bench_note("copy", "needs two ranks: mpirun -np 2 tenure-bench copy");
    } else {
        tnr_world_options options = TNR_WORLD_OPTIONS;
        const char *messages = getenv("TENURE_BENCH_NO_SHARED");
        options.no_shared = messages != NULL && messages[0] == '1';
        OK(tnr_heap_create(&heap));
        OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
        const char *only = getenv(
            "TENURE_BENCH_COPY"); /* latency, contiguous, strided, halo, transposed, redistribution, fetch: first letters */
        only = only != NULL ? only : "lcshtrf";
        if (strchr(only, 'l') != NULL) {
            latency();
        }
        if (strchr(only, 'c') != NULL) {
            contiguous();
        }
        if (strchr(only, 's') != NULL) {
            strided();
        }
        if (strchr(only, 'h') != NULL) {
            halos();
        }
        if (strchr(only, 't') != NULL) {
            transposed();
        }
        if (strchr(only, 'r') != NULL) {
            redistribution();
        }
        if (strchr(only, 'f') != NULL) {
            fetches();
        }
        OK(tnr_world_destroy(&world));
        OK(tnr_domain_close(&heap));
    }
    if (!started) {
        MPI_Finalize();
    }
    return 0;
}
