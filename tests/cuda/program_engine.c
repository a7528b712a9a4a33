/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of random programs: by engines of the device, each in a lane of its own, and by one of CPUs on what the host reaches; then
 * by the engine of CPUs on the models. Floats hold whole numbers that are small enough for every order of sums to give the same.
 *
 * A refusal must be the other engine's too, and has changed nothing. A call that a fault made fail may have written its output, and
 * nothing else; not even that when it had given nothing to the lane.
 */
#include "../../src/cuda/engine_internal.h"
#include "program_internal.h"

enum { LARGEST = 300, INPUTS = 3 };
#define EXACT 1e15 /* whole numbers up to it are sums in any order */

/* Which engine, and so where operands lie. */
typedef enum side { BY_DEVICE, BY_CPU, ASTRAY /* by the device, operands wherever they are */ } side;

typedef enum kind {
    UNARY,
    BINARY,
    CLAMP,
    CHOOSE,
    CAST,
    MOVE,
    SPREAD,
    JOIN,
    REDUCE,
    PLACE,
    GATHER,
    SCATTER,
    MATMUL,
    EINSUM,
    PLANNED,
    KINDS
} kind;

typedef struct operation {
    kind what;
    int code;
    side by;
    int number; /* of the engine */
    int inputs;
    owner *in[INPUTS];
    layout in_at[INPUTS];
    owner *out; /* NULL: a new tensor */
    layout out_at;
    bool reads_out;
    int axes[4];
    int axis_count;
    tnr_dtype to;
    tnr_padding paddings[4];
    int64_t shape[4]; /* of a reshape */
    int rank;
    tnr_index_options index;
    tnr_product_options product;
    const char *equation;
    double bound; /* of the result */
} operation;

/* ---- Calls ------------------------------------------------------------------------------------------------------------------------- */

typedef struct call {
    tnr_engine *engine;
    tnr_plan *plan; /* NULL: the model's side */
    tnr_view in[INPUTS];
    tnr_view_mut out;
    tnr_tensor *made;
} call;

typedef tnr_status (*unary_make)(tnr_engine *, const tnr_view *, tnr_tensor **);
typedef tnr_status (*unary_into)(tnr_engine *, const tnr_view *, const tnr_view_mut *);
typedef tnr_status (*binary_make)(tnr_engine *, const tnr_view *, const tnr_view *, tnr_tensor **);
typedef tnr_status (*binary_into)(tnr_engine *, const tnr_view *, const tnr_view *, const tnr_view_mut *);
typedef tnr_status (*axes_make)(tnr_engine *, const tnr_view *, const int *, int, tnr_tensor **);
typedef tnr_status (*axes_into)(tnr_engine *, const tnr_view *, const int *, int, const tnr_view_mut *);
typedef tnr_status (*axis_make)(tnr_engine *, const tnr_view *, int, tnr_tensor **);
typedef tnr_status (*axis_into)(tnr_engine *, const tnr_view *, int, const tnr_view_mut *);

enum { UNARIES = 5, BINARIES = 7, DIVISIONS = 5, MOVES = 5, REDUCTIONS = 5 };
static const unary_make unary_makes[UNARIES] = {tnr_neg, tnr_conj, tnr_to_contiguous, tnr_abs, tnr_sign};
static const unary_into unary_intos[UNARIES] = {tnr_neg_into, tnr_conj_into, tnr_copy_into, tnr_abs_into,
                                                tnr_sign_into};
static const binary_make binary_makes[BINARIES] = {tnr_add,     tnr_sub, tnr_mul, tnr_maximum,
                                                   tnr_minimum, tnr_div, tnr_rem};
static const binary_into binary_intos[BINARIES] = {tnr_add_into,     tnr_sub_into, tnr_mul_into, tnr_maximum_into,
                                                   tnr_minimum_into, tnr_div_into, tnr_rem_into};
static const axes_make reduce_makes[REDUCTIONS] = {tnr_sum, tnr_max, tnr_min, tnr_prod, tnr_any};
static const axes_into reduce_intos[REDUCTIONS] = {tnr_sum_into, tnr_max_into, tnr_min_into, tnr_prod_into,
                                                   tnr_any_into};
static const axis_make place_makes[2] = {tnr_argmax, tnr_argmin};
static const axis_into place_intos[2] = {tnr_argmax_into, tnr_argmin_into};

