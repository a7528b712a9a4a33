/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recipes: the operations of a contraction or einsum, with everything chosen but the data.
 *
 *   what is asked for -> equation, path, plan (einsum_internal.h) -> steps, one at a time -> run at once
 *                                                                                     or -> a recipe, which is run any number of times
 *
 * A recipe is one block of bytes without addresses of data in it: a plan has one behind it, and so has every entry of an engine's cache. A
 * step in it takes what its axes take, not what a product could have of them.
 */
#ifndef TENURE_ENGINE_RECIPE_INTERNAL_H
#define TENURE_ENGINE_RECIPE_INTERNAL_H

#include "einsum_internal.h"
#include "team_internal.h"

/* ---- What is asked for ------------------------------------------------------------------------------------------------------------- */

/* A call, or a plan to be made, as its caller described it. */
typedef struct tnri_asked {
    const char *op;        /* begins texts of failures */
    bool pair;             /* a contraction of two */
    const char *labels[3]; /* of a, b and the result; of an einsum the first is its equation */
    const tnr_view *const *operands;
    int count;
    const tnr_view *out; /* the layout that is written; NULL: that of a new tensor */
    /* Set by tnri_asked_take. */
    tnr_einsum_options options;
    uint64_t conjugate; /* operands that are */
    tnri_finish finish; /* of the last step */
} tnri_asked;

/* Descriptors and options, which may be NULL and are the contraction's or the einsum's, checked. */
tnr_status tnri_asked_take(tnri_asked *asked, const tnr_product_options *product, const tnr_einsum_options *einsum);

/* ---- Keys (plan_key.c): what must be the same for a recipe to be the right one ---------------------------------------------------------- */

/*
 * Labels, dtype, ranks, shapes, strides (0 along extents of 1, and where there are no elements), conjugates, mode or path, and of alpha and
 * beta whether they are 0 or 1. Whole words of 8 bytes, without gaps.
 */

/* Characters of the equation of so many operands at most, with the zero at its end; their ranks and a path's pairs; bytes of the key. */
#define TNRI_KEY_TEXT(operands) ((operands) * (TNR_MAX_RANK + 1U) + TNR_MAX_RANK + 2U)
#define TNRI_KEY_NUMBERS(operands) ((operands) > 1U ? 3U * (operands)-2U : 3U)
#define TNRI_KEY_MOST(operands)                                                    \
    (24U + (TNRI_KEY_TEXT(operands) + TNRI_KEY_NUMBERS(operands) + 7U) / 8U * 8U + \
     ((operands) + 1U) * 16U * TNR_MAX_RANK)

/* Bytes of the key, at most TNRI_KEY_MOST of the operands' number; 0 where what is asked for cannot be valid. */
uint64_t tnri_key_make(const tnri_asked *asked, uint64_t *key);

/* The same of the same, without making it. */
uint64_t tnri_key_bytes(const tnri_asked *asked);

/* TNR_OK when these are what the key, which has a view as output, was made of; out NULL: not looked at. Views are plausible. */
tnr_status tnri_key_check(const char *op, const uint64_t *key, const tnr_view *const *operands, int count,
                          const tnr_view *out);

/* Views with the key's dtype and shapes, all else 0, and its labels as an equation ended by a zero. Answers the operands' number. */
int tnri_key_operands(const uint64_t *key, tnr_view *views, const char **equation);

/* ---- Steps (recipe_steps.c, recipe.c) --------------------------------------------------------------------------------------------------- */

/* What a step reads or writes. */
typedef enum tnri_where { TNRI_AT_OPERAND, TNRI_IN_SPAN, TNRI_AT_ONE, TNRI_NOWHERE } tnri_where;

typedef struct tnri_place {
    uint64_t at; /* number of the operand, 0 being the result, or byte in the span */
    tnri_where where;
} tnri_place;

typedef enum tnri_step_kind { TNRI_STEP_PRODUCT, TNRI_STEP_SUM, TNRI_STEP_COPY } tnri_step_kind;

/*
 * One operation, about to be run or stored: a product, or a sum or copy. Products are large, and what runs a sum has no room on the stack
 * for one. Entries of axes beyond ranks stay unset.
 */
typedef struct tnri_step_product {
    bool last; /* it ends with the call's alpha and beta */
    tnri_place a, b, c;
    tnri_product product; /* without data */
} tnri_step_product;

