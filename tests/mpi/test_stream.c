/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1
 * Streams against a walk over all indices: random layouts, random pieces, packed, unpacked, and by derived types; chunk arithmetic. */
#include "../../src/mpi/mpi_internal.h"

#include "ranks.h"

enum { MOST_ELEMENTS = 4096, ROOM = 1 << 20 };

static unsigned long long state;

static uint64_t random_below(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * UINT64_C(0x2545F4914F6CDD1D) % limit;
}

/* A layout inside ROOM bytes and the places of its elements in stream order, found by walking. */
typedef struct layout {
    tnr_dtype dtype;
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK];
    int64_t origin; /* elements from the room's begin */
    int64_t count;
    int64_t places[MOST_ELEMENTS];
} layout;

static void walk(layout *l)
{
    int64_t index[TNR_MAX_RANK] = {0};
    l->count = 1;
    for (int axis = 0; axis < l->rank; axis++) {
        l->count *= l->shape[axis];
    }
    for (int64_t n = 0; n < l->count; n++) {
        int64_t place = l->origin;
        for (int axis = 0; axis < l->rank; axis++) {
            place += index[axis] * l->strides[axis];
        }
        l->places[n] = place;
        for (int axis = 0; axis < l->rank && ++index[axis] == l->shape[axis]; axis++) {
            index[axis] = 0;
        }
    }
}

/* Distinct places unless `broadcast`: nested strides in a random order of the axes, some negative, some with gaps. */
static void make_layout(layout *l, bool broadcast)
{
    static const tnr_dtype dtypes[] = {TNR_BOOL, TNR_I32, TNR_F64, TNR_C64};
    l->dtype = dtypes[random_below(4)];
    const int64_t room = ROOM / (int64_t)tnr_dtype_size(l->dtype);
    for (;;) {
        int order[TNR_MAX_RANK];
        int64_t low = 0;
        int64_t high = 0;
        int64_t step = 1;
        l->rank = (int)random_below(6);
        l->count = 1;
        for (int axis = 0; axis < l->rank; axis++) {
            l->shape[axis] = (int64_t)random_below(random_below(4) == 0 ? 40 : 7);
            l->count *= l->shape[axis];
            order[axis] = axis;
        }
        const bool permute = random_below(2) == 0;
        for (int axis = l->rank - 1; permute && axis > 0; axis--) {
            const int other = (int)random_below((uint64_t)axis + 1);
            const int kept = order[axis];
            order[axis] = order[other];
            order[other] = kept;
        }
        for (int i = 0; i < l->rank; i++) {
            const int axis = order[i];
            step += random_below(3) == 0 ? (int64_t)random_below(3) : 0;
            l->strides[axis] = random_below(5) == 0 ? -step : step;
            if (broadcast && random_below(4) == 0) {
                l->strides[axis] = 0;
            }
            const int64_t reach = l->strides[axis] * (l->shape[axis] > 0 ? l->shape[axis] - 1 : 0);
            *(reach < 0 ? &low : &high) += reach;
            step *= l->shape[axis] > 0 ? l->shape[axis] : 1;
        }
        l->origin = -low;
        if (l->count <= MOST_ELEMENTS && high - low < room) {
            walk(l);
            return;
        }
    }
}

static unsigned char memory[ROOM];
static unsigned char before[ROOM];
static unsigned char packed[MOST_ELEMENTS * 16 + 64];
static unsigned char again[MOST_ELEMENTS * 16 + 64];

static void fill(unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (unsigned char)random_below(256);
    }
}

