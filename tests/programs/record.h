/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiled in front of an example's sources (-include): its heap and its engines' memory become domains that write down what they are
 * asked for (record.c). So tests/data/trace_*.txt were made.
 */
#ifndef TENURE_TESTS_RECORD_H
#define TENURE_TESTS_RECORD_H

#include "tenure/tenure.h"

tnr_status record_heap_create(tnr_domain **heap);
tnr_status record_domain_close(tnr_domain **domain);
tnr_status record_machine_engine(tnr_machine *machine, int node, tnr_engine **engine);
tnr_status record_machine_destroy(tnr_machine **machine);

#ifndef TENURE_TESTS_RECORD_C
#define tnr_heap_create record_heap_create
#define tnr_domain_close record_domain_close
#define tnr_machine_engine record_machine_engine
#define tnr_machine_destroy record_machine_destroy
#endif

#endif /* TENURE_TESTS_RECORD_H */
