/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A view as a stream: its elements in column-major order of their indices, as bytes that can be packed and unpacked from any
 * place on. Chunks and spans of such streams. Arithmetic and copies; no MPI. Where the host cannot reach a view's owner, the owner's
 * domain copies, one call of its read or write for each box; no other file of this library touches such bytes.
 *
 * Guarantees: a piece touches its own elements only, each once; any layout is read, any layout without two indices on one element
 * is written. A piece is cut into at most 2 * rank + 1 boxes, each of which is one strided copy of the core, so that transposed
 * layouts are copied in tiles. Does not check anything.
 */
#include "mpi_internal.h"

void tnri_stream_make(tnri_stream *stream, void *data, tnr_dtype dtype, int rank, const int64_t *shape,
                      const int64_t *strides)
{
    stream->data = data;
    stream->away = NULL;
    stream->managed = false;
    stream->element_bytes = tnr_dtype_size(dtype);
    stream->rank = 0;
    stream->bytes = stream->element_bytes;
    for (int axis = 0; axis < rank; axis++) {
        stream->bytes *= (uint64_t)shape[axis]; /* fits, or an extent is 0 */
    }
    for (int axis = 0; axis < rank && stream->bytes != 0; axis++) {
        const int last = stream->rank - 1;
        if (shape[axis] == 1) {
            continue;
        }
        int64_t reach = 0;
        if (last >= 0 && !__builtin_mul_overflow(stream->strides[last], stream->shape[last], &reach) &&
            reach == strides[axis]) {
            stream->shape[last] *= shape[axis];
            continue;
        }
        stream->shape[stream->rank] = shape[axis];
        stream->strides[stream->rank] = strides[axis];
        stream->rank++;
    }
    stream->run_bytes = stream->bytes != 0 ? stream->element_bytes : 0;
    if (stream->rank > 0 && stream->strides[0] == 1) {
        stream->run_bytes *= (uint64_t)stream->shape[0];
    }
    stream->dense = stream->run_bytes == stream->bytes;
}

bool tnri_is_away(const tnr_view *view)
{
    const tnr_tensor *root = view->root;
    return root->access == TNR_ACCESS_NONE;
}

bool tnri_is_managed(const tnr_tensor *root)
{
    const tnr_domain *domain = root->domain;
    return domain != NULL && domain->placement.kind == TNR_MEMORY_MANAGED && domain->placement.device != TNR_NONE;
}

void tnri_stream_of(tnri_stream *stream, const tnr_view *view, char *data)
{
    tnri_stream_make(stream, data, view->dtype, view->rank, view->shape, view->strides);
    stream->away = tnri_is_away(view) ? view->root : NULL;
    stream->managed = tnri_is_managed(view->root);
}

char *tnri_stream_at(const tnri_stream *stream, uint64_t begin)
{
    int64_t rest = (int64_t)(begin / stream->element_bytes);
    int64_t offset = 0;
    for (int axis = 0; axis < stream->rank; axis++) {
        offset += rest % stream->shape[axis] * stream->strides[axis];
        rest /= stream->shape[axis];
    }
    return stream->data + offset * (int64_t)stream->element_bytes;
}

/* ---- Boxes -------------------------------------------------------------------------------------------------------------------- */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

void tnri_boxes_start(tnri_boxes *boxes, const tnri_stream *stream, uint64_t begin, uint64_t bytes)
{
    boxes->stream = stream;
    boxes->next = (int64_t)(begin / stream->element_bytes);
    boxes->end = boxes->next + (int64_t)(bytes / stream->element_bytes);
}

/*
 * The largest box from `next` on: whole slices of as many axes as begin there and fit, times some steps of the next axis. Slices
 * grow up to the middle of the piece and shrink after it.
 */
bool tnri_boxes_next(tnri_boxes *boxes, tnri_box *box)
{
    const tnri_stream *stream = boxes->stream;
    const int64_t count = boxes->end - boxes->next;
    if (count <= 0) {
        return false;
    }
    box->data = tnri_stream_at(stream, (uint64_t)boxes->next * stream->element_bytes);
    int64_t slice = 1; /* elements of a slice below axis `rank` */
    int rank = 0;
    for (; rank < stream->rank; rank++) {
        const int64_t extent = stream->shape[rank];
        const int64_t at = boxes->next / slice % extent;
        if (at != 0 || count / slice < extent || rank + 1 == stream->rank) {
            box->shape[rank] = least(extent - at, count / slice);
            slice *= box->shape[rank];
            rank++;
            break;
        }
        box->shape[rank] = extent;
        slice *= extent;
    }
    box->rank = rank;
    box->bytes = (uint64_t)slice * stream->element_bytes;
    boxes->next += slice;
    return true;
}

/* ---- Packing ------------------------------------------------------------------------------------------------------------------- */

/* A box of an away stream as its domain knows it: runs, and axes of more than one of them. */
static void away_box(const tnri_stream *stream, const tnri_box *box, tnr_domain_box *of)
{
    const int64_t element = (int64_t)stream->element_bytes;
    const bool runs = box->rank > 0 && stream->strides[0] == 1;
    of->begin = tnri_away_byte(box->data);
    of->bytes = box->bytes;
    of->run_bytes = (uint64_t)(runs ? box->shape[0] * element : element);
    of->rank = 0;
    for (int axis = runs ? 1 : 0; axis < box->rank; axis++) {
        if (box->shape[axis] != 1) {
            of->shape[of->rank] = box->shape[axis];
            of->strides[of->rank] = stream->strides[axis] * element;
            of->rank++;
        }
    }
}

