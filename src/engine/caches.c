/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an engine takes its CPUs' caches to be, and from where on outputs are written past them.
 *
 * A streaming store saves the read of the line that it overwrites, and leaves the result in memory instead of a cache. Which
 * is better between the second-level cache and memory depends on the third level. Measured, f64 add alone, and add with a sum
 * that reads its result again, time with plain over time with streaming stores:
 *
 *   Zen 3, 512 KiB L2, 32 MiB L3: 3 to 12 MiB touched 1.0, 0.6; 24 MiB 1.5, 0.8; 48 MiB 1.4, 1.2; 393 MiB 1.8, 1.3
 *   Emerald Rapids, 2 MiB L2, 260 MiB L3 of a whole socket: 3 MiB 0.7, 0.6; 6 MiB 1.1, 0.9; 12 MiB 1.3, 1.0; 24 MiB 1.5, 1.2;
 *   48 MiB 1.6, 1.3; 96 and 384 MiB 1.4, 1.3
 *
 * So plain stores while all that is touched fits in three quarters of a third-level cache, streaming ones beyond; and of a
 * third-level cache no more than 32 MiB are counted: larger ones are a socket's, in which one core's streaming stores are ahead from 12 MiB on,
 * and full of what strangers do. Nor can an engine count on one that cores share which are not the engine's: it reckons with its cores' part, be the
 * others another engine's, another process's, or idle now.
 */
#include "caches_internal.h"

enum { MOST_THIRD = 32 << 20, WITHOUT_THIRD = 8 };

bool tnri_engine_streams(const tnr_engine *engine, uint64_t bytes)
{
    if (engine->l3_bytes == 0) {
        return bytes / WITHOUT_THIRD > engine->l2_bytes;
    }
    const uint64_t share = tnri_min_u64(engine->l3_bytes, MOST_THIRD);
    return bytes > share - share / 4;
}
