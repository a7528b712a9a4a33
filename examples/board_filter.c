/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sensor pipeline in 64 KiB: on this machine, and on boards without an operating system (docs/bounded.md).
 *
 * Four channels are sampled into a window. Of each full window come the mean, the covariance and its strongest direction, and the
 * window's projection on that goes into a ring of slots of a group, where the last few can be looked at. All that the program will
 * ever need is asked for and taken at the beginning; from then on every operation writes into what is there.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tenure/tenure.h>

enum { CHANNELS = 4, SAMPLES = 48, WINDOWS = 10, RING = 4, TURNS = 8 };

/* The one block of memory. A linker script may put its section where the memory is fast. */
#if defined(__ELF__)
__attribute__((section(".arena")))
#endif
static _Alignas(64) unsigned char region[64 * 1024];

/* Every answer is looked at; a surprise ends the program. */
#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            printf("line %d: %s: %s\n", __LINE__, #condition, tnr_last_error()); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

/* A tensor that lives as long as the program, and views of it. */
typedef struct room {
    tnr_tensor *owner;
    tnr_view_mut to;
    float *data;
} room;

typedef struct pipeline {
    tnr_domain *arena;
    tnr_engine *engine;
    room window;     /* [channels, samples]: the channels of one sample are neighbours */
    room ones;       /* [samples] */
    room mean;       /* [channels] */
    room centred;    /* as the window */
    room covariance; /* [channels, channels] */
    room direction;  /* [channels] */
    room next;       /* [channels] */
    room length;     /* one number */
    tnr_group *ring; /* projections: [samples] each */
    tnr_slot slots[RING];
} pipeline;

/* Shapes of what lives in the arena besides the engine: rank, extents, how many. */
static const struct {
    int rank;
    int64_t shape[2];
    uint64_t count;
} plan[] = {
    {2, {CHANNELS, SAMPLES}, 2},
    {1, {SAMPLES}, 1 + RING},
    {1, {CHANNELS}, 3},
    {2, {CHANNELS, CHANNELS}, 1},
    {0, {0}, 1},
};

static tnr_engine_options engine_options = TNR_ENGINE_OPTIONS;

/* What all of it needs: an arena of so many bytes, and not one more. */
static uint64_t bytes_needed(tnr_arena_options *options)
{
    tnr_need need = {0, 0, 0};
    tnr_need term;
    CHECK(tnr_engine_need(&engine_options, 0, &term) == TNR_OK);
    CHECK(tnr_need_add(&need, &term, 1) == TNR_OK);
    CHECK(tnr_group_need(RING, RING, &term) == TNR_OK);
    CHECK(tnr_need_add(&need, &term, 1) == TNR_OK);
    for (size_t i = 0; i < sizeof plan / sizeof plan[0]; i++) {
        CHECK(tnr_tensor_need(TNR_F32, plan[i].rank, plan[i].shape, plan[i].count, &term) == TNR_OK);
        CHECK(tnr_need_add(&need, &term, 1) == TNR_OK);
    }
    uint64_t bytes = 0;
    uint64_t control = 0;
    options->handles = need.handles;
    CHECK(tnr_arena_bytes(&need, options, &bytes, &control, &options->max_blocks) == TNR_OK);
    return bytes;
}

static room make_room(tnr_domain *arena, int rank, const int64_t *shape)
{
    room made = {.owner = NULL};
    void *data = NULL;
    CHECK(tnr_tensor_zeros(arena, TNR_F32, rank, shape, &made.owner) == TNR_OK);
    CHECK(tnr_tensor_view_mut(made.owner, &made.to) == TNR_OK);
    CHECK(tnr_tensor_host_data_mut(made.owner, &data) == TNR_OK);
    made.data = data;
    return made;
}

static void open_pipeline(pipeline *p)
{
    static const int64_t both[2] = {CHANNELS, SAMPLES};
    static const int64_t samples[1] = {SAMPLES};
    static const int64_t square[2] = {CHANNELS, CHANNELS};
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    engine_options.plan_cache_bytes = 0; /* contractions this small are planned faster than looked up */
    const uint64_t bytes = bytes_needed(&options);
    CHECK(bytes <= sizeof region);
    CHECK(tnr_arena_create(region, bytes, &options, &p->arena) == TNR_OK);
    CHECK(tnr_engine_create(p->arena, &engine_options, &p->engine) == TNR_OK);
    p->window = make_room(p->arena, 2, both);
    p->centred = make_room(p->arena, 2, both);
    p->ones = make_room(p->arena, 1, samples);
    p->mean = make_room(p->arena, 1, both);
    p->direction = make_room(p->arena, 1, both);
    p->next = make_room(p->arena, 1, both);
    p->covariance = make_room(p->arena, 2, square);
    p->length = make_room(p->arena, 0, NULL);
    for (int i = 0; i < SAMPLES; i++) {
        p->ones.data[i] = 1.0F;
    }
    tnr_tensor *projections[RING];
    for (int i = 0; i < RING; i++) {
        projections[i] = NULL;
        CHECK(tnr_tensor_zeros(p->arena, TNR_F32, 1, samples, &projections[i]) == TNR_OK);
    }
    CHECK(tnr_group_from_tensors(p->arena, projections, RING, &p->ring) == TNR_OK); /* it owns them now */
    for (uint32_t i = 0; i < RING; i++) {
        CHECK(tnr_group_slot(p->ring, i, &p->slots[i]) == TNR_OK);
    }
}

