/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of CPUs and of nodes: bits by the operating system's numbers, and the lists that taskset and Slurm write.
 *
 * The parser takes exactly  list = item {"," item},  item = number | number "-" number [":" stride]  and nothing around it,
 * not even blanks: a list that was cut off or glued together is refused rather than half understood.
 */
#include "base.h"
#include "tenure/topology.h"

/* ---- Bits ------------------------------------------------------------------------------------------------------------- */

static bool has_bit(const uint64_t *words, int bit) { return (words[bit / 64] >> (bit % 64) & 1U) != 0; }

static int count_bits(const uint64_t *words, int word_count)
{
    int count = 0;
    for (int at = 0; at < word_count; at++) {
        count += tnri_count_bits(words[at]);
    }
    return count;
}

/* The smallest member that is at least `from`, which is not negative. */
static int next_bit(const uint64_t *words, int word_count, int from)
{
    for (int at = from / 64; at < word_count; at++) {
        const uint64_t mask = at == from / 64 ? UINT64_MAX << (from % 64) : UINT64_MAX;
        if ((words[at] & mask) != 0) {
            return at * 64 + (int)tnri_lowest_bit(words[at] & mask);
        }
    }
    return TNR_NONE;
}

enum { CPU_WORDS = TNR_MAX_CPUS / 64, NODE_WORDS = TNR_MAX_NODES / 64 };

_Static_assert(TNR_MAX_CPUS % 64 == 0 && TNR_MAX_NODES % 64 == 0, "sets are whole words");

static tnr_status change_check(const char *op, const tnr_cpu_set *set, int cpu)
{
    TNR_REQUIRE(set != NULL, TNR_ERR_ARGUMENT, "%s: set must not be NULL", op);
    TNR_REQUIRE(cpu >= 0 && cpu < TNR_MAX_CPUS, TNR_ERR_BOUNDS, "%s: CPU %d is not in 0 to %d", op, cpu,
                TNR_MAX_CPUS - 1);
    return TNR_OK;
}

tnr_status tnr_cpu_set_add(tnr_cpu_set *set, int cpu)
{
    TNR_TRY(change_check("cpu_set_add", set, cpu));
    set->words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
    return TNR_OK;
}

