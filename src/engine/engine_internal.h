/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of an engine, and what its files share: entering and leaving, one operation from its checks to its end, and the
 * matrix-product kernels.
 *
 * Flow: enter -> dtypes and shapes from the descriptors -> leases, bounds, overlap -> the new tensor or scratch, where the
 * operation needs them -> kernel -> leases back -> the new tensor exists -> leave. Nothing is written before the last check
 * has passed, and nothing is taken before the operands are known to be good.
 */
#ifndef TENURE_ENGINE_INTERNAL_H
#define TENURE_ENGINE_INTERNAL_H

#include "device.h"
#include "tenure/elementwise.h"
#include "tenure/product.h"
#include "tenure/reduction.h"
#include "tenure/structure.h"

/*
 * For loops each of whose iterations reads its own elements and then writes its own. It states what access to the operands
 * has proved: an output is apart from each input, or the very same elements index for index.
 */
#if defined(TNRI_LOOPS_AS_WRITTEN)
#define TNRI_INDEPENDENT
#elif defined(__clang__)
#define TNRI_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TNRI_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TNRI_INDEPENDENT
#endif

/* Are there engines that are not of CPUs (device.h)? Not in bounded builds: nothing of them is left there. */
#ifndef TNRI_DEVICES
#define TNRI_DEVICES 1
#endif
#if TNRI_DEVICES
#define tnri_is_device(engine) TNRI_UNLIKELY((engine)->device != NULL)
#else
#define tnri_is_device(engine) false
#endif

typedef struct tnri_team tnri_team;
struct tnri_product_table;
struct tnri_plan_cache;

struct tnr_engine {
    atomic_uint busy;                          /* 1 while a thread is inside */
    tnri_isa isa;                              /* whose kernel tables it uses */
    const struct tnri_product_table *products; /* kernels of matrix products: of that instruction set, or BLIS's */
    tnri_team *team;                           /* NULL: the calling thread alone */
    int node;                                  /* of all its CPUs; TNR_NONE: several, or no team */
    uint64_t l2_bytes;                         /* of one of its CPUs */
    uint64_t l3_bytes;                         /* its cores' share of a third-level cache; 0: none, or unknown */
    tnr_topology *topology;                    /* whose user it is, or NULL */
    tnr_domain *domain;                        /* holds this struct and the scratch */
    tnr_domain *output;                        /* where outputs are made */
    tnr_domain *pool;
    const char *keeper;   /* who alone destroys it; NULL: the program */
    tnr_block scratch;    /* of the domain, kept from first use on; no bytes before */
    tnr_block team_block; /* of the domain; no bytes without a team */
    tnr_block plan_block; /* of the domain: what ordinary calls have planned (plan_cache.c); no bytes without a cache */
    struct tnri_plan_cache *plans; /* in that block, or NULL */
    atomic_uint plan_count;        /* prepared operations of the program's that live */
    tnr_block record;              /* this struct */
    const char *op;                /* of the operation that is running, or ran last: for texts */
    uint64_t held; /* bytes at the scratch's begin that the operation which is running keeps things in */
#if TNRI_DEVICES
    const tnri_device_table *device; /* NULL: an engine of CPUs */
    void *device_state;
    int device_number;
    atomic_uint registered; /* with so many machines: 0 or 1 */
#endif
};

/* Where a result goes: into a view of the caller's, or to a new tensor. Exactly one is not NULL. */
typedef struct tnri_target {
    const tnr_view_mut *into;
    tnr_tensor **made;
} tnri_target;

/* ---- Entering ------------------------------------------------------------------------------------------------------------ */

/* TNR_ERR_ARGUMENT for NULL, TNR_ERR_BUSY when a thread is inside already. */
tnr_status tnri_engine_refuse(const char *op, const tnr_engine *engine, bool has_target) TNRI_COLD;

static inline tnr_status tnri_engine_enter(const char *op, tnr_engine *engine, bool has_target)
{
    if (TNRI_UNLIKELY(engine == NULL || !has_target ||
                      atomic_exchange_explicit(&engine->busy, 1U, memory_order_acquire) != 0U)) {
        return tnri_engine_refuse(op, engine, has_target);
    }
    engine->op = op;
    return TNR_OK;
}

/* Gives `status` on: return tnri_engine_leave(engine, what was done inside). */
static inline tnr_status tnri_engine_leave(tnr_engine *engine, tnr_status status)
{
    atomic_store_explicit(&engine->busy, 0U, memory_order_release);
    return status;
}

static inline bool tnri_target_named(const tnri_target *target) { return target->into != NULL || target->made != NULL; }

/* At least `bytes` bytes of kept scratch, 64-byte aligned, contents undefined; takes nothing when it had them before. */
tnr_status tnri_engine_scratch(tnr_engine *engine, uint64_t bytes, void **data);

/*
 * For an operation that runs others: `held` bytes of scratch that they leave alone, a multiple of 64, and room for as much as any of them
 * takes behind these. Then tnri_engine_scratch fails rather than move it. Until tnri_engine_let_go.
 */
