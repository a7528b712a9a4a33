/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines that are not of CPUs. The core keeps every check of descriptors, dtypes and shapes, the leases, overlap and the ledger; where
 * bytes are touched a *device table* takes over, which a companion library fills in. Not installed, not for programs.
 *
 * A call: leases without a mapping -> the new tensor -> open -> operations -> close -> leases back -> the new tensor exists. Everything
 * between open and close goes in one lane of the device, one thing after the other; a call may return before it has run. All under the
 * engine's rule of one thread.
 *
 * Addresses are the device's, and never read or written here. Strides count elements, steps bytes. No shape that is handed over has an extent
 * of 0, but where it says so.
 */
#ifndef TENURE_ENGINE_DEVICE_H
#define TENURE_ENGINE_DEVICE_H

#include "../storage/storage.h"
#include "tenure/engine.h"

/* ---- What is asked for ---------------------------------------------------------------------------------------------------------------- */

/* Elementwise operations. Greater is less with the inputs exchanged. */
typedef enum tnri_elementwise_code {
    TNRI_DO_NOTHING,
    TNRI_DO_ADD,
    TNRI_DO_SUB,
    TNRI_DO_MUL,
    TNRI_DO_DIV,
    TNRI_DO_REM,
    TNRI_DO_POW,
    TNRI_DO_NEG,
    TNRI_DO_ABS,
    TNRI_DO_SIGN,
    TNRI_DO_CONJ,
    TNRI_DO_MAXIMUM,
    TNRI_DO_MINIMUM,
    TNRI_DO_CLAMP,
    TNRI_DO_SELECT,
    TNRI_DO_EQUAL,
    TNRI_DO_NOT_EQUAL,
    TNRI_DO_LESS,
    TNRI_DO_LESS_EQUAL,
    TNRI_DO_CAST,
    TNRI_DO_EXP,
    TNRI_DO_LOG,
    TNRI_DO_SIN,
    TNRI_DO_COS,
    TNRI_DO_TANH,
    TNRI_DO_SQRT,
    TNRI_DO_RSQRT,
    TNRI_DO_EXPM1,
    TNRI_DO_LOG1P,
    TNRI_DO_END
} tnri_elementwise_code;

typedef enum tnri_reduce_op {
    TNRI_REDUCE_SUM,
    TNRI_REDUCE_PROD,
    TNRI_REDUCE_MAX,
    TNRI_REDUCE_MIN,
    TNRI_REDUCE_ALL,
    TNRI_REDUCE_ANY,
    TNRI_REDUCE_NORM,
    TNRI_REDUCE_END
} tnri_reduce_op;

/* One elementwise operation; [0] is what is written. An output is apart from each input, or the very same elements. */
typedef struct tnri_device_map {
    const char *op;
    tnri_elementwise_code code;
    int inputs;
    tnr_dtype from; /* of the last input */
    tnr_dtype to;   /* of what is written */
    int lifted;     /* 1 or 2: that input is one real, of from's precision, that counts as complex; 0: none is */
    int rank;
    const int64_t *shape;
    char *data[4];
    const int64_t *strides[4]; /* all 0 for an input that is one element */
    size_t widths[4];          /* bytes of an element */
} tnri_device_map;

/* What integers an operation must not meet. */
typedef enum tnri_device_find { TNRI_FIND_ZERO, TNRI_FIND_NEGATIVE } tnri_device_find;

/* A copy; `source` NULL: zeros. Target and source are apart. */
typedef struct tnri_device_copy {
    size_t width; /* bytes of an element */
    int rank;
    const int64_t *shape;
    char *target;
    const int64_t *target_strides;
    const char *source;
    const int64_t *source_strides;
} tnri_device_copy;

/*
 * Windows of a tensor, found by index vectors, and the same side by side, "the result". Entries are held to 0..limit. Lists by entry, batch
 * axis, or window axis.
 */
typedef struct tnri_device_windows {
    bool wide;    /* indices are i64, else i32 */
    bool overlap; /* windows of several vectors may overlap in part */
    int64_t vectors;
    const char *indices;
    int entries;                 /* of a vector */
    int64_t entry_step;          /* of indices, from one entry of a vector to the next */
    const int64_t *limits;       /* last place that fits, by entry */
    const int64_t *tensor_steps; /* by entry */
    int batch_rank;              /* the vectors' own axes, the first one fastest */
    const int64_t *batch_shape;
    const int64_t *batch_indices; /* steps of indices */
    const int64_t *batch_result;  /* steps of the result */
    int window_rank;
    const int64_t *window_shape;
    const int64_t *window_tensor; /* strides */
    const int64_t *window_result; /* strides */
    size_t width;
    char *tensor;
    char *result;
} tnri_device_windows;

/* One group of a product's axes: steps in elements; the first axis varies fastest. rank 0: one index; size: of all extents. */
typedef struct tnri_device_axes {
    int rank;
    int64_t size;
    const int64_t *extents;
    const int64_t *a;
    const int64_t *b;
    const int64_t *c;
} tnri_device_axes;

/* c = alpha * a * b + beta * c, summed over k. k.size 0 or alpha 0: a and b are not read. */
typedef struct tnri_device_product {
    const char *op;
    tnr_dtype dtype;
    tnri_device_axes m, n, k, batch; /* k alone may have a size of 0 */
    bool overwrite;                  /* beta is 0: c is not read */
    bool conjugate_a;
    bool conjugate_b;
    tnr_c64 alpha; /* as the dtype rounds them; real for real dtypes */
    tnr_c64 beta;
    const void *a;
    const void *b;
    void *c;
} tnri_device_product;