/* Whole calls whose first result is used and released at once, in flight. */
static tnr_status choose(const operation *o, call *c)
{
    tnr_tensor *which = NULL;
    tnr_view view;
    TNR_TRY(tnr_compare(c->engine, (tnr_comparison)o->code, &c->in[0], &c->in[1], &which));
    tnr_status status = tnr_tensor_view(which, &view);
    if (status == TNR_OK) {
        status = o->out != NULL ? tnr_select_into(c->engine, &view, &c->in[0], &c->in[1], &c->out)
                                : tnr_select(c->engine, &view, &c->in[0], &c->in[1], &c->made);
    }
    return tnr_tensor_release(&which) == TNR_OK ? status : TNR_ERR_BUSY;
}

static tnr_status move(const operation *o, call *c)
{
    const bool into = o->out != NULL;
    switch (o->code) {
    case 0:
        return into ? tnr_permute_into(c->engine, &c->in[0], o->axes, &c->out)
                    : tnr_permute(c->engine, &c->in[0], o->axes, &c->made);
    case 1:
        return into ? tnr_reverse_into(c->engine, &c->in[0], o->axes, 1, &c->out)
                    : tnr_reverse(c->engine, &c->in[0], o->axes, 1, &c->made);
    case 2:
        return into ? tnr_reshape_into(c->engine, &c->in[0], &c->out)
                    : tnr_reshape(c->engine, &c->in[0], o->rank, o->shape, &c->made);
    case 3:
        return into ? tnr_pad_into(c->engine, &c->in[0], o->paddings, &c->out)
                    : tnr_pad(c->engine, &c->in[0], o->paddings, &c->made);
    default:
        return into ? tnr_tril_into(c->engine, &c->in[0], o->axes[0], &c->out)
                    : tnr_tril(c->engine, &c->in[0], o->axes[0], &c->made);
    }
}

static tnr_status run(const operation *o, call *c)
{
    const bool into = o->out != NULL;
    const tnr_view *const all[INPUTS] = {&c->in[0], &c->in[1], &c->in[2]};
    tnr_einsum_options einsum = TNR_EINSUM_OPTIONS;
    einsum.alpha = o->product.alpha;
    switch (o->what) {
    case UNARY:
        return into ? unary_intos[o->code](c->engine, all[0], &c->out)
                    : unary_makes[o->code](c->engine, all[0], &c->made);
    case BINARY:
        return into ? binary_intos[o->code](c->engine, all[0], all[1], &c->out)
                    : binary_makes[o->code](c->engine, all[0], all[1], &c->made);
    case CLAMP:
        return into ? tnr_clamp_into(c->engine, all[0], all[1], all[2], &c->out)
                    : tnr_clamp(c->engine, all[0], all[1], all[2], &c->made);
    case CHOOSE:
        return choose(o, c);
    case CAST:
        return into ? tnr_cast_into(c->engine, all[0], &c->out) : tnr_cast(c->engine, all[0], o->to, &c->made);
    case MOVE:
        return move(o, c);
    case SPREAD:
        return tnr_broadcast_into(c->engine, all[0], NULL, &c->out);
    case JOIN:
        return into ? tnr_concatenate_into(c->engine, all, 2, 0, &c->out)
                    : tnr_concatenate(c->engine, all, 2, 0, &c->made);
    case REDUCE:
        return into ? reduce_intos[o->code](c->engine, all[0], o->axes, o->axis_count, &c->out)
                    : reduce_makes[o->code](c->engine, all[0], o->axes, o->axis_count, &c->made);
    case PLACE:
        return into ? place_intos[o->code](c->engine, all[0], o->axes[0], &c->out)
                    : place_makes[o->code](c->engine, all[0], o->axes[0], &c->made);
    case GATHER:
        return into ? tnr_gather_into(c->engine, all[0], all[1], &o->index, &c->out)
                    : tnr_gather(c->engine, all[0], all[1], &o->index, &c->made);
    case SCATTER:
        return into ? tnr_scatter_into(c->engine, all[0], all[1], all[2], &o->index, &c->out)
                    : tnr_scatter(c->engine, all[0], all[1], all[2], &o->index, &c->made);
    case MATMUL:
        return into ? tnr_matmul_into(c->engine, all[0], all[1], &o->product, &c->out)
                    : tnr_matmul(c->engine, all[0], all[1], &o->product, &c->made);
    case PLANNED:
        if (c->plan != NULL) {
            return into ? tnr_plan_run_into(c->plan, all, o->inputs, &c->out)
                        : tnr_plan_run(c->plan, all, o->inputs, &c->made);
        }
        break;
    default:
        break;
    }
    einsum.conjugate = o->product.conjugate_a ? 1 : 0;
    einsum.beta = o->product.beta;
    return into ? tnr_einsum_into(c->engine, o->equation, all, o->inputs, &einsum, &c->out)
                : tnr_einsum(c->engine, o->equation, all, o->inputs, &einsum, &c->made);
}

