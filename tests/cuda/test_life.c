/* SPDX-License-Identifier: BSD-3-Clause */
/* Beside the program's own CUDA work, at the end of a process, and with several threads. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "scene.h"
#include "tenure/tenure.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cuda.h>

/* ---- The program's own state ---------------------------------------------------------------------------------------------- */

/* What a program calls itself. */
typedef struct own_driver {
    CUresult(CUDAAPI *retain)(CUcontext *, CUdevice);
    CUresult(CUDAAPI *release)(CUdevice);
    CUresult(CUDAAPI *push)(CUcontext);
    CUresult(CUDAAPI *pop)(CUcontext *);
    CUresult(CUDAAPI *current)(CUcontext *);
    CUresult(CUDAAPI *take)(CUdeviceptr *, size_t);
    CUresult(CUDAAPI *give)(CUdeviceptr);
    CUresult(CUDAAPI *in)(CUdeviceptr, const void *, size_t, CUstream);
    CUresult(CUDAAPI *out)(void *, CUdeviceptr, size_t, CUstream);
    CUresult(CUDAAPI *stream)(CUstream *, unsigned);
    CUresult(CUDAAPI *stream_end)(CUstream);
    CUresult(CUDAAPI *init)(unsigned);
} own_driver;

static own_driver own_find(void)
{
    own_driver own;
    void *library = dlopen(scene_driver(), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    const struct {
        const char *name;
        void *to;
    } names[] = {{"cuDevicePrimaryCtxRetain", &own.retain},
                 {"cuDevicePrimaryCtxRelease_v2", &own.release},
                 {"cuCtxPushCurrent_v2", &own.push},
                 {"cuCtxPopCurrent_v2", &own.pop},
                 {"cuCtxGetCurrent", &own.current},
                 {"cuMemAlloc_v2", &own.take},
                 {"cuMemFree_v2", &own.give},
                 {"cuMemcpyHtoDAsync_v2", &own.in},
                 {"cuMemcpyDtoHAsync_v2", &own.out},
                 {"cuStreamCreate", &own.stream},
                 {"cuStreamDestroy_v2", &own.stream_end},
                 {"cuInit", &own.init}};
    for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++) {
        void *found = dlsym(library, names[at].name);
        assert_non_null(found);
        memcpy(names[at].to, &found, sizeof(found));
    }
    return own;
}

static void expect_current(const own_driver *own, CUcontext expected)
{
    CUcontext current = NULL;
    assert_int_equal(own->current(&current), CUDA_SUCCESS);
    assert_ptr_equal(current, expected);
}

/*
 * An engine, operations of each kind, products by the library's kernel and by cuBLAS, where it is there, a refused one, and its end;
 * the context stays the program's.
 */
static void compute_on(const own_driver *own, CUcontext context, tnr_domain *heap, tnr_cuda_lane *lane,
                       tnr_tensor *away)
{
    static const int64_t sides[] = {4, 33}; /* 33 cubed multiplications are worth cuBLAS */
    tnr_cuda_engine_options options = TNR_CUDA_ENGINE_OPTIONS;
    tnr_engine *engine = NULL;
    tnr_tensor *made = NULL;
    tnr_tensor *matrix = NULL;
    tnr_view view = view_of(away);
    options.cublas = scene_blas();
    OK(tnr_cuda_engine_create(heap, lane, &options, &engine));
    expect_current(own, context);
    OK(tnr_cast(engine, &view, TNR_F64, &made));
    expect_current(own, context);
    for (int at = 0; at < 2; at++) {
        OK(tnr_tensor_region(made, 2, SHAPE(sides[at], sides[at]), SHAPE(1, sides[at]), 0, &view));
        OK(tnr_matmul(engine, &view, &view, NULL, &matrix));
        expect_current(own, context);
        release(&matrix);
        expect_current(own, context);
    }
    view = view_of(away);
    EXPECT(TNR_ERR_UNSUPPORTED, tnr_exp(engine, &view, &matrix)); /* of integers */
    expect_current(own, context);
    release(&made);
    OK(tnr_engine_destroy(&engine));
    expect_current(own, context);
}

