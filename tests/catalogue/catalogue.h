/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one catalogue of operations. A row says what an operation is called, which dtypes it has, how its forms are called,
 * which shapes it takes, and what it means: a naive model on values at indices. Property, domain, fault and refusal tests walk
 * the rows, so a new operation is one more row.
 *
 * Operands are made in any domain and layout. Bytes of an owner that its view does not reach are NaNs (or -1), so that
 * reading or writing beside the view shows.
 */
#ifndef TENURE_TESTS_CATALOGUE_H
#define TENURE_TESTS_CATALOGUE_H

#include "tenure/tenure.h"

/* Highest rank that random shapes have. */
#define CATALOGUE_RANK 5
#define CATALOGUE_INPUTS 4

/* ---- Random numbers ---------------------------------------------------------------------------------------------------------- */

typedef struct catalogue_random {
    uint64_t state;
} catalogue_random;

/* Seed from TENURE_TEST_SEED, else `fallback`; printed. */
catalogue_random catalogue_seed(uint64_t fallback);
uint64_t catalogue_next(catalogue_random *random);
/* 0 <= result < limit. */
int64_t catalogue_below(catalogue_random *random, int64_t limit);

/* ---- Values ------------------------------------------------------------------------------------------------------------------- */

/* One element. Floats use re and im; integers and bool use integer. */
typedef struct catalogue_value {
    long double re;
    long double im;
    int64_t integer;
} catalogue_value;

/* Elements in column-major order. scale[i], for floats, is what errors of element i are measured by. */
typedef struct catalogue_array {
    tnr_dtype dtype;
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t count;
    catalogue_value *values;
    long double *scale;
} catalogue_array;

catalogue_array catalogue_array_make(tnr_dtype dtype, int rank, const int64_t *shape);
void catalogue_array_free(catalogue_array *array);
/* Position of an index in values; indices beyond `rank` are ignored. */
int64_t catalogue_position(const catalogue_array *array, const int64_t *index);
/* Step an index through a shape, first axis fastest; false after the last. */
bool catalogue_step(int rank, const int64_t *shape, int64_t *index);

static inline bool catalogue_is_complex(tnr_dtype dtype) { return dtype == TNR_C32 || dtype == TNR_C64; }
static inline bool catalogue_is_float(tnr_dtype dtype) { return dtype >= TNR_F32 && dtype <= TNR_C64; }

/* ---- Rows --------------------------------------------------------------------------------------------------------------------- */

typedef struct catalogue_op catalogue_op;

/* One use of an operation: shapes and parameters. */
typedef struct catalogue_call {
    const catalogue_op *op;
    tnr_dtype dtype;                         /* the one that the row's mask lists */
    tnr_dtype input_dtype[CATALOGUE_INPUTS]; /* dtype unless the row's choose says otherwise */
    tnr_dtype output_dtype;                  /* likewise */
    int input_rank[CATALOGUE_INPUTS];
    int64_t input_shape[CATALOGUE_INPUTS][TNR_MAX_RANK];
    int rank; /* of the output */
    int64_t shape[TNR_MAX_RANK];
    int axes[TNR_MAX_RANK];
    int axis_count;
    bool reversed_axes; /* pass NULL for axes */
    tnr_product_options matmul;
    char labels[CATALOGUE_INPUTS][TNR_MAX_RANK + 1]; /* of the inputs and then the output */
    tnr_comparison comparison;
    int64_t number; /* the diagonal of a triangle, and the like */
    tnr_range ranges[TNR_MAX_RANK];
    tnr_padding paddings[TNR_MAX_RANK];
    tnr_index_options index;
    bool reads_output; /* the _into form counts what is in the output */
} catalogue_call;