/* What a converter would give: slow triangles of two lengths, mixed differently in each channel, and some noise. */
static float sample(int channel, int time)
{
    static uint32_t noise = 1;
    static const int mix[CHANNELS][2] = {{8, 1}, {6, -2}, {-7, 3}, {1, 5}};
    const int slow = time % 32 < 16 ? time % 32 - 8 : 24 - time % 32;
    const int fast = time % 12 < 6 ? time % 12 - 3 : 9 - time % 12;
    noise = noise * 1664525U + 1013904223U;
    return (float)(mix[channel][0] * slow + mix[channel][1] * fast + (int)(noise >> 30)) / 16.0F + (float)channel;
}

/* One window: what is in p->window becomes a projection in `slot`. */
static void process(pipeline *p, tnr_slot slot)
{
    static const int first_axis[1] = {0};
    static const int64_t both[2] = {CHANNELS, SAMPLES};
    tnr_product_options divided = TNR_PRODUCT_OPTIONS;
    tnr_view repeated;
    tnr_view_mut projection;

    divided.alpha.re = 1.0 / SAMPLES; /* mean of each channel: the window times ones */
    CHECK(tnr_contract_into(p->engine, &p->window.to.view, "cs", &p->ones.to.view, "s", "c", &divided, &p->mean.to) ==
          TNR_OK);
    CHECK(tnr_view_broadcast(&p->mean.to.view, 2, both, first_axis, &repeated) == TNR_OK);
    CHECK(tnr_sub_into(p->engine, &p->window.to.view, &repeated, &p->centred.to) == TNR_OK);
    divided.alpha.re = 1.0 / (SAMPLES - 1); /* covariance: the centred window times itself, turned */
    CHECK(tnr_contract_into(p->engine, &p->centred.to.view, "cs", &p->centred.to.view, "ds", "cd", &divided,
                            &p->covariance.to) == TNR_OK);

    /* The strongest direction, by multiplying again and again. */
    for (int i = 0; i < CHANNELS; i++) {
        p->direction.data[i] = 1.0F;
    }
    for (int turn = 0; turn < TURNS; turn++) {
        CHECK(tnr_contract_into(p->engine, &p->covariance.to.view, "cd", &p->direction.to.view, "d", "c", NULL,
                                &p->next.to) == TNR_OK);
        CHECK(tnr_norm_into(p->engine, &p->next.to.view, first_axis, 1, &p->length.to) == TNR_OK);
        CHECK(tnr_div_into(p->engine, &p->next.to.view, &p->length.to.view, &p->direction.to) == TNR_OK);
    }
    CHECK(tnr_group_view_mut(p->ring, slot, &projection) == TNR_OK);
    CHECK(tnr_contract_into(p->engine, &p->direction.to.view, "c", &p->centred.to.view, "cs", "s", NULL, &projection) ==
          TNR_OK);
}

/* Thousandths, rounded: enough for looking at, and the same on every machine. */
static int thousandths(float number) { return (int)(number * 1000.0F + (number < 0.0F ? -0.5F : 0.5F)); }

static void report(const pipeline *p, int window)
{
    printf("window %d: mean", window);
    for (int i = 0; i < CHANNELS; i++) {
        printf(" %d", thousandths(p->mean.data[i]));
    }
    printf(", variance");
    for (int i = 0; i < CHANNELS; i++) {
        printf(" %d", thousandths(p->covariance.data[i * CHANNELS + i]));
    }
    printf(", direction");
    for (int i = 0; i < CHANNELS; i++) {
        printf(" %d", thousandths(p->direction.data[i]));
    }
    printf("\n");
}

static void close_pipeline(pipeline *p)
{
    room *const rooms[] = {&p->window,     &p->centred,   &p->ones, &p->mean,
                           &p->covariance, &p->direction, &p->next, &p->length};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        CHECK(tnr_tensor_release(&rooms[i]->owner) == TNR_OK);
    }
    CHECK(tnr_group_release(&p->ring) == TNR_OK);
    CHECK(tnr_engine_destroy(&p->engine) == TNR_OK);
    CHECK(tnr_domain_close(&p->arena) == TNR_OK);
}

int main(void)
{
    static pipeline p;
    open_pipeline(&p);
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    CHECK(tnr_domain_statistics_get(p.arena, &before) == TNR_OK);
    for (int window = 0; window < WINDOWS; window++) {
        for (int s = 0; s < SAMPLES; s++) { /* as the samples come in */
            for (int c = 0; c < CHANNELS; c++) {
                p.window.data[s * CHANNELS + c] = sample(c, window * SAMPLES + s);
            }
        }
        process(&p, p.slots[window % RING]);
        report(&p, window);
    }
    CHECK(tnr_domain_statistics_get(p.arena, &after) == TNR_OK);
    CHECK(after.allocations == before.allocations); /* nothing was taken on the way */

    for (int i = 0; i < RING; i++) { /* the ring holds the last windows */
        const int64_t last[1] = {SAMPLES - 1};
        tnr_view view;
        float value = 0.0F;
        CHECK(tnr_group_view(p.ring, p.slots[(WINDOWS + i) % RING], &view) == TNR_OK);
        CHECK(tnr_view_get(&view, last, &value) == TNR_OK);
        printf("projection %d ends with %d\n", WINDOWS - RING + i, thousandths(value));
    }
    close_pipeline(&p);
    return 0;
}