/* CU-05: the program's context stays current and its memory as it was, through everything, errors included. */
static void CU_05_program_state_untouched(void **state)
{
    (void)state;
    unsigned char bytes[1024];
    unsigned char back[1024];
    const own_driver own = own_find();
    CUcontext context = NULL;
    CUcontext popped = NULL;
    CUdeviceptr buffer = 0;
    CUstream stream = NULL;
    const CUdevice device = scene_fake() != NULL ? 1 : 0;
    scene_reset(1);
    assert_int_equal(own.init(0), CUDA_SUCCESS);
    assert_int_equal(own.retain(&context, device), CUDA_SUCCESS);
    assert_int_equal(own.push(context), CUDA_SUCCESS);
    assert_int_equal(own.stream(&stream, 0), CUDA_SUCCESS);
    assert_int_equal(own.take(&buffer, sizeof(bytes)), CUDA_SUCCESS);
    memset(bytes, 0x5A, sizeof(bytes));
    assert_int_equal(own.in(buffer, bytes, sizeof(bytes), stream), CUDA_SUCCESS);

    tnr_domain *heap = make_heap();
    for (int ordinal = 0; ordinal <= device; ordinal++) { /* another device, and the same one */
        tnr_cuda_device *opened = NULL;
        tnr_cuda_options options = SCENE_SMALL;
        options.driver = scene_driver();
        options.nvrtc = scene_fake() != NULL ? scene_driver() : NULL;
        options.ordinal = ordinal;
        OK(tnr_cuda_device_open(heap, &options, &opened));
        expect_current(&own, context);
        tnr_cuda_lane *lane = tnr_cuda_device_lane(opened, 0);
        uint64_t computed = 0;
        for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
            tnr_domain *domain = NULL;
            tnr_tensor *away = NULL;
            tnr_tensor *none = untouched();
            OK(tnr_cuda_domain_create(opened, (tnr_cuda_memory)memory, NULL, &domain));
            expect_current(&own, context);
            tnr_tensor *host = scene_counting(heap, 3000, 1);
            const tnr_view view = view_of(host);
            if (memory == TNR_CUDA_PINNED) {
                EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_upload(lane, &view, domain, &none));
                expect_current(&own, context);
                OK(tnr_tensor_duplicate(&view, domain, &away));
            } else {
                OK(tnr_cuda_upload(lane, &view, domain, &away));
                expect_current(&own, context);
                compute_on(&own, context, heap, lane, away);
                computed++;
            }
            OK(tnr_tensor_release(&away));
            expect_current(&own, context);
            release(&host);
            OK(tnr_domain_close(&domain));
            expect_current(&own, context);
        }
        tnr_cuda_statistics counts;
        OK(tnr_cuda_statistics_get(opened, &counts));
        expect_current(&own, context);
        assert_int_equal(counts.products + counts.blas_products, 2 * computed);
        assert_true(scene_fake() == NULL || counts.blas_products == computed);
        OK(tnr_cuda_synchronize(opened));
        expect_current(&own, context);
        OK(tnr_cuda_device_close(&opened));
        expect_current(&own, context);
    }
    OK(tnr_domain_close(&heap));

    memset(back, 0, sizeof(back));
    assert_int_equal(own.out(back, buffer, sizeof(back), stream), CUDA_SUCCESS);
    assert_memory_equal(back, bytes, sizeof(bytes));
    assert_int_equal(own.give(buffer), CUDA_SUCCESS);
    assert_int_equal(own.stream_end(stream), CUDA_SUCCESS);
    assert_int_equal(own.pop(&popped), CUDA_SUCCESS);
    assert_ptr_equal(popped, context);
    assert_int_equal(own.release(device), CUDA_SUCCESS);
    scene_expect_clean();
    assert_true(scene_fake() == NULL || scene_fake()->live == 0);
}

