/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths without tensors: views made by hand, whose owner faults when it is looked at. The exact path costs what the best of all paths
 * costs, found by trying each; costs are those of a model; paths given back are taken as they are; places of intermediates.
 */
#include <math.h>

#include "engine/span_internal.h"
#include "support/einsum_test.h"
#include "support/views.h"

static tnr_contraction_path path_of(const sum_case *c, const tnr_einsum_options *options)
{
    tnr_view views[MOST_OPERANDS];
    const tnr_view *list[MOST_OPERANDS];
    for (int i = 0; i < c->count; i++) {
        int64_t shape[TNR_MAX_RANK];
        for (int k = 0; k < c->terms[i].rank; k++) {
            shape[k] = extent_of(c, c->terms[i].labels[k]);
        }
        views[i] = test_view(c->dtype, 1 << 20, c->terms[i].rank, shape, NULL, 0);
        list[i] = &views[i];
    }
    tnr_contraction_path path;
    OK(tnr_einsum_path(c->equation, list, c->count, options, &path));
    return path;
}

/* ---- The model: labels as masks -------------------------------------------------------------------------------------------------------- */

static unsigned mask_of(const term *t)
{
    unsigned mask = 0;
    for (int i = 0; i < t->rank; i++) {
        mask |= 1U << (t->labels[i] - 'a');
    }
    return mask;
}

static double elements_of(const sum_case *c, unsigned mask)
{
    double elements = 1.0;
    for (int i = 0; i < c->labels; i++) {
        elements *= (mask >> i & 1U) != 0 ? (double)c->extents[i] : 1.0;
    }
    return elements;
}

/* Labels of some operands that others or the result have. */
static unsigned left_of(const sum_case *c, unsigned set)
{
    unsigned inside = 0;
    unsigned outside = mask_of(&c->out);
    for (int i = 0; i < c->count; i++) {
        *((set >> i & 1U) != 0 ? &inside : &outside) |= mask_of(&c->terms[i]);
    }
    return inside & outside;
}

static double sum_before(const sum_case *c, unsigned set)
{
    for (int i = 0; i < c->count; i++) {
        const unsigned mask = mask_of(&c->terms[i]);
        if (set == 1U << i && elements_of(c, mask & ~left_of(c, set)) != 1.0) {
            return elements_of(c, mask);
        }
    }
    return 0.0;
}

static double flops_of_pair(const sum_case *c, unsigned a, unsigned b)
{
    const bool complex_case = is_complex(c->dtype);
    return (complex_case ? 8.0 : 2.0) * elements_of(c, left_of(c, a) | left_of(c, b)) +
           (complex_case ? 2.0 : 1.0) * (sum_before(c, a) + sum_before(c, b));
}

/* Every pair, then every pair of what is left, ... */
static double best_of_all(const sum_case *c, const unsigned *sets, int count)
{
    double best = (double)INFINITY;
    if (count == 1) {
        return 0.0;
    }
    for (int i = 0; i < count; i++) {
        for (int j = i + 1; j < count; j++) {
            unsigned rest[MOST_OPERANDS];
            int left = 0;
            for (int k = 0; k < count; k++) {
                if (k != i && k != j) {
                    rest[left++] = sets[k];
                }
            }
            rest[left++] = sets[i] | sets[j];
            const double flops = flops_of_pair(c, sets[i], sets[j]) + best_of_all(c, rest, left);
            best = flops < best ? flops : best;
        }
    }
    return best;
}

