/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program's own domain: its table of functions behind the common class. The record in the home is one block:
 *
 *   | tnr_domain | program_state | the program's private state, 64-byte aligned |
 */
#include "arena.h"

typedef struct program_state {
    tnr_domain_ops ops;
    void *own;
} program_state;

/* What every element type needs of the pointer to a block. */
#define MAP_ALIGNMENT 16

#define RECORD_HEAD_BYTES ((sizeof(tnr_domain) + sizeof(program_state) + TNRI_UNIT - 1) / TNRI_UNIT * TNRI_UNIT)

static program_state *state_of(const tnr_domain *domain) { return domain->state; }

const char *tnri_program_domain_name(const tnr_domain *domain) { return state_of(domain)->ops.name; }

/* A failing entry need not record a text; an older failure's must not stand for it. */
static tnr_status answer_of(const program_state *state, const char *entry, unsigned recorded, tnr_status status)
{
    if (TNRI_UNLIKELY((unsigned)status > (unsigned)TNR_ERR_IO)) {
        return tnri_fail(TNR_ERR_BACKEND, "%s: %s answered %d, which is no status", state->ops.name, entry,
                         (int)status);
    }
    if (TNRI_UNLIKELY(status != TNR_OK) && tnri_failures_recorded() == recorded) {
        return tnri_fail(status, "%s: %s failed: %s", state->ops.name, entry, tnr_status_text(status));
    }
    return status;
}

static tnr_status program_allocate(tnr_domain *domain, tnri_block_use use, uint64_t bytes, uint64_t alignment,
                                   tnr_block *block)
{
    (void)use;
    alignment = tnri_max_u64(alignment, TNRI_UNIT);
    program_state *state = state_of(domain);
    tnr_block taken = {NULL, 0, 0, 0};
    const unsigned recorded = tnri_failures_recorded();
    const tnr_status status = state->ops.allocate(state->own, bytes, alignment, &taken);
    if (status != TNR_OK) {
        if (status == TNR_ERR_MEMORY) {
            tnri_tally_failure(&domain->tally);
        }
        return answer_of(state, "allocate", recorded, status);
    }
    if (taken.bytes < bytes || (domain->access == TNR_ACCESS_DIRECT &&
                                (taken.address == NULL || ((uintptr_t)taken.address & (alignment - 1)) != 0))) {
        state->ops.release(state->own, &taken);
        return tnri_fail(TNR_ERR_BACKEND,
                         "%s: allocate answered %llu bytes, misaligned or fewer than the %llu asked for",
                         state->ops.name, TNRI_LLU(taken.bytes), TNRI_LLU(bytes));
    }
    taken.allocation = tnri_mint(domain);
    tnri_tally_take(&domain->tally, taken.bytes);
    *block = taken;
    return TNR_OK;
}

static tnr_status program_release(tnr_domain *domain, const tnr_block *block, tnri_block_use use)
{
    (void)use;
    program_state *state = state_of(domain);
    tnri_tally_give(&domain->tally, block->bytes);
    state->ops.release(state->own, block);
    return TNR_OK;
}

static tnr_status program_map(tnr_domain *domain, const tnr_block *block, tnr_map_mode mode, void **host)
{
    program_state *state = state_of(domain);
    void *mapped = NULL;
    const unsigned recorded = tnri_failures_recorded();
    TNR_TRY(answer_of(state, "map", recorded, state->ops.map(state->own, block, mode, &mapped)));
    if (TNRI_UNLIKELY(mapped == NULL || ((uintptr_t)mapped & (MAP_ALIGNMENT - 1)) != 0)) {
        if (mapped != NULL) {
            (void)state->ops.unmap(state->own, block, mode, mapped);
        }
        return tnri_fail(TNR_ERR_BACKEND,
                         "%s: map answered success and a pointer that is NULL or not aligned to %d bytes",
                         state->ops.name, MAP_ALIGNMENT);
    }
    *host = mapped;
    return TNR_OK;
}

static tnr_status program_unmap(tnr_domain *domain, const tnr_block *block, tnr_map_mode mode, void *host)
{
    program_state *state = state_of(domain);
    const unsigned recorded = tnri_failures_recorded();
    return answer_of(state, "unmap", recorded, state->ops.unmap(state->own, block, mode, host));
}

static tnr_status program_read(tnr_domain *domain, const tnr_block *block, const tnr_domain_box *box, void *host)
{
    program_state *state = state_of(domain);
    const unsigned recorded = tnri_failures_recorded();
    return answer_of(state, "read", recorded, state->ops.read(state->own, block, box, host));
}

static tnr_status program_write(tnr_domain *domain, const tnr_block *block, const tnr_domain_box *box, const void *host)
{
    program_state *state = state_of(domain);
    const unsigned recorded = tnri_failures_recorded();
    return answer_of(state, "write", recorded, state->ops.write(state->own, block, box, host));
}

static void program_statistics(tnr_domain *domain, tnr_domain_statistics *statistics)
{
    program_state *state = state_of(domain);
    if (state->ops.statistics != NULL) {
        state->ops.statistics(state->own, statistics);
    }
    tnri_tally_report(&domain->tally, statistics);
}

static void program_destroy(tnr_domain *domain)
{
    program_state *state = state_of(domain);
    if (state->ops.close != NULL) {
        state->ops.close(state->own);
    }
}

