/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements of all ranks become one: reduce and all-reduce.
 *
 * A binomial tree over ranks in order, whatever the root: rank r takes in r+1, then r+2, r+4, ... as long as these bits of r are
 * zero, and gives its result to r without its lowest bit. So the left operand always comes from lower ranks, and the bits of a
 * result depend on the number of ranks alone. It goes piece by piece: while a piece is combined the next one arrives. The engine
 * of the caller combines, so rules for NaN and for integers that wrap are its own. Memory that is away is read into pieces in host
 * memory, and written from there.
 *
 * Memory: up to six pieces of at most 256 KiB from the world's home, made before anything moves. They stay in a second-level cache.
 */
#include "collective_internal.h"
#include "tenure/elementwise.h"
#include "tenure/engine.h"

enum { PIECE_BYTES = 1 << 18, CHILDREN_MOST = 32 };

/* Room for one piece. */
typedef struct buffer {
    tnr_tensor *tensor;
    tnr_view_mut view;
    char *data;
    uint64_t used; /* transfers of the course that must be over before it may be written again */
} buffer;

typedef struct reduction {
    tnr_engine *engine;
    tnr_world_combine combine;
    int root; /* -1: all */
    int parent;
    int children[CHILDREN_MOST];
    int child_count;
    tnri_stream give;
    tnri_stream take;
    bool direct; /* own elements are combined from where they lie */
    int64_t count;
    int64_t piece; /* elements */
    int64_t pieces;
    buffer sums[2];   /* own elements, with those of children */
    buffer coming[2]; /* a child's */
    buffer results[2];
    int64_t next_event; /* the next child's piece to be asked for */
} reduction;

/* ---- Before anything moves --------------------------------------------------------------------------------------------------------- */

static tnr_status check_kind(const char *op, tnr_world_combine combine, tnr_dtype dtype)
{
    bool exists = false;
    switch (combine) {
    case TNR_COMBINE_SUM:
    case TNR_COMBINE_PROD:
        exists = dtype != TNR_BOOL;
        break;
    case TNR_COMBINE_MIN:
    case TNR_COMBINE_MAX:
        exists = dtype == TNR_F32 || dtype == TNR_F64 || dtype == TNR_I32 || dtype == TNR_I64;
        break;
    case TNR_COMBINE_ALL:
    case TNR_COMBINE_ANY:
        exists = dtype == TNR_BOOL;
        break;
    default:
        return tnri_fail(TNR_ERR_ARGUMENT, "%s: combination %d", op, (int)combine);
    }
    TNR_REQUIRE(exists, TNR_ERR_UNSUPPORTED,
                "%s: no such combination of %s (sum, prod: numbers; min, max: f32 f64 i32 i64; all, any: bool)", op,
                tnr_dtype_name(dtype));
    return TNR_OK;
}

static void find_family(reduction *of, const tnr_world *world)
{
    int bit = 1;
    of->child_count = 0;
    for (; bit < world->size && (world->rank & bit) == 0; bit <<= 1) {
        if (world->rank + bit < world->size) {
            of->children[of->child_count++] = world->rank + bit;
        }
    }
    of->parent = world->rank == 0 ? -1 : world->rank - bit;
}

/* As many as `uses` needs, two at most. */
static tnr_status make_buffers(const tnri_course *course, const reduction *of, int64_t uses, buffer *buffers)
{
    for (int i = 0; i < 2 && i < uses; i++) {
        tnr_draft *draft = NULL;
        void *data = NULL;
        TNR_TRY(tnr_draft_begin(course->world->home, course->give.dtype, 1, &of->piece, &draft));
        const tnr_status status = tnr_draft_commit(&draft, &buffers[i].tensor);
        if (status != TNR_OK) {
            (void)tnr_draft_abandon(&draft);
            return status;
        }
        TNR_TRY(tnr_tensor_view_mut(buffers[i].tensor, &buffers[i].view));
        TNR_TRY(tnr_tensor_host_data_mut(buffers[i].tensor, &data));
        buffers[i].data = data;
    }
    return TNR_OK;
}

static void free_buffers(reduction *of)
{
    for (int i = 0; i < 2; i++) {
        (void)tnr_tensor_release(&of->sums[i].tensor);
        (void)tnr_tensor_release(&of->coming[i].tensor);
        (void)tnr_tensor_release(&of->results[i].tensor);
    }
}