typedef struct tnri_step_sum {
    tnri_step_kind kind; /* no product */
    tnri_place a, c;
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK]; /* in a */
    int64_t spread[TNR_MAX_RANK];  /* in c; 0 along summed axes */
} tnri_step_sum;

/* What steps are made of. */
typedef struct tnri_made_of {
    const tnri_asked *asked;
    const int64_t *out_strides;
    tnri_equation equation;
    tnri_einsum_plan plan;
    int steps;
} tnri_made_of;

/* Equation, path and operations; *path, which may be NULL, is for reports. out_strides are left unset. */
tnr_status tnri_made_of_take(const tnri_asked *asked, tnri_made_of *of, tnri_path *path);

/* Which of the two step `number` is; and make it. */
bool tnri_step_is_product(const tnri_made_of *of, int number);
void tnri_step_product_make(const tnr_engine *engine, const tnri_made_of *of, int number, tnri_step_product *step);
void tnri_sum_step_make(const tnri_made_of *of, int number, tnri_step_sum *step);

/* Where the data of one run are. */
typedef struct tnri_run {
    tnr_engine *engine;
    const tnri_company *company; /* NULL, or whose first it is: products are made by all of them */
    tnr_dtype dtype;
    const tnri_finish *finish;
    const tnri_operand *operands; /* leased; the result first */
} tnri_run;

/* All steps one after the other, stored nowhere. */
tnr_status tnri_made_of_run(const tnri_made_of *of, const tnri_run *run);

/* ---- Recipes (recipe.c) ------------------------------------------------------------------------------------------------------------------- */

typedef struct tnri_recipe {
    uint64_t bytes;  /* with the steps, which follow */
    uint64_t span;   /* scratch for intermediates */
    uint64_t behind; /* and most for products, on every lane that the engine has */
    int32_t steps;
    int32_t rank; /* of the result */
    int64_t shape[TNR_MAX_RANK];
} tnri_recipe;

/* Bytes that suffice for a recipe; and for one of so many operands, whatever their labels. */
uint64_t tnri_recipe_room(const tnri_made_of *of);
uint64_t tnri_recipe_most(int operands);

/* Make it in a block of so many bytes. */
void tnri_recipe_make(const tnr_engine *engine, const tnri_made_of *of, tnri_recipe *recipe);

/* Before the first write, it fails only where scratch is missing. */
tnr_status tnri_recipe_run(const tnri_recipe *recipe, const tnri_run *run);

/* ---- Calls (einsum.c) ----------------------------------------------------------------------------------------------------------------------- */

/* Operands and the output leased, or the output made; operands[0] is what is written. */
typedef struct tnri_held {
    const int64_t *out_strides;
    int count; /* of inputs */
    tnri_operand operands[1 + TNR_EINSUM_OPERANDS];
    tnri_output output;
} tnri_held;

/* `shape`: of a new tensor. */
tnr_status tnri_held_begin(const char *op, tnr_engine *engine, const tnr_view *const *operands, int count,
                           bool overwrite, int rank, const int64_t *shape, tnri_target target, tnri_held *held);
tnr_status tnri_held_end(tnr_engine *engine, tnri_held *held, tnri_target target, tnr_status status);

/* An ordinary call, inside the engine: by the cache if there is one. */
tnr_status tnri_asked_run(tnr_engine *engine, const tnri_asked *asked, tnri_target target);

/* The same by several engines, without the cache. */
tnr_status tnri_asked_run_by(const tnri_company *company, const tnri_asked *asked, tnri_target target);

/* ---- The cache (plan_cache.c) ------------------------------------------------------------------------------------------------------------- */

/* Bytes of the block for these options: 0 where they are too few for any plan. */
uint64_t tnri_plan_cache_bytes(uint64_t wanted);

/* In an empty block of so many bytes. */
struct tnri_plan_cache *tnri_plan_cache_make(void *block, uint64_t bytes);

/* The recipe of a key, or NULL. */
const tnri_recipe *tnri_plan_cache_find(struct tnri_plan_cache *cache, const uint64_t *key, uint64_t key_bytes);

/*
 * Room for a recipe of at most so many bytes, where the oldest plans were; NULL where the cache is too small for it. It is in the cache
 * once it is made and kept.
 */
tnri_recipe *tnri_plan_cache_room(struct tnri_plan_cache *cache, const uint64_t *key, uint64_t key_bytes,
                                  uint64_t room);
void tnri_plan_cache_keep(struct tnri_plan_cache *cache, const tnri_recipe *recipe);

#endif /* TENURE_ENGINE_RECIPE_INTERNAL_H */