/* The path uses each number once, and its figures are the model's. */
static void check_path(const sum_case *c, const tnr_contraction_path *path)
{
    unsigned sets[2 * MOST_OPERANDS];
    uint64_t used = 0;
    double flops = 0.0;
    int64_t largest = 0;
    const bool empty = case_loop(c) == 0;
    assert_int_equal(path->operands, c->count);
    assert_int_equal(path->step_count, c->count == 1 ? 1 : c->count - 1);
    for (int i = 0; i < c->count; i++) {
        sets[i] = 1U << i;
    }
    for (int i = 0; i < path->step_count && c->count > 1; i++) {
        const int a = path->steps[i].a;
        const int b = path->steps[i].b;
        assert_true(a >= 0 && b >= 0 && a != b && a < c->count + i && b < c->count + i);
        assert_true((used >> a & 1U) == 0 && (used >> b & 1U) == 0);
        used |= UINT64_C(1) << a | UINT64_C(1) << b;
        sets[c->count + i] = sets[a] | sets[b];
        assert_true(path->steps[i].flops == flops_of_pair(c, sets[a], sets[b]));
        assert_true(path->steps[i].elements == elements_of(c, left_of(c, sets[c->count + i])));
        flops += path->steps[i].flops;
        for (int side = 0; side < 2; side++) {
            const unsigned set = sets[side == 0 ? a : b];
            const int64_t elements = (int64_t)elements_of(c, left_of(c, set));
            if ((set & (set - 1)) != 0 || sum_before(c, set) != 0.0) {
                largest = elements > largest ? elements : largest;
            }
        }
    }
    if (c->count == 1) {
        assert_true(path->steps[0].a == 0 && path->steps[0].b == TNR_NONE);
        flops = (is_complex(c->dtype) ? 2.0 : 1.0) * sum_before(c, 1U);
    }
    assert_true(path->flops == flops);
    assert_int_equal(path->largest, empty ? 0 : largest);
    assert_true(path->intermediate_bytes >= (uint64_t)path->largest * tnr_dtype_size(c->dtype));
}

static void the_exact_path_is_the_best_of_all(void **state)
{
    (void)state;
    seed_from_environment();
    unsigned sets[MOST_OPERANDS];
    int better_than_greedy = 0;
    for (int i = 0; i < MOST_OPERANDS; i++) {
        sets[i] = 1U << i;
    }
    for (int n = 0; n < 400; n++) {
        const sum_case c = random_case(n % 8 == 0 ? 6 : 5, INT64_MAX);
        tnr_einsum_options options = TNR_EINSUM_OPTIONS;
        tnr_contraction_path found[4];
        for (int mode = 0; mode < 4; mode++) {
            options.mode = (tnr_einsum_mode)mode;
            found[mode] = path_of(&c, &options);
            check_path(&c, &found[mode]);
            assert_false(found[mode].given);
        }
        if (c.count >= 3 && case_loop(&c) > 0) {
            const double best = best_of_all(&c, sets, c.count);
            assert_true(found[TNR_EINSUM_EXACT].flops == best);
            assert_true(found[TNR_EINSUM_GREEDY].flops >= best);
            assert_true(found[TNR_EINSUM_AUTOMATIC].flops <= found[TNR_EINSUM_GREEDY].flops);
            assert_int_equal(found[TNR_EINSUM_EXACT].mode, TNR_EINSUM_EXACT);
            assert_int_equal(found[TNR_EINSUM_GREEDY].mode, TNR_EINSUM_GREEDY);
            better_than_greedy += found[TNR_EINSUM_GREEDY].flops > best ? 1 : 0;
        }
        /* given back it is the same */
        options.steps = found[TNR_EINSUM_GREEDY].steps;
        options.step_count = found[TNR_EINSUM_GREEDY].step_count;
        const tnr_contraction_path again = path_of(&c, &options);
        check_path(&c, &again);
        assert_true(again.given);
        assert_true(again.flops == found[TNR_EINSUM_GREEDY].flops);
        assert_true(again.intermediate_bytes == found[TNR_EINSUM_GREEDY].intermediate_bytes);
    }
    assert_true(better_than_greedy > 0); /* else this tells nothing */
}

