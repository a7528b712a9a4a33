/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In which order operands are best contracted in pairs. Pure: labels and extents in, pairs out.
 *
 * What a set of operands comes to does not depend on the order in which they met: it has the labels of the set that anything else has.
 * So the best path of a set is the best way to cut it in two, of which each has its own best path: dynamic programming over the
 * subsets, 3^n / 2 cuts, outer products included; as Pfeifer, Haegeman and Verstraete, "Faster identification of optimal contraction
 * sequences for tensor networks", Phys. Rev. E 90 (2014), who leave some out. Greedy: the pair whose result is smallest less what it takes
 * away, as Smith and Gray's opt_einsum (J. Open Source Softw. 3, 2018) does; outer products when nothing else is left.
 *
 * Labels of one operand alone are summed before it meets another, on every path: they do not count here.
 */
#include "einsum_internal.h"

/* ---- Extents ------------------------------------------------------------------------------------------------------------------- */

double tnri_path_elements(const tnri_equation *equation, uint64_t labels)
{
    double elements = 1.0;
    for (uint64_t rest = labels; rest != 0; rest &= rest - 1) {
        elements *= (double)equation->extents[tnri_lowest_bit(rest)];
    }
    return elements;
}

uint64_t tnri_path_left(const tnri_equation *equation, uint32_t set)
{
    uint64_t inside = 0;
    uint64_t outside = equation->out;
    for (int i = 0; i < equation->count; ++i) {
        if ((set >> i & 1U) != 0) {
            inside |= equation->operands[i];
        } else {
            outside |= equation->operands[i];
        }
    }
    return inside & outside;
}

/* Can a value have these labels? */
static bool fits(const tnri_equation *equation, uint64_t labels)
{
    return tnri_count_bits(labels & equation->longer) <= TNRI_EINSUM_RANK;
}

static tnr_status too_many_axes(const char *op)
{
    return tnri_fail(TNR_ERR_UNSUPPORTED, "%s: an intermediate of the path has more than %d axes", op,
                     TNRI_EINSUM_RANK);
}

/* ---- One after the other, and as told -------------------------------------------------------------------------------------------- */

static void left_to_right(int count, tnri_path *path)
{
    for (int i = 0; i + 1 < count; ++i) {
        path->a[i] = (i == 0 ? 0 : count + i - 1);
        path->b[i] = (i + 1);
    }
}

static tnr_status as_told(const char *op, int count, const tnr_einsum_options *options, tnri_path *path)
{
    const tnr_einsum_step *steps = options->steps;
    TNR_REQUIRE(steps != NULL && options->step_count == path->count, TNR_ERR_ARGUMENT,
                "%s: a path of %d operands has %d steps, found %d, or no list", op, count, path->count,
                options->step_count);
    if (count == 1) {
        TNR_REQUIRE(steps[0].a == 0 && steps[0].b == TNR_NONE, TNR_ERR_ARGUMENT,
                    "%s: the path of one operand is 0 and none, found %d and %d", op, steps[0].a, steps[0].b);
        return TNR_OK;
    }
    uint64_t there = (UINT64_C(1) << count) - 1;
    for (int i = 0; i < path->count; ++i) {
        const int a = steps[i].a;
        const int b = steps[i].b;
        TNR_REQUIRE(a >= 0 && b >= 0 && a < count + i && b < count + i && a != b && (there >> a & 1U) != 0 &&
                        (there >> b & 1U) != 0,
                    TNR_ERR_ARGUMENT, "%s: step %d of the path takes %d and %d: not there, or taken before", op, i, a,
                    b);
        there &= ~(UINT64_C(1) << a | UINT64_C(1) << b);
        there |= UINT64_C(1) << (count + i);
        path->a[i] = a;
        path->b[i] = b;
    }
    return TNR_OK;
}

/* ---- Greedy ------------------------------------------------------------------------------------------------------------------------ */

typedef struct greedy_value {
    uint32_t set;
    uint64_t labels;
    double elements;
    int number;
} greedy_value;

