/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the core lends to its companion libraries, tenure::mpi and tenure::cuda: one exported table. They are shared libraries of
 * their own, so that a program without ranks or devices loads neither, and the core's other inner functions are hidden from
 * them. Not installed, not for programs: its layout may change with every version, and companions check `version` and the sizes
 * before they use anything else.
 */
#ifndef TENURE_STORAGE_PROVIDER_H
#define TENURE_STORAGE_PROVIDER_H

#include "storage.h"
#include "tenure/ticket.h"

/* Raised with every change of this table or of a struct that it speaks of. */
#define TNRI_PROVIDER_VERSION 6U

/* What a ticket does; the companion that makes it keeps its memory. */
typedef struct tnri_ticket_class {
    /*
     * Go on; `wait`: until it is over. *done: over, and the ticket's memory is the companion's again. An answer other than TNR_OK
     * with *done false: the call was refused, the ticket lives.
     */
    tnr_status (*advance)(tnr_ticket *ticket, bool wait, bool *done);
    /* TNR_OK: over, nothing was moved, and the ticket's memory is the companion's again. TNR_ERR_BUSY: too late. */
    tnr_status (*abandon)(tnr_ticket *ticket);
} tnri_ticket_class;

/* First member of a companion's own ticket. */
struct tnr_ticket {
    const tnri_ticket_class *kind;
};

/* Words of a remote descriptor that are the companion's own: where the owner's bytes are to be had. */
#define TNRI_GROUP_SOURCE_WORDS 4

/* One descriptor as it travels between ranks; everything about its owner is what its own rank said. */
typedef struct tnri_group_item {
    int32_t rank; /* in the world that publishes */
    uint32_t owner;
    uint64_t owner_bytes;
    tnr_domain_id domain;
    uint64_t allocation;
    tnr_placement placement;
    uint64_t source[TNRI_GROUP_SOURCE_WORDS];
    uint32_t dtype;
    uint32_t dimensions; /* the tensor's rank */
    uint64_t byte_begin;
    uint64_t byte_count;
    int64_t offset;
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK];
} tnri_group_item;

