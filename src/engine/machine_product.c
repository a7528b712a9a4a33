/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One contraction by the engines of all nodes of a machine: the calling thread enters them all, and leases, checks and chooses once.
 *
 * Guarantees: engines are entered in the order of their nodes, and on the first refusal left again; nothing is written then.
 */
#include "recipe_internal.h"
#include "tenure/machine.h"

/* All engines of the machine that have a place, the first node's first; the calling thread is inside of them. */
static tnr_status enter_all(const char *op, tnr_machine *machine, tnri_company *company)
{
    const int nodes = tnr_machine_nodes(machine);
    company->count = 0;
    while (company->count < nodes && company->count < TNRI_ENGINES_AT_ONCE) {
        tnr_engine *engine = NULL;
        tnr_status status = tnr_machine_engine(machine, tnr_machine_node_at(machine, company->count), &engine);
        if (status == TNR_OK) {
            status = tnri_engine_enter(op, engine, true);
        }
        if (status != TNR_OK) {
            while (company->count > 0) {
                (void)tnri_engine_leave(company->engines[--company->count], TNR_OK);
            }
            return status;
        }
        company->engines[company->count++] = engine;
    }
    return TNR_OK;
}

static tnr_status run(const char *op, tnr_machine *machine, const tnr_view *const *operands, const char *const *labels,
                      const tnr_product_options *options, const tnr_view_mut *out)
{
    TNR_REQUIRE(machine != NULL && out != NULL, TNR_ERR_ARGUMENT, "%s: machine or out is NULL", op);
    const tnri_target target = {.into = out};
    tnri_asked asked = {.op = op,
                        .pair = true,
                        .labels = {labels[0], labels[1], labels[2]},
                        .operands = operands,
                        .count = 2,
                        .out = &out->view};
    TNR_TRY(tnri_asked_take(&asked, options, NULL));
    tnri_company company;
    TNR_TRY(enter_all(op, machine, &company));
    const tnr_status status = tnri_asked_run_by(&company, &asked, target);
    while (company.count > 0) {
        (void)tnri_engine_leave(company.engines[--company.count], TNR_OK);
    }
    return status;
}

tnr_status tnr_machine_contract_into(tnr_machine *machine, const tnr_view *a, const char *a_labels, const tnr_view *b,
                                     const char *b_labels, const char *out_labels, const tnr_product_options *options,
                                     const tnr_view_mut *out)
{
    const tnr_view *const operands[2] = {a, b};
    const char *const labels[3] = {a_labels, b_labels, out_labels};
    return run("machine_contract", machine, operands, labels, options, out);
}

tnr_status tnr_machine_matmul_into(tnr_machine *machine, const tnr_view *a, const tnr_view *b,
                                   const tnr_product_options *options, const tnr_view_mut *out)
{
    static const char *const op = "machine_matmul";
    static const char *const labels[3] = {"ik", "kj", "ij"};
    TNR_TRY(tnri_matmul_check(op, a, b));
    const tnr_view *const operands[2] = {a, b};
    return run(op, machine, operands, labels, options, out);
}