static void random_layouts_match_walk(void)
{
    state = ranks_seed() | 1U;
    fill(memory, sizeof(memory));
    for (int round = 0; round < 3000; round++) {
        static layout l;
        const bool broadcast = random_below(3) == 0;
        make_layout(&l, broadcast);
        const size_t element = tnr_dtype_size(l.dtype);
        tnri_stream stream;
        tnri_stream_make(&stream, memory + (size_t)l.origin * element, l.dtype, l.rank, l.shape, l.strides);
        CHECK(stream.bytes == (uint64_t)l.count * element);
        for (int64_t n = 0; n < l.count; n++) {
            if (n % 7 == 0) {
                CHECK(tnri_stream_at(&stream, (uint64_t)n * element) == (char *)memory + (size_t)l.places[n] * element);
            }
        }
        if (l.count == 0) {
            CHECK(stream.dense);
            tnri_stream_pack(&stream, 0, 0, packed);
            continue;
        }
        /* a piece, packed */
        const int64_t first = (int64_t)random_below((uint64_t)l.count);
        const int64_t count = (int64_t)random_below((uint64_t)(l.count - first) + 1);
        const uint64_t begin = (uint64_t)first * element;
        const uint64_t bytes = (uint64_t)count * element;
        memset(packed, 0x5A, sizeof(packed));
        tnri_stream_pack(&stream, begin, bytes, packed);
        for (int64_t n = 0; n < count; n++) {
            CHECK(memcmp(packed + (size_t)n * element, memory + (size_t)l.places[first + n] * element, element) == 0);
        }
        CHECK(packed[bytes] == 0x5A && packed[bytes + 63] == 0x5A);
        /* by a derived type */
        if (bytes != 0 && stream.run_bytes == 1) {
            MPI_Datatype type = MPI_DATATYPE_NULL;
            CHECK_STATUS(TNR_ERR_UNSUPPORTED, tnri_stream_type("test", &stream, begin, bytes, &type));
        } else if (bytes != 0) {
            MPI_Datatype type = MPI_DATATYPE_NULL;
            int position = 0;
            int size = 0;
            CHECK_OK(tnri_stream_type("test", &stream, begin, bytes, &type));
            CHECK(MPI_Type_size(type, &size) == MPI_SUCCESS && (uint64_t)size == bytes);
            CHECK(MPI_Pack(tnri_stream_at(&stream, begin), 1, type, again, (int)sizeof(again), &position,
                           MPI_COMM_SELF) == MPI_SUCCESS);
            CHECK((uint64_t)position == bytes && memcmp(again, packed, bytes) == 0);
            tnri_stream_type_free(&type);
            CHECK(type == MPI_DATATYPE_NULL && atomic_load(&tnri_mpi_live.datatypes) == 0);
        }
        const uint64_t most = 1 + random_below(4096);
        const uint64_t message = tnri_stream_message(&stream, most);
        CHECK(message >= element && message % element == 0 && (message <= most || message == element));
        if (broadcast) {
            continue;
        }
        /* a piece, unpacked: its elements and no other byte */
        memcpy(before, memory, sizeof(memory));
        fill(again, bytes);
        tnri_stream_unpack(&stream, begin, bytes, again);
        for (int64_t n = 0; n < count; n++) {
            unsigned char *place = memory + (size_t)l.places[first + n] * element;
            CHECK(memcmp(place, again + (size_t)n * element, element) == 0);
            memcpy(place, before + (size_t)l.places[first + n] * element, element);
        }
        CHECK(memcmp(memory, before, sizeof(memory)) == 0);
    }
}

static void dense_is_recognised(void)
{
    tnri_stream stream;
    tnri_stream_make(&stream, memory, TNR_F64, 3, (int64_t[]){3, 1, 5}, (int64_t[]){1, 77, 3});
    CHECK(stream.dense && stream.rank == 1 && stream.run_bytes == 120);
    tnri_stream_make(&stream, memory, TNR_F64, 2, (int64_t[]){3, 5}, (int64_t[]){1, 4});
    CHECK(!stream.dense && stream.rank == 2 && stream.run_bytes == 24);
    tnri_stream_make(&stream, memory, TNR_F64, 2, (int64_t[]){3, 5}, (int64_t[]){5, 1});
    CHECK(!stream.dense && stream.run_bytes == 8);
    tnri_stream_make(&stream, memory, TNR_F64, 0, NULL, NULL);
    CHECK(stream.dense && stream.bytes == 8);
    tnri_stream_make(&stream, memory, TNR_F64, 2, (int64_t[]){0, INT64_MAX}, (int64_t[]){1, 1});
    CHECK(stream.dense && stream.bytes == 0 && stream.run_bytes == 0);
    /* [3,2] strides [1,1] over 1,2,3,4 */
    const double four[] = {1, 2, 3, 4};
    double six[6];
    tnri_stream_make(&stream, (void *)(uintptr_t)four, TNR_F64, 2, (int64_t[]){3, 2}, (int64_t[]){1, 1});
    tnri_stream_pack(&stream, 0, 48, six);
    CHECK(memcmp(six, (double[]){1, 2, 3, 2, 3, 4}, 48) == 0);
}

/* BUGS.md MP-01 */
static void chunks_add_up(void)
{
    static const uint64_t sizes[] = {0, 1, 2147483647, 2147483648, 4294967295, 6442450945};
    static const uint64_t limits[] = {4096, 2147483647, (uint64_t)1 << 30};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (size_t k = 0; k < sizeof(limits) / sizeof(limits[0]); k++) {
            uint64_t sum = 0;
            for (uint64_t i = 0; i < tnri_chunk_count(sizes[s], limits[k]); i++) {
                uint64_t begin;
                uint64_t length;
                tnri_chunk(sizes[s], limits[k], i, &begin, &length);
                CHECK(begin == sum && length >= 1 && length <= 2147483647);
                sum += length;
            }
            CHECK(sum == sizes[s]);
        }
    }
    const uint64_t expected[] = {7, 7, 6};
    CHECK(tnri_chunk_count(20, 7) == 3);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t begin;
        uint64_t length;
        tnri_chunk(20, 7, i, &begin, &length);
        CHECK(begin == 7 * i && length == expected[i]);
    }
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(random_layouts_match_walk),
        RANK_TEST(dense_is_recognised),
        RANK_TEST(chunks_add_up),
    };
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
