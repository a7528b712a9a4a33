/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows of a tensor at places that an operand tells: gather, and scatter, which adds.
 *
 * Entries are held to 0..limit whenever they are used: no address is formed that leaves the tensor, whatever the indices hold.
 *
 * Scatter adds what meets one element in the order of the vectors, without atomics. ELEMENTS: a thread has an element of the window
 * and goes over all vectors. SHARES: a block has a share of the places, looks through the vectors 256 at a time, lists those of
 * its share in their order, and adds them when the list is full: then a thread has the places whose number leaves its own when divided by
 * 256. TURNS: one block adds one window after the other, each by all its threads.
 */
#include "common.cuh"

DEVICE int64_t entry_at(const tnri_windows_layout &l, const char *indices, int64_t offset)
{
    return l.wide != 0 ? load<int64_t>(indices + offset) : (int64_t)load<int32_t>(indices + offset);
}

DEVICE int64_t held(int64_t value, int64_t limit)
{
    const int64_t below = value < limit ? value : limit;
    return below < 0 ? 0 : below;
}

/* Of one vector: offset in the tensor, in the result; and the number of its place. */
struct window {
    int64_t tensor;
    int64_t result;
    int64_t place;
};

DEVICE window window_at(const tnri_windows_layout &l, const char *indices, int64_t vector)
{
    const int64_t *const steps[2] = {l.result, l.other};
    int64_t offsets[2];
    window w = {0, 0, 0};
    offsets_of<2>(l.first + vector, l.batch_rank, l.shape, l.by, 0, steps, offsets);
    w.result = offsets[0];
    ONE_BY_ONE
    for (int entry = l.entries - 1; entry >= 0; entry--) {
        const int64_t at = held(entry_at(l, indices, offsets[1] + entry * l.entry_step), l.limit[entry]);
        w.tensor += at * l.tensor[entry];
        w.place = w.place * (l.limit[entry] + 1) + at;
    }
    return w;
}

/* Of an element of a window: in the result, in the tensor. */
DEVICE void element_at(const tnri_windows_layout &l, int64_t element, int64_t *offsets)
{
    const int64_t *const steps[2] = {l.result, l.other};
    offsets_of<2>(element, l.window_rank, l.shape, l.by, l.batch_rank, steps, offsets);
}

/* ---- Gather ------------------------------------------------------------------------------------------------------------------------------- */

template <class WORD>
DEVICE void gather(const tnri_windows_layout &l, char *target, const char *tensor, const char *indices)
{
    for (int64_t at = thread_number(); at < l.vectors * l.elements; at += threads_in_all()) {
        const int64_t fast = l.window_first != 0 ? l.elements : l.vectors;
        const int64_t slow =
            l.vectors * l.elements <= 0x7FFFFFFF ? (int64_t)((uint32_t)at / (uint32_t)fast) : at / fast;
        const int64_t rest = at - slow * fast;
        const window w = window_at(l, indices, l.window_first != 0 ? slow : rest);
        int64_t offsets[2];
        element_at(l, l.window_first != 0 ? rest : slow, offsets);
        store(target + w.result + offsets[0], load<WORD>(tensor + w.tensor + offsets[1]));
    }
}