/* Twelve operands exactly, thirteen not; thirty-two greedily. */
static void many_operands(void **state)
{
    (void)state;
    tnr_view chain[TNR_EINSUM_OPERANDS];
    const tnr_view *list[TNR_EINSUM_OPERANDS];
    char equation[4 * TNR_EINSUM_OPERANDS];
    static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const int64_t extents[] = {30, 2, 50, 3, 40, 5, 20};
    for (int count = 2; count <= TNR_EINSUM_OPERANDS; count++) {
        char *at = equation;
        for (int i = 0; i < count; i++) {
            chain[i] = test_view(TNR_F64, 1 << 20, 2, EXTENTS(extents[i % 7], extents[(i + 1) % 7]), NULL, 0);
            list[i] = &chain[i];
            at += snprintf(at, 4, "%s%c%c", i > 0 ? "," : "", names[i], names[i + 1]);
        }
        (void)snprintf(at, 5, "->%c%c", names[0], names[count]);
        tnr_einsum_options options = TNR_EINSUM_OPTIONS;
        tnr_contraction_path greedy;
        tnr_contraction_path path;
        tnr_contraction_path left;
        options.mode = TNR_EINSUM_GREEDY;
        OK(tnr_einsum_path(equation, list, count, &options, &greedy));
        options.mode = TNR_EINSUM_LEFT_TO_RIGHT;
        OK(tnr_einsum_path(equation, list, count, &options, &left));
        assert_true(left.step_count == count - 1 && left.steps[count - 2].b == count - 1);
        options.mode = TNR_EINSUM_EXACT;
        if (count > TNR_EINSUM_EXACT_OPERANDS) {
            EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_path(equation, list, count, &options, &path));
            continue;
        }
        OK(tnr_einsum_path(equation, list, count, &options, &path));
        /* the classical recurrence for chains of matrices */
        double best[TNR_EINSUM_EXACT_OPERANDS][TNR_EINSUM_EXACT_OPERANDS];
        for (int length = 0; length < count; length++) {
            for (int i = 0; i + length < count; i++) {
                best[i][i + length] = length == 0 ? 0.0 : (double)INFINITY;
                for (int k = i; k < i + length; k++) {
                    const double flops = best[i][k] + best[k + 1][i + length] +
                                         2.0 * (double)extents[i % 7] * (double)extents[(k + 1) % 7] *
                                             (double)extents[(i + length + 1) % 7];
                    best[i][i + length] = flops < best[i][i + length] ? flops : best[i][i + length];
                }
            }
        }
        assert_true(path.flops == best[0][count - 1]); /* outer products never help a chain */
        assert_true(path.flops <= greedy.flops && path.flops <= left.flops);
    }
}

/* Two paths of as many multiplications: the one with the smaller intermediate. */
static void equal_work_is_decided_by_size(void **state)
{
    (void)state;
    static const int64_t extents[2][4] = {{4, 12, 6, 3}, {3, 6, 12, 4}};
    for (int n = 0; n < 2; n++) {
        const int64_t *e = extents[n];
        const tnr_view a = test_view(TNR_F64, 1 << 20, 2, EXTENTS(e[0], e[1]), NULL, 0);
        const tnr_view b = test_view(TNR_F64, 1 << 20, 2, EXTENTS(e[1], e[2]), NULL, 0);
        const tnr_view c = test_view(TNR_F64, 1 << 20, 2, EXTENTS(e[2], e[3]), NULL, 0);
        tnr_einsum_options options = TNR_EINSUM_OPTIONS;
        tnr_contraction_path path;
        options.mode = TNR_EINSUM_EXACT;
        OK(tnr_einsum_path("ab,bc,cd->ad", (const tnr_view *[]){&a, &b, &c}, 3, &options, &path));
        assert_true(path.flops == 720.0);
        assert_int_equal(path.largest, 24);
    }
}