/* ---- The table ------------------------------------------------------------------------------------------------------------------------ */

typedef struct tnri_device_table {
    size_t size;
    const char *kind; /* "cuda" */
    /*
     * Leases are had, and operands[i].data are places (storage.h) or host addresses; data NULL: empty. Check that the device reaches them
     * all (TNR_ERR_RESIDENCY, TNR_ERR_FOREIGN, naming the call to make), order the lane behind what ran before, and make data the device's
     * addresses. `write` is set for what is written, [0]. A failure leaves nothing open.
     */
    tnr_status (*open)(void *state, const char *op, tnri_operand *operands, int count);
    /* Always after open. Gives `status` on, or what failed now. */
    tnr_status (*close)(void *state, tnr_status status);
    /* All of these between open and close. TNR_ERR_UNSUPPORTED for what the device does not have. */
    tnr_status (*map)(void *state, const tnri_device_map *map);
    /* Number, in the view's column-major order, of the first element that is found; -1: none. Waits for the device. */
    tnr_status (*find)(void *state, tnri_device_find what, const tnr_view *view, const char *data, int64_t *found);
    tnr_status (*copy)(void *state, const tnri_device_copy *copy);
    /* All elements of a layout become one value. */
    tnr_status (*fill)(void *state, size_t width, int rank, const int64_t *shape, char *target, const int64_t *strides,
                       const void *value);
    /* A copy whose axes 0 and 1 are rows and columns: i >= j - k stays, or with upper i <= j - k, and the rest is zero. */
    tnr_status (*triangle)(void *state, const tnri_device_copy *copy, int64_t k, bool upper);
    /* The elements of one layout in column-major order to those of another, of as many. */
    tnr_status (*reshape)(void *state, const tnr_view *out, char *target, const tnr_view *a, const char *source);
    /* spread: strides of the output by a's axes, 0 on those that are summed. No extent is 0. */
    tnr_status (*reduce)(void *state, tnri_reduce_op op, const tnr_view *a, const int64_t *spread, const char *source,
                         tnr_dtype to, char *target);
    /* Where along the axis the best is, as i64: the first of equal ones, the first NaN before all. */
    tnr_status (*arg)(void *state, bool smallest, const tnr_view *a, int axis, const tnr_view *out, const char *source,
                      char *target);
    /* The first entry outside of 0..limit: vector * entries + entry, and its value; -1: none. Waits for the device. */
    tnr_status (*stray)(void *state, const tnri_device_windows *windows, int64_t *place, int64_t *value);
    /* result = tensor; tensor += result, what is added to one element in the order of the vectors. */
    tnr_status (*gather)(void *state, const tnri_device_windows *windows);
    tnr_status (*scatter)(void *state, tnr_dtype dtype, const tnri_device_windows *windows);
    tnr_status (*product)(void *state, const tnri_device_product *product);
    /* Where the number 1 of a dtype with products is. */
    tnr_status (*one)(void *state, tnr_dtype dtype, const char **data);
    /* At least `bytes` bytes, aligned to 256, kept until more are wanted or the engine ends; contents undefined. Also when nothing is open. */
    tnr_status (*scratch)(void *state, uint64_t bytes, void **data);
    /* kind, device number and what else it knows of *info, which is filled in already. */
    void (*describe)(const void *state, tnr_engine_info *info);
    /* The engine has ended, its pool is closed: give everything back, the state included. */
    void (*destroy)(void *state);
} tnri_device_table;

/* ---- For companions ---------------------------------------------------------------------------------------------------------------------- */

/* Raised with every change of this table or of a struct above. */
#define TNRI_ENGINE_PROVIDER_VERSION 1U

/* What an engine of a device is made of. */
typedef struct tnri_device_parts {
    const tnri_device_table *table;
    void *state;
    int number;                /* of the device */
    tnr_domain *output;        /* where outputs are made */
    tnr_domain *pool;          /* the engine's own, closed when it ends; NULL: none */
    uint64_t plan_cache_bytes; /* as tnr_engine_options has them */
} tnri_device_parts;

typedef struct tnri_engine_provider {
    /* -- checked first -- */
    uint32_t version;
    uint32_t max_rank;
    size_t size;
    size_t table_size;
    /* An engine in `home`, which the host reaches directly. Ended by tnr_engine_destroy, which calls destroy. Failed: destroy was not called. */
    tnr_status (*make)(const char *op, tnr_domain *home, const tnri_device_parts *parts, tnr_engine **engine);
    /* The state of an engine with this table; NULL: another kind of engine. */
    void *(*state)(const tnr_engine *engine, const tnri_device_table *table);
    /* Scratch that a device has taken, for the ledger of the domain that it comes from. */
    void (*ledger_scratch)(tnr_domain *domain, uint64_t bytes);
    /* Axes dropped, ordered, turned and merged for all operands: pure (storage.h). */
    bool (*nest_make)(tnri_nest *nest, int rank, const int64_t *shape, int count, const tnri_nest_operand *operands);
} tnri_engine_provider;

/* The one symbol. */
extern TNR_API const tnri_engine_provider tnr_engine_provider;

#endif /* TENURE_ENGINE_DEVICE_H */
