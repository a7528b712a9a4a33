/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tenure.h
 * All of the core: tensors whose owner, place and copies are always known.
 *
 * One owner per allocation, many descriptors; bytes never move unless a call says so by name; nothing is allocated
 * unless a call says from where. Read the headers in this order.
 */
#ifndef TENURE_TENURE_H
#define TENURE_TENURE_H

#include "tenure/version.h"

#include "tenure/status.h"

#include "tenure/features.h"

#include "tenure/dtype.h"

#include "tenure/domain.h"

#include "tenure/topology.h"

#include "tenure/view.h"

#include "tenure/tensor.h"

#include "tenure/group.h"

#include "tenure/ticket.h"

#include "tenure/engine.h"

#include "tenure/elementwise.h"

#include "tenure/reduction.h"

#include "tenure/structure.h"

#include "tenure/contract.h"
#include "tenure/product.h"

#include "tenure/einsum.h"

#include "tenure/plan.h"

#include "tenure/machine.h"

#include "tenure/build.h"

#endif /* TENURE_TENURE_H */