tnr_status tnri_engine_hold(tnr_engine *engine, uint64_t held, uint64_t behind, void **data);

/* Take now what tnri_engine_hold of so many bytes would take. */
tnr_status tnri_engine_reserve(tnr_engine *engine, uint64_t held, uint64_t behind);
static inline void tnri_engine_let_go(tnr_engine *engine) { engine->held = 0; }

/* As tnr_engine_destroy, for a thread that is inside: on failure it is outside again and nothing has changed. */
tnr_status tnri_engine_end(tnr_engine *engine);

/* What an engine takes of the home of its domain: all but its team, its scratch and the bytes of its pool's buffers. */
tnr_status tnri_engine_records_need(uint64_t buffers, tnr_need *need);

/* ---- Several workers (team_call.c, team_worth.c; team_inline.c) -------------------------------------------------------------------------------- */

/* One piece of an operation; pieces of one call may run at the same time, in any order, on any thread. */
typedef void (*tnri_task)(void *context, int64_t piece);

/*
 * How many lanes are worth using for work that takes so long on one: 1 when the calling thread should do it alone. The number
 * of pieces may depend on it only where the result does not depend on the pieces.
 */
int tnri_engine_lanes(const tnr_engine *engine, uint64_t nanoseconds);

/*
 * Run task(context, p) for every p in 0..pieces-1, on no more lanes than tnri_engine_lanes has told (1: on the calling thread);
 * all are done, and what they wrote is seen, when it returns. Pieces compute in the caller's floating-point environment.
 */
void tnri_engine_run(tnr_engine *engine, int lanes, int64_t pieces, tnri_task task, void *context);

/* Should outputs of an operation that touches so many bytes in all be written past the caches? (caches.c) */
bool tnri_engine_streams(const tnr_engine *engine, uint64_t bytes);

/* ---- One operation -------------------------------------------------------------------------------------------------------- */

#define TNRI_CALL_INPUTS 3

/*
 * From the first lease to the last. operands[0] is what is written, the others are read: their views are the caller's to
 * set before tnri_call_begin, their data is what the kernel works on.
 */
typedef struct tnri_call {
    const char *op;
    int inputs;
    tnr_dtype dtype; /* of the result */
    int rank;
    const int64_t *shape;
    tnr_allocation_reason reason;
    tnri_aliasing aliasing;
    const tnr_view *out; /* set by tnri_call_begin: the layout to write */
    tnri_operand operands[1 + TNRI_CALL_INPUTS];
    tnri_output output;
} tnri_call;

/* ---- The same on a device (device.c): nothing of this is called where TNRI_DEVICES is 0 ---------------------------------------------- */

/* What a call's frame needs; operands[1..inputs] have their views, operands[0] is what is written. */
typedef struct tnri_device_frame {
    const char *op;
    tnri_operand *operands;
    int inputs;
    tnri_aliasing aliasing;
    const tnr_view_mut *into; /* NULL: a new tensor of the following */
    tnr_dtype dtype;
    int rank;
    const int64_t *shape;
    tnr_allocation_reason reason;
    tnri_output *output;
} tnri_device_frame;

tnr_status tnri_device_begin(tnr_engine *engine, const tnri_device_frame *frame) TNRI_COLD;
tnr_status tnri_device_end(tnr_engine *engine, tnri_operand *operands, int inputs, tnri_output *output,
                           tnri_target target, tnr_status status) TNRI_COLD;
tnr_status tnri_device_call_begin(tnr_engine *engine, tnri_call *call, tnri_target target) TNRI_COLD;
tnr_status tnri_device_call_end(tnr_engine *engine, tnri_call *call, tnri_target target, tnr_status status) TNRI_COLD;

/* Entries of the table, for any extents. */
tnr_status tnri_device_copy_elements(tnr_engine *engine, size_t width, int rank, const int64_t *shape, void *target,
                                     const int64_t *target_strides, const void *source,
                                     const int64_t *source_strides) TNRI_COLD;
tnr_status tnri_device_fill(tnr_engine *engine, const tnr_view *out, char *target, const void *value) TNRI_COLD;
tnr_status tnri_device_reduce(tnr_engine *engine, tnri_reduce_op op, const tnr_view *a, const int64_t *spread,
                              const char *source, tnr_dtype to, char *target) TNRI_COLD;
tnr_status tnri_device_arg(tnr_engine *engine, bool smallest, const tnr_view *a, int axis, const tnr_view *out,
                           const char *source, char *target) TNRI_COLD;
tnr_status tnri_device_reshape(tnr_engine *engine, const tnr_view *out, char *target, const tnr_view *a,
                               const char *source) TNRI_COLD;
tnr_status tnri_device_one(tnr_engine *engine, tnr_dtype dtype, const void **data) TNRI_COLD;

/* ---- Begin and end ----------------------------------------------------------------------------------------------------------------- */