/* ---- Pieces -------------------------------------------------------------------------------------------------------------------------- */

static int64_t length_of(const reduction *of, int64_t piece)
{
    const int64_t left = of->count - piece * of->piece;
    return left < of->piece ? left : of->piece;
}

static void row_of(const reduction *of, const tnr_view *any, int64_t piece, tnr_view *row)
{
    *row = *any;
    row->rank = 1;
    row->shape[0] = length_of(of, piece);
    row->strides[0] = 1;
}

/* sum = left op right; left NULL: sum op right. */
static tnr_status combine(const reduction *of, const tnr_view *left, const buffer *sum, const buffer *right,
                          int64_t length)
{
    tnr_view_mut a;
    tnr_view_mut b;
    const tnr_range range = {0, length, 1};
    TNR_TRY(tnr_view_mut_slice_axis(&sum->view, 0, range, &a));
    TNR_TRY(tnr_view_mut_slice_axis(&right->view, 0, range, &b));
    left = left != NULL ? left : &a.view;
    switch (of->combine) {
    case TNR_COMBINE_SUM:
        return tnr_add_into(of->engine, left, &b.view, &a);
    case TNR_COMBINE_PROD:
        return tnr_mul_into(of->engine, left, &b.view, &a);
    case TNR_COMBINE_MIN:
        return tnr_minimum_into(of->engine, left, &b.view, &a);
    case TNR_COMBINE_MAX:
        return tnr_maximum_into(of->engine, left, &b.view, &a);
    case TNR_COMBINE_ALL:
        return tnr_select_into(of->engine, left, &b.view, left, &a);
    default:
        return tnr_select_into(of->engine, left, left, &b.view, &a);
    }
}

/* Sizes, the tree, and room. The course has its leases. */
static tnr_status prepare(const tnri_course *course, reduction *of)
{
    const tnr_world *world = course->world;
    const tnr_view *give = &course->give;
    tnri_stream_of(&of->give, give, course->give_data);
    const bool plain = of->give.dense && of->give.away == NULL;
    const int64_t element = (int64_t)of->give.element_bytes;
    of->count = (int64_t)of->give.bytes / element;
    of->piece = of->count < PIECE_BYTES / element ? of->count : PIECE_BYTES / element;
    of->pieces = of->count == 0 ? 0 : (of->count + of->piece - 1) / of->piece;
    find_family(of, world);
    const bool in_place = course->words.take.there != 0 && course->take.root == give->root; /* leased for writing */
    of->direct = of->child_count != 0 && plain && of->give.bytes != 0 && !in_place;
    if (of->child_count != 0 || (world->rank != 0 && !plain)) {
        TNR_TRY(make_buffers(course, of, of->pieces, of->sums));
    }
    if (of->child_count != 0) {
        TNR_TRY(make_buffers(course, of, of->pieces * of->child_count, of->coming));
    }
    if (of->child_count != 0 && of->pieces != 0) { /* does the engine do it at all, and is it free? */
        TNR_TRY(combine(of, NULL, &of->sums[0], &of->coming[0], 0));
    }
    return of->root == world->rank && world->rank != 0 ? make_buffers(course, of, of->pieces, of->results) : TNR_OK;
}

/* Memory that is away: what fails is told at the end. */
static void copied(tnri_course *course, tnr_status status)
{
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        tnri_course_fail(course, tnri_fail(status, "%s: %s", course->op, text));
    }
}

/* Ask for the next piece of the next child, if there is one. */
static tnr_status ask(tnri_course *course, reduction *of)
{
    const int64_t event = of->next_event;
    if (event >= of->pieces * of->child_count) {
        return TNR_OK;
    }
    buffer *into = &of->coming[event % 2];
    tnr_view row;
    row_of(of, &into->view.view, event / of->child_count, &row);
    TNR_TRY(tnri_course_receive(course, &row, into->data, of->children[event % of->child_count]));
    into->used = course->begun;
    of->next_event++;
    return TNR_OK;
}