#define GATHER(bytes, WORD)                                                                                          \
    KERNEL_OF(gather_##bytes, 4)(SAME(tnri_windows_layout) l, char *target, const char *tensor, const char *indices) \
    {                                                                                                                \
        gather<WORD>(l, target, tensor, indices);                                                                    \
    }
GATHER(1, uint8_t)
GATHER(4, uint32_t)
GATHER(8, uint64_t)
GATHER(16, sixteen)

/* ---- Scatter ------------------------------------------------------------------------------------------------------------------------------ */

template <class T> DEVICE void add_to(char *target, const char *update)
{
    store(target, plus(load<T>(target), load<T>(update)));
}

template <class T>
DEVICE void scatter_elements(const tnri_windows_layout &l, char *tensor, const char *updates, const char *indices)
{
    for (int64_t element = thread_number(); element < l.elements; element += threads_in_all()) {
        int64_t offsets[2];
        element_at(l, element, offsets);
        ONE_BY_ONE
        for (int64_t vector = 0; vector < l.vectors; vector++) {
            const window w = window_at(l, indices, vector);
            add_to<T>(tensor + w.tensor + offsets[1], updates + w.result + offsets[0]);
        }
    }
}

template <class T>
DEVICE void scatter_turns(const tnri_windows_layout &l, char *tensor, const char *updates, const char *indices)
{
    ONE_BY_ONE
    for (int64_t vector = 0; vector < l.vectors && blockIdx.x == 0; vector++) {
        const window w = window_at(l, indices, vector);
        for (int64_t element = threadIdx.x; element < l.elements; element += TNRI_KERNEL_THREADS) {
            int64_t offsets[2];
            element_at(l, element, offsets);
            add_to<T>(tensor + w.tensor + offsets[1], updates + w.result + offsets[0]);
        }
        __syncthreads(); /* one window after the other */
    }
}

#define LISTED (2 * TNRI_KERNEL_THREADS)

/* Windows that wait, in their order; and how many of the threads before each have one more. */
struct waiting {
    window of[LISTED];
    int before[2][TNRI_KERNEL_THREADS];
};

/* Adds what is listed: each thread those of its places. */
template <class T>
DEVICE void add_listed(const tnri_windows_layout &l, char *tensor, const char *updates, const waiting &list, int listed)
{
    ONE_BY_ONE
    for (int i = 0; i < listed; i++) {
        if (list.of[i].place % TNRI_KERNEL_THREADS != (int64_t)threadIdx.x) {
            continue;
        }
        ONE_BY_ONE
        for (int64_t element = 0; element < l.elements; element++) {
            int64_t offsets[2];
            element_at(l, element, offsets);
            add_to<T>(tensor + list.of[i].tensor + offsets[1], updates + list.of[i].result + offsets[0]);
        }
    }
}

template <class T>
DEVICE void scatter_shares(const tnri_windows_layout &l, char *tensor, const char *updates, const char *indices,
                           waiting &list)
{
    const int thread = (int)threadIdx.x;
    /* this block's places: first..first+share-1 */
    const int64_t share = (l.places - 1) / gridDim.x + 1;
    const int64_t first = share * blockIdx.x;
    int listed = 0; /* the same in all threads */
    for (int64_t begin = 0; begin < l.vectors; begin += TNRI_KERNEL_THREADS) {
        window w = {0, 0, -1};
        if (begin + thread < l.vectors) {
            w = window_at(l, indices, begin + thread);
        }
        const bool mine = w.place >= first && w.place - first < share;
        list.before[0][thread] = mine ? 1 : 0;
        int side = 0;
        for (int apart = 1; apart < TNRI_KERNEL_THREADS; apart *= 2) {
            __syncthreads();
            list.before[1 - side][thread] =
                list.before[side][thread] + (thread >= apart ? list.before[side][thread - apart] : 0);
            side = 1 - side;
        }
        __syncthreads();
        if (mine) {
            list.of[listed + list.before[side][thread] - 1] = w;
        }
        listed += list.before[side][TNRI_KERNEL_THREADS - 1];
        __syncthreads();
        if (listed > LISTED - TNRI_KERNEL_THREADS || begin + TNRI_KERNEL_THREADS >= l.vectors) {
            add_listed<T>(l, tensor, updates, list, listed);
            listed = 0;
            __syncthreads(); /* the list is read before more comes */
        }
    }
}

#define SCATTER(dtype, T)                                                                                              \
    KERNEL_OF(scatter_##dtype, 2)(SAME(tnri_windows_layout) l, char *target, const char *updates, const char *indices) \
    {                                                                                                                  \
        __shared__ waiting list;                                                                                       \
        if (l.way == TNRI_SCATTER_ELEMENTS) {                                                                          \
            scatter_elements<T>(l, target, updates, indices);                                                          \
        } else if (l.way == TNRI_SCATTER_TURNS) {                                                                      \
            scatter_turns<T>(l, target, updates, indices);                                                             \
        } else {                                                                                                       \
            scatter_shares<T>(l, target, updates, indices, list);                                                      \
        }                                                                                                              \
    }
SCATTER(f32, float)
SCATTER(f64, double)
SCATTER(c32, c32)
SCATTER(c64, c64)
SCATTER(i32, int32_t)
SCATTER(i64, int64_t)

/* ---- Looks for windows that leave the tensor ------------------------------------------------------------------------------------------------- */

KERNEL_OF(windows_check, 4)(SAME(tnri_windows_layout) l, const char *indices, int64_t *found)
{
    for (int64_t vector = thread_number(); vector < l.vectors; vector += threads_in_all()) {
        const int64_t from = offset_of(vector, l.batch_rank, l.shape, l.by, 0, l.other);
        ONE_BY_ONE
        for (int entry = 0; entry < l.entries; entry++) {
            const int64_t value = entry_at(l, indices, from + entry * l.entry_step);
            if (value < 0 || value > l.limit[entry]) {
                lower(found, vector * l.entries + entry);
                return; /* what this thread would find later comes later */
            }
        }
    }
}

KERNEL_OF(windows_value, 4)(SAME(tnri_windows_layout) l, const char *indices, int64_t *found)
{
    if (thread_number() == 0) {
        const int64_t which = load<int64_t>((const char *)found);
        int64_t value = 0;
        if (which != 0x7FFFFFFFFFFFFFFFLL) {
            const int64_t from = offset_of(which / l.entries, l.batch_rank, l.shape, l.by, 0, l.other);
            value = entry_at(l, indices, from + which % l.entries * l.entry_step);
        }
        store((char *)(found + 1), value);
    }
}
