/* SPDX-License-Identifier: BSD-3-Clause */
/* Turn, multiply, turn back: ttgt.h. */
#include "ttgt.h"

#include <stdio.h>
#include <string.h>

enum { ROWS, COLUMNS, SUMMED, GROUPS }; /* labels of a and c, of b and c, of a and b */

static const int of_tensor[3][2] = {{ROWS, SUMMED}, {SUMMED, COLUMNS}, {ROWS, COLUMNS}}; /* as the matrix has them */

typedef char labels[BENCH_TTGT_RANK + 1];

/* Labels of `from` that `other` has too, in the order of `from`. */
static void common(const char *from, const char *other, char *to)
{
    for (; *from != '\0'; ++from) {
        if (strchr(other, *from) != NULL) {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static void join(const char *first, const char *second, char *to)
{
    (void)snprintf(to, sizeof(labels), "%s%s", first, second);
}

/* 0: lies as [first group, second group]; 1: the other way round; -1: neither. */
static int lies(const char *tensor, const labels groups[GROUPS], int which)
{
    labels order;
    join(groups[of_tensor[which][0]], groups[of_tensor[which][1]], order);
    if (strcmp(order, tensor) == 0) {
        return 0;
    }
    join(groups[of_tensor[which][1]], groups[of_tensor[which][0]], order);
    return strcmp(order, tensor) == 0 ? 1 : -1;
}

/* The choice of orders, of eight, that turns the fewest elements. */
static void choose(const bench_labelled operands[3], labels groups[GROUPS])
{
    static const int holders[GROUPS][2] = {{0, 2}, {1, 2}, {0, 1}};
    int64_t least = -1;
    for (int choice = 0; choice < 8; ++choice) {
        labels tried[GROUPS];
        int64_t turned = 0;
        for (int group = 0; group < GROUPS; ++group) {
            const int from = holders[group][choice >> group & 1];
            const int other = holders[group][1 - (choice >> group & 1)];
            common(operands[from].labels, operands[other].labels, tried[group]);
        }
        for (int i = 0; i < 3; ++i) {
            turned += lies(operands[i].labels, (const labels *)tried, i) < 0 ? bench_labelled_count(&operands[i]) : 0;
        }
        if (least < 0 || turned < least) {
            least = turned;
            memcpy(groups, tried, sizeof tried);
        }
    }
}

int64_t bench_labelled_count(const bench_labelled *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; ++i) {
        count *= tensor->shape[i];
    }
    return count;
}

static tnr_tensor *adopt(bench_scene *scene, const bench_labelled *of)
{
    tnr_tensor *tensor = NULL;
    bench_scene_must(scene, tnr_tensor_adopt(scene->heap, TNR_F64, of->rank, of->shape, of->data,
                                             (uint64_t)bench_labelled_count(of) * sizeof(double), NULL, NULL, &tensor));
    return tensor;
}

/* 0 or 1 as `lies`, of the matrix that is multiplied. */
static int open_turn(bench_turn *turn, bench_scene *scene, const bench_labelled *tensor, const labels groups[GROUPS],
                     int which, double *room)
{
    int way = lies(tensor->labels, groups, which);
    turn->matrix = *tensor;
    turn->turned = way < 0;
    if (!turn->turned) {
        return way;
    }
    const char *first = groups[of_tensor[which][0]];
    const char *second = groups[of_tensor[which][1]];
    way = strchr(second, tensor->labels[0]) != NULL ? 1 : 0; /* its first axis stays among the first */
    join(way == 0 ? first : second, way == 0 ? second : first, turn->matrix.labels);
    turn->matrix.data = room;
    for (int i = 0; i < tensor->rank; ++i) {
        const char *in_tensor = strchr(tensor->labels, turn->matrix.labels[i]);
        turn->matrix.shape[i] = in_tensor == NULL ? 0 : tensor->shape[in_tensor - tensor->labels];
    }
    const bench_labelled *source = which == 2 ? &turn->matrix : tensor;
    const bench_labelled *target = which == 2 ? tensor : &turn->matrix;
    for (int i = 0; i < tensor->rank; ++i) {
        const char *in_source = strchr(source->labels, target->labels[i]);
        turn->axes[i] = in_source == NULL ? 0 : (int)(in_source - source->labels);
    }
    turn->tensors[0] = adopt(scene, source);
    turn->tensors[1] = adopt(scene, target);
    if (!scene->failed) {
        bench_scene_must(scene, tnr_tensor_view(turn->tensors[0], &turn->source));
        bench_scene_must(scene, tnr_tensor_view_mut(turn->tensors[1], &turn->target));
    }
    return way;
}

static int product_of(const bench_labelled operands[3], const char *group)
{
    int64_t product = 1;
    for (int i = 0; i < 3; ++i) {
        for (int axis = 0; axis < operands[i].rank; ++axis) {
            const char *found = strchr(group, operands[i].labels[axis]);
            bool before = false; /* another operand had it */
            for (int j = 0; j < i; ++j) {
                before = before || strchr(operands[j].labels, operands[i].labels[axis]) != NULL;
            }
            product *= found != NULL && !before ? operands[i].shape[axis] : 1;
        }
    }
    return (int)product;
}

void bench_ttgt_open(bench_ttgt *ttgt, bench_scene *scene, const bench_labelled operands[3], double *const room[3])
{
    labels groups[GROUPS];
    int ways[3];
    memset(ttgt, 0, sizeof *ttgt);
    ttgt->scene = scene;
    choose(operands, groups);
    for (int i = 0; i < 3; ++i) {
        ways[i] = open_turn(&ttgt->turns[i], scene, &operands[i], (const labels *)groups, i, room[i]);
    }
    bench_product *p = &ttgt->product;
    const int m = product_of(operands, groups[ROWS]);
    const int n = product_of(operands, groups[COLUMNS]);
    const bool turned = ways[2] == 1; /* the result is [n, m]: b^T a^T */
    p->dtype = bench_blas_index(TNR_F64);
    p->m = turned ? n : m;
    p->n = turned ? m : n;
    p->k = product_of(operands, groups[SUMMED]);
    p->a = ttgt->turns[turned ? 1 : 0].matrix.data;
    p->b = ttgt->turns[turned ? 0 : 1].matrix.data;
    p->c = ttgt->turns[2].matrix.data;
    p->turn_a = (turned ? 1 - ways[1] : ways[0]) == 0 ? 'N' : 'T';
    p->turn_b = (turned ? 1 - ways[0] : ways[1]) == 0 ? 'N' : 'T';
}

void bench_ttgt_close(bench_ttgt *ttgt)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 2; ++j) {
            bench_scene_must(ttgt->scene, tnr_tensor_release(&ttgt->turns[i].tensors[j]));
        }
    }
}