/* tnri_call_begin for a new tensor. */
tnr_status tnri_call_begin_new(tnr_engine *engine, tnri_call *call);
tnr_status tnri_call_end_new(tnri_call *call, tnr_tensor **made, tnr_status status);

/*
 * Lease inputs and output, or lease the inputs and make the new tensor's bytes. On failure nothing is held or counted: a
 * stale or busy input leaves no trace in any domain.
 */
static inline tnr_status tnri_call_begin_here(tnr_engine *engine, tnri_call *call, tnri_target target)
{
    for (int i = 1; i <= call->inputs; ++i) {
        call->operands[i].write = false;
    }
    if (target.into == NULL) {
        return tnri_call_begin_new(engine, call);
    }
    call->out = &target.into->view;
    call->operands[0].view = call->out;
    call->operands[0].write = true;
    return tnri_access_begin(call->op, call->operands, 1 + call->inputs, call->aliasing);
}

static inline tnr_status tnri_call_begin(tnr_engine *engine, tnri_call *call, tnri_target target)
{
    return tnri_is_device(engine) ? tnri_device_call_begin(engine, call, target)
                                  : tnri_call_begin_here(engine, call, target);
}

/*
 * Give everything back, also when one of the domains fails at it: then, or with a status other than TNR_OK, the new tensor
 * does not exist. What was written into a caller's view cannot be undone.
 */
static inline tnr_status tnri_call_end_here(tnri_call *call, tnri_target target, tnr_status status)
{
    if (target.into == NULL) {
        return tnri_call_end_new(call, target.made, status);
    }
    const tnr_status ended = tnri_access_end(call->operands, 1 + call->inputs);
    return status == TNR_OK ? ended : status;
}

static inline tnr_status tnri_call_end(tnr_engine *engine, tnri_call *call, tnri_target target, tnr_status status)
{
    return tnri_is_device(engine) ? tnri_device_call_end(engine, call, target, status)
                                  : tnri_call_end_here(call, target, status);
}

/* ---- Checks of descriptors -------------------------------------------------------------------------------------------------- */

/* Not NULL, rank and dtype in range. All else is looked at under lease. */
static inline bool tnri_view_plausible(const tnr_view *view)
{
    return view != NULL && (uint32_t)view->rank <= (uint32_t)TNR_MAX_RANK && (unsigned)view->dtype > TNR_DTYPE_NONE &&
           (unsigned)view->dtype < TNR_DTYPE_END;
}

tnr_status tnri_view_refuse(const char *op, const char *name, const tnr_view *view) TNRI_COLD;

#define TNRI_CHECK_VIEW(op, name, view)                    \
    do {                                                   \
        if (TNRI_UNLIKELY(!tnri_view_plausible(view))) {   \
            return tnri_view_refuse((op), (name), (view)); \
        }                                                  \
    } while (0)

static inline bool tnri_has_shape(const tnr_view *view, int rank, const int64_t *shape)
{
    if (view->rank != rank) {
        return false;
    }
    for (int i = 0; i < rank; ++i) {
        if (view->shape[i] != shape[i]) {
            return false;
        }
    }
    return true;
}

/* The usual failures, with both parties in the text, and advice at its end ("" for none) where a call helps. */
tnr_status tnri_fail_dtype(const char *op, tnr_dtype expected, tnr_dtype found) TNRI_COLD;
tnr_status tnri_fail_out_dtype(const char *op, tnr_dtype expected, tnr_dtype found) TNRI_COLD;
tnr_status tnri_fail_enumeration(const char *op, const char *name, int value) TNRI_COLD;
tnr_status tnri_fail_unsupported(const char *op, tnr_dtype dtype) TNRI_COLD;
tnr_status tnri_fail_shape(const char *op, const char *what, int rank, const int64_t *expected, const tnr_view *found,
                           const char *advice) TNRI_COLD;

/* A caller's output, if there is one, has the dtype and shape of the result. */
static inline tnr_status tnri_check_into(const char *op, const tnr_view_mut *into, tnr_dtype dtype, int rank,
                                         const int64_t *shape)
{
    if (into != NULL) {
        TNRI_CHECK_VIEW(op, "out", &into->view);
        if (TNRI_UNLIKELY(into->view.dtype != dtype)) {
            return tnri_fail_out_dtype(op, dtype, into->view.dtype);
        }
        if (TNRI_UNLIKELY(!tnri_has_shape(&into->view, rank, shape))) {
            return tnri_fail_shape(op, "out", rank, shape, &into->view, "");
        }
    }
    return TNR_OK;
}

/* Enter an axis of a list in a mask of them: TNR_ERR_BOUNDS, TNR_ERR_ARGUMENT for one that is there already. */
tnr_status tnri_axis_enter(const char *op, int axis, int rank, uint64_t *axes);

/* A mask of all the axes of a list: also TNR_ERR_ARGUMENT for a missing list and a negative count. */
tnr_status tnri_axes_enter(const char *op, const int *axes, int axis_count, int rank, uint64_t *entered);

#endif /* TENURE_ENGINE_INTERNAL_H */
