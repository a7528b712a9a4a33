/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening, describing and closing devices.
 *
 * Guarantees: what a failed open took is given back; the primary context is retained once and released once; nothing is ever done
 * by itself, at exit or elsewhere.
 */
#include <unistd.h>

#include "cuda_internal.h"

/* ---- Options ----------------------------------------------------------------------------------------------------------------------- */

static tnr_status options_take(const char *op, const tnr_cuda_options *given, tnr_cuda_options *options)
{
    tnr_cuda_options known = TNR_CUDA_OPTIONS;
    TNR_TRY(tnr_provider.options_take(op, given, sizeof(known), &known, sizeof(known)));
    known.lanes = known.lanes != 0 ? known.lanes : 2;
    known.direct_bytes = known.direct_bytes != 0 ? known.direct_bytes : UINT64_C(64) << 10;
    known.chunk_bytes = known.chunk_bytes != 0 ? known.chunk_bytes : UINT64_C(4) << 20;
    known.chunks = known.chunks != 0 ? known.chunks : 4;
    known.retirements = known.retirements != 0 ? known.retirements : 32;
    TNR_REQUIRE(known.lanes >= 1 && known.lanes <= TNR_CUDA_MAX_LANES, TNR_ERR_ARGUMENT,
                "%s: options.lanes is %d; 1 to %d expected", op, known.lanes, TNR_CUDA_MAX_LANES);
    TNR_REQUIRE(known.direct_bytes <= UINT64_C(1) << 30, TNR_ERR_ARGUMENT,
                "%s: options.direct_bytes is %llu; at most 1 GiB expected", op, TNRI_LLU(known.direct_bytes));
    TNR_REQUIRE(known.chunk_bytes >= 4096 && known.chunk_bytes <= UINT64_C(256) << 20 && known.chunk_bytes % 64 == 0,
                TNR_ERR_ARGUMENT, "%s: options.chunk_bytes is %llu; 4 KiB to 256 MiB and a multiple of 64 expected", op,
                TNRI_LLU(known.chunk_bytes));
    TNR_REQUIRE(known.chunks >= 2 && known.chunks <= TNRI_CHUNKS, TNR_ERR_ARGUMENT,
                "%s: options.chunks is %d; 2 to %d expected", op, known.chunks, (int)TNRI_CHUNKS);
    TNR_REQUIRE(known.retirements >= 1 && known.retirements <= 256, TNR_ERR_ARGUMENT,
                "%s: options.retirements is %d; 1 to 256 expected", op, known.retirements);
    TNR_REQUIRE(known.nvrtc == NULL || strlen(known.nvrtc) < TNRI_PATH_BYTES, TNR_ERR_ARGUMENT,
                "%s: options.nvrtc is longer than %d bytes", op, (int)TNRI_PATH_BYTES - 1);
    *options = known;
    return TNR_OK;
}

/* ---- Opening ------------------------------------------------------------------------------------------------------------------------ */

static tnr_status attribute(const char *op, tnr_cuda_device *device, int which, int *value)
{
    return TNRI_CUDA(op, device, device_attribute, value, (CUdevice_attribute)which, device->handle);
}

/* An attribute that older drivers do not know. */
static int perhaps(tnr_cuda_device *device, int which, int otherwise)
{
    int value = otherwise;
    const CUresult code = device->driver.device_attribute(&value, (CUdevice_attribute)which, device->handle);
    return code == CUDA_SUCCESS ? value : otherwise;
}

enum { ATTRIBUTE_HOST_NUMA_ID = 134 }; /* of CUDA 12.2 */
enum { USUAL_PITCH = INT32_MAX };

static tnr_status describe(const char *op, tnr_cuda_device *device, int ordinal)
{
    tnr_cuda_device_info *info = &device->info;
    size_t total = 0;
    int pools = 0;
    int managed = 0;
    int concurrent = 0;
    CUuuid uuid;
    memset(&uuid, 0, sizeof(uuid));
    info->ordinal = ordinal;
    TNR_TRY(TNRI_CUDA(op, device, device_name, info->name, (int)sizeof(info->name), device->handle));
    TNR_TRY(TNRI_CUDA(op, device, device_uuid, &uuid, device->handle));
    memcpy(info->uuid, &uuid, sizeof(info->uuid));
    TNR_TRY(TNRI_CUDA(op, device, device_bytes, &total, device->handle));
    TNR_TRY(attribute(op, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &info->major));
    TNR_TRY(attribute(op, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &info->minor));
    TNR_TRY(attribute(op, device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &pools));
    TNR_TRY(attribute(op, device, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, &managed));
    TNR_TRY(attribute(op, device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, &concurrent));
    info->numa_node = perhaps(device, ATTRIBUTE_HOST_NUMA_ID, TNR_NONE);
    device->multiprocessors = perhaps(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1);
    device->max_pitch = perhaps(device, CU_DEVICE_ATTRIBUTE_MAX_PITCH, USUAL_PITCH);
    info->total_bytes = total;
    info->pools = pools != 0;
    info->managed = managed != 0;
    info->concurrent_managed = concurrent != 0;
    info->lanes = device->options.lanes;
    return TNR_OK;
}