static void a_path_as_text(void **state)
{
    (void)state;
    const tnr_view a = test_view(TNR_F64, 1 << 20, 2, EXTENTS(10, 20), NULL, 0);
    const tnr_view b = test_view(TNR_F64, 1 << 20, 2, EXTENTS(20, 30), NULL, 0);
    const tnr_view c = test_view(TNR_F64, 1 << 20, 3, EXTENTS(30, 5, 4), NULL, 0);
    const tnr_view *const list[3] = {&a, &b, &c};
    tnr_contraction_path path;
    OK(tnr_einsum_path("ab,bc,cde->ad", list, 3, NULL, &path));
    /* c is summed over e: 600 additions; then bc,cd->bd and ab,bd->ad */
    static const char *const expected = "3 operands, path exact: 8600 flops (at once 360000), largest intermediate 150 "
                                        "elements, intermediates 2048 bytes\n"
                                        "  3 = 1 2  bc,cde->bd  6600 flops, 100 elements\n"
                                        "  4 = 0 3  ab,bd->ad  2000 flops, 50 elements\n";
    char text[400];
    size_t needed = 0;
    OK(tnr_einsum_format(&path, text, sizeof text, &needed));
    assert_string_equal(text, expected);
    assert_int_equal(needed, strlen(expected) + 1);
    memset(text, '#', sizeof text);
    EXPECT(TNR_ERR_BOUNDS, tnr_einsum_format(&path, text, needed - 1, &needed));
    assert_true(text[0] == '#' && needed == strlen(expected) + 1);
    EXPECT(TNR_ERR_BOUNDS, tnr_einsum_format(&path, NULL, 0, &needed));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_format(NULL, text, sizeof text, NULL));
    OK(tnr_einsum_format(&path, text, needed, NULL));
    assert_string_equal(text, expected);
    memset(&path, 0, sizeof path);
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_format(&path, text, sizeof text, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_path("ab,bc,cde->ad", list, 3, NULL, NULL));
    /* huge extents: figures are rounded, and no path is too much to think about */
    const tnr_view x = test_view(TNR_C64, 1 << 20, 2, EXTENTS(INT64_C(1) << 30, INT64_C(1) << 10), NULL, 0);
    const tnr_view *const large[3] = {&x, &x, &x};
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    options.mode = TNR_EINSUM_LEFT_TO_RIGHT;
    OK(tnr_einsum_path("ab,ac,ad->bcd", large, 3, &options, &path));
    OK(tnr_einsum_format(&path, text, sizeof text, NULL));
    assert_non_null(strstr(text, "  3 = 0 1  ab,ac->abc  9.007e15 flops, 1.125e15 elements\n"));
    assert_non_null(strstr(text, "  4 = 3 2  abc,ad->bcd  9.223e18 flops, 1073741824 elements\n"));
    EXPECT(TNR_ERR_OVERFLOW,
           tnr_einsum_path("ab,cb,cd->ad", large, 3, &options, &path)); /* 2^60 elements of 16 bytes */
}

/* ---- Places of intermediates ------------------------------------------------------------------------------------------------------------- */

static void temporaries_that_live_together_lie_apart(void **state)
{
    (void)state;
    seed_from_environment();
    double sum = 0.0;
    double worst = 0.0;
    for (int n = 0; n < 300; n++) {
        tnri_temporary all[TNRI_SPAN_TEMPORARIES];
        const int count = n == 0 ? 0 : n == 1 ? TNRI_SPAN_TEMPORARIES : (int)within(1, 64);
        const int moments = count + 1;
        for (int i = 0; i < count; i++) {
            all[i].bytes = (uint64_t)within(1, 1 << within(6, 24));
            all[i].first = i;
            all[i].last = i + (int)within(1, chance(4) ? moments : 3);
        }
        uint64_t bytes = 99;
        assert_true(tnri_span_place(all, count, &bytes));
        uint64_t least = 0; /* no span can be smaller */
        for (int t = 0; t < moments; t++) {
            uint64_t alive = 0;
            for (int i = 0; i < count; i++) {
                alive += all[i].first <= t && t <= all[i].last ? (all[i].bytes + 63) / 64 * 64 : 0;
            }
            least = alive > least ? alive : least;
        }
        for (int i = 0; i < count; i++) {
            assert_true(all[i].place % 64 == 0 && all[i].place + all[i].bytes <= bytes);
            for (int j = 0; j < i; j++) {
                const bool together = all[i].first <= all[j].last && all[j].first <= all[i].last;
                assert_true(!together || all[i].place + all[i].bytes <= all[j].place ||
                            all[j].place + all[j].bytes <= all[i].place);
            }
        }
        assert_true(bytes >= least);
        if (count > 0) {
            const double ratio = (double)bytes / (double)least;
            sum += ratio;
            worst = ratio > worst ? ratio : worst;
        }
    }
    print_message("span over its least: %.4f on average, %.4f at worst\n", sum / 299.0, worst);
    assert_true(sum / 299.0 <= 1.06);
    tnri_temporary huge[2] = {{.bytes = UINT64_MAX - 5, .last = 1}, {.bytes = INT64_MAX, .last = 1}};
    uint64_t bytes;
    assert_false(tnri_span_place(huge, 1, &bytes));
    huge[0].bytes = INT64_MAX - 64;
    assert_false(tnri_span_place(huge, 2, &bytes));
}