#define CATALOGUE_BIT(dtype) (1U << (dtype))
#define CATALOGUE_REAL (CATALOGUE_BIT(TNR_F32) | CATALOGUE_BIT(TNR_F64))
#define CATALOGUE_COMPLEX (CATALOGUE_BIT(TNR_C32) | CATALOGUE_BIT(TNR_C64))
#define CATALOGUE_FLOAT (CATALOGUE_REAL | CATALOGUE_COMPLEX)
#define CATALOGUE_INTEGER (CATALOGUE_BIT(TNR_I32) | CATALOGUE_BIT(TNR_I64))
#define CATALOGUE_NUMBER (CATALOGUE_FLOAT | CATALOGUE_INTEGER)
#define CATALOGUE_ALL (CATALOGUE_NUMBER | CATALOGUE_BIT(TNR_BOOL))

/* Layouts of an operand; BROADCAST is for inputs only. WILD: strides of axes of extent 1, which mean nothing, are huge. */
enum {
    CATALOGUE_COMPACT = 1,
    CATALOGUE_STRIDED = 2,
    CATALOGUE_BACKWARDS = 4,
    CATALOGUE_PERMUTED = 8,
    CATALOGUE_BROADCAST = 16,
    CATALOGUE_WILD = 32,
    CATALOGUE_ANY_OUTPUT = 47,
    CATALOGUE_ANY_INPUT = 63
};

/* Inputs whose very elements the output may be, as a mask. */
#define CATALOGUE_IN_PLACE(input) (1U << (input))
#define CATALOGUE_IN_PLACE_ANY 15U

/* Rules of the refusal tests that an operation is exempt from. */
enum {
    CATALOGUE_FREE_OUTPUT_DTYPE = 1, /* the _into form takes any dtype of out */
    CATALOGUE_FREE_OUTPUT_SHAPE = 2, /* the _into form takes shapes of out that the test thinks wrong */
    CATALOGUE_FREE_INPUT_SHAPES = 4, /* later inputs need not have the first one's shape */
    CATALOGUE_FREE_INPUT_DTYPES = 8  /* inputs may have the dtypes that the test thinks wrong */
};

/* One row; members that are left out are 0. */
struct catalogue_op {
    const char *name; /* every error text has it */
    int arity;
    unsigned dtypes;        /* mask of CATALOGUE_BIT */
    unsigned layouts;       /* of inputs */
    unsigned in_place;      /* mask of CATALOGUE_IN_PLACE; only where the two dtypes are the same */
    double tolerance;       /* in units of the dtype's epsilon times scale; 0: exact */
    tnr_copy_reason copies; /* the ledger's reason, TNR_COPY_REASON_END when it is no copy */
    /* Shape rule: fill input and output shapes and parameters; extents up to `limit`, zeros among them. */
    void (*choose)(catalogue_random *random, int64_t limit, catalogue_call *call);
    /* Change a value that was drawn for an input, where not any value will do; NULL: any. It is rounded to the dtype. */
    void (*adjust)(catalogue_random *random, const catalogue_call *call, int input, catalogue_value *value);
    /* The forms; NULL where the operation has none. */
    tnr_status (*make)(tnr_engine *engine, const catalogue_call *call, const tnr_view *inputs, tnr_tensor **out);
    tnr_status (*into)(tnr_engine *engine, const catalogue_call *call, const tnr_view *inputs, const tnr_view_mut *out);
    /* Fill output->values, and scale for floats. They hold the old output when call->reads_output. */
    void (*model)(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output);
    unsigned exempt; /* CATALOGUE_FREE_... */
    bool specials;   /* float inputs have infinities, NaNs and both zeros among them */
    bool scratch;    /* may take the engine's scratch */
};

/* The rows of one family: ops_<family>.c. */
typedef struct catalogue_family {
    const catalogue_op *ops;
    int count;
} catalogue_family;

extern const catalogue_family catalogue_elementwise;
extern const catalogue_family catalogue_reduction;
extern const catalogue_family catalogue_structure;
extern const catalogue_family catalogue_zeros;
extern const catalogue_family catalogue_index;
extern const catalogue_family catalogue_product;
extern const catalogue_family catalogue_contract;

/* All rows, from 0; NULL after the last. */
const catalogue_op *catalogue_op_at(int index);