static tnr_status choose(const char *op, tnr_cuda_device *device, int devices)
{
    const tnr_cuda_options *options = &device->options;
    if (!options->by_uuid) {
        TNR_REQUIRE(options->ordinal >= 0 && options->ordinal < devices, TNR_ERR_BOUNDS,
                    "%s: device %d is not there; 0 to %d are visible", op, options->ordinal, devices - 1);
        TNR_TRY(TNRI_CUDA(op, device, device_get, &device->handle, options->ordinal));
        return describe(op, device, options->ordinal);
    }
    for (int ordinal = 0; ordinal < devices; ordinal++) {
        TNR_TRY(TNRI_CUDA(op, device, device_get, &device->handle, ordinal));
        TNR_TRY(describe(op, device, ordinal));
        if (memcmp(device->info.uuid, options->uuid, sizeof(options->uuid)) == 0) {
            return TNR_OK;
        }
    }
    return tnri_fail(TNR_ERR_BOUNDS, "%s: none of the %d visible devices has this UUID", op, devices);
}

static tnr_status make_lanes(const char *op, tnr_cuda_device *device)
{
    for (int index = 0; index <= device->options.lanes; index++) {
        tnr_cuda_lane *lane = &device->lanes[index];
        lane->device = device;
        lane->index = index;
        /* Beside the default stream, so that the program's work there and ours do not wait for each other. */
        TNR_TRY(TNRI_CUDA(op, device, stream_create, &lane->stream, CU_STREAM_NON_BLOCKING));
        device->lane_count++;
    }
    return TNR_OK;
}

/* Is the core that we run with the one that we were built with? Its table is not used before that is known. */
static tnr_status provider_check(void)
{
    if (tnr_provider.version != TNRI_PROVIDER_VERSION || tnr_provider.size != sizeof(tnri_provider) ||
        tnr_provider.max_rank != TNR_MAX_RANK || tnr_provider.tensor_size != sizeof(tnr_tensor)) {
        return tnr_set_error(TNR_ERR_UNSUPPORTED,
                             "cuda_device_open: libtenure_cuda and libtenure are not of the same build");
    }
    return TNR_OK;
}

/* Streams, chunks and events go, then our hold on the context. Locked; the context is current as told, and not any more after. */
static tnr_status end_context(tnr_cuda_device *device, bool current)
{
    static const char *const op = "cuda_device_close";
    tnr_status answer = TNR_OK;
    const bool poisoned = device->poison != TNR_OK;
    tnri_kernels_end(device, current);
    tnri_ring_end(device, current);
    tnri_marks_end(device, current);
    for (int index = 0; index < device->lane_count && current; index++) {
        const tnr_status status = TNRI_CUDA(op, device, stream_destroy, device->lanes[index].stream);
        answer = answer == TNR_OK ? status : answer;
    }
    if (current) {
        CUcontext popped;
        if (device->driver.context_pop(&popped) != CUDA_SUCCESS) {
            (void)device->driver.context_pop(&popped);
        }
    }
    if (device->context_held) {
        device->context_held = false;
        const tnr_status status = TNRI_CUDA(op, device, context_release, device->handle);
        answer = answer == TNR_OK ? status : answer;
        device->released = status == TNR_OK;
    }
    if (device->released && !device->gone && !device->unloading) { /* perhaps others held it, and do no more */
        unsigned flags = 0;
        int active = 1;
        device->gone = device->driver.context_state(device->handle, &flags, &active) == CUDA_SUCCESS && active == 0;
    }
    if (device->poison == TNR_OK) { /* for whoever comes later */
        const char *why = "the device object was closed";
        device->poison = TNR_ERR_BACKEND;
        memcpy(device->poison_text, why, strlen(why) + 1);
    }
    return device->unloading || poisoned ? TNR_OK : answer;
}