/* This rank's piece with those of its children: in a buffer, or where it lies. */
static tnr_status collect(tnri_course *course, reduction *of, int64_t piece, tnr_view *row, char **data)
{
    const uint64_t begin = (uint64_t)(piece * of->piece) * of->give.element_bytes;
    const uint64_t bytes = (uint64_t)length_of(of, piece) * of->give.element_bytes;
    buffer *sum = &of->sums[piece % 2];
    if (sum->tensor == NULL) {
        row_of(of, &course->give, piece, row);
        *data = of->give.data + begin;
        return TNR_OK;
    }
    TNR_TRY(tnri_course_wait(course, sum->used));
    tnr_view left; /* own elements, where they lie */
    if (of->direct) {
        row_of(of, &course->give, piece, &left);
        left.offset += piece * of->piece;
    } else {
        copied(course, tnri_stream_pack(&of->give, begin, bytes, sum->data));
        course->packed += bytes;
    }
    for (int child = 0; child < of->child_count; child++) {
        const int64_t event = piece * of->child_count + child;
        while (of->next_event <= event + 1 && of->next_event < of->pieces * of->child_count) {
            TNR_TRY(ask(course, of));
        }
        TNR_TRY(tnri_course_wait(course, of->coming[event % 2].used));
        TNR_TRY(tnri_world_poison(course->world, combine(of, of->direct && child == 0 ? &left : NULL, sum,
                                                         &of->coming[event % 2], length_of(of, piece))));
    }
    row_of(of, &sum->view.view, piece, row);
    *data = sum->data;
    return TNR_OK;
}

/* The result of a piece has come to a root that is not the tree's. */
static tnr_status store_result(tnri_course *course, reduction *of, int64_t piece)
{
    buffer *result = &of->results[piece % 2];
    TNR_TRY(tnri_course_wait(course, result->used));
    copied(course, tnri_stream_unpack(&of->take, (uint64_t)(piece * of->piece) * of->take.element_bytes,
                                      (uint64_t)length_of(of, piece) * of->take.element_bytes, result->data));
    return TNR_OK;
}

static tnr_status move_piece(tnri_course *course, reduction *of, int64_t piece)
{
    const tnr_world *world = course->world;
    const bool top = world->rank == 0;
    tnr_view row;
    char *data = NULL;
    TNR_TRY(collect(course, of, piece, &row, &data));
    if (top && of->root <= 0) { /* it stays here */
        copied(course, tnri_stream_unpack(&of->take, (uint64_t)(piece * of->piece) * of->take.element_bytes,
                                          (uint64_t)row.shape[0] * of->take.element_bytes, data));
        return TNR_OK;
    }
    TNR_TRY(tnri_course_send(course, &row, data, top ? of->root : of->parent));
    of->sums[piece % 2].used = course->begun;
    if (world->rank == of->root) {
        buffer *result = &of->results[piece % 2];
        if (piece >= 2) {
            TNR_TRY(store_result(course, of, piece - 2));
        }
        row_of(of, &result->view.view, piece, &row);
        TNR_TRY(tnri_course_receive(course, &row, result->data, 0));
        result->used = course->begun;
    }
    return TNR_OK;
}

