/* SPDX-License-Identifier: BSD-3-Clause */
/* A domain that plays a device's memory. */
#define _GNU_SOURCE /* memfd_create */
#include "device.h"

#include <sys/mman.h>
#include <unistd.h>

#include "../../src/mpi/mpi_internal.h"

enum { ROOM = 64 << 20 };

/* ---- The table of functions ------------------------------------------------------------------------------------------------------- */

static tnr_status device_open(void *state, const void *config)
{
    memcpy(state, &config, sizeof(config));
    return TNR_OK;
}

static device *device_of(const void *state)
{
    device *of;
    memcpy(&of, state, sizeof(void *));
    return of;
}

/* First fit; blocks are few. */
static tnr_status device_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    device *of = device_of(state);
    const uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
    if (rounded > of->capacity - of->out) {
        return tnr_set_error(TNR_ERR_MEMORY, "device: full");
    }
    uint64_t begin = alignment; /* never byte 0 */
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < DEVICE_BLOCKS; i++) {
            const device_block *other = &of->blocks[i];
            if (other->bytes != 0 && begin < other->begin + other->bytes && other->begin < begin + rounded) {
                begin = (other->begin + other->bytes + alignment - 1) / alignment * alignment;
                moved = true;
            }
        }
    }
    for (uint64_t i = 0; i < DEVICE_BLOCKS && begin + rounded <= of->room; i++) {
        if (of->blocks[i].bytes == 0) {
            of->blocks[i].begin = begin;
            of->blocks[i].bytes = rounded;
            of->out += rounded;
            memset(of->pages + begin, 0xA5, rounded);
            block->address = of->forbidden + begin;
            block->bytes = rounded;
            block->tag = i;
            return TNR_OK;
        }
    }
    return tnr_set_error(TNR_ERR_MEMORY, "device: no room");
}

static void device_release(void *state, const tnr_block *block)
{
    device *of = device_of(state);
    CHECK(block->tag < DEVICE_BLOCKS && of->blocks[block->tag].bytes == block->bytes);
    of->out -= block->bytes;
    of->blocks[block->tag].bytes = 0;
}

static char *run_at(const device *of, const tnr_block *block, const tnr_domain_box *box, const int64_t *index)
{
    int64_t begin = (int64_t)box->begin;
    for (int axis = 0; axis < box->rank; axis++) {
        begin += index[axis] * box->strides[axis];
    }
    CHECK(begin >= 0 && (uint64_t)begin + box->run_bytes <= block->bytes);
    return of->pages + ((const char *)block->address - of->forbidden) + begin;
}

static void check_box(const device *of, const tnr_block *block, const tnr_domain_box *box, const void *host)
{
    uint64_t bytes = box->run_bytes;
    CHECK(block->tag < DEVICE_BLOCKS && of->blocks[block->tag].bytes == block->bytes);
    CHECK(block->address == of->forbidden + of->blocks[block->tag].begin);
    CHECK(box->run_bytes != 0 && box->rank >= 0 && box->rank <= TNR_MAX_RANK);
    for (int axis = 0; axis < box->rank; axis++) {
        CHECK(box->shape[axis] >= 2);
        bytes *= (uint64_t)box->shape[axis];
    }
    CHECK(bytes == box->bytes);
    CHECK(host != NULL && ((const char *)host < of->forbidden || (const char *)host >= of->forbidden + of->room));
}

/* Half of it is done where it fails. */
static void copy_box(const device *of, const tnr_block *block, const tnr_domain_box *box, char *to, const char *from,
                     bool fails)
{
    int64_t index[TNR_MAX_RANK] = {0};
    uint64_t left = fails ? box->bytes / 2 : box->bytes;
    for (;;) {
        char *run = run_at(of, block, box, index);
        const size_t bytes = left < box->run_bytes ? left : box->run_bytes;
        memcpy(to != NULL ? to : run, to != NULL ? run : from, bytes);
        to = to != NULL ? to + bytes : NULL;
        from = from != NULL ? from + bytes : NULL;
        left -= bytes;
        int axis = 0;
        for (; axis < box->rank && ++index[axis] == box->shape[axis]; axis++) {
            index[axis] = 0;
        }
        if (left == 0 || axis == box->rank) {
            return;
        }
    }
}

static bool falls_due(device *of, int64_t *countdown)
{
    const bool due = *countdown > 0 && --*countdown == 0;
    of->failed += due ? 1 : 0;
    return due;
}

static tnr_status device_read(void *state, const tnr_block *block, const tnr_domain_box *box, void *host)
{
    device *of = device_of(state);
    check_box(of, block, box, host);
    of->reads++;
    const bool fails = falls_due(of, &of->fail_read);
    copy_box(of, block, box, host, NULL, fails);
    return fails ? tnr_set_error(TNR_ERR_BACKEND, "device: read refused on order") : TNR_OK;
}