/* The program keeps the context that the library lost: quarantined host memory waits for the program to let go too. */
static void context_kept_by_the_program(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const own_driver own = own_find();
    CUcontext context = NULL;
    scene s;
    scene_begin(&s, 1, NULL);
    fake_cuda *fake = scene_fake();
    assert_int_equal(own.retain(&context, 0), CUDA_SUCCESS);
    tnr_tensor *host = scene_counting(s.domain[TNR_CUDA_PINNED], 3000, 1);
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, 3000, 1);
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
    OK(tnr_tensor_release(&away));
    tnr_cuda_device *closing = s.device;
    for (int round = 0; round < 2; round++) {
        EXPECT(TNR_ERR_BUSY, tnr_cuda_device_close(&closing));
        EXPECT(TNR_ERR_BUSY, tnr_tensor_release(&host));
        assert_true(scene_counts(&s).quarantined > 0);
    }
    assert_int_equal(own.release(0), CUDA_SUCCESS);        /* that ends the context */
    EXPECT(TNR_ERR_BUSY, tnr_cuda_device_close(&closing)); /* domains live */
    assert_int_equal(scene_counts(&s).quarantined, 0);
    OK(tnr_tensor_release(&host));
    scene_close(&s);
    scene_expect_clean();
    assert_int_equal(fake->live, 0);
}

/* ---- The end of a process ---------------------------------------------------------------------------------------------------- */

/* Where the tensor, its domains and its device are released, and what the driver does meanwhile. */
enum {
    AT_EXIT,           /* in a handler of atexit */
    AT_EXIT_UNLOADING, /* and every call of the driver says that it is being unloaded */
    IN_DESTRUCTOR,     /* in the destructor of a library that was opened later */
    IN_DESTRUCTOR_UNLOADING,
    BEFORE_EXIT,            /* by the program itself; the handler finds nothing left */
    BEFORE_EXIT_DESTRUCTOR, /* and so does the destructor */
    NEVER,
    LATE_MODES
};

static scene late;
static tnr_tensor *late_tensor;
static int late_mode;
static int *late_ends; /* how often release_late came to its end, in memory that the child shares */

/* Uses what is there, and releases it; of nothing it makes nothing. */
static void release_late(void)
{
    const bool unloading = late_mode == AT_EXIT_UNLOADING || late_mode == IN_DESTRUCTOR_UNLOADING;
    scene_fake()->unloading = unloading;
    bool good = true;
    if (late_tensor != NULL) {
        tnr_view view;
        tnr_tensor *host = NULL;
        good = tnr_tensor_view(late_tensor, &view) == TNR_OK;
        good = good && (tnr_cuda_download(late.lane[0], &view, late.heap, &host) == TNR_OK) == !unloading;
        good = tnr_tensor_release(&host) == TNR_OK && good;
    }
    good = tnr_tensor_release(&late_tensor) == TNR_OK && good;
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
        good = tnr_domain_close(&late.domain[memory]) == TNR_OK && good;
    }
    good = tnr_cuda_device_close(&late.device) == TNR_OK && tnr_domain_close(&late.heap) == TNR_OK && good;
    if (!good) {
        _exit(3);
    }
    ++*late_ends;
}

static void leave_late(void *context)
{
    (void)context;
    scene_begin(&late, 1, NULL);
    late_tensor = scene_on_device(&late, TNR_CUDA_POOL, 3000, 1);
    if (late_mode == BEFORE_EXIT || late_mode == BEFORE_EXIT_DESTRUCTOR) {
        release_late();
    }
    if (late_mode == AT_EXIT || late_mode == AT_EXIT_UNLOADING || late_mode == BEFORE_EXIT) {
        (void)atexit(release_late);
    } else if (late_mode != NEVER) {
        void *library = dlopen(LATE_LIBRARY_PATH, RTLD_NOW | RTLD_LOCAL);
        void (*in_destructor)(void (*)(void));
        assert_non_null(library);
        void *found = dlsym(library, "late_library_at_end");
        assert_non_null(found);
        memcpy(&in_destructor, &found, sizeof(found));
        in_destructor(release_late);
    }
}

/*
 * CU-04: what is in static storage is used and released in an atexit handler or in a library's destructor, with the driver there or
 * unloading, after the program has released it itself, or never: exit 0, no word.
 */
