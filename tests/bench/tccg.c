/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of contractions: tccg.h. */
#define _POSIX_C_SOURCE 200809L

#include "tccg.h"

#include <stdlib.h>
#include <string.h>

enum { A, B, C };

static int64_t extent_of(const int64_t extents[26], int label) { return extents[label - 'a']; }

static void take_extents(bench_tccg *p, const int64_t extents[26])
{
    for (int i = 0; i < 3; ++i) {
        p->list[i].rank = (int)strlen(p->list[i].labels);
        for (int axis = 0; axis < p->list[i].rank; ++axis) {
            p->list[i].shape[axis] = extent_of(extents, p->list[i].labels[axis]);
        }
    }
}

/* Labels whose group of axes (rows, columns or summed) is thin, up to 72 in all: what makes such a case stays as it is. */
static bool thin(const bench_tccg *p, const int64_t extents[26], int label)
{
    int64_t product = 1;
    for (int other = 'a'; other <= 'z'; ++other) {
        bool same = true;
        bool somewhere = false;
        for (int i = 0; i < 3; ++i) {
            const bool has = strchr(p->list[i].labels, other) != NULL;
            somewhere = somewhere || has;
            same = same && has == (strchr(p->list[i].labels, label) != NULL);
        }
        product *= somewhere && same ? extent_of(extents, other) : 1;
    }
    return product <= 72;
}

static bool small_enough(const bench_tccg *p, const int64_t extents[26])
{
    double flops = 2.0;
    int64_t bytes = 0;
    for (int label = 'a'; label <= 'z'; ++label) {
        flops *= strchr(p->list[A].labels, label) != NULL || strchr(p->list[B].labels, label) != NULL
                     ? (double)extent_of(extents, label)
                     : 1.0;
    }
    for (int i = 0; i < 3; ++i) {
        bytes += bench_labelled_count(&p->list[i]) * (int64_t)sizeof(double);
    }
    return flops <= 1.5e9 && bytes <= 64000000;
}

static void scale(bench_tccg *p, const int64_t listed[26], bool full)
{
    int64_t extents[26];
    memcpy(extents, listed, sizeof extents);
    take_extents(p, extents);
    for (double factor = 0.97; !full && factor > 0.1 && !small_enough(p, extents); factor -= 0.01) {
        for (int label = 'a'; label <= 'z'; ++label) {
            const int64_t was = extent_of(listed, label);
            const int64_t now = (int64_t)((double)was * factor / 4.0 + 0.5) * 4;
            extents[label - 'a'] = was == 0 || thin(p, listed, label) ? was : now < 8 ? 8 : now;
        }
        take_extents(p, extents);
    }
}

bool bench_tccg_read(FILE *file, bool full, bench_tccg *p)
{
    char text[160];
    int64_t extents[26] = {0};
    do {
        if (fgets(text, sizeof text, file) == NULL) {
            return false;
        }
    } while (text[0] == '#');
    memset(p, 0, sizeof *p);
    char *rest = NULL;
    static const int order[3] = {C, A, B};
    for (int i = 0; i < 3; ++i) {
        const char *word = strtok_r(i == 0 ? text : NULL, " \n", &rest);
        if (word == NULL) {
            return false;
        }
        (void)snprintf(p->list[order[i]].labels, sizeof p->list[0].labels, "%s", word);
    }
    for (const char *label = strtok_r(NULL, " \n", &rest); label != NULL; label = strtok_r(NULL, " \n", &rest)) {
        const char *number = strtok_r(NULL, " \n", &rest);
        if (number == NULL || *label < 'a' || *label > 'z') {
            return false;
        }
        extents[*label - 'a'] = strtoll(number, NULL, 10);
    }
    scale(p, extents, full);
    const int most = BENCH_TTGT_RANK; /* said once more, for compilers that lose sight of it */
    (void)snprintf(p->title, sizeof p->title, "%.*s-%.*s-%.*s", most, p->list[C].labels, most, p->list[A].labels, most,
                   p->list[B].labels);
    return true;
}