/* Multiplications of the path; negative when there is none. */
static double greedy(const tnri_equation *e, tnri_path *path)
{
    greedy_value values[TNR_EINSUM_OPERANDS];
    const uint32_t all = (uint32_t)((UINT64_C(1) << e->count) - 1);
    int left = e->count;
    for (int i = 0; i < left; ++i) {
        const uint64_t labels = tnri_path_left(e, UINT32_C(1) << i);
        values[i] = (greedy_value){UINT32_C(1) << i, labels, tnri_path_elements(e, labels), i};
    }
    double total = 0.0;
    for (int step = 0; step < path->count; ++step) {
        int best_i = -1;
        int best_j = -1;
        bool best_meets = false;
        double best_growth = 0.0;
        double best_work = 0.0;
        greedy_value best = {0};
        for (int i = 0; i < left; ++i) {
            for (int j = i + 1; j < left; ++j) {
                const uint32_t set = values[i].set | values[j].set;
                const uint64_t labels = set == all ? e->out : tnri_path_left(e, set);
                if (!fits(e, labels)) {
                    continue;
                }
                const bool meets = (values[i].labels & values[j].labels & e->longer) != 0;
                const double elements = tnri_path_elements(e, labels);
                /* outer products: the smallest */
                const double growth = meets ? elements - values[i].elements - values[j].elements : elements;
                const double work = tnri_path_elements(e, values[i].labels | values[j].labels);
                const bool better =
                    best_i < 0 || (meets && !best_meets) ||
                    (meets == best_meets && (growth < best_growth || (growth == best_growth && work < best_work)));
                if (better) {
                    best_i = i;
                    best_j = j;
                    best_meets = meets;
                    best_growth = growth;
                    best_work = work;
                    best = (greedy_value){set, labels, elements, e->count + step};
                }
            }
        }
        if (best_i < 0) {
            return -1.0;
        }
        path->a[step] = values[best_i].number;
        path->b[step] = values[best_j].number;
        total += best_work;
        values[best_i] = best;
        values[best_j] = values[--left];
    }
    return total;
}

/* ---- Exact ------------------------------------------------------------------------------------------------------------------------- */

/* Most operands that are searched for, and bits of a mask of labels that are looked up at once. Small builds have little stack. */
#if TNRI_SMALL
#define SEARCHED 6
#define CHUNK 2
#else
#define SEARCHED TNR_EINSUM_EXACT_OPERANDS
#define CHUNK 8
#endif
#define SETS (1 << SEARCHED)
#define HALF (SEARCHED / 2)
#define CHUNKS ((TNRI_LABELS + CHUNK - 1) / CHUNK)
#define CHUNK_MASK ((1U << CHUNK) - 1U)

/* What is known of all sets of operands. A set's bits are those of its operands. */
typedef struct exact_search {
    const tnri_equation *e;
    uint32_t all;
    int chunks;                          /* of masks of labels that are in use */
    double elements[CHUNKS][1 << CHUNK]; /* product of the extents of the labels in one chunk of a mask */
    uint64_t inside[2][1 << HALF];       /* labels of sets of the lower half of the operands, and of the upper */
    double work[SETS];                   /* multiplications of the best path; negative: none */
    double sizes[SETS];                  /* elements of its intermediates, which decide where multiplications do not */
    uint16_t part[SETS];                 /* one side of the last cut */
} exact_search;

static double elements_of(const exact_search *s, uint64_t labels)
{
    double elements = s->elements[0][labels & CHUNK_MASK];
    for (int i = 1; i < s->chunks; ++i) {
        labels >>= CHUNK;
        elements *= s->elements[i][labels & CHUNK_MASK];
    }
    return elements;
}

static uint64_t inside_of(const exact_search *s, uint32_t set)
{
    return s->inside[0][set & ((1U << HALF) - 1U)] | s->inside[1][set >> HALF];
}

static uint64_t left_of(const exact_search *s, uint32_t set)
{
    return inside_of(s, set) & (inside_of(s, s->all & ~set) | s->e->out);
}