/* TNR_F64 when the row has it, else its first dtype. */
tnr_dtype catalogue_plain_dtype(const catalogue_op *op);

/* A random use of an operation that has the dtype. */
catalogue_call catalogue_choose(catalogue_random *random, const catalogue_op *op, tnr_dtype dtype, int64_t limit);

/* A fixed, non-empty use: the first random one whose inputs and output have at least two elements, rank-0 operands apart. */
catalogue_call catalogue_plain_call(const catalogue_op *op, tnr_dtype dtype);

/* ---- Operands ------------------------------------------------------------------------------------------------------------------ */

/* An owner, a view of part of it, and what both should hold. */
typedef struct catalogue_operand {
    tnr_tensor *tensor;
    tnr_view_mut view;     /* of an input, only view.view may be used unless it was made distinct */
    catalogue_array array; /* what the view sees */
    unsigned char *raw;    /* all bytes of the owner */
    uint64_t raw_bytes;
    int64_t first; /* the view's layout inside raw, in elements */
    int64_t strides[TNR_MAX_RANK];
} catalogue_operand;

/* What is in an operand to begin with. */
typedef enum catalogue_content { CATALOGUE_VALUES, CATALOGUE_DIRT } catalogue_content;

/*
 * Make an operand in a host-mappable domain. `distinct`: it may be written, so no broadcasting. DIRT: NaN or -1 everywhere.
 */
void catalogue_operand_make(catalogue_random *random, tnr_domain *domain, tnr_dtype dtype, int rank,
                            const int64_t *shape, unsigned layouts, bool distinct, catalogue_content content,
                            catalogue_operand *operand);
/* An input or the output of a call. */
void catalogue_input_make(catalogue_random *random, tnr_domain *domain, const catalogue_call *call, int input,
                          unsigned layouts, bool distinct, catalogue_operand *operand);
void catalogue_output_make(catalogue_random *random, tnr_domain *domain, const catalogue_call *call,
                           catalogue_content content, catalogue_operand *operand);
/* Release the owner, if it is still there, and the rest. */
void catalogue_operand_free(catalogue_operand *operand);

/* The owner's bytes are those of raw: nothing was written. */
void catalogue_operand_unchanged(const catalogue_operand *operand);

/* The view holds `expected` within the call's tolerance, and every byte beside it is as it was. */
void catalogue_operand_check(const catalogue_call *call, const catalogue_operand *operand,
                             const catalogue_array *expected);

/* The same for a tensor that the allocating form made. */
void catalogue_tensor_check(const catalogue_call *call, tnr_tensor *tensor, const catalogue_array *expected);

/* Model of a call on operands; `old` (may be NULL) is the output that a call which reads it finds. */
catalogue_array catalogue_expect(const catalogue_call *call, const catalogue_operand *inputs,
                                 const catalogue_array *old);

/* Status is OK, else the test fails with the library's text. */
void catalogue_ok(tnr_status status, const char *what);

/* ---- Domains supplied by a program ----------------------------------------------------------------------------------------------- */

/* Orders to and records of a test's own domain. Outlives it. */
typedef struct catalogue_probe {
    tnr_host_access access;
    int64_t fail_allocate; /* the allocate that fails, counted from 1 at the next one; 0: none */
    int64_t fail_map;      /* likewise */
    int64_t fail_unmap;    /* likewise: the mapping ends, but what was written is lost */
    int64_t live;          /* blocks out */
    int64_t open_maps;
    int64_t maps;
    int64_t misuse;                /* unmap without map, release of a mapped or unknown block */
    void (*on_map)(void *context); /* called inside map; may be NULL */
    void (*on_unmap)(void *context);
    void *context;
} catalogue_probe;

/* A domain over the C library that obeys a probe. Mapped access hands out copies, which unmap writes back. */
void catalogue_probe_domain(tnr_domain *home, catalogue_probe *probe, tnr_domain **domain);

#endif /* TENURE_TESTS_CATALOGUE_H */
