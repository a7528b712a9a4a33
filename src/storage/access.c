/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All that has to be true before an operation touches bytes, checked and had for all operands or for none. The order:
 * descriptors well-formed, leases (so that owners stay what they are), bounds, distinct elements, overlap, mappings.
 */
#include "storage_internal.h"

/*
 * How texts call an operand: who is written is the output, and the others have letters or numbers, as their caller counts them. NULL
 * where there is one alone.
 */
static const char *name_of(char *room, const tnri_operand *operands, int count, int index, bool lettered)
{
    static const char word[] = "operand ";
    if (count == 1) {
        return NULL;
    }
    if (operands[index].write) {
        return "the output";
    }
    uint64_t number = 0;
    for (int before = 0; before < index; before++) {
        number += !operands[before].write;
    }
    if (lettered) {
        room[0] = (char)('a' + number);
        room[1] = '\0';
        return room;
    }
    memcpy(room, word, sizeof(word));
    room[sizeof(word) - 1 + (size_t)tnri_put_decimal(room + sizeof(word) - 1, number)] = '\0';
    return room;
}

enum { NAME_BYTES = sizeof("operand ") + TNRI_DIGITS };

/* The failure of one of the operands, which is named. */
static TNRI_COLD tnr_status failed_at(const char *op, const tnri_operand *operands, int count, int index, bool lettered,
                                      tnr_status status)
{
    char room[NAME_BYTES];
    return tnri_failed_in(op, name_of(room, operands, count, index, lettered), status);
}

static TNRI_COLD tnr_status fail_overlap(const char *op, const tnri_operand *operands, int count, int written,
                                         int other, bool same, bool lettered)
{
    char rooms[2][NAME_BYTES];
    return tnri_fail(TNR_ERR_OVERLAP, "%s: %s %s %s", op, name_of(rooms[0], operands, count, written, lettered),
                     same ? "may not be the elements of" : "is not proved apart from",
                     name_of(rooms[1], operands, count, other, lettered));
}

static inline tnr_status check_descriptor(const char *op, const tnri_operand *operand)
{
    const tnr_view *view = operand->view;
    TNR_REQUIRE(view != NULL && view->root != NULL, TNR_ERR_ARGUMENT, "%s: the view is NULL or has no owner", op);
    TNR_REQUIRE(view->dtype > TNR_DTYPE_NONE && view->dtype < TNR_DTYPE_END, TNR_ERR_ARGUMENT,
                "%s: %d is no dtype; the view was not made by the library", op, (int)view->dtype);
    TNR_REQUIRE(view->rank >= 0 && view->rank <= TNR_MAX_RANK && (view->split == 0 || view->part < TNR_MAX_PARTS),
                TNR_ERR_ARGUMENT, "%s: rank %d or part %d is out of range; the view was not made by the library", op,
                (int)view->rank, (int)view->part);
    return TNR_OK;
}

static void add_part(tnri_lease *lease, const tnri_operand *operand)
{
    if (lease->split != 0) {
        *(operand->write ? &lease->parts : &lease->read_parts) |= (uint64_t)1 << operand->view->part;
    }
}

/* What one lease must cover so that every operand of the carrier's root is covered. */
static tnr_status combined_lease(const char *op, const tnri_operand *operands, int carrier, tnri_aliasing aliasing,
                                 tnri_lease *lease, int *stale)
{
    const tnr_view *view = operands[carrier].view;
    lease->root = view->root;
    lease->generation = view->generation;
    lease->split = view->split;
    lease->parts = 0;
    lease->read_parts = 0;
    add_part(lease, &operands[carrier]);
    lease->write = operands[carrier].write;
    lease->reads = !operands[carrier].write || aliasing == TNRI_READ_BACK;
    for (int other = operands[carrier].held.next; other >= 0; other = operands[other].held.next) {
        const tnr_view *shared = operands[other].view;
        if (TNRI_UNLIKELY(shared->generation != lease->generation)) {
            *stale = tnri_generation(lease->root) == lease->generation ? other : carrier;
            return tnri_fail(TNR_ERR_STALE, "%s: the view's owner was released or moved", op);
        }
        if (shared->split != view->split) {
            lease->split = 0; /* parts of different splits are not known to be apart: the whole */
        }
        add_part(lease, &operands[other]);
        lease->write = lease->write || operands[other].write;
        lease->reads = lease->reads || !operands[other].write;
    }
    lease->read_parts &= ~lease->parts;
    return TNR_OK;
}