static tnr_status bring_up(const char *op, tnr_cuda_device *device, int devices)
{
    TNR_TRY(choose(op, device, devices));
    TNR_TRY(TNRI_CUDA(op, device, context_retain, &device->context, device->handle));
    device->context_held = true;
    tnr_status status = tnri_device_enter(op, device);
    const bool entered = status == TNR_OK;
    if (entered) {
        status = make_lanes(op, device);
        status = tnri_device_leave(device, true, status);
    }
    if (status != TNR_OK) {
        bool current = false;
        if (tnri_device_enter_ended(op, device, &current) == TNR_OK) {
            (void)end_context(device, current);
            (void)pthread_mutex_unlock(&device->mutex);
        }
    }
    return status;
}

/* Give the object's own memory back. */
static void discard(tnr_cuda_device *device)
{
    tnr_domain *home = device->home;
    const tnr_block record = device->record;
    tnri_device_unlist(device);
    tnri_store_end(&device->mark_store, home);
    tnri_store_end(&device->memory_store, home);
    tnri_store_end(&device->flight_store, home);
    tnri_store_end(&device->registered_store, home);
    (void)pthread_mutex_destroy(&device->mutex);
    tnr_provider.record_give(home, &record);
    tnr_provider.domain_unuse(home);
}

tnr_status tnr_cuda_device_open(tnr_domain *home, const tnr_cuda_options *given, tnr_cuda_device **device)
{
    static const char *const op = "cuda_device_open";
    TNR_TRY(provider_check());
    TNR_REQUIRE(home != NULL && device != NULL, TNR_ERR_ARGUMENT, "%s: home and device must not be NULL", op);
    tnr_cuda_options options;
    TNR_TRY(options_take(op, given, &options));
    TNR_REQUIRE(tnr_domain_access(home) == TNR_ACCESS_DIRECT, TNR_ERR_RESIDENCY,
                "%s: the host does not reach domain '%s' directly", op, tnr_domain_name(home));
    tnri_driver driver;
    tnr_cuda_sight sight;
    tnri_driver_look(options.driver, &driver, &sight);
    TNR_REQUIRE(sight.state == TNR_CUDA_AVAILABLE, TNR_ERR_UNSUPPORTED, "%s: %s", op, sight.text);
    TNR_TRY(tnr_provider.domain_check_open(op, home));
    tnr_block record;
    TNR_TRY(tnr_provider.record_take(home, sizeof(tnr_cuda_device), &record));
    tnr_cuda_device *made = record.address;
    made->home = home->home;
    made->record = record;
    made->driver = driver;
    made->options = options;
    made->options.driver = NULL; /* not kept */
    made->options.nvrtc = NULL;
    if (options.nvrtc != NULL) {
        memcpy(made->nvrtc, options.nvrtc, strlen(options.nvrtc) + 1);
    }
    made->owner = (long)getpid();
    made->info.driver_version = sight.driver_version;
    made->mark_store.item = sizeof(tnri_mark);
    made->memory_store.item = sizeof(tnri_memory);
    made->flight_store.item = sizeof(tnri_flight);
    made->registered_store.item = sizeof(tnri_registered);
    (void)pthread_mutex_init(&made->mutex, NULL);
    tnr_provider.domain_use(made->home);
    tnr_status status = tnri_device_list(op, made);
    status = status == TNR_OK ? bring_up(op, made, sight.devices) : status;
    if (status != TNR_OK) {
        discard(made);
        return status;
    }
    *device = made;
    return TNR_OK;
}

/* ---- Asking --------------------------------------------------------------------------------------------------------------------------- */

tnr_status tnr_cuda_device_describe(const tnr_cuda_device *device, tnr_cuda_device_info *info)
{
    TNR_REQUIRE(device != NULL && info != NULL, TNR_ERR_ARGUMENT,
                "cuda_device_describe: device and info must not be NULL");
    *info = device->info;
    return TNR_OK;
}

tnr_status tnr_cuda_statistics_get(tnr_cuda_device *device, tnr_cuda_statistics *statistics)
{
    static const char *const op = "cuda_statistics_get";
    TNR_REQUIRE(device != NULL && statistics != NULL, TNR_ERR_ARGUMENT, "%s: device and statistics must not be NULL",
                op);
    TNR_TRY(tnri_device_here(op, device));
    (void)pthread_mutex_lock(&device->mutex);
    *statistics = device->counts;
    statistics->poison = device->poison;
    (void)pthread_mutex_unlock(&device->mutex);
    return TNR_OK;
}

tnr_cuda_lane *tnr_cuda_device_lane(tnr_cuda_device *device, int number)
{
    return device != NULL && number >= 0 && number < device->options.lanes ? &device->lanes[number + 1] : NULL;
}

/* ---- Ends ------------------------------------------------------------------------------------------------------------------------------- */