typedef struct tnri_provider {
    /* -- checked first -- */
    uint32_t version;
    uint32_t max_rank;
    size_t size;        /* of this table */
    size_t tensor_size; /* of struct tnr_tensor */
    /* -- texts -- */
    void (*record_failure)(const char *format, ...) TNRI_PRINTF(1, 2);
    /* -- identity: the process part of all domain ids; 0: none. TNR_ERR_ARGUMENT when another one is set already -- */
    tnr_status (*process_attach)(const char *op, uint64_t process);
    /* -- memory for records of the companion, and users of domains -- */
    tnr_status (*record_take)(tnr_domain *domain, uint64_t bytes, tnr_block *block);
    void (*record_give)(tnr_domain *domain, const tnr_block *block);
    tnr_status (*domain_check_open)(const char *op, tnr_domain *domain); /* no sealed arena: for what lasts */
    void (*domain_use)(tnr_domain *domain);
    void (*domain_unuse)(tnr_domain *domain);
    tnr_status (*options_take)(const char *op, const void *given, size_t least, void *known, size_t known_size);
    /* -- operands: leases, checks, mappings (storage.h) -- */
    tnr_status (*access_begin)(const char *op, tnri_operand *operands, int count, tnri_aliasing aliasing);
    tnr_status (*access_end)(tnri_operand *operands, int count);
    tnr_status (*output_begin)(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                               tnr_allocation_reason reason, tnri_output *output);
    tnr_status (*output_end)(tnri_output *output, tnr_status status, tnr_tensor **tensor);
    void (*ledger_copy)(tnr_domain *domain, tnr_copy_reason reason, uint64_t bytes);
    /* -- the same with memory that the host cannot reach, and its copies (storage.h: away) -- */
    tnr_status (*access_begin_away)(const char *op, tnri_operand *operands, int count, tnri_aliasing aliasing);
    tnr_status (*output_begin_away)(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                                    tnr_allocation_reason reason, tnri_output *output);
    tnr_status (*away_read)(const tnr_tensor *root, const tnr_domain_box *box, void *host);
    tnr_status (*away_write)(const tnr_tensor *root, const tnr_domain_box *box, const void *host);
    tnr_status (*away_expose)(const tnr_tensor *root, tnr_map_mode mode, void **address);
    void (*away_conceal)(const tnr_tensor *root, tnr_map_mode mode);
    /* -- the same without any mapping, for companions that reach the bytes in their own way -- */
    tnr_status (*access_begin_bare)(const char *op, tnri_operand *operands, int count, tnri_aliasing aliasing);
    tnr_status (*output_begin_bare)(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                                    tnr_allocation_reason reason, tnri_output *output);
    /* -- layouts and copies: pure (storage.h) -- */
    tnr_status (*shape_bytes)(const char *op, tnr_dtype dtype, int rank, const int64_t *shape, int64_t *count,
                              uint64_t *bytes);
    void (*compact_strides)(int rank, const int64_t *shape, int64_t *strides);
    void (*copy_elements)(size_t element_bytes, int rank, const int64_t *shape, void *target,
                          const int64_t *target_strides, const void *source, const int64_t *source_strides);
    /* The same for one piece of something so large that what is written should not fill the caches. */
    void (*copy_past_caches)(size_t element_bytes, int rank, const int64_t *shape, void *target,
                             const int64_t *target_strides, const void *source, const int64_t *source_strides);
    /*
     * -- groups across ranks (group_remote.c) --
     * can: TNR_ERR_ARGUMENT for NULL, TNR_ERR_BUSY when it is published; *epoch is that of its last publication, 0: none.
     * owner: a view of all bytes of an owner, as booleans; false: vacated. item: a live descriptor of this rank; false: none here.
     * publish: append the others' items, checked one by one (TNR_ERR_MPI), all or none; no item may be of this rank. From then on
     * the group is published; `publication` must not be NULL. unpublish ends the epoch.
     * find: own is true for a slot of this rank, and *item not written. Else the item.
     */
    tnr_status (*group_can_publish)(const char *op, const tnr_group *group, uint32_t *epoch);
    bool (*group_owner)(const tnr_group *group, uint32_t owner, tnr_view *bytes);
    bool (*group_item)(const tnr_group *group, uint32_t index, tnri_group_item *item);
    tnr_status (*group_publish)(const char *op, tnr_group *group, uint32_t epoch, void *publication,
                                const tnri_group_item *items, uint32_t count);
    void (*group_unpublish)(tnr_group *group);
    void (*group_retract)(tnr_group *group, uint32_t epoch); /* undo publish, right after it; `epoch` as it was */
    void *(*group_publication)(const tnr_group *group);
    tnr_status (*group_find_item)(const char *op, const tnr_group *group, tnr_slot slot, bool *own,
                                  tnri_group_item *item);
} tnri_provider;

/* What of this is not in storage.h (group_remote.c). */
tnr_status tnri_group_can_publish(const char *op, const tnr_group *group, uint32_t *epoch);
bool tnri_group_owner_bytes(const tnr_group *group, uint32_t owner, tnr_view *bytes);
bool tnri_group_own_item(const tnr_group *group, uint32_t index, tnri_group_item *item);
tnr_status tnri_group_publish(const char *op, tnr_group *group, uint32_t epoch, void *publication,
                              const tnri_group_item *items, uint32_t count);
void tnri_group_unpublish(tnr_group *group);
void tnri_group_retract(tnr_group *group, uint32_t epoch);
void *tnri_group_publication(const tnr_group *group);
tnr_status tnri_group_find_item(const char *op, const tnr_group *group, tnr_slot slot, bool *own,
                                tnri_group_item *item);

/* The one symbol. */
extern TNR_API const tnri_provider tnr_provider;

#endif /* TENURE_STORAGE_PROVIDER_H */