/* The smallest span of a few temporaries: in some order each of them lies at the lowest place that is free for it. */
static uint64_t smallest_span(const tnri_temporary *all, int count, uint64_t *places, int *order, int placed, uint32_t left,
                              uint64_t best)
{
    if (left == 0) {
        uint64_t end = 0;
        for (int i = 0; i < count; i++) {
            const uint64_t own = places[i] + (all[i].bytes + 63) / 64 * 64;
            end = own > end ? own : end;
        }
        return end < best ? end : best;
    }
    for (int i = 0; i < count; i++) {
        if ((left >> i & 1U) == 0) {
            continue;
        }
        const uint64_t bytes = (all[i].bytes + 63) / 64 * 64;
        uint64_t place = 0;
        for (int again = 0; again <= placed; again++) { /* until nothing is in the way */
            for (int k = 0; k < placed; k++) {
                const tnri_temporary *other = &all[order[k]];
                const uint64_t end = places[order[k]] + (other->bytes + 63) / 64 * 64;
                if (other->first <= all[i].last && all[i].first <= other->last && place < end &&
                    places[order[k]] < place + bytes) {
                    place = end;
                }
            }
        }
        if (place + bytes < best) {
            places[i] = place;
            order[placed] = i;
            best = smallest_span(all, count, places, order, placed + 1, left & ~(UINT32_C(1) << i), best);
        }
    }
    return best;
}

/* Against the true minimum, which needs a search of all orders: of einsum's lifetimes, a value from its step to the one that takes it. */
static void places_are_near_the_smallest_span(void **state)
{
    (void)state;
    enum { CASES = 3000, MOST = 7 };
    seed_from_environment();
    double sum = 0.0;
    double worst = 0.0;
    int above = 0;
    for (int n = 0; n < CASES; n++) {
        tnri_temporary all[MOST];
        const int count = (int)within(2, MOST);
        for (int i = 0; i < count; i++) {
            all[i] = (tnri_temporary){.bytes = (uint64_t)within(1, 1 << within(8, 20)), .first = i};
            all[i].last = i + (int)within(1, chance(2) ? 2 : count);
        }
        uint64_t places[MOST];
        int order[32];
        uint64_t bytes = 0;
        assert_true(tnri_span_place(all, count, &bytes));
        const uint64_t least = smallest_span(all, count, places, order, 0, (UINT32_C(1) << count) - 1, UINT64_MAX);
        assert_true(least <= bytes);
        const double ratio = (double)bytes / (double)least;
        sum += ratio;
        worst = ratio > worst ? ratio : worst;
        above += ratio > 1.06 ? 1 : 0;
    }
    print_message("span over the smallest there is: %.4f on average, %.4f at worst, above 1.06 in %d of %d\n", sum / CASES, worst,
                  above, CASES);
    assert_true(above * 1000 <= CASES && worst <= 1.25); /* of 153,000 with other seeds one was above 1.06, at 1.10 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exact_path_is_the_best_of_all),
        cmocka_unit_test(many_operands),
        cmocka_unit_test(equal_work_is_decided_by_size),
        cmocka_unit_test(a_path_as_text),
        cmocka_unit_test(temporaries_that_live_together_lie_apart),
        cmocka_unit_test(places_are_near_the_smallest_span),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