static void CU_04_exit_is_quiet(void **state)
{
    (void)state;
    NEEDS_FAKE();
    late_ends = mmap(NULL, sizeof(*late_ends), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(late_ends, MAP_FAILED);
    for (late_mode = 0; late_mode < LATE_MODES; late_mode++) {
        char said[64];
        *late_ends = 0;
        assert_int_equal(scene_in_child(leave_late, NULL, said, sizeof(said)), 0);
        assert_string_equal(said, "");
        assert_int_equal(*late_ends, late_mode == NEVER                                                ? 0
                                     : late_mode == BEFORE_EXIT || late_mode == BEFORE_EXIT_DESTRUCTOR ? 2
                                                                                                       : 1);
    }
    assert_int_equal(munmap(late_ends, sizeof(*late_ends)), 0);
}

/* ---- Lanes after their device ------------------------------------------------------------------------------------------------ */

/* Every call that names a lane, on one whose device object was closed: told apart, and the memory that it was in is not read. */
static void lanes_after_their_device(void **state)
{
    (void)state;
    scene s;
    tnr_cuda_options options = SCENE_SMALL;
    tnr_cuda_device *closed = NULL;
    tnr_domain *home = make_heap();
    scene_begin(&s, 1, NULL);
    options.driver = scene_driver();
    OK(tnr_cuda_device_open(home, &options, &closed));
    tnr_cuda_lane *lane = tnr_cuda_device_lane(closed, 1);
    OK(tnr_cuda_lane_synchronize(lane));
    OK(tnr_cuda_device_close(&closed));
    OK(tnr_domain_close(&home));
    tnr_tensor *host = scene_counting(s.heap, 100, 1);
    tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, 100, 1);
    tnr_tensor *none = untouched();
    tnr_ticket *ticket = untouched();
    tnr_engine *engine = untouched();
    const tnr_view near = view_of(host);
    const tnr_view far = view_of(away);
    const tnr_view_mut to_near = view_mut_of(host);
    const tnr_view_mut to_far = view_mut_of(away);
    EXPECT(TNR_ERR_STALE, tnr_cuda_lane_synchronize(lane));
    TEXT_HAS("cuda_lane_synchronize: the lane's device object was closed");
    EXPECT(TNR_ERR_STALE, tnr_cuda_zeros(lane, s.domain[TNR_CUDA_POOL], TNR_I32, 1, SHAPE(3), &none));
    EXPECT(TNR_ERR_STALE, tnr_cuda_upload(lane, &near, s.domain[TNR_CUDA_POOL], &none));
    EXPECT(TNR_ERR_STALE, tnr_cuda_upload_into(lane, &near, &to_far));
    EXPECT(TNR_ERR_STALE, tnr_cuda_upload_start(lane, &near, &to_far, &ticket));
    EXPECT(TNR_ERR_STALE, tnr_cuda_download(lane, &far, s.heap, &none));
    EXPECT(TNR_ERR_STALE, tnr_cuda_download_into(lane, &far, &to_near));
    EXPECT(TNR_ERR_STALE, tnr_cuda_duplicate(lane, &far, s.domain[TNR_CUDA_POOL], &none));
    EXPECT(TNR_ERR_STALE, tnr_cuda_copy_into(lane, &far, &to_far));
    EXPECT(TNR_ERR_STALE, tnr_cuda_copy_between(lane, &far, s.lane[0], &to_far));
    EXPECT(TNR_ERR_STALE, tnr_cuda_copy_between_start(s.lane[0], &far, lane, &to_far, &ticket));
    EXPECT(TNR_ERR_STALE, tnr_cuda_engine_create(s.heap, lane, NULL, &engine));
    TEXT_HAS("cuda_engine_create: the lane's device object was closed");
    assert_ptr_equal(none, untouched());
    assert_ptr_equal(ticket, untouched());
    assert_ptr_equal(engine, untouched());
    scene_expect_counting(&s, away, 1); /* no lease is left */
    release(&host);
    release(&away);
    scene_end(&s);
}

/* As many as may be open, one more, and again after one was closed. */
static void many_devices(void **state)
{
    (void)state;
    NEEDS_FAKE();
    tnr_cuda_device *open[TNR_CUDA_MAX_OPEN + 1] = {NULL};
    tnr_cuda_options options = SCENE_SMALL;
    tnr_domain *heap = make_heap();
    scene_reset(1);
    options.driver = scene_driver();
    for (int round = 0; round < 2; round++) {
        for (int at = 0; at < TNR_CUDA_MAX_OPEN; at++) {
            if (open[at] == NULL) {
                OK(tnr_cuda_device_open(heap, &options, &open[at]));
            }
            OK(tnr_cuda_lane_synchronize(tnr_cuda_device_lane(open[at], 0)));
        }
        EXPECT(TNR_ERR_MEMORY, tnr_cuda_device_open(heap, &options, &open[TNR_CUDA_MAX_OPEN]));
        TEXT_HAS("device objects are open");
        assert_null(open[TNR_CUDA_MAX_OPEN]);
        OK(tnr_cuda_device_close(&open[7 + round]));
    }
    for (int at = 0; at < TNR_CUDA_MAX_OPEN; at++) {
        OK(tnr_cuda_device_close(&open[at]));
    }
    OK(tnr_domain_close(&heap));
    scene_expect_clean();
    assert_int_equal(scene_fake()->live, 0);
}