/* A view of all of its owner as it is, the usual operand: in bounds and distinct without arithmetic. */
static inline bool covers_owner(const tnr_view *view, const tnr_tensor *root)
{
    if (view->offset != 0 || view->window_begin != 0 || view->window_bytes != root->bytes ||
        view->base != tnri_root_base(root) || view->rank != (int32_t)root->rank ||
        view->dtype != (tnr_dtype)root->dtype) {
        return false;
    }
    uint64_t expected = 1;
    for (int axis = 0; axis < view->rank; axis++) {
        if (view->shape[axis] != root->shape[axis] || (uint64_t)view->strides[axis] != expected) {
            return false;
        }
        expected *= (uint64_t)root->shape[axis];
    }
    return true;
}

/* Inside its window, the window inside the owner, a written layout without two indices on one element. */
static inline tnr_status check_bounds(const char *op, const tnri_operand *operand, int64_t *count)
{
    const tnr_view *view = operand->view;
    const tnr_tensor *root = view->root;
    if (TNRI_LIKELY(covers_owner(view, root))) {
        *count = (int64_t)(root->bytes >> tnri_dtype_shift[view->dtype]);
        return TNR_OK;
    }
    TNR_REQUIRE(view->window_begin <= root->bytes && view->window_bytes <= root->bytes - view->window_begin &&
                    (view->window_begin & (tnr_dtype_alignment(view->dtype) - 1)) == 0 &&
                    view->base == tnri_root_base(root),
                TNR_ERR_BOUNDS,
                "%s: window of %llu bytes at %llu leaves the owner's %llu bytes, is misaligned or of other memory", op,
                TNRI_LLU(view->window_bytes), TNRI_LLU(view->window_begin), TNRI_LLU(root->bytes));
    TNR_TRY(tnri_layout_check(op, view->rank, view->shape, view->strides, view->offset,
                              (int64_t)(view->window_bytes >> tnri_dtype_shift[view->dtype]), count));
    if (operand->write && !tnri_is_distinct(view->rank, view->shape, view->strides)) {
        return tnri_fail(TNR_ERR_OVERLAP, "%s: two indices may fall on one element", op);
    }
    return TNR_OK;
}

static tnri_lattice lattice_of(const tnr_view *view)
{
    const int64_t size = (int64_t)1 << tnri_dtype_shift[view->dtype];
    const tnri_lattice lattice = {
        .address = view->base + view->window_begin + (uint64_t)view->offset * (uint64_t)size,
        .rank = view->rank,
        .shape = view->shape,
        .strides = view->strides,
        .element_bytes = size,
    };
    return lattice;
}

tnr_overlap tnri_views_overlap(const tnr_view *a, const tnr_view *b)
{
    /* Memory behind mappings is its owner's alone; host memory may have two owners where the program adopted it twice. */
    if (a->root != b->root && (a->base == 0 || b->base == 0)) {
        return TNR_OVERLAP_NONE;
    }
    const tnri_lattice of_a = lattice_of(a);
    const tnri_lattice of_b = lattice_of(b);
    return tnri_lattice_overlap(&of_a, &of_b);
}

/* Two leased owners whose bytes do not coincide, as those of two blocks of one domain never do: without a look at layouts. */
static inline bool owners_apart(const tnr_tensor *a, const tnr_tensor *b)
{
    if (a == b) {
        return false;
    }
    if (a->domain != NULL && a->domain == b->domain) {
        return true;
    }
    /* One domain's memory may lie in another's: an arena inside a tensor, two domains over one window. */
    const uint64_t begin_a = tnri_root_base(a);
    const uint64_t begin_b = tnri_root_base(b);
    return begin_a == 0 || begin_b == 0 || begin_a + a->bytes <= begin_b || begin_b + b->bytes <= begin_a;
}

static tnr_status check_overlap(const char *op, const tnri_operand *operands, int count, int written,
                                tnri_aliasing aliasing, bool lettered)
{
    for (int other = 0; other < count; other++) {
        if (other == written || (operands[other].write && other > written)) {
            continue;
        }
        if (owners_apart(operands[written].view->root, operands[other].view->root)) {
            continue;
        }
        const tnr_overlap overlap = tnri_views_overlap(operands[written].view, operands[other].view);
        const bool may_be_same = aliasing == TNRI_IN_PLACE || (aliasing == TNRI_FIRST_IN_PLACE && other == 1);
        if (overlap == TNR_OVERLAP_NONE || (overlap == TNR_OVERLAP_SAME && may_be_same && !operands[other].write)) {
            continue;
        }
        return fail_overlap(op, operands, count, written, other, overlap == TNR_OVERLAP_SAME, lettered);
    }
    return TNR_OK;
}