static const tnri_domain_class program_class = {
    .name = NULL,
    .allocate = program_allocate,
    .release = program_release,
    .map = program_map,
    .unmap = program_unmap,
    .read = program_read,
    .write = program_write,
    .statistics = program_statistics,
    .destroy = program_destroy,
};

/* The first version's table: what every program's has. */
#define LEAST_OPS_BYTES offsetof(tnr_domain_ops, read)

static tnr_status take_ops(const tnr_domain_config *config, tnr_domain_ops *ops)
{
    TNR_REQUIRE(config->ops != NULL && config->ops_size >= LEAST_OPS_BYTES &&
                    config->ops_size % _Alignof(tnr_domain_ops) == 0,
                TNR_ERR_ARGUMENT,
                "domain_create: a table of functions of at least %llu bytes is needed, start from TNR_DOMAIN_CONFIG",
                TNRI_LLU(LEAST_OPS_BYTES));
    const unsigned char *bytes = (const unsigned char *)config->ops;
    for (size_t at = sizeof(*ops); at < config->ops_size; at++) {
        TNR_REQUIRE(bytes[at] == 0, TNR_ERR_ARGUMENT,
                    "domain_create: the table has an entry that this version does not know");
    }
    memset(ops, 0, sizeof(*ops));
    memcpy(ops, config->ops, config->ops_size < sizeof(*ops) ? config->ops_size : sizeof(*ops));
    TNR_REQUIRE(ops->name != NULL && ops->allocate != NULL && ops->release != NULL, TNR_ERR_ARGUMENT,
                "domain_create: ops need a name, allocate and release");
    return TNR_OK;
}

tnr_status tnr_domain_need(const tnr_domain_config *config, tnr_need *need)
{
    TNR_REQUIRE(config != NULL && need != NULL, TNR_ERR_ARGUMENT, "domain_need: config and need must not be NULL");
    tnr_domain_config taken = TNR_DOMAIN_CONFIG;
    tnr_domain_ops table;
    uint64_t bytes;
    TNR_TRY(tnri_options_take("domain_need", config, sizeof(taken), &taken, sizeof(taken)));
    TNR_TRY(take_ops(&taken, &table));
    TNR_REQUIRE(tnri_add_u64(RECORD_HEAD_BYTES, table.size, &bytes), TNR_ERR_OVERFLOW,
                "domain_need: %llu bytes of state do not fit in 64 bits", TNRI_LLU(table.size));
    return tnri_record_need(bytes, need);
}

tnr_status tnr_domain_create(tnr_domain *home, const tnr_domain_config *given, tnr_domain **domain)
{
    TNR_REQUIRE(home != NULL && given != NULL && domain != NULL, TNR_ERR_ARGUMENT,
                "domain_create: home, config and domain must not be NULL");
    tnr_domain_config taken = TNR_DOMAIN_CONFIG;
    const tnr_domain_config *const config = &taken;
    TNR_TRY(tnri_options_take("domain_create", given, sizeof(taken), &taken, sizeof(taken)));
    tnr_domain_ops table;
    const tnr_domain_ops *const ops = &table;
    TNR_TRY(take_ops(config, &table));
    const bool mapped = config->access == TNR_ACCESS_MAPPED;
    TNR_REQUIRE(config->access == TNR_ACCESS_DIRECT || mapped || config->access == TNR_ACCESS_NONE, TNR_ERR_ARGUMENT,
                "domain_create: %d is no host access", (int)config->access);
    TNR_REQUIRE((ops->map != NULL) == mapped && (ops->unmap != NULL) == mapped, TNR_ERR_ARGUMENT,
                "domain_create: map and unmap are for mapped access, and needed there");
    TNR_REQUIRE((ops->read != NULL) == (ops->write != NULL) && (ops->read == NULL || config->access == TNR_ACCESS_NONE),
                TNR_ERR_ARGUMENT, "domain_create: read and write are for access none, and there both or neither");
    const tnr_placement *placement = &config->placement;
    TNR_REQUIRE(placement->kind >= TNR_MEMORY_HOST && placement->kind <= TNR_MEMORY_OTHER &&
                    placement->device >= TNR_NONE && placement->cpu_affinity >= TNR_NONE,
                TNR_ERR_ARGUMENT, "domain_create: placement has an unknown memory kind or a negative number");
    uint64_t bytes;
    TNR_REQUIRE(tnri_add_u64(RECORD_HEAD_BYTES, ops->size, &bytes), TNR_ERR_OVERFLOW,
                "domain_create: %llu bytes of state do not fit in 64 bits", TNRI_LLU(ops->size));
    TNR_TRY(tnri_domain_check_open("domain_create", home));
    tnr_block record;
    TNR_TRY(tnri_record_take(home, bytes, &record));
    tnr_domain *made = record.address;
    program_state *state = (program_state *)(void *)(made + 1);
    state->ops = *ops;
    state->own = (char *)record.address + RECORD_HEAD_BYTES;
    made->record = record;
    made->state = state;
    tnr_status status = tnri_domain_init(made, &program_class, home->home, *placement, config->access);
    made->coherent = made->coherent || config->coherent_maps;
    made->copies = ops->read != NULL;
    if (status == TNR_OK && ops->open != NULL) {
        const unsigned recorded = tnri_failures_recorded();
        status = answer_of(state, "open", recorded, ops->open(state->own, config->config));
    }
    if (status != TNR_OK) {
        tnri_record_give(home, &record);
        return status;
    }
    tnri_domain_use_as_child(home->home);
    *domain = made;
    return TNR_OK;
}
