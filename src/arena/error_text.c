/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of the last failure, one per thread, in a fixed buffer: recording a failure can itself not fail. The formatter
 * knows the few conversions that the library uses, so that no stdio and no locale stand behind an error.
 */
#include <stdarg.h>

#include "base.h"

static TNRI_THREAD_LOCAL char error_text[TNR_ERROR_TEXT_BYTES];
static TNRI_THREAD_LOCAL unsigned recorded;

/* A cursor into a buffer that always keeps room for the terminating zero. */
typedef struct text_writer {
    char *next;
    char *last;
} text_writer;

static void put_char(text_writer *writer, char character)
{
    if (writer->next < writer->last) {
        *writer->next++ = character;
    }
}

static void put_string(text_writer *writer, const char *string)
{
    for (const char *at = string != NULL ? string : "(null)"; *at != '\0'; at++) {
        put_char(writer, *at);
    }
}

static void put_unsigned(text_writer *writer, unsigned long long value)
{
    char digits[TNRI_DIGITS];
    const int count = tnri_put_decimal(digits, value);
    for (int i = 0; i < count; i++) {
        put_char(writer, digits[i]);
    }
}

static void put_signed(text_writer *writer, long long value)
{
    if (value < 0) {
        put_char(writer, '-');
        put_unsigned(writer, 0ULL - (unsigned long long)value);
    } else {
        put_unsigned(writer, (unsigned long long)value);
    }
}

const char *tnr_last_error(void) { return error_text; }

unsigned tnri_failures_recorded(void) { return recorded; }

tnr_status tnr_set_error(tnr_status status, const char *text)
{
    if (status != TNR_OK) {
        text_writer writer = {error_text, error_text + sizeof(error_text) - 1};
        put_string(&writer, text != NULL ? text : tnr_status_text(status));
        *writer.next = '\0';
        recorded++;
    }
    return status;
}

void tnri_record_failure(const char *format, ...)
{
    /* Written aside first: an argument may be the present text itself. */
    char text[TNR_ERROR_TEXT_BYTES];
    text_writer writer = {text, text + sizeof(text) - 1};
    va_list arguments;
    va_start(arguments, format);
    for (const char *at = format; *at != '\0'; at++) {
        if (*at != '%') {
            put_char(&writer, *at);
            continue;
        }
        at++;
        if (*at == 's') {
            put_string(&writer, va_arg(arguments, const char *));
        } else if (*at == 'd') {
            put_signed(&writer, va_arg(arguments, int));
        } else if (at[0] == 'l' && at[1] == 'l' && at[2] == 'd') {
            put_signed(&writer, va_arg(arguments, long long));
            at += 2;
        } else if (at[0] == 'l' && at[1] == 'l' && at[2] == 'u') {
            put_unsigned(&writer, va_arg(arguments, unsigned long long));
            at += 2;
        } else {
            put_char(&writer, *at);
            if (*at == '\0') {
                break;
            }
        }
    }
    va_end(arguments);
    *writer.next = '\0';
    memcpy(error_text, text, (size_t)(writer.next - text) + 1);
    recorded++;
}

#if TNRI_TEXTS
tnr_status tnri_failed_in(const char *op, const char *name, tnr_status status)
{
    const size_t length = strlen(op);
    const bool begins =
        strncmp(error_text, op, length) == 0 && error_text[length] == ':' && error_text[length + 1] == ' ';
    const char *rest = begins ? error_text + length + 2 : error_text;
    if (name != NULL) {
        return tnri_fail(status, "%s: %s: %s", op, name, rest);
    }
    return begins ? status : tnri_fail(status, "%s: %s", op, rest);
}
#endif