/* ---- Operands ----------------------------------------------------------------------------------------------------------------------- */

static bool may_take(const operation *o, const owner *of)
{
    const bool host = !on_device(of->place);
    const bool reached = host || of->place == TNR_CUDA_MANAGED;
    return of->tensor != NULL && of->held == 0 && (o->by == BY_DEVICE ? !host : o->by == BY_CPU ? reached : true);
}

/* An owner of this dtype (TNR_DTYPE_END: any) with at least so many elements, or NULL. */
static owner *find(program *p, const operation *o, tnr_dtype dtype, int64_t least)
{
    const int first = (int)roll(p, TENSORS);
    for (int at = 0; at < TENSORS; at++) {
        owner *of = &p->owners[(first + at) % TENSORS];
        if (may_take(o, of) && (dtype == TNR_DTYPE_END || of->dtype == dtype) && of->count >= least) {
            return of;
        }
    }
    return NULL;
}

static int64_t count_of(int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int axis = 0; axis < rank; axis++) {
        count *= shape[axis];
    }
    return count;
}

static bool read_from(program *p, operation *o, owner *of, int rank, const int64_t *shape)
{
    if (of == NULL || of->count < count_of(rank, shape)) {
        return false;
    }
    o->in[o->inputs] = of;
    any_layout(p, rank, shape, of->count, &o->in_at[o->inputs]);
    repeat(p, &o->in_at[o->inputs++]);
    return true;
}

/* One more input of this dtype and shape. */
static bool read(program *p, operation *o, tnr_dtype dtype, int rank, const int64_t *shape)
{
    return read_from(p, o, find(p, o, dtype, count_of(rank, shape)), rank, shape);
}

/* Where it is to be written: now and then an owner that is read from too, which only some operations take. */
static owner *find_apart(program *p, const operation *o, tnr_dtype dtype, int64_t least)
{
    for (int tries = 0; tries < 4; tries++) {
        owner *of = find(p, o, dtype, least);
        bool apart = true;
        for (int at = 0; at < o->inputs; at++) {
            apart = apart && of != o->in[at];
        }
        if (apart || roll(p, 16) == 0) {
            return of;
        }
    }
    return NULL;
}

/* A view of the caller's, or a new tensor. */
static bool write(program *p, operation *o, tnr_dtype dtype, int rank, const int64_t *shape)
{
    o->out = roll(p, 3) == 0 ? NULL : find_apart(p, o, dtype, count_of(rank, shape));
    if (o->out != NULL) {
        any_layout(p, rank, shape, o->out->count, &o->out_at);
    }
    return true;
}