tnr_status tnr_cpu_set_remove(tnr_cpu_set *set, int cpu)
{
    TNR_TRY(change_check("cpu_set_remove", set, cpu));
    set->words[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
    return TNR_OK;
}

bool tnr_cpu_set_has(const tnr_cpu_set *set, int cpu)
{
    return set != NULL && cpu >= 0 && cpu < TNR_MAX_CPUS && has_bit(set->words, cpu);
}

int tnr_cpu_set_count(const tnr_cpu_set *set) { return set != NULL ? count_bits(set->words, CPU_WORDS) : 0; }

int tnr_cpu_set_next(const tnr_cpu_set *set, int after)
{
    if (set == NULL || after >= TNR_MAX_CPUS - 1) {
        return TNR_NONE;
    }
    return next_bit(set->words, CPU_WORDS, after < 0 ? 0 : after + 1);
}

bool tnr_cpu_set_within(const tnr_cpu_set *inner, const tnr_cpu_set *outer)
{
    uint64_t outside = 0;
    for (int at = 0; inner != NULL && at < CPU_WORDS; at++) {
        outside |= inner->words[at] & ~(outer != NULL ? outer->words[at] : 0U);
    }
    return outside == 0;
}

bool tnr_node_set_has(const tnr_node_set *set, int node)
{
    return set != NULL && node >= 0 && node < TNR_MAX_NODES && has_bit(set->words, node);
}

int tnr_node_set_count(const tnr_node_set *set) { return set != NULL ? count_bits(set->words, NODE_WORDS) : 0; }

int tnr_node_set_next(const tnr_node_set *set, int after)
{
    if (set == NULL || after >= TNR_MAX_NODES - 1) {
        return TNR_NONE;
    }
    return next_bit(set->words, NODE_WORDS, after < 0 ? 0 : after + 1);
}

/* ---- Reading a list ---------------------------------------------------------------------------------------------------- */

/* A number at **at, which then stands behind it. Stops growing at TNR_MAX_CPUS: too large in any case. */
static bool read_number(const char **at, int *number)
{
    const char *digit = *at;
    int value = 0;
    while (*digit >= '0' && *digit <= '9') {
        value = value >= TNR_MAX_CPUS ? TNR_MAX_CPUS : value * 10 + (*digit - '0');
        digit++;
    }
    if (digit == *at) {
        return false;
    }
    *number = value < TNR_MAX_CPUS ? value : TNR_MAX_CPUS;
    *at = digit;
    return true;
}

typedef struct cpu_range {
    int first;
    int last;
    int stride;
} cpu_range;

/* As read_number, for numbers that must be at least `least`: on failure *at stands where what is wrong begins. */
static bool read_at_least(const char **at, int least, int *number)
{
    const char *begin = *at;
    int read;
    if (!read_number(at, &read)) {
        return false;
    }
    if (read < least) {
        *at = begin;
        return false;
    }
    *number = read;
    return true;
}

static bool read_range(const char **at, cpu_range *range)
{
    if (!read_number(at, &range->first)) {
        return false;
    }
    range->last = range->first;
    range->stride = 1;
    if (**at != '-') {
        return true;
    }
    ++*at;
    if (!read_at_least(at, range->first, &range->last)) {
        return false;
    }
    if (**at != ':') {
        return true;
    }
    ++*at;
    return read_at_least(at, 1, &range->stride);
}

tnr_status tnr_cpu_set_parse(const char *text, tnr_cpu_set *set)
{
    static const char *const op = "cpu_set_parse";
    TNR_REQUIRE(text != NULL && set != NULL, TNR_ERR_ARGUMENT, "%s: text and set must not be NULL", op);
    tnr_cpu_set read;
    memset(&read, 0, sizeof(read));
    bool beyond = false;
    const char *at = text;
    for (;;) {
        cpu_range range = {0, 0, 1};
        TNR_REQUIRE(read_range(&at, &range) && (*at == ',' || *at == '\0'), TNR_ERR_ARGUMENT,
                    "%s: expected a list such as 0-3,8,10-14:2, found \"%s\", wrong from character %lld on", op, text,
                    TNRI_LL(at - text + 1));
        beyond = beyond || range.last >= TNR_MAX_CPUS;
        for (int cpu = range.first; !beyond && cpu <= range.last; cpu += range.stride) {
            read.words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
        }
        if (*at == '\0') {
            break;
        }
        at++;
    }
    TNR_REQUIRE(!beyond, TNR_ERR_BOUNDS, "%s: \"%s\" names CPUs above %d", op, text, TNR_MAX_CPUS - 1);
    *set = read;
    return TNR_OK;
}

/* ---- Writing a list ---------------------------------------------------------------------------------------------------- */

/* Counts all bytes, writes those that there is room for. */
typedef struct list_writer {
    char *text;
    size_t room;
    size_t bytes;
} list_writer;

static void put(list_writer *writer, char character)
{
    if (writer->bytes < writer->room) {
        writer->text[writer->bytes] = character;
    }
    writer->bytes++;
}

static void put_number(list_writer *writer, int number)
{
    char digits[TNRI_DIGITS];
    const int count = tnri_put_decimal(digits, (uint64_t)number);
    for (int i = 0; i < count; i++) {
        put(writer, digits[i]);
    }
}

static void put_list(list_writer *writer, const tnr_cpu_set *set)
{
    for (int first = tnr_cpu_set_next(set, TNR_NONE); first != TNR_NONE;) {
        int last = first;
        while (tnr_cpu_set_has(set, last + 1)) {
            last++;
        }
        if (writer->bytes != 0) {
            put(writer, ',');
        }
        put_number(writer, first);
        if (last > first) {
            put(writer, '-');
            put_number(writer, last);
        }
        first = tnr_cpu_set_next(set, last);
    }
    put(writer, '\0');
}

tnr_status tnr_cpu_set_format(const tnr_cpu_set *set, char *text, size_t room, size_t *needed)
{
    TNR_REQUIRE(set != NULL && (text != NULL || room == 0), TNR_ERR_ARGUMENT,
                "cpu_set_format: set and text must not be NULL");
    list_writer count = {NULL, 0, 0};
    put_list(&count, set);
    if (needed != NULL) {
        *needed = count.bytes;
    }
    TNR_REQUIRE(count.bytes <= room, TNR_ERR_BOUNDS,
                "cpu_set_format: the list takes %llu bytes, there is room for %llu", TNRI_LLU(count.bytes),
                TNRI_LLU(room));
    list_writer writer = {text, room, 0};
    put_list(&writer, set);
    return TNR_OK;
}