/* How far an access goes: to memory that the host reaches; to what a domain copies as well; or to no bytes at all. */
typedef enum extent_of_access { REACH_HOST, REACH_AWAY, REACH_BARE } extent_of_access;

/* Where the host cannot reach the root but its domain copies, or all that is asked for is a lease, the host's address is a place. */
static tnr_status map_root(const char *op, tnri_operand *carrier, extent_of_access how)
{
    tnr_tensor *root = carrier->held.root;
    const tnr_host_access access = tnri_root_access(root);
    if (TNRI_LIKELY(access == TNR_ACCESS_DIRECT) || root->bytes == 0) {
        carrier->held.host = root->block.address;
        return TNR_OK;
    }
    if (how == REACH_BARE) {
        carrier->held.host = (void *)TNRI_AWAY_BASE;
        return TNR_OK;
    }
    if (access == TNR_ACCESS_NONE) {
        if (how != REACH_AWAY || !root->domain->copies) {
            return tnri_fail_residency(op, root);
        }
        carrier->held.host = (void *)TNRI_AWAY_BASE;
        return TNR_OK;
    }
    void *host = NULL;
    TNR_TRY(root->domain->kind->map(root->domain, &root->block, carrier->held.writes ? TNR_MAP_WRITE : TNR_MAP_READ,
                                    &host));
    carrier->held.host = host;
    return TNR_OK;
}

static void give_lease(const tnri_operand *carrier)
{
    const tnri_lease lease = {
        .root = carrier->held.root,
        .split = carrier->held.split,
        .parts = carrier->held.parts,
        .read_parts = carrier->held.read_parts,
        .generation = tnri_generation(carrier->held.root),
        .write = carrier->held.writes,
    };
    tnri_lease_give(&lease);
}

/* Take back all leases, and the mappings of operands 0 .. mapped - 1; the first failing unmap is the answer. */
static TNRI_NOINLINE tnr_status give_all(tnri_operand *operands, int count, int mapped)
{
    tnr_status answer = TNR_OK;
    for (int index = 0; index < count; index++) {
        tnri_operand *operand = &operands[index];
        if (operand->held.carries == TNRI_CARRIES_NOTHING) {
            continue;
        }
        tnr_tensor *root = operand->held.root;
        if (TNRI_UNLIKELY(tnri_root_access(root) == TNR_ACCESS_MAPPED) && index < mapped && root->bytes != 0 &&
            operand->held.host != (void *)TNRI_AWAY_BASE) {
            const tnr_status status = root->domain->kind->unmap(
                root->domain, &root->block, operand->held.writes ? TNR_MAP_WRITE : TNR_MAP_READ, operand->held.host);
            answer = answer == TNR_OK ? status : answer;
        }
        operand->held.carries = TNRI_CARRIES_NOTHING;
        if (TNRI_LIKELY(operand->held.split == 0)) {
            tnri_lease_give_whole(root, operand->held.writes);
        } else {
            give_lease(operand);
        }
    }
    return answer;
}

/* The lease for all operands of the carrier's root. *failed, set before, becomes the one that is refused. */
static tnr_status take_lease(const char *op, tnri_operand *operands, int index, tnri_aliasing aliasing, int *failed)
{
    tnri_operand *carrier = &operands[index];
    const tnr_view *view = carrier->view;
    carrier->held.root = view->root;
    carrier->held.split = 0;
    carrier->held.parts = 0;
    carrier->held.writes = carrier->write;
    if (TNRI_LIKELY(carrier->held.next < 0 && view->split == 0 && aliasing != TNRI_READ_BACK &&
                    tnri_lease_try_whole(view->root, view->generation, carrier->write))) {
        carrier->held.carries = TNRI_CARRIES_LEASE;
        return TNR_OK;
    }
    tnri_lease lease;
    TNR_TRY(combined_lease(op, operands, index, aliasing, &lease, failed));
    TNR_TRY(tnri_lease_take(op, &lease));
    carrier->held.split = lease.split;
    carrier->held.parts = lease.parts;
    carrier->held.read_parts = lease.read_parts;
    carrier->held.writes = lease.write;
    carrier->held.carries = TNRI_CARRIES_LEASE;
    return TNR_OK;
}