static void turn(const bench_ttgt *ttgt, int which)
{
    const bench_turn *t = &ttgt->turns[which];
    if (!t->turned) {
        return;
    }
    if (ttgt->hptt == NULL) {
        bench_scene_must(ttgt->scene, tnr_permute_into(ttgt->scene->engine, &t->source, t->axes, &t->target));
        return;
    }
    int extents[BENCH_TTGT_RANK];
    tnr_read_map source;
    tnr_write_map target;
    for (int i = 0; i < t->source.rank; ++i) {
        extents[i] = (int)t->source.shape[i];
    }
    bench_scene_must(ttgt->scene, tnr_map_read(&t->source, &source));
    bench_scene_must(ttgt->scene, tnr_map_write(&t->target, &target));
    ttgt->hptt(t->axes, t->source.rank, 1.0, source.data, extents, NULL, 0.0, target.data, NULL, ttgt->threads, 0);
    bench_scene_must(ttgt->scene, tnr_unmap_write(&target));
    bench_scene_must(ttgt->scene, tnr_unmap_read(&source));
}

void bench_ttgt_run(void *context)
{
    const bench_ttgt *ttgt = context;
    turn(ttgt, 0);
    turn(ttgt, 1);
    bench_product_run(&ttgt->product);
    turn(ttgt, 2);
}

const char *bench_ttgt_turned(const bench_ttgt *ttgt)
{
    static const char *const names[8] = {"none", "a", "b", "a and b", "c", "a and c", "b and c", "a, b and c"};
    int which = 0;
    for (int i = 0; i < 3; ++i) {
        which |= ttgt->turns[i].turned ? 1 << i : 0;
    }
    return names[which];
}
