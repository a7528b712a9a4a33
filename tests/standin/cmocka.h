/* SPDX-License-Identifier: BSD-3-Clause */
/* For machines without cmocka: the part of it that boards have, which tests of label cuda need no more than. */
#include "../board/runtime/cmocka.h"