static void table_labels(exact_search *s)
{
    const tnri_equation *e = s->e;
    s->chunks = e->labels > CHUNK ? (e->labels + CHUNK - 1) / CHUNK : 1;
    for (int chunk = 0; chunk < s->chunks; ++chunk) {
        const int labels = e->labels - CHUNK * chunk < CHUNK ? e->labels - CHUNK * chunk : CHUNK;
        double *table = s->elements[chunk];
        table[0] = 1.0;
        for (uint32_t mask = 1; mask < 1U << labels; ++mask) {
            table[mask] = table[mask & (mask - 1)] * (double)e->extents[CHUNK * chunk + (int)tnri_lowest_bit(mask)];
        }
    }
    memset(s->inside, 0, sizeof s->inside);
    for (int half = 0; half < 2; ++half) {
        const int first = half * HALF;
        const int operands = e->count - first < HALF ? e->count - first : HALF;
        uint64_t *table = s->inside[half];
        for (uint32_t set = 1; operands > 0 && set < 1U << operands; ++set) {
            table[set] = table[set & (set - 1)] | e->operands[first + (int)tnri_lowest_bit(set)];
        }
    }
}

/* The best cut of a set of two operands or more; all smaller sets are known. */
static void cut(exact_search *s, uint32_t set)
{
    const uint64_t labels = left_of(s, set);
    s->work[set] = -1.0;
    s->sizes[set] = 0.0;
    if (!fits(s->e, labels)) {
        return;
    }
    const double own = set == s->all ? 0.0 : elements_of(s, labels);
    const uint32_t lowest = set & (~set + 1U);
    const uint32_t others = set & ~lowest;
    for (uint32_t part = (others - 1U) & others;;
         part = (part - 1U) & others) { /* of those without the lowest: not all */
        const uint32_t one = part | lowest;
        const uint32_t other = set & ~one;
        if (s->work[one] >= 0.0 && s->work[other] >= 0.0) {
            const double before = s->work[one] + s->work[other];
            if (s->work[set] < 0.0 || before <= s->work[set]) {
                const double work = before + elements_of(s, left_of(s, one) | left_of(s, other));
                const double sizes = s->sizes[one] + s->sizes[other] + own;
                if (s->work[set] < 0.0 || work < s->work[set] || (work == s->work[set] && sizes < s->sizes[set])) {
                    s->work[set] = work;
                    s->sizes[set] = sizes;
                    s->part[set] = (uint16_t)one;
                }
            }
        }
        if (part == 0) {
            break;
        }
    }
}

/* Write down the pairs, those of a set's parts before its own. */
static void write_down(const exact_search *s, tnri_path *path)
{
    uint32_t pending[2 * SEARCHED]; /* sets still to be made, the next one last */
    uint32_t made[2 * SEARCHED];    /* by number of value */
    const int count = s->e->count;
    int values = count;
    for (int i = 0; i < count; ++i) {
        made[i] = 1U << i;
    }
    int depth = 0;
    pending[depth++] = s->all;
    int step = 0;
    while (depth > 0) {
        const uint32_t set = pending[depth - 1];
        const uint32_t parts[2] = {s->part[set], set & ~(uint32_t)s->part[set]};
        int numbers[2] = {-1, -1};
        for (int v = 0; v < values; ++v) {
            numbers[0] = made[v] == parts[0] ? v : numbers[0];
            numbers[1] = made[v] == parts[1] ? v : numbers[1];
        }
        if (numbers[0] >= 0 && numbers[1] >= 0) {
            path->a[step] = numbers[0];
            path->b[step] = numbers[1];
            ++step;
            made[values++] = set;
            --depth;
        } else {
            pending[depth++] = numbers[0] < 0 ? parts[0] : parts[1];
        }
    }
}