static tnr_status device_write(void *state, const tnr_block *block, const tnr_domain_box *box, const void *host)
{
    device *of = device_of(state);
    check_box(of, block, box, host);
    of->writes++;
    const bool fails = falls_due(of, &of->fail_write);
    copy_box(of, block, box, NULL, host, fails);
    return fails ? tnr_set_error(TNR_ERR_BACKEND, "device: write refused on order") : TNR_OK;
}

static tnr_status device_expose(void *state, const tnr_block *block, tnr_map_mode mode, void **address)
{
    device *of = device_of(state);
    CHECK(block->tag < DEVICE_BLOCKS && of->blocks[block->tag].bytes == block->bytes);
    CHECK(mode == TNR_MAP_READ || mode == TNR_MAP_WRITE);
    if (falls_due(of, &of->fail_expose)) {
        return tnr_set_error(TNR_ERR_BACKEND, "device: expose refused on order");
    }
    of->exposures++;
    of->exposed++;
    *address = of->pages + ((const char *)block->address - of->forbidden);
    return TNR_OK;
}

static void device_conceal(void *state, const tnr_block *block, tnr_map_mode mode)
{
    device *of = device_of(state);
    CHECK(block->tag < DEVICE_BLOCKS && of->blocks[block->tag].bytes == block->bytes);
    CHECK((mode == TNR_MAP_READ || mode == TNR_MAP_WRITE) && of->exposed > 0);
    of->exposed--;
}

/* ---- Making and ending --------------------------------------------------------------------------------------------------------------- */

void device_make(device *of, tnr_domain *home)
{
    static const tnr_domain_ops ops = {
        .size = sizeof(void *),
        .name = "device",
        .open = device_open,
        .allocate = device_allocate,
        .release = device_release,
        .read = device_read,
        .write = device_write,
        .expose = device_expose,
        .conceal = device_conceal,
    };
    memset(of, 0, sizeof(*of));
    of->room = ROOM;
    of->capacity = ROOM;
    const int file = memfd_create("device", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, ROOM) == 0);
    void *forbidden = mmap(NULL, ROOM, PROT_NONE, MAP_SHARED, file, 0);
    void *pages = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(forbidden != MAP_FAILED && pages != MAP_FAILED);
    (void)close(file);
    of->forbidden = forbidden;
    of->pages = pages;
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    config.config = of;
    config.placement.kind = TNR_MEMORY_DEVICE;
    config.placement.device = 0;
    config.access = TNR_ACCESS_NONE;
    CHECK_OK(tnr_domain_create(home, &config, &of->domain));
}

void device_end(device *of)
{
    CHECK(of->out == 0 && of->exposed == 0);
    CHECK_OK(tnr_domain_close(&of->domain));
    CHECK(munmap(of->forbidden, ROOM) == 0 && munmap(of->pages, ROOM) == 0);
}

/* ---- The back door -------------------------------------------------------------------------------------------------------------------- */

char *device_bytes(const device *of, const tnr_tensor *tensor)
{
    return of->pages + ((char *)tensor->block.address - of->forbidden);
}

static void make_tensor(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape, tnr_tensor **tensor)
{
    tnr_draft *draft = NULL;
    CHECK_OK(tnr_draft_begin(domain, dtype, rank, shape, &draft));
    CHECK_OK(tnr_draft_commit(&draft, tensor));
}

void device_twin(const device *of, tnr_domain *domain, const layout_piece *host, layout_piece *away)
{
    const tnr_view *view = &host->view.view;
    tnr_tensor_info info;
    const void *data;
    CHECK_OK(tnr_tensor_describe(host->tensor, &info));
    CHECK_OK(tnr_tensor_host_data(host->tensor, &data));
    make_tensor(domain, info.dtype, info.rank, info.shape, &away->tensor);
    memcpy(device_bytes(of, away->tensor), data, info.bytes);
    CHECK_OK(tnr_tensor_region_mut(away->tensor, view->rank, view->shape, view->strides, view->offset, &away->view));
}

bool device_same(const device *of, const layout_piece *away, const layout_piece *host)
{
    const void *data;
    CHECK_OK(tnr_tensor_host_data(host->tensor, &data));
    CHECK(away->tensor->bytes == host->tensor->bytes);
    return memcmp(device_bytes(of, away->tensor), data, host->tensor->bytes) == 0;
}

void device_download(const device *of, const tnr_tensor *tensor, tnr_domain *heap, tnr_tensor **host)
{
    tnr_tensor_info info;
    void *data;
    CHECK_OK(tnr_tensor_describe(tensor, &info));
    CHECK(info.access == TNR_ACCESS_NONE);
    make_tensor(heap, info.dtype, info.rank, info.shape, host);
    CHECK_OK(tnr_tensor_host_data_mut(*host, &data));
    if (info.bytes != 0) {
        memcpy(data, device_bytes(of, tensor), info.bytes);
    }
}