/* The very elements of an input of elementwise operations. */
static void perhaps_in_place(program *p, operation *o)
{
    const int which = (int)roll(p, (uint64_t)o->inputs);
    const layout *at = &o->in_at[which];
    if (o->out == NULL || roll(p, 3) != 0 || o->in[which]->dtype != o->out->dtype) {
        return;
    }
    for (int axis = 0; axis < at->rank; axis++) {
        if (at->strides[axis] == 0) {
            return;
        }
    }
    o->out = o->in[which];
    o->out_at = *at;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* ---- What to do: each answers false where there are no operands for it ----------------------------------------------------------------- */

static bool prepare_elementwise(program *p, operation *o, owner *first)
{
    static const int inputs[] = {[UNARY] = 1, [BINARY] = 2, [CLAMP] = 3, [CHOOSE] = 2, [CAST] = 1};
    int rank;
    int64_t shape[4];
    (void)any_shape(p, first->count < LARGEST ? first->count : LARGEST, &rank, shape);
    bool good = read_from(p, o, first, rank, shape);
    for (int more = 1; good && more < inputs[o->what]; more++) {
        good = read(p, o, first->dtype, rank, shape);
        o->bound = good ? larger(o->bound, o->in[more]->bound) : 0.0;
    }
    if (!good) {
        return false;
    }
    o->bound = larger(o->bound, first->bound);
    o->to = first->dtype;
    switch (o->what) {
    case UNARY:
        o->code = (int)roll(p, UNARIES - (first->dtype == TNR_C64 ? 2 : 0));
        o->bound = larger(o->bound, 1.0);
        break;
    case BINARY:
        o->code = (int)roll(p, first->dtype == TNR_F64 || first->dtype == TNR_C64 ? DIVISIONS : BINARIES);
        o->bound = o->code == 2 ? 2.0 * o->in[0]->bound * o->in[1]->bound : 2.0 * o->bound;
        break;
    case CHOOSE:
        o->code = (int)roll(p, TNR_COMPARE_GREATER_EQUAL + 1);
        break;
    case CAST:
        o->to = first->dtype == TNR_F64 ? TNR_C64 : first->dtype == TNR_I32 ? TNR_F64 : TNR_I32;
        break;
    default:
        break;
    }
    (void)write(p, o, o->to, rank, shape);
    if (o->what != CAST) {
        perhaps_in_place(p, o);
    }
    return true;
}

static bool prepare_move(program *p, operation *o, owner *first)
{
    int rank;
    int64_t shape[4];
    const int64_t count = any_shape(p, first->count < LARGEST ? first->count : LARGEST, &rank, shape);
    int64_t to[4];
    int to_rank = rank;
    memcpy(to, shape, sizeof(to));
    o->code = (int)roll(p, MOVES - (rank < 2 ? 1 : 0));
    for (int axis = 0; axis < rank; axis++) {
        const int other = (int)roll(p, (uint64_t)axis + 1);
        o->axes[axis] = o->axes[other];
        o->axes[other] = axis;
    }
    if (o->code == 0) {
        for (int axis = 0; axis < rank; axis++) {
            to[axis] = shape[o->axes[axis]];
        }
    } else if (o->code == 2) {
        to_rank = o->rank = 1 + (int)roll(p, 2);
        to[0] = o->rank == 1 || count % 2 != 0 ? count : 2;
        to[1] = count / to[0];
    } else if (o->code == 3) {
        for (int axis = 0; axis < rank; axis++) {
            o->paddings[axis] = (tnr_padding){(int64_t)roll(p, 3) - 1, (int64_t)roll(p, 2), 0};
            to[axis] += o->paddings[axis].low + o->paddings[axis].high;
        }
    }
    memcpy(o->shape, to, sizeof(to));
    o->bound = first->bound;
    if (count_of(to_rank, to) == 0) {
        return false;
    }
    return read_from(p, o, first, rank, shape) && write(p, o, first->dtype, to_rank, to);
}

static bool prepare_spread(program *p, operation *o, owner *first)
{
    int rank;
    int64_t shape[4];
    o->bound = first->bound;
    (void)read_from(p, o, first, 0, NULL);
    o->out = find_apart(p, o, first->dtype, 1);
    if (o->out == NULL) {
        return false;
    }
    (void)any_shape(p, o->out->count < LARGEST ? o->out->count : LARGEST, &rank, shape);
    any_layout(p, rank, shape, o->out->count, &o->out_at);
    return true;
}

static bool prepare_join(program *p, operation *o, owner *first)
{
    int rank;
    int64_t shape[4];
    (void)any_shape(p, first->count < LARGEST ? first->count : LARGEST, &rank, shape);
    if (!read_from(p, o, first, rank, shape) || !read(p, o, first->dtype, rank, shape)) {
        return false;
    }
    o->bound = larger(o->in[0]->bound, o->in[1]->bound);
    shape[0] *= 2;
    return write(p, o, first->dtype, rank, shape);
}

static bool prepare_reduction(program *p, operation *o, owner *first)
{
    int rank;
    int64_t shape[4];
    int64_t kept[4];
    int left = 0;
    const int64_t count = any_shape(p, first->count < LARGEST ? first->count : LARGEST, &rank, shape);
    if (!read_from(p, o, first, rank, shape)) {
        return false;
    }
    if (o->what == PLACE) {
        o->code = (int)roll(p, 2);
        o->axes[0] = (int)roll(p, (uint64_t)rank);
    } else {
        o->code = first->dtype == TNR_BOOL ? 4 : (int)roll(p, first->dtype == TNR_C64 ? 1 : 4);
    }
    for (int axis = 0; axis < rank; axis++) {
        if (o->what == PLACE ? axis == o->axes[0] : roll(p, 2) == 0) {
            o->axes[o->what == PLACE ? 0 : o->axis_count++] = axis;
        } else {
            kept[left++] = shape[axis];
        }
    }
    o->bound = o->what == PLACE ? LARGEST
               : o->code == 0   ? first->bound * (double)count
               : o->code == 3   ? EXACT * (count > 1 ? 2.0 : 0.0) + first->bound
                                : first->bound;
    return write(p, o, o->what == PLACE ? TNR_I64 : first->dtype, left, kept);
}

/* Whole slices at the indices of one axis. */
static bool prepare_windows(program *p, operation *o, owner *first)
{
    int rank;
    int64_t shape[4];
    int64_t window[4];
    const int64_t vectors = 1 + (int64_t)roll(p, 5);
    (void)any_shape(p, first->count < LARGEST / 2 ? first->count : LARGEST / 2, &rank, shape);
    const int axis = (int)roll(p, (uint64_t)rank);
    memcpy(window, shape, sizeof(window));
    window[axis] = vectors;
    if (!read_from(p, o, first, rank, shape) ||
        (!read(p, o, TNR_I64, 1, &vectors) && !read(p, o, TNR_I32, 1, &vectors))) {
        return false;
    }
    o->bound = first->bound;
    o->axes[0] = axis;
    if (o->what == GATHER) {
        return write(p, o, first->dtype, rank, window);
    }
    if (!read(p, o, first->dtype, rank, window)) {
        return false;
    }
    o->bound += (double)vectors * o->in[2]->bound;
    return write(p, o, first->dtype, rank, shape);
}

static void product_options(program *p, operation *o)
{
    static const double factors[4] = {1.0, 1.0, 2.0, -1.0};
    o->product.alpha.re = factors[roll(p, 4)];
    o->product.conjugate_a = roll(p, 3) == 0;
    if (o->out != NULL && roll(p, 2) == 0) {
        o->product.beta.re = factors[roll(p, 4)];
        o->reads_out = true;
    }
    o->bound = 2.0 * o->bound + (o->reads_out ? 2.0 * o->out->bound : 0.0);
}

static bool prepare_matmul(program *p, operation *o, owner *first)
{
    int64_t side_length = 1;
    while ((side_length + 1) * (side_length + 1) <= first->count && side_length < 18) {
        side_length++;
    }
    const int64_t m = 1 + (int64_t)roll(p, (uint64_t)side_length);
    const int64_t n = 1 + (int64_t)roll(p, 17);
    const int64_t k = 1 + (int64_t)roll(p, (uint64_t)side_length);
    if (!read_from(p, o, first, 2, SHAPE(m, k)) || !read(p, o, first->dtype, 2, SHAPE(k, n)) ||
        !write(p, o, first->dtype, 2, SHAPE(m, n))) {
        return false;
    }
    o->bound = 2.0 * (double)k * o->in[0]->bound * o->in[1]->bound;
    product_options(p, o);
    return true;
}

/* Extents by label, operands and a result by the equation's. */
static bool read_equation(program *p, operation *o, tnr_dtype dtype, const int64_t *extents)
{
    const char *at = o->equation;
    int64_t shape[4];
    o->bound = 2.0;
    for (int label = 0; label < 4; label++) {
        o->bound *= (double)extents[label];
    }
    for (;;) {
        int rank = 0;
        for (; *at >= 'a' && *at <= 'd'; at++) {
            shape[rank++] = extents[*at - 'a'];
        }
        if (*at == '\0') {
            return write(p, o, dtype, rank, shape);
        }
        if (!read(p, o, dtype, rank, shape)) {
            return false;
        }
        o->bound *= 2.0 * o->in[o->inputs - 1]->bound;
        at += *at == ',' ? 1 : 2;
    }
}

static bool prepare_einsum(program *p, operation *o, tnr_dtype dtype)
{
    static const char *const equations[] = {"ab,bc,cd->ad", "abc,abd->cd", "ab,ab->", "a,b->ba",
                                            "bac,bcd->abd", "aab,b->a",    "ab->ba",  "abc,d->db"};
    int64_t extents[4];
    for (int label = 0; label < 4; label++) {
        extents[label] = 1 + (int64_t)roll(p, 6);
    }
    o->equation = equations[roll(p, sizeof(equations) / sizeof(equations[0]))];
    if (!read_equation(p, o, dtype, extents)) {
        return false;
    }
    product_options(p, o);
    return true;
}

static void compact(program *p, const owner *of, layout *at)
{
    int64_t step = 1;
    for (int axis = 0; axis < at->rank; axis++) {
        at->strides[axis] = step;
        step *= at->shape[axis];
    }
    at->offset = (int64_t)roll(p, (uint64_t)(of->count - step + 1));
}

/* A plan of the engine's for compact matrices: made when there is none, run else. */
static bool prepare_planned(program *p, operation *o)
{
    static const int64_t extents[4] = {6, 5, 7, 4};
    tnr_plan **plan = &p->plans[o->number];
    o->equation = "ab,bc,cd->ad";
    o->by = BY_DEVICE;
    if (!read_equation(p, o, TNR_F64, extents)) {
        return false;
    }
    for (int at = 0; at < 3; at++) {
        compact(p, o->in[at], &o->in_at[at]);
    }
    if (o->out != NULL) {
        compact(p, o->out, &o->out_at);
    }
    if (*plan != NULL) {
        return true;
    }
    tnr_view views[3];
    for (int at = 0; at < 3; at++) {
        OK(tnr_tensor_region(o->in[at]->tensor, 2, o->in_at[at].shape, o->in_at[at].strides, o->in_at[at].offset,
                             &views[at]));
    }
    const tnr_view *const all[3] = {&views[0], &views[1], &views[2]};
    const tnr_status status = tnr_plan_einsum(p->engines[o->number], o->equation, all, 3, NULL, NULL, plan);
    return status != TNR_ERR_UNSUPPORTED && fine(p, status, "plan") && *plan != NULL;
}

/* Integers wrap, alike; floats must not come to where they round. */
static bool is_exact(operation *o)
{
    if (o->in[0]->dtype != TNR_F64 && o->in[0]->dtype != TNR_C64) {
        o->bound = o->bound < 2147483648.0 ? o->bound : 2147483648.0;
    }
    return o->bound <= EXACT;
}

static bool prepare(program *p, operation *o)
{
    owner *first = find(p, o, TNR_DTYPE_END, 1);
    const bool floats = first != NULL && (first->dtype == TNR_F64 || first->dtype == TNR_C64);
    if (first == NULL) {
        return false;
    }
    switch (o->what) {
    case MOVE:
        return prepare_move(p, o, first);
    case SPREAD:
        return prepare_spread(p, o, first);
    case JOIN:
        return prepare_join(p, o, first);
    case REDUCE:
    case PLACE:
        return prepare_reduction(p, o, first);
    case GATHER:
    case SCATTER:
        return prepare_windows(p, o, first);
    case MATMUL:
        first = floats ? first : find(p, o, TNR_F64, 1);
        return first != NULL && prepare_matmul(p, o, first);
    case EINSUM:
        return prepare_einsum(p, o, floats ? first->dtype : TNR_F64);
    case PLANNED:
        return prepare_planned(p, o);
    default:
        return prepare_elementwise(p, o, first);
    }
}

/* ---- One operation ------------------------------------------------------------------------------------------------------------------------ */

static void view_all(const operation *o, bool model, call *c)
{
    for (int at = 0; at < o->inputs; at++) {
        const layout *l = &o->in_at[at];
        const owner *of = o->in[at];
        OK(tnr_tensor_region(model ? of->shadow : of->tensor, l->rank, l->shape, l->strides, l->offset, &c->in[at]));
    }
    if (o->out != NULL) {
        const layout *l = &o->out_at;
        OK(tnr_tensor_region_mut(model ? o->out->shadow : o->out->tensor, l->rank, l->shape, l->strides, l->offset,
                                 &c->out));
    }
}

/* It worked on both sides: a new tensor finds a place, or goes at once, with its work in flight. */
static void keep(program *p, const operation *o, const call *made, call *model, bool tainted)
{
    tnr_tensor_info info[2];
    const void *data = NULL;
    OK(tnr_tensor_describe(made->made, &info[0]));
    OK(tnr_tensor_describe(model->made, &info[1]));
    OK(tnr_tensor_host_data(model->made, &data));
    const uint64_t bytes = (uint64_t)info[1].count * tnr_dtype_size(info[1].dtype);
    if (info[0].dtype != info[1].dtype || info[0].count != info[1].count) {
        complain(p, "a result of another kind", (long long)info[0].count);
    }
    owner *slot = NULL;
    for (int at = 0; at < TENSORS && slot == NULL && bytes <= BYTES; at++) {
        slot = p->owners[at].tensor == NULL ? &p->owners[at] : NULL;
    }
    if (slot != NULL) {
        const int place = o->by == BY_CPU     ? HEAP
                          : o->number == 0    ? ENGINE_POOL
                          : p->managed_output ? TNR_CUDA_MANAGED
                                              : TNR_CUDA_POOL;
        memcpy(slot->model, data, (size_t)bytes);
        adopt(p, slot, made->made, place, info[1].dtype, info[1].count, o->bound);
        memset(slot->unknown, tainted ? 1 : 0, (size_t)slot->count);
        slot->tainted = tainted;
    } else {
        release_or_stray(p, made->made);
    }
    OK(tnr_tensor_release(&model->made));
}

/* It worked on the device; what a failed call left may have been an index, or a divisor. */
static void accept(program *p, const operation *o, const call *there, call *model, bool tainted)
{
    if (run(o, model) != TNR_OK) {
        if (!tainted) {
            complain(p, tnr_last_error(), (int)o->what);
        }
        if (o->out == NULL) {
            release_or_stray(p, there->made);
        } else {
            taint(o->out, &o->out_at, true);
        }
    } else if (o->out == NULL) {
        keep(p, o, there, model, tainted);
    } else {
        taint(o->out, &o->out_at, tainted);
        o->out->bound = larger(o->out->bound, o->bound);
    }
}

/* Busy: with a transfer that cannot be proved to be over. */
static bool is_refusal(tnr_status status)
{
    return status != TNR_ERR_MEMORY && status != TNR_ERR_BACKEND && status != TNR_ERR_BUSY;
}

static void act(program *p, operation *o)
{
    call there = {.engine = o->by == BY_CPU ? p->cpu : p->engines[o->number], .plan = p->plans[o->number]};
    call model = {.engine = p->cpu};
    bool tainted = o->reads_out && o->out->tainted;
    bool astray = o->out != NULL && !on_device(o->out->place);
    for (int at = 0; at < o->inputs; at++) {
        tainted = tainted || o->in[at]->tainted;
        astray = astray || !on_device(o->in[at]->place);
    }
    astray = astray && o->by == ASTRAY;
    view_all(o, false, &there);
    view_all(o, true, &model);
    if (o->what == GATHER || o->what == SCATTER) {
        OK(tnr_index_along(&there.in[0], &there.in[1], o->axes[0], &o->index));
        o->index.out_of_range = roll(p, 2) == 0 ? TNR_OUT_OF_RANGE_CLAMP : TNR_OUT_OF_RANGE_REFUSE;
    }
    const uint64_t given = scene_counts(&p->s).operations;
    const tnr_status status = run(o, &there);
    p->answer.operations++;
    if ((status == TNR_OK) != (there.made != NULL) && o->out == NULL) {
        complain(p, "a tensor beside a failure, or none without", (int)status);
    }
    if (status == TNR_OK) {
        accept(p, o, &there, &model, tainted);
        if (astray) {
            complain(p, "host memory was taken", (int)o->what);
        }
    } else if (!is_refusal(status)) {
        (void)fine(p, status, "operation");
        if (o->out != NULL && (o->by == BY_CPU || scene_counts(&p->s).operations != given)) {
            taint(o->out, &o->out_at, true);
        }
    } else if (astray) {
        if (status != TNR_ERR_RESIDENCY && status != TNR_ERR_OVERLAP && status != TNR_ERR_UNSUPPORTED) {
            complain(p, tnr_last_error(), (int)o->what);
        }
    } else if (!tainted && (status != TNR_ERR_UNSUPPORTED || (p->kernels && !p->faulty))) {
        char said[TNR_ERROR_TEXT_BYTES];
        (void)snprintf(said, sizeof(said), "%s", tnr_last_error());
        p->answer.refused++;
        if (run(o, &model) != status) {
            complain(p, said, (int)o->what);
        }
    }
}

/* ---- Engines ---------------------------------------------------------------------------------------------------------------------------- */

/* Also small products of the second engine are cuBLAS's. */
static void make_engine(program *p, int number)
{
    tnr_cuda_engine_options options = TNR_CUDA_ENGINE_OPTIONS;
    options.cublas = number == 1 && scene_fake() != NULL ? scene_driver() : "off";
    options.output = number == 0 ? NULL : p->s.domain[p->managed_output ? TNR_CUDA_MANAGED : TNR_CUDA_POOL];
    if (fine(p, tnr_cuda_engine_create(p->s.heap, p->s.lane[number], &options, &p->engines[number]), "engine_create")) {
        tnri_cuda_engine *inside = tnr_engine_provider.state(p->engines[number], &tnri_cuda_engines);
        inside->blas_from = 0.0;
        inside->pack_from = 1;
    }
}

static void end_engine(program *p, int number)
{
    if (tnr_plan_destroy(&p->plans[number]) != TNR_OK || tnr_engine_destroy(&p->engines[number]) != TNR_OK) {
        complain(p, tnr_last_error(), number);
    }
}

void engines_begin(program *p)
{
    p->managed_output = roll(p, 2) == 0;
    p->kernels = tnri_module_images[TNRI_MODULE_move] != NULL || strcmp(p->s.device->nvrtc, "off") != 0;
    OK(tnr_engine_create(p->s.heap, NULL, &p->cpu));
    for (int number = 0; number < ENGINES; number++) {
        make_engine(p, number);
    }
}

void engines_end(program *p)
{
    for (int number = 0; number < ENGINES; number++) {
        end_engine(p, number);
    }
    OK(tnr_engine_destroy(&p->cpu));
}

/* ---- Planted losses ------------------------------------------------------------------------------------------------------------------- */

static void lose_notes(tnri_memory *memory)
{
    memset(memory->used, 0, sizeof(memory->used));
    memory->written = 0;
}

static void lose_notes_of(program *p, const owner *of)
{
    if (of != NULL && of->tensor != NULL && on_device(of->place)) {
        lose_notes(tnri_memory_find(p->s.device, (uint64_t)(uintptr_t)of->tensor->block.address));
    }
}

static void lose(program *p, const operation *o)
{
    tnri_cuda_engine *inside = tnr_engine_provider.state(p->engines[o->number], &tnri_cuda_engines);
    tnri_memory **kept = inside->kept;
    if (tnri_device_enter("plant", p->s.device) != TNR_OK) {
        return;
    }
    for (int at = 0; at < o->inputs && p->loss == LOSE_OPERANDS; at++) {
        lose_notes_of(p, o->in[at]);
    }
    if (p->loss == LOSE_OPERANDS) {
        lose_notes_of(p, o->out);
    }
    for (int at = 0; at < TNRI_KEPT; at++) {
        const bool ends = p->loss == END_SCRATCH ? at == TNRI_KEPT_SPAN || at == TNRI_KEPT_WORK
                                                 : p->loss == END_WORKSPACE && at == TNRI_KEPT_BLAS;
        if (ends && kept[at] != NULL) {
            if (p->loss == END_SCRATCH) {
                lose_notes(kept[at]);
            }
            inside->kept_bytes -= kept[at]->bytes;
            tnri_memory_release(kept[at], true);
            kept[at] = NULL;
        }
    }
    (void)tnri_device_leave(p->s.device, true, TNR_OK);
}

void engine_step(program *p)
{
    static const kind more[4] = {MATMUL, EINSUM, PLANNED, MATMUL}; /* products take scratch, and cuBLAS */
    const uint64_t which = roll(p, KINDS + 4);
    operation o = {.what = which < KINDS ? (kind)which : more[which - KINDS],
                   .number = (int)roll(p, ENGINES),
                   .product = TNR_PRODUCT_OPTIONS};
    const uint64_t how = roll(p, 64);
    o.index = (tnr_index_options)TNR_INDEX_OPTIONS;
    o.by = how < 44 ? BY_DEVICE : how < 54 ? BY_CPU : ASTRAY;
    if (p->engines[o.number] == NULL || how == 63) {
        end_engine(p, o.number);
        make_engine(p, o.number);
    } else if (how == 62) {
        (void)fine(p, tnr_plan_destroy(&p->plans[o.number]), "plan_destroy");
    } else if (how == 61) {
        (void)fine(p, tnr_cuda_domain_trim(p->s.device, p->s.domain[TNR_CUDA_POOL], 0), "trim");
    } else if (prepare(p, &o) && is_exact(&o)) {
        act(p, &o);
        if (p->loss != LOSE_NOTHING && o.by != BY_CPU) {
            lose(p, &o);
        }
    }
}