/* Leases, then bounds. *direct: no root needs a mapping. */
static tnr_status lease_and_check(const char *op, tnri_operand *operands, int count, tnri_aliasing aliasing,
                                  bool lettered, bool *direct)
{
    bool all_direct = true;
    for (int index = 0; index < count; index++) {
        tnr_status status = TNR_OK;
        int failed = index;
        if (operands[index].held.carrier == index) {
            status = take_lease(op, operands, index, aliasing, &failed);
        }
        if (TNRI_LIKELY(status == TNR_OK)) {
            status = check_bounds(op, &operands[index], &operands[index].held.count);
        }
        if (TNRI_UNLIKELY(status != TNR_OK)) {
            return failed_at(op, operands, count, failed, lettered, status);
        }
        all_direct = all_direct && tnri_root_access(operands[index].view->root) == TNR_ACCESS_DIRECT;
    }
    *direct = all_direct;
    return TNR_OK;
}

static tnr_status map_all(const char *op, tnri_operand *operands, int count, bool lettered, extent_of_access how,
                          int *mapped)
{
    for (*mapped = 0; *mapped < count; (*mapped)++) {
        if (operands[*mapped].held.carries == TNRI_CARRIES_LEASE) {
            const tnr_status status = map_root(op, &operands[*mapped], how);
            if (TNRI_UNLIKELY(status != TNR_OK)) {
                return failed_at(op, operands, count, *mapped, lettered, status);
            }
        }
    }
    return TNR_OK;
}

/* ---- The usual case ---------------------------------------------------------------------------------------------------------- */

/* Where an operand's first element is, and from where to where its view touches memory. */
typedef struct touched {
    char *first;
    const char *begin;
    const char *end;
} touched;

/*
 * What check_bounds proves, for views with elements, in one pass and without a text; false says "perhaps not". A layout that is
 * written is distinct for certain where each axis, in the order in which they stand, steps over all that those before it
 * reach.
 */
static TNRI_NOINLINE bool is_inside(const tnr_view *view, const tnr_tensor *root, bool write, touched *bytes)
{
    if ((unsigned)view->rank > TNR_MAX_RANK || (unsigned)view->dtype - 1U >= (unsigned)TNR_DTYPE_END - 1U) {
        return false;
    }
    const unsigned shift = tnri_dtype_shift[view->dtype];
    const int64_t elements = (int64_t)(view->window_bytes >> shift);
    if (view->window_begin > root->bytes || view->window_bytes > root->bytes - view->window_begin ||
        (view->window_begin & (((uint64_t)1 << shift) - 1)) != 0 || view->base != tnri_root_base(root) ||
        view->offset < 0 || view->offset >= elements) {
        return false;
    }
    int64_t low = view->offset; /* both stay in 0 .. elements - 1 */
    int64_t high = view->offset;
    for (int axis = 0; axis < view->rank; axis++) {
        const int64_t extent = view->shape[axis];
        const int64_t stride = view->strides[axis];
        if (extent == 1) {
            continue;
        }
        const int64_t reach = high - low;
        int64_t step;
        if (extent <= 0 || (write && stride <= reach && stride >= -reach) || !tnri_mul_i64(extent - 1, stride, &step) ||
            step > elements - 1 - high || step < -low) {
            return false;
        }
        *(step < 0 ? &low : &high) += step;
    }
    char *window = (char *)root->block.address + view->window_begin;
    bytes->first = window + ((uint64_t)view->offset << shift);
    bytes->begin = window + ((uint64_t)low << shift);
    bytes->end = window + (((uint64_t)high + 1) << shift);
    return true;
}

/* All of a root that the host reaches directly. */
static inline touched all_of(const tnr_tensor *root)
{
    char *const first = root->bytes != 0 ? root->block.address : NULL;
    return (touched){first, first, root->bytes != 0 ? first + root->bytes : NULL};
}

/* Leased whole for the operand alone, until access ends. */
static inline bool hold_whole(tnri_operand *operand, tnr_tensor *root, bool write)
{
    if (TNRI_UNLIKELY(!tnri_lease_try_whole(root, operand->view->generation, write))) {
        return false;
    }
    operand->held.root = root;
    operand->held.split = 0;
    operand->held.carries = TNRI_CARRIES_WHOLE;
    return true;
}

