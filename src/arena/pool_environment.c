/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cap of pools that state none, from the environment: read at the first question and kept, so that all pools of a
 * process agree whatever setenv does later.
 */
#include <stdlib.h>

#include "pool_internal.h"

#define VARIABLE "TENURE_POOL_MAX_BYTES"

/* As much of a bad value as fits is kept for the texts of later calls. */
enum { KEPT_TEXT = 80 };

static struct {
    tnri_lock lock;
    bool read;
    bool valid;
    uint64_t max_bytes;
    char text[KEPT_TEXT];
} setting;

static unsigned suffix_shift(char suffix)
{
    switch (suffix) {
    case 'K':
        return 10;
    case 'M':
        return 20;
    case 'G':
        return 30;
    default:
        return 0;
    }
}

/* Digits, then at most one of K, M and G, and nothing else. */
static bool parse_bytes(const char *text, uint64_t *bytes)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (!tnri_mul_u64(value, 10, &value) || !tnri_add_u64(value, (uint64_t)(*at - '0'), &value)) {
            return false;
        }
    }
    if (at == text) {
        return false;
    }
    const unsigned shift = suffix_shift(*at);
    if (shift != 0) {
        at++;
    }
    return *at == '\0' && tnri_mul_u64(value, UINT64_C(1) << shift, bytes);
}

static void read_setting(void)
{
    const char *text = getenv(VARIABLE);
    if (text == NULL) {
        setting.max_bytes = TNR_POOL_DEFAULT_MAX_BYTES;
        setting.valid = true;
    } else {
        setting.valid = parse_bytes(text, &setting.max_bytes);
        const size_t length = strlen(text);
        memcpy(setting.text, text, length < KEPT_TEXT ? length : KEPT_TEXT - 1);
    }
    setting.read = true;
}

tnr_status tnri_pool_environment(uint64_t *max_bytes)
{
    tnri_lock_take(&setting.lock);
    if (!setting.read) {
        read_setting();
    }
    tnri_lock_give(&setting.lock);
    /* What was read never changes again. */
    TNR_REQUIRE(setting.valid, TNR_ERR_ARGUMENT,
                "pool: " VARIABLE " must be a number of bytes, with K, M or G behind it if you like; it is \"%s\"",
                setting.text);
    *max_bytes = setting.max_bytes;
    return TNR_OK;
}
