/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_query PATH...: reads one JSON text (RFC 8259) from standard input, checks all of it, and prints the value at each
 * path on a line of its own: strings without their quotes, numbers and words as they stand, "[3]" and "{3}" for an array
 * and an object of three. A path is names and indices with dots between, "engines.0.cpus". Ends with 1 when the text is
 * no JSON, has a name twice in one object, or lacks a path. Escapes in strings are checked and printed as they stand.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_ROOM = 1 << 22, PATH_ROOM = 512, DEPTH = 32, NAMES = 64 };

/* What is looked for, and where the reading is. */
typedef struct reader {
    const char *at;
    const char *wanted;
    char path[PATH_ROOM]; /* of the value that is read now */
    int depth;
    bool found;
} reader;

static bool read_value(reader *r);

static void skip_space(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r') {
        r->at++;
    }
}

static bool take(reader *r, char expected)
{
    skip_space(r);
    if (*r->at != expected) {
        return false;
    }
    r->at++;
    return true;
}

static bool read_escape(reader *r)
{
    if (*r->at == 'u') {
        for (int digit = 1; digit <= 4; digit++) {
            if (!isxdigit((unsigned char)r->at[digit])) {
                return false;
            }
        }
        r->at += 5;
        return true;
    }
    return *r->at != 0 && strchr("\"\\/bfnrt", *r->at++) != NULL;
}

/* A string; *text and *length get what stands between its quotes. */
static bool read_string(reader *r, const char **text, int *length)
{
    if (!take(r, '"')) {
        return false;
    }
    *text = r->at;
    while (*r->at != '"') {
        if ((unsigned char)*r->at < 0x20) {
            return false;
        }
        if (*r->at++ == '\\' && !read_escape(r)) {
            return false;
        }
    }
    *length = (int)(r->at - *text);
    r->at++;
    return true;
}

static bool read_digits(reader *r)
{
    if (!isdigit((unsigned char)*r->at)) {
        return false;
    }
    while (isdigit((unsigned char)*r->at)) {
        r->at++;
    }
    return true;
}

static bool read_number(reader *r)
{
    r->at += *r->at == '-' ? 1 : 0;
    if (*r->at == '0') {
        r->at++;
    } else if (!read_digits(r)) {
        return false;
    }
    if (*r->at == '.') {
        r->at++;
        if (!read_digits(r)) {
            return false;
        }
    }
    if (*r->at == 'e' || *r->at == 'E') {
        r->at++;
        r->at += *r->at == '+' || *r->at == '-' ? 1 : 0;
        return read_digits(r);
    }
    return true;
}

/* Read what is at path.name; the path is as it was afterwards. */
static bool read_member(reader *r, const char *name, int length)
{
    const size_t before = strlen(r->path);
    const int added =
        snprintf(r->path + before, sizeof(r->path) - before, "%s%.*s", before == 0 ? "" : ".", length, name);
    const bool fits = added >= 0 && (size_t)added < sizeof(r->path) - before;
    const bool read = fits && read_value(r);
    r->path[before] = 0;
    return read;
}

static bool is_new(const char **names, int *lengths, int count, const char *name, int length)
{
    for (int i = 0; i < count; i++) {
        if (lengths[i] == length && memcmp(names[i], name, (size_t)length) == 0) {
            return false;
        }
    }
    names[count] = name;
    lengths[count] = length;
    return true;
}

static bool read_object(reader *r, int *members)
{
    const char *names[NAMES];
    int lengths[NAMES];
    *members = 0;
    if (take(r, '}')) {
        return true;
    }
    do {
        const char *name = NULL;
        int length = 0;
        skip_space(r);
        if (*members == NAMES || !read_string(r, &name, &length) || !is_new(names, lengths, *members, name, length) ||
            !take(r, ':') || !read_member(r, name, length)) {
            return false;
        }
        ++*members;
    } while (take(r, ','));
    return take(r, '}');
}

static bool read_array(reader *r, int *members)
{
    *members = 0;
    if (take(r, ']')) {
        return true;
    }
    do {
        char index[16];
        const int length = snprintf(index, sizeof(index), "%d", *members);
        if (!read_member(r, index, length)) {
            return false;
        }
        ++*members;
    } while (take(r, ','));
    return take(r, ']');
}

static bool read_word(reader *r)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const size_t length = strlen(words[i]);
        if (strncmp(r->at, words[i], length) == 0) {
            r->at += length;
            return true;
        }
    }
    return false;
}

static bool read_value(reader *r)
{
    const bool wanted = strcmp(r->path, r->wanted) == 0;
    int members = 0;
    skip_space(r);
    const char kind = *r->at;
    const char *text = r->at;
    int length = 0;
    bool read = false;
    if (kind == '{' || kind == '[') {
        r->at++;
        read = ++r->depth <= DEPTH && (kind == '{' ? read_object(r, &members) : read_array(r, &members));
        r->depth--;
    } else if (kind == '"') {
        read = read_string(r, &text, &length);
    } else {
        read = kind == '-' || isdigit((unsigned char)kind) ? read_number(r) : read_word(r);
        length = (int)(r->at - text);
    }
    if (!read || !wanted) {
        return read;
    }
    r->found = true;
    if (kind == '{' || kind == '[') {
        (void)printf("%c%d%c\n", kind, members, kind == '{' ? '}' : ']');
    } else {
        (void)printf("%.*s\n", length, text);
    }
    return true;
}

int main(int argc, char **argv)
{
    static char text[TEXT_ROOM];
    const size_t bytes = fread(text, 1, sizeof(text) - 1, stdin);
    if (strlen(text) != bytes || ferror(stdin) != 0 || feof(stdin) == 0) {
        (void)fprintf(stderr, "json_query: the input cannot be read, is too long, or has bytes of 0\n");
        return 1;
    }
    for (int i = 1; i < argc || i == 1; i++) {
        static reader r;
        memset(&r, 0, sizeof(r));
        r.at = text;
        r.wanted = i < argc ? argv[i] : "";
        const bool valid = read_value(&r);
        skip_space(&r);
        if (!valid || *r.at != 0) {
            (void)fprintf(stderr, "json_query: no JSON at byte %ld: %.40s\n", (long)(r.at - text), r.at);
            return 1;
        }
        if (!r.found) {
            (void)fprintf(stderr, "json_query: nothing at %s\n", r.wanted);
            return 1;
        }
    }
    return 0;
}