/* The first operand of the usual case, if it is one. A lease may be held whatever the answer is, here and below. */
static TNRI_INLINED bool take_first(tnri_operand *operand, touched *output)
{
    const tnr_view *view = operand->view;
    operand->held.carries = TNRI_CARRIES_NOTHING;
    if (TNRI_UNLIKELY(view == NULL || view->root == NULL || view->split != 0)) {
        return false;
    }
    tnr_tensor *root = view->root;
    if (TNRI_UNLIKELY(!hold_whole(operand, root, operand->write) || root->access != TNR_ACCESS_DIRECT)) {
        return false;
    }
    if (TNRI_LIKELY(covers_owner(view, root))) {
        *output = all_of(root);
    } else if (!is_inside(view, root, operand->write, output)) {
        return false;
    }
    operand->data = output->first;
    return true;
}

/* The same elements in the same order, by their descriptors; false says "perhaps not". */
static inline bool is_same_layout(const tnr_view *a, const tnr_view *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank || a->offset != b->offset || a->window_begin != b->window_begin) {
        return false;
    }
    for (int axis = 0; axis < a->rank; axis++) {
        if (a->shape[axis] != b->shape[axis] || a->strides[axis] != b->strides[axis]) {
            return false;
        }
    }
    return true;
}

/* What is read of the root that is written is covered by that lease, and must be apart from it or the very same. */
static TNRI_NOINLINE bool take_shared(tnri_operand *operand, const int index, const tnr_view *written,
                                      tnri_aliasing aliasing, const touched *output)
{
    const bool may_be_same = aliasing == TNRI_IN_PLACE || (aliasing == TNRI_FIRST_IN_PLACE && index == 1);
    const tnr_view *view = operand->view;
    const tnr_tensor *root = view->root;
    touched bytes = all_of(root);
    if (view->generation != written->generation ||
        (!covers_owner(view, root) && !is_inside(view, root, false, &bytes))) {
        return false;
    }
    operand->data = bytes.first;
    return (bytes.end <= output->begin || output->end <= bytes.begin ||
            (may_be_same && is_same_layout(view, written))) &&
           atomic_load_explicit(&root->handle.kind, memory_order_relaxed) != TNRI_HANDLE_DRAFT;
}

/* A further operand of it, read beside `written`, or beside others alone where that is NULL. */
static TNRI_INLINED bool take_next(tnri_operand *operand, const int index, const tnr_view *written,
                                   tnri_aliasing aliasing, const touched *output)
{
    const tnr_view *view = operand->view;
    operand->held.carries = TNRI_CARRIES_NOTHING;
    if (TNRI_UNLIKELY(view == NULL || view->root == NULL || view->split != 0 || operand->write)) {
        return false;
    }
    tnr_tensor *root = view->root;
    if (written != NULL && root == written->root) {
        return take_shared(operand, index, written, aliasing, output);
    }
    /* readers of one root each count */
    if (TNRI_UNLIKELY(!hold_whole(operand, root, false) || root->access != TNR_ACCESS_DIRECT)) {
        return false;
    }
    if (TNRI_LIKELY(covers_owner(view, root))) {
        operand->data = root->bytes != 0 ? root->block.address : NULL;
    } else {
        touched bytes;
        if (!is_inside(view, root, false, &bytes)) {
            return false;
        }
        operand->data = bytes.first;
    }
    return written == NULL || (root->domain != NULL && root->domain == written->root->domain) ||
           owners_apart(written->root, root);
}

/*
 * Operands that the host reaches directly and nobody is in the way of, in one pass: whole tensors, slices and other plain
 * views; operand 0 may be written, in place or beside what is read of the same owner. `count` is a constant where this is
 * inlined. False says nothing but "take the other way", which knows the reason, and nothing is held then.
 */
static TNRI_INLINED bool try_usual(tnri_operand *operands, const int count, tnri_aliasing aliasing)
{
    if (TNRI_UNLIKELY(aliasing == TNRI_READ_BACK)) {
        return false;
    }
    const tnr_view *written = operands[0].write ? operands[0].view : NULL;
    touched output;
    int taken = 0;
    if (TNRI_LIKELY(take_first(&operands[0], &output))) {
        for (taken = 1; taken < count && take_next(&operands[taken], taken, written, aliasing, &output); taken++) {
        }
    }
    if (TNRI_LIKELY(taken == count)) {
        return true;
    }
    for (int index = 0; index <= taken; index++) {
        if (operands[index].held.carries != TNRI_CARRIES_NOTHING) {
            tnri_lease_give_whole(operands[index].held.root, operands[index].write);
        }
    }
    return false;
}