static tnr_status move(tnri_course *course, reduction *of)
{
    const tnr_world *world = course->world;
    const tnr_view *take = &course->take;
    if (course->drafted || course->words.take.there != 0) {
        tnri_stream_of(&of->take, take, course->take_data);
    }
    if (world->size == 1) {
        tnri_course_copy(course, &course->give, course->give_data, take, course->take_data);
        return TNR_OK;
    }
    for (int64_t piece = 0; piece < of->pieces; piece++) {
        TNR_TRY(move_piece(course, of, piece));
    }
    for (int64_t piece = of->pieces > 2 ? of->pieces - 2 : 0;
         piece < of->pieces && world->rank == of->root && of->root > 0; piece++) {
        TNR_TRY(store_result(course, of, piece));
    }
    TNR_TRY(tnri_course_wait(course, course->begun));
    return of->root < 0 ? tnri_course_spread(course, 0, take, course->take_data, false) : TNR_OK;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------------------------------- */

static tnr_status verdict(const tnri_course *course)
{
    const tnri_side *first = &course->all[0].give;
    for (int rank = 0; rank < course->world->size; rank++) {
        const tnri_words *words = &course->all[rank];
        TNR_TRY(
            tnri_course_expect(course, rank, &words->give, "the source has", first->dtype, first->rank, first->shape));
        if (words->take.there != 0) {
            TNR_TRY(tnri_course_expect(course, rank, &words->take, "the target has", first->dtype, first->rank,
                                       first->shape));
        }
    }
    return TNR_OK;
}

static tnr_status arguments(tnri_course *course, reduction *of, const tnr_view *source, const tnr_view_mut *target,
                            bool makes, tnr_domain *domain, tnr_tensor **out)
{
    const bool all = of->root < 0;
    TNR_TRY(tnri_course_root(course, all ? 0 : of->root));
    const bool gets = all || course->world->rank == of->root;
    course->words.other = (int64_t)of->combine;
    course->give_cut = TNRI_CUT_STAYS; /* pieces travel, which are dense */
    course->take_cut = all ? TNRI_CUT_NOT : TNRI_CUT_STAYS;
    TNR_REQUIRE(of->engine != NULL && source != NULL, TNR_ERR_ARGUMENT, "%s: engine or source is NULL", course->op);
    TNR_REQUIRE(makes || (target != NULL) == gets, TNR_ERR_ARGUMENT, "%s: target is %sNULL", course->op,
                gets ? "" : "given where nothing comes: it must be ");
    tnr_engine_info engine;
    TNR_TRY(tnr_engine_describe(of->engine, &engine));
    TNR_REQUIRE(engine.device == TNR_NONE, TNR_ERR_UNSUPPORTED,
                "%s: pieces are combined in host memory, which takes an engine of CPUs: this one is of %s device %d",
                course->op, engine.kind, engine.device);
    if (makes && gets) {
        TNR_TRY(tnri_course_makes(course, domain, out));
    }
    TNR_TRY(tnri_course_lease(course, source, target != NULL ? &target->view : NULL, TNRI_IN_PLACE));
    TNR_TRY(check_kind(course->op, of->combine, source->dtype));
    return prepare(course, of);
}

static tnr_status run(tnri_course *course, reduction *of, tnr_status status)
{
    TNR_TRY(tnri_course_tell(course, status));
    TNR_TRY(verdict(course));
    TNR_TRY(tnri_course_make(course, TNR_OK, false, course->give.dtype, course->give.rank, course->give.shape));
    return move(course, of);
}

static tnr_status reduce(const char *op, tnr_world *world, tnri_call call, reduction *of, const tnr_view *source,
                         const tnr_view_mut *target, bool makes, tnr_domain *domain, tnr_tensor **out)
{
    tnri_course course;
    TNR_TRY(tnri_course_enter(&course, op, world, call));
    tnr_status status = arguments(&course, of, source, target, makes, domain, out);
    status = run(&course, of, status);
    const bool stays = tnri_course_settle(&course, status);
    if (!stays) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        free_buffers(of);
        status = status != TNR_OK ? tnri_fail(status, "%s", text) : TNR_OK;
    }
    status = tnri_course_leave(&course, status);
    if (status == TNR_OK && out != NULL && course.out == NULL) {
        *out = NULL;
    }
    return status;
}

tnr_status tnr_world_reduce(tnr_world *world, tnr_engine *engine, tnr_world_combine combine_by, int root,
                            const tnr_view *source, tnr_domain *domain, tnr_tensor **out)
{
    reduction of = {.engine = engine, .combine = combine_by, .root = root < 0 ? INT32_MAX : root};
    return reduce("world_reduce", world, TNRI_CALL_REDUCE, &of, source, NULL, true, domain, out);
}

tnr_status tnr_world_reduce_into(tnr_world *world, tnr_engine *engine, tnr_world_combine combine_by, int root,
                                 const tnr_view *source, const tnr_view_mut *target)
{
    reduction of = {.engine = engine, .combine = combine_by, .root = root < 0 ? INT32_MAX : root};
    return reduce("world_reduce_into", world, TNRI_CALL_REDUCE, &of, source, target, false, NULL, NULL);
}

tnr_status tnr_world_all_reduce(tnr_world *world, tnr_engine *engine, tnr_world_combine combine_by,
                                const tnr_view *source, tnr_domain *domain, tnr_tensor **out)
{
    reduction of = {.engine = engine, .combine = combine_by, .root = -1};
    return reduce("world_all_reduce", world, TNRI_CALL_ALL_REDUCE, &of, source, NULL, true, domain, out);
}

tnr_status tnr_world_all_reduce_into(tnr_world *world, tnr_engine *engine, tnr_world_combine combine_by,
                                     const tnr_view *source, const tnr_view_mut *target)
{
    reduction of = {.engine = engine, .combine = combine_by, .root = -1};
    return reduce("world_all_reduce_into", world, TNRI_CALL_ALL_REDUCE, &of, source, target, false, NULL, NULL);
}
