/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a recipe was made for, as words that are compared: a head, then characters (the equation, ranks, the path's pairs) up to a whole
 * word, then extents and strides of every operand and of the output if that is a view.
 *
 * The equation of a contraction of two is its labels with the signs of an equation between: no call whose labels have such signs in them
 * is valid, so none is in a cache.
 */
#include "recipe_internal.h"

typedef struct key_head {
    uint64_t conjugate;
    uint32_t words; /* of the key */
    uint16_t text;  /* characters of the equation, with the zero at its end */
    uint8_t count;
    uint8_t dtype;
    uint8_t pair;
    uint8_t mode;
    uint8_t steps; /* of a given path */
    uint8_t view;  /* the output is a view */
    uint8_t out_rank;
    uint8_t factors; /* of alpha and beta, what the choice of steps may look at */
    uint8_t zero[2];
} key_head;

enum { HEAD_WORDS = sizeof(key_head) / sizeof(uint64_t) };

_Static_assert(sizeof(key_head) == 24, "no gaps");

static uint64_t words_of(uint64_t characters) { return (characters + 7) / 8; }

/* ---- Measuring ---------------------------------------------------------------------------------------------------------------------------- */

/* Characters of a text, counted as far as `most`. */
static uint64_t length_of(const char *text, uint64_t most)
{
    uint64_t length = 0;
    while (length < most && text[length] != '\0') {
        ++length;
    }
    return length;
}

uint64_t tnri_key_bytes(const tnri_asked *asked)
{
    const uint64_t most = TNRI_KEY_TEXT((uint64_t)asked->count);
    const uint64_t count = (uint64_t)asked->count;
    uint64_t text = asked->pair ? sizeof ",->" : 1;
    for (int i = 0; i < (asked->pair ? 3 : 1); ++i) {
        if (asked->labels[i] == NULL) {
            return 0;
        }
        text += length_of(asked->labels[i], most);
    }
    if (text > most || asked->options.step_count > asked->count) {
        return 0;
    }
    uint64_t axes = asked->out != NULL ? (uint64_t)asked->out->rank : 0;
    for (int i = 0; i < asked->count; ++i) {
        axes += (uint64_t)asked->operands[i]->rank;
    }
    return 8 * (HEAD_WORDS + words_of(text + count + 2U * (uint64_t)asked->options.step_count) + 2 * axes);
}

/* ---- Making ------------------------------------------------------------------------------------------------------------------------------ */

/* Append a text without its zero; NULL when it does not end before `end`. */
static char *put_text(char *at, const char *end, const char *text)
{
    for (; *text != '\0'; ++text) {
        if (at == end) {
            return NULL;
        }
        *at++ = *text;
    }
    return at;
}

static char *put_equation(const tnri_asked *asked, char *at)
{
    const char *end = at + TNRI_KEY_TEXT((size_t)asked->count) - 1;
    if (asked->labels[0] == NULL || (asked->pair && (asked->labels[1] == NULL || asked->labels[2] == NULL))) {
        return NULL;
    }
    at = put_text(at, end, asked->labels[0]);
    if (asked->pair) {
        at = at != NULL ? put_text(at, end, ",") : NULL;
        at = at != NULL ? put_text(at, end, asked->labels[1]) : NULL;
        at = at != NULL ? put_text(at, end, "->") : NULL;
        at = at != NULL ? put_text(at, end, asked->labels[2]) : NULL;
    }
    return at;
}

static bool has_no_element(const tnr_view *view)
{
    for (int i = 0; i < view->rank; ++i) {
        if (view->shape[i] == 0) {
            return true;
        }
    }
    return false;
}

static uint64_t *put_layout(uint64_t *at, const tnr_view *view)
{
    const bool empty = has_no_element(view);
    for (int i = 0; i < view->rank; ++i) {
        at[i] = (uint64_t)view->shape[i];
        at[view->rank + i] = empty || view->shape[i] == 1 ? 0 : (uint64_t)view->strides[i];
    }
    return at + 2 * (size_t)view->rank;
}

static uint8_t factors_of(const tnri_finish *finish)
{
    return (uint8_t)(1U * finish->plain | 2U * finish->overwrite | 4U * finish->add | 8U * finish->nothing);
}

uint64_t tnri_key_make(const tnri_asked *asked, uint64_t *key)
{
    const int pairs = asked->count > 1 ? asked->count - 1 : 1;
    const tnr_einsum_options *options = &asked->options;
    if (options->step_count > pairs || (unsigned)options->mode > TNR_EINSUM_GIVEN ||
        (options->step_count > 0 && options->steps == NULL)) {
        return 0;
    }
    key_head head = {.conjugate = asked->conjugate,
                     .count = (uint8_t)asked->count,
                     .dtype = (uint8_t)asked->operands[0]->dtype,
                     .pair = asked->pair,
                     .mode = (uint8_t)options->mode,
                     .steps = (uint8_t)options->step_count,
                     .view = asked->out != NULL,
                     .out_rank = (uint8_t)(asked->out != NULL ? asked->out->rank : 0),
                     .factors = factors_of(&asked->finish)};
    char *text = (char *)(key + HEAD_WORDS);
    char *at = put_equation(asked, text);
    if (at == NULL) {
        return 0;
    }
    *at++ = '\0';
    head.text = (uint16_t)(at - text);
    for (int i = 0; i < asked->count; ++i) {
        *at++ = (char)asked->operands[i]->rank;
    }
    for (int i = 0; i < options->step_count; ++i) {
        const tnr_einsum_step *step = &options->steps[i];
        if (step->a < 0 || step->a > INT8_MAX || step->b < TNR_NONE || step->b > INT8_MAX) {
            return 0;
        }
        *at++ = (char)step->a;
        *at++ = (char)step->b;
    }
    while ((at - text) % 8 != 0) {
        *at++ = '\0';
    }
    uint64_t *words = key + HEAD_WORDS + (at - text) / 8;
    for (int i = 0; i < asked->count; ++i) {
        words = put_layout(words, asked->operands[i]);
    }
    if (asked->out != NULL) {
        words = put_layout(words, asked->out);
    }
    head.words = (uint32_t)(words - key);
    memcpy(key, &head, sizeof head);
    return 8 * (uint64_t)head.words;
}

/* ---- Looking at ---------------------------------------------------------------------------------------------------------------------------- */

/* Ranks of the operands, and the words behind all characters. */
static const uint64_t *open_key(const uint64_t *key, key_head *head, const char **ranks)
{
    memcpy(head, key, sizeof *head);
    *ranks = (const char *)(key + HEAD_WORDS) + head->text;
    return key + HEAD_WORDS + words_of((uint64_t)head->text + head->count + 2U * (uint64_t)head->steps);
}

static tnr_status refuse(const char *op, int index, const tnr_view *view, tnr_dtype dtype, int rank,
                         const uint64_t *words)
{
    char room[TNRI_OPERAND_NAME];
    const char *name = index >= 0 ? tnri_operand_name(room, index) : "out";
    TNR_REQUIRE(view->dtype == dtype, TNR_ERR_DTYPE, "%s: %s is %s, and was %s when the plan was made", op, name,
                tnr_dtype_name(view->dtype), tnr_dtype_name(dtype));
    TNR_REQUIRE(view->rank == rank, TNR_ERR_SHAPE, "%s: %s has rank %d, and had %d when the plan was made", op, name,
                (int)view->rank, rank);
    for (int i = 0; i < rank; ++i) {
        TNR_REQUIRE((uint64_t)view->shape[i] == words[i], TNR_ERR_SHAPE,
                    "%s: %s has extent %lld on axis %d, and had %lld when the plan was made", op, name,
                    TNRI_LL(view->shape[i]), i, TNRI_LL(words[i]));
    }
    for (int i = 0; i < rank; ++i) {
        TNR_REQUIRE((uint64_t)view->strides[i] == words[rank + i] || view->shape[i] == 1, TNR_ERR_LAYOUT,
                    "%s: %s steps by %lld along axis %d, and by %lld when the plan was made", op, name,
                    TNRI_LL(view->strides[i]), i, TNRI_LL(words[rank + i]));
    }
    return TNR_OK;
}

static inline bool has_layout(const tnr_view *view, tnr_dtype dtype, int rank, const uint64_t *words)
{
    if (view->dtype != dtype || view->rank != rank) {
        return false;
    }
    for (int i = 0; i < rank; ++i) {
        if ((uint64_t)view->shape[i] != words[i] ||
            ((uint64_t)view->strides[i] != words[rank + i] && view->shape[i] != 1)) {
            return false;
        }
    }
    return true;
}

static tnr_status check_layout(const char *op, int index, const tnr_view *view, tnr_dtype dtype, int rank,
                               const uint64_t *words)
{
    if (TNRI_LIKELY(has_layout(view, dtype, rank, words))) {
        return TNR_OK;
    }
    if (view->dtype == dtype && view->rank == rank && has_no_element(view)) {
        tnr_view bare = *view; /* its strides do not matter */
        memset(bare.strides, 0, sizeof bare.strides);
        return refuse(op, index, &bare, dtype, rank, words);
    }
    return refuse(op, index, view, dtype, rank, words);
}

tnr_status tnri_key_check(const char *op, const uint64_t *key, const tnr_view *const *operands, int count,
                          const tnr_view *out)
{
    key_head head;
    const char *ranks;
    const uint64_t *words = open_key(key, &head, &ranks);
    const tnr_dtype dtype = (tnr_dtype)head.dtype;
    TNR_REQUIRE(count == head.count, TNR_ERR_ARGUMENT, "%s: number of operands: %d in the plan, %d given", op,
                head.count, count); /* before the list is looked at */
    TNR_REQUIRE(operands != NULL, TNR_ERR_ARGUMENT, "%s: the list of operands is NULL", op);
    for (int i = 0; i < count; ++i) {
        if (TNRI_UNLIKELY(!tnri_view_plausible(operands[i]))) {
            return tnri_operand_refuse(op, i, NULL, operands[i]);
        }
        TNR_TRY(check_layout(op, i, operands[i], dtype, ranks[i], words));
        words += 2 * (size_t)ranks[i];
    }
    return out != NULL ? check_layout(op, -1, out, dtype, head.out_rank, words) : TNR_OK;
}

int tnri_key_operands(const uint64_t *key, tnr_view *views, const char **equation)
{
    key_head head;
    const char *ranks;
    const uint64_t *words = open_key(key, &head, &ranks);
    for (int i = 0; i < head.count; ++i) {
        views[i] = (tnr_view){.dtype = (tnr_dtype)head.dtype, .rank = ranks[i]};
        for (int axis = 0; axis < ranks[i]; ++axis) {
            views[i].shape[axis] = (int64_t)words[axis];
        }
        words += 2 * (size_t)ranks[i];
    }
    *equation = (const char *)(key + HEAD_WORDS);
    return head.count;
}