/* False when there is no path. Takes some 90 KiB of stack; 3 KiB in small builds. */
static TNRI_NOINLINE bool exact(const tnri_equation *e, tnri_path *path)
{
    exact_search s;
    s.e = e;
    s.all = (1U << e->count) - 1U;
    table_labels(&s);
    for (uint32_t set = 1; set <= s.all; ++set) {
        if ((set & (set - 1U)) == 0) {
            s.work[set] = 0.0;
            s.sizes[set] = 0.0;
        } else {
            cut(&s, set);
        }
    }
    if (s.work[s.all] < 0.0) {
        return false;
    }
    write_down(&s, path);
    return true;
}

/* ---- Choice ------------------------------------------------------------------------------------------------------------------------- */

/* Multiplications in the 5 ns of one cut's weighing, about. */
#define WORK_OF_A_CUT 100.0

static bool worth_a_search(int count, double work)
{
    double cuts = 0.5;
    for (int i = 0; i < count; ++i) {
        cuts *= 3.0;
    }
    return work > WORK_OF_A_CUT * cuts;
}

static tnr_status automatic(const char *op, const tnri_equation *e, tnri_path *path)
{
    path->mode = TNR_EINSUM_GREEDY;
    const double work = greedy(e, path);
    if (e->count <= SEARCHED && (work < 0.0 || worth_a_search(e->count, work))) {
        path->mode = TNR_EINSUM_EXACT;
        return exact(e, path) ? TNR_OK : too_many_axes(op);
    }
    return work >= 0.0 ? TNR_OK : too_many_axes(op);
}

/* Of a path that was not searched for: no value has too many axes. */
static tnr_status check_axes(const char *op, const tnri_equation *e, const tnri_path *path)
{
    uint32_t sets[2 * TNR_EINSUM_OPERANDS];
    for (int i = 0; i < e->count; ++i) {
        sets[i] = UINT32_C(1) << i;
    }
    for (int i = 0; i < path->count; ++i) {
        sets[e->count + i] = sets[path->a[i]] | sets[path->b[i]];
        if (!fits(e, tnri_path_left(e, sets[e->count + i]))) {
            return too_many_axes(op);
        }
    }
    return TNR_OK;
}

tnr_status tnri_path_find(const char *op, const tnri_equation *equation, const tnr_einsum_options *options,
                          tnri_path *path)
{
    const int count = equation->count;
    path->count = count == 1 ? 1 : count - 1;
    path->given = options->step_count != 0;
    path->at_once = false;
    path->mode = TNR_EINSUM_LEFT_TO_RIGHT;
    path->a[0] = 0;
    path->b[0] = TNR_NONE;
    if ((unsigned)options->mode > TNR_EINSUM_LEFT_TO_RIGHT) {
        return tnri_fail_enumeration(op, "mode", (int)options->mode);
    }
    TNR_REQUIRE(path->given || options->mode != TNR_EINSUM_EXACT || count <= TNR_EINSUM_EXACT_OPERANDS,
                TNR_ERR_ARGUMENT, "%s: exact paths are for %d operands at most, found %d", op,
                TNR_EINSUM_EXACT_OPERANDS, count);
    TNR_REQUIRE(path->given || options->mode != TNR_EINSUM_EXACT || count <= SEARCHED, TNR_ERR_UNSUPPORTED,
                "%s: this build searches for exact paths of %d operands at most", op, SEARCHED);
    left_to_right(count, path);
    if (path->given) {
        TNR_TRY(as_told(op, count, options, path));
    }
    if (count <= 2 || equation->empty) { /* no intermediates */
        return TNR_OK;
    }
    if (path->given || options->mode == TNR_EINSUM_LEFT_TO_RIGHT) {
        return check_axes(op, equation, path);
    }
    path->mode = options->mode;
    if (options->mode == TNR_EINSUM_AUTOMATIC) {
        return automatic(op, equation, path);
    }
    const bool found = options->mode == TNR_EINSUM_GREEDY ? greedy(equation, path) >= 0.0 : exact(equation, path);
    return found ? TNR_OK : too_many_axes(op);
}

void tnri_path_of_pair(tnri_path *path)
{
    path->count = 1;
    path->mode = TNR_EINSUM_LEFT_TO_RIGHT;
    path->given = false;
    path->at_once = true;
    path->a[0] = 0;
    path->b[0] = 1;
}