tnr_status tnr_cuda_synchronize(tnr_cuda_device *device)
{
    static const char *const op = "cuda_synchronize";
    TNR_REQUIRE(device != NULL, TNR_ERR_ARGUMENT, "%s: device must not be NULL", op);
    TNR_TRY(tnri_device_enter(op, device));
    const tnr_status status = tnri_lanes_wait(op, device);
    if (status == TNR_OK) {
        tnri_chunks_collect(device);
        tnri_chunks_recover(device);
        tnri_memory_drain(device, true);
        tnri_memory_recover(device, false);
    }
    const tnr_status left = tnri_device_leave(device, true, status);
    if (status == TNR_OK) {
        tnri_flights_recover(device);
    }
    return left;
}

tnr_status tnr_cuda_lane_synchronize(tnr_cuda_lane *lane)
{
    static const char *const op = "cuda_lane_synchronize";
    TNR_REQUIRE(lane != NULL, TNR_ERR_ARGUMENT, "%s: lane must not be NULL", op);
    TNR_TRY(tnri_lane_here(op, lane));
    TNR_TRY(tnri_device_enter(op, lane->device));
    return tnri_device_leave(lane->device, true, tnri_lane_wait(op, lane, lane->issued, true));
}

/* What the program must end first; of a poisoned object whose context has not ended yet: tickets alone. */
static tnr_status check_idle(const char *op, const tnr_cuda_device *device, bool all)
{
    const uint64_t others = device->domain_count - device->engine_count - device->orphan_count;
    TNR_REQUIRE(device->counts.tickets == 0 && (!all || (device->registered == NULL && device->domain_count == 0)),
                TNR_ERR_BUSY,
                "%s: in use: %llu tickets, %llu engines, %llu domains, the tensors of %llu engines that have ended, %s "
                "registered memory",
                op, TNRI_LLU(device->counts.tickets), TNRI_LLU(device->engine_count), TNRI_LLU(others),
                TNRI_LLU(device->orphan_count), device->registered != NULL ? "and" : "no");
    return TNR_OK;
}

/* Everything is over, or is made to be by ending the context. Locked and entered before, not after. */
static tnr_status wind_down(const char *op, tnr_cuda_device *device, bool current, bool *proved)
{
    tnr_status status = check_idle(op, device, device->poison == TNR_OK);
    if (status == TNR_OK && device->poison == TNR_OK && current) {
        status = tnri_lanes_wait(op, device);
        *proved = status == TNR_OK;
        if (*proved) {
            tnri_chunks_recover(device);
            tnri_memory_drain(device, true);
            tnri_memory_recover(device, false);
        }
        status = TNR_OK; /* else the context's end may be the proof */
    }
    if (status != TNR_OK) {
        return tnri_device_leave(device, current, status);
    }
    status = end_context(device, current);
    if (device->gone || device->unloading) {
        *proved = true;
        tnri_chunks_recover(device);
        tnri_memory_recover(device, true);
    }
    (void)pthread_mutex_unlock(&device->mutex);
    return status;
}

/* Domains of engines that have ended; those whose tensors live stay. */
static void close_orphans(tnr_cuda_device *device)
{
    tnr_status status = TNR_OK;
    while (status == TNR_OK) {
        (void)pthread_mutex_lock(&device->mutex);
        tnri_cuda_domain *own = device->domains;
        while (own != NULL && !own->orphan) {
            own = own->next;
        }
        tnr_domain *domain = own != NULL ? own->domain : NULL;
        (void)pthread_mutex_unlock(&device->mutex);
        if (domain == NULL) {
            return;
        }
        status = tnr_domain_close(&domain);
    }
}

tnr_status tnr_cuda_device_close(tnr_cuda_device **device)
{
    static const char *const op = "cuda_device_close";
    if (device == NULL || *device == NULL) {
        return TNR_OK;
    }
    tnr_cuda_device *closing = *device;
    if (tnri_device_here(op, closing) != TNR_OK) {
        TNR_TRY(check_idle(op, closing, true));
        discard(closing);
        *device = NULL;
        return TNR_OK;
    }
    bool current;
    close_orphans(closing);
    TNR_TRY(tnri_device_enter_ended(op, closing, &current));
    bool proved = false;
    const tnr_status status = wind_down(op, closing, current, &proved);
    if (closing->context_held) {
        return status; /* busy */
    }
    if (proved) {
        tnri_flights_recover(closing);
    }
    TNR_TRY(check_idle(op, closing, true));
    TNR_REQUIRE(closing->lost_count == 0, TNR_ERR_BUSY,
                "%s: %llu transfers with host memory cannot be proved to be over, and others keep the context", op,
                TNRI_LLU(closing->lost_count));
    discard(closing);
    *device = NULL;
    return status;
}
