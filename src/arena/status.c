/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and texts of the answers, out of the one list in status.h. */
#include "base.h"

#define STATUS_NAME(constant, value, name, meaning) \
    case constant:                                  \
        return name;
#define STATUS_TEXT(constant, value, name, meaning) \
    case constant:                                  \
        return meaning;

const char *tnr_status_name(tnr_status status)
{
    switch (status) {
        TNR_STATUS_MAP(STATUS_NAME)
    }
    return "unknown";
}

const char *tnr_status_text(tnr_status status)
{
    switch (status) {
        TNR_STATUS_MAP(STATUS_TEXT)
    }
    return "no status of this library";
}