/* One direction or the other: `write` NULL or `read` NULL. */
static tnr_status copy_away(const tnri_stream *stream, uint64_t begin, uint64_t bytes, char *read, const char *write)
{
    tnri_boxes boxes;
    tnri_box box;
    tnr_domain_box of;
    tnri_boxes_start(&boxes, stream, begin, bytes);
    while (tnri_boxes_next(&boxes, &box)) {
        away_box(stream, &box, &of);
        if (read != NULL) {
            TNR_TRY(tnr_provider.away_read(stream->away, &of, read));
            read += box.bytes;
        } else {
            TNR_TRY(tnr_provider.away_write(stream->away, &of, write));
            write += box.bytes;
        }
    }
    return TNR_OK;
}

tnr_status tnri_stream_pack(const tnri_stream *stream, uint64_t begin, uint64_t bytes, void *buffer)
{
    if (TNRI_UNLIKELY(stream->away != NULL)) {
        return copy_away(stream, begin, bytes, buffer, NULL);
    }
    if (stream->dense) {
        if (bytes != 0) {
            memcpy(buffer, stream->data + begin, bytes);
        }
        return TNR_OK;
    }
    char *target = buffer;
    tnri_boxes boxes;
    tnri_box box;
    tnri_boxes_start(&boxes, stream, begin, bytes);
    while (tnri_boxes_next(&boxes, &box)) {
        int64_t compact[TNR_MAX_RANK];
        tnr_provider.compact_strides(box.rank, box.shape, compact);
        tnr_provider.copy_elements(stream->element_bytes, box.rank, box.shape, target, compact, box.data,
                                   stream->strides);
        target += box.bytes;
    }
    return TNR_OK;
}

/* Targets from here on are written past the caches, as the core does with copies that it makes whole. */
#define PAST_CACHES ((uint64_t)4 << 20)

tnr_status tnri_stream_unpack(const tnri_stream *stream, uint64_t begin, uint64_t bytes, const void *buffer)
{
    if (TNRI_UNLIKELY(stream->away != NULL)) {
        return copy_away(stream, begin, bytes, NULL, buffer);
    }
    const bool past = stream->bytes >= PAST_CACHES;
    if (stream->dense && !past) {
        if (bytes != 0) {
            memcpy(stream->data + begin, buffer, bytes);
        }
        return TNR_OK;
    }
    const char *source = buffer;
    tnri_boxes boxes;
    tnri_box box;
    tnri_boxes_start(&boxes, stream, begin, bytes);
    while (tnri_boxes_next(&boxes, &box)) {
        int64_t compact[TNR_MAX_RANK];
        tnr_provider.compact_strides(box.rank, box.shape, compact);
        (past ? tnr_provider.copy_past_caches : tnr_provider.copy_elements)(stream->element_bytes, box.rank, box.shape,
                                                                            box.data, stream->strides, source, compact);
        source += box.bytes;
    }
    return TNR_OK;
}

tnr_status tnri_stream_copy(const tnri_stream *from, const tnri_stream *to, void *buffer, uint64_t buffer_bytes,
                            bool *moved)
{
    const uint64_t most = tnri_max_u64(buffer_bytes - buffer_bytes % from->element_bytes, from->element_bytes);
    for (uint64_t begin = 0; begin < from->bytes; begin += most) {
        const uint64_t bytes = tnri_min_u64(most, from->bytes - begin);
        *moved = begin != 0;
        if (to->away == NULL && to->dense) {
            TNR_TRY(tnri_stream_pack(from, begin, bytes, to->data + begin));
        } else if (from->away == NULL && from->dense) {
            *moved = true;
            TNR_TRY(tnri_stream_unpack(to, begin, bytes, from->data + begin));
        } else {
            TNR_TRY(tnri_stream_pack(from, begin, bytes, buffer));
            *moved = true;
            TNR_TRY(tnri_stream_unpack(to, begin, bytes, buffer));
        }
    }
    return TNR_OK;
}

/* ---- Spans and chunks ---------------------------------------------------------------------------------------------------------------- */

uint64_t tnri_stream_message(const tnri_stream *stream, uint64_t most)
{
    uint64_t slice = stream->element_bytes;
    for (int axis = 0; axis + 1 < stream->rank && slice <= most; axis++) {
        slice *= (uint64_t)stream->shape[axis];
    }
    if (slice > most || stream->rank == 0) {
        slice = stream->element_bytes;
    }
    return tnri_max_u64(most - most % slice, stream->element_bytes);
}

uint64_t tnri_chunk_count(uint64_t bytes, uint64_t most) { return bytes / most + (bytes % most != 0); }

void tnri_chunk(uint64_t bytes, uint64_t most, uint64_t index, uint64_t *begin, uint64_t *length)
{
    *begin = index * most;
    *length = tnri_min_u64(most, bytes - *begin);
}
