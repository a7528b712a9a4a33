/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pieces of streams as derived datatypes, so that MPI walks a layout itself.
 *
 * Guarantees: MPI_BYTE at the bottom on every side, so that signatures agree whatever the layouts are; one nested hvector per
 * box of the piece, since counts and block lengths are ints; what was made on the way is freed on every path. The type counts from
 * the piece's first element. Does not serve pieces over 1 GiB, whose counts an int may not hold, nor runs of a single byte: Open
 * MPI 4.1 takes bytes that go down one by one for a contiguous block.
 */
#include "mpi_internal.h"

#define MOST_BYTES ((uint64_t)1 << 30)
#define MOST_BOXES (2 * TNR_MAX_RANK + 1)

static void drop(MPI_Datatype *type)
{
    if (*type != MPI_DATATYPE_NULL) {
        (void)MPI_Type_free(type);
        *type = MPI_DATATYPE_NULL;
    }
}

/* The innermost run, then one hvector for each axis around it. */
static tnr_status box_type(const char *op, const tnri_stream *stream, const tnri_box *box, MPI_Datatype *type)
{
    const int64_t element = (int64_t)stream->element_bytes;
    const bool runs = box->rank > 0 && stream->strides[0] == 1;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    TNR_TRY(tnri_mpi(op, "MPI_Type_contiguous",
                     MPI_Type_contiguous((int)(runs ? box->shape[0] * element : element), MPI_BYTE, &made)));
    for (int axis = runs ? 1 : 0; axis < box->rank; axis++) {
        MPI_Datatype around = MPI_DATATYPE_NULL;
        const tnr_status status =
            tnri_mpi(op, "MPI_Type_create_hvector",
                     MPI_Type_create_hvector((int)box->shape[axis], 1, (MPI_Aint)(stream->strides[axis] * element),
                                             made, &around));
        drop(&made);
        TNR_TRY(status);
        made = around;
    }
    *type = made;
    return TNR_OK;
}

tnr_status tnri_stream_type(const char *op, const tnri_stream *stream, uint64_t begin, uint64_t bytes,
                            MPI_Datatype *type)
{
    TNR_REQUIRE(bytes != 0 && bytes <= MOST_BYTES, TNR_ERR_OVERFLOW, "%s: a derived type for %llu bytes, not 1 to 2^30",
                op, TNRI_LLU(bytes));
    TNR_REQUIRE(stream->run_bytes > 1, TNR_ERR_UNSUPPORTED, "%s: no derived type for runs of one byte", op);
    const char *origin = tnri_stream_at(stream, begin);
    int count = 0;
    int lengths[MOST_BOXES];
    MPI_Aint places[MOST_BOXES];
    MPI_Datatype types[MOST_BOXES];
    tnri_boxes boxes;
    tnri_box box;
    tnr_status status = TNR_OK;
    tnri_boxes_start(&boxes, stream, begin, bytes);
    while (status == TNR_OK && tnri_boxes_next(&boxes, &box)) {
        lengths[count] = 1;
        places[count] = (MPI_Aint)(box.data - origin);
        types[count] = MPI_DATATYPE_NULL;
        status = box_type(op, stream, &box, &types[count]);
        count++;
    }
    MPI_Datatype made = MPI_DATATYPE_NULL;
    if (status == TNR_OK && count == 1) {
        made = types[0];
        types[0] = MPI_DATATYPE_NULL;
    } else if (status == TNR_OK) {
        status = tnri_mpi(op, "MPI_Type_create_struct", MPI_Type_create_struct(count, lengths, places, types, &made));
    }
    for (int i = 0; i < count; i++) {
        drop(&types[i]);
    }
    if (status == TNR_OK) {
        status = tnri_mpi(op, "MPI_Type_commit", MPI_Type_commit(&made));
    }
    if (status != TNR_OK) {
        drop(&made);
        return status;
    }
    atomic_fetch_add(&tnri_mpi_live.datatypes, 1);
    *type = made;
    return TNR_OK;
}

void tnri_stream_type_free(MPI_Datatype *type)
{
    if (*type != MPI_DATATYPE_NULL) {
        drop(type);
        atomic_fetch_sub(&tnri_mpi_live.datatypes, 1);
    }
}