/* ---- Threads ------------------------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 60, COUNT = 2500 };

typedef struct worker {
    scene *s;
    int number;
    int wrong;
    int busy;
} worker;

static bool right(const int32_t *values, int32_t first)
{
    for (int at = 0; at < COUNT; at++) {
        if (values[at] != first + at) {
            return false;
        }
    }
    return true;
}

/* In its own lane; in the shared one a call may be refused. */
static void *work(void *of)
{
    worker *w = of;
    tnr_cuda_lane *own = tnr_cuda_device_lane(w->s->device, w->number);
    tnr_cuda_lane *shared = tnr_cuda_device_lane(w->s->device, THREADS);
    for (int round = 0; round < ROUNDS; round++) {
        const int32_t first = w->number * 1000 + round;
        static const tnr_cuda_memory places[] = {TNR_CUDA_POOL, TNR_CUDA_PLAIN, TNR_CUDA_MANAGED};
        tnr_domain *domain = w->s->domain[places[round % 3]];
        int32_t values[COUNT];
        tnr_tensor *host = NULL;
        tnr_tensor *away = NULL;
        tnr_tensor *copy = NULL;
        tnr_tensor *down = NULL;
        const void *data = NULL;
        tnr_view view;
        for (int at = 0; at < COUNT; at++) {
            values[at] = first + at;
        }
        bool good = tnr_tensor_from_column_major(round % 2 == 0 ? w->s->heap : w->s->domain[TNR_CUDA_PINNED], TNR_I32,
                                                 1, SHAPE(COUNT), values, sizeof(values), &host) == TNR_OK;
        good = good && tnr_tensor_view(host, &view) == TNR_OK;
        good = good && tnr_cuda_upload(own, &view, domain, &away) == TNR_OK;
        good = good && tnr_tensor_view(away, &view) == TNR_OK;
        tnr_status status = TNR_ERR_BUSY;
        while (good && status == TNR_ERR_BUSY) {
            status = tnr_cuda_duplicate(shared, &view, w->s->domain[TNR_CUDA_POOL], &copy);
            w->busy += status == TNR_ERR_BUSY;
        }
        good = good && status == TNR_OK && tnr_tensor_release(&away) == TNR_OK;
        good = good && tnr_tensor_view(copy, &view) == TNR_OK;
        good = good && tnr_cuda_download(own, &view, w->s->heap, &down) == TNR_OK;
        good = good && tnr_tensor_host_data(down, &data) == TNR_OK && right(data, first);
        w->wrong += !good;
        (void)tnr_tensor_release(&host);
        (void)tnr_tensor_release(&copy);
        (void)tnr_tensor_release(&down);
    }
    return NULL;
}

static void threads_side_by_side(void **state)
{
    (void)state;
    scene s;
    tnr_cuda_options options = SCENE_SMALL;
    options.lanes = THREADS + 1;
    scene_begin(&s, 5, &options);
    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int at = 0; at < THREADS; at++) {
        workers[at] = (worker){.s = &s, .number = at};
        assert_int_equal(pthread_create(&threads[at], NULL, work, &workers[at]), 0);
    }
    for (int at = 0; at < THREADS; at++) {
        assert_int_equal(pthread_join(threads[at], NULL), 0);
        assert_int_equal(workers[at].wrong, 0);
    }
    scene_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(CU_05_program_state_untouched),
        cmocka_unit_test(context_kept_by_the_program),
        cmocka_unit_test(CU_04_exit_is_quiet),
        cmocka_unit_test(lanes_after_their_device),
        cmocka_unit_test(many_devices),
        cmocka_unit_test(threads_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