/* What is asked for, without what the inputs are called. */
static inline tnri_aliasing plain(tnri_aliasing asked)
{
    return asked < TNRI_APART_AB ? asked : asked == TNRI_APART_AB ? TNRI_APART : TNRI_READ_BACK;
}

static tnr_status begin(const char *op, tnri_operand *operands, int count, tnri_aliasing asked, extent_of_access how)
{
    const tnri_aliasing aliasing = plain(asked);
    const bool lettered = asked != aliasing;
    bool direct = false;
    int mapped = 0;
    for (int index = 0; index < count; index++) {
        const tnr_status checked = check_descriptor(op, &operands[index]);
        if (TNRI_UNLIKELY(checked != TNR_OK)) {
            return failed_at(op, operands, count, index, lettered, checked);
        }
        operands[index].held.carries = TNRI_CARRIES_NOTHING;
    }
    tnri_link_same_roots(operands, count);
    tnr_status status = lease_and_check(op, operands, count, aliasing, lettered, &direct);
    for (int index = 0; index < count && status == TNR_OK; index++) {
        if (operands[index].write) {
            status = check_overlap(op, operands, count, index, aliasing, lettered);
        }
    }
    if (TNRI_UNLIKELY(!direct) && status == TNR_OK) {
        status = map_all(op, operands, count, lettered, how, &mapped);
    }
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        (void)give_all(operands, count, mapped);
        return status;
    }
    for (int index = 0; index < count; index++) {
        tnri_operand *operand = &operands[index];
        const tnr_view *view = operand->view;
        char *host = direct ? view->root->block.address : operands[operand->held.carrier].held.host;
        operand->data = operand->held.count == 0
                            ? NULL
                            : host + view->window_begin + ((size_t)view->offset << tnri_dtype_shift[view->dtype]);
    }
    return TNR_OK;
}

tnr_status tnri_access_begin(const char *op, tnri_operand *operands, int count, tnri_aliasing aliasing)
{
    if (TNRI_SMALL) { /* what is usual gets no code of its own */
        return begin(op, operands, count, aliasing, REACH_HOST);
    }
    const tnri_aliasing usual = plain(aliasing);
    if (count == 3   ? try_usual(operands, 3, usual)
        : count == 2 ? try_usual(operands, 2, usual)
                     : (count == 1 || count == 4) && try_usual(operands, count, usual)) {
        return TNR_OK;
    }
    return begin(op, operands, count, aliasing, REACH_HOST);
}

tnr_status tnri_access_begin_away(const char *op, tnri_operand *operands, int count, tnri_aliasing aliasing)
{
    const bool usual = !TNRI_SMALL && (count == 1 || count == 2) && try_usual(operands, count, plain(aliasing));
    return usual ? TNR_OK : begin(op, operands, count, aliasing, REACH_AWAY);
}

tnr_status tnri_access_begin_bare(const char *op, tnri_operand *operands, int count, tnri_aliasing aliasing)
{
    return begin(op, operands, count, aliasing, REACH_BARE);
}

tnr_status tnri_away_read(const tnr_tensor *root, const tnr_domain_box *box, void *host)
{
    return root->domain->kind->read(root->domain, &root->block, box, host);
}

tnr_status tnri_away_write(const tnr_tensor *root, const tnr_domain_box *box, const void *host)
{
    return root->domain->kind->write(root->domain, &root->block, box, host);
}

tnr_status tnri_away_expose(const tnr_tensor *root, tnr_map_mode mode, void **address)
{
    return root->domain->kind->expose(root->domain, &root->block, mode, address);
}

void tnri_away_conceal(const tnr_tensor *root, tnr_map_mode mode)
{
    root->domain->kind->conceal(root->domain, &root->block, mode);
}

tnr_status tnri_access_end(tnri_operand *operands, int count)
{
    for (int index = 0; !TNRI_SMALL && index < count; index++) { /* what is usual, up to the first that is not */
        tnri_operand *operand = &operands[index];
        if (TNRI_LIKELY(operand->held.carries == TNRI_CARRIES_WHOLE)) {
            operand->held.carries = TNRI_CARRIES_NOTHING;
            tnri_lease_give_whole(operand->held.root, operand->write);
        } else if (operand->held.carries != TNRI_CARRIES_NOTHING) {
            return give_all(operands, count, count);
        }
    }
    return TNRI_SMALL ? give_all(operands, count, count) : TNR_OK;
}
