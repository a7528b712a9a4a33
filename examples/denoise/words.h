/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of a command: options, with a value ("--name value" or "--name=value") or alone, an input and an output.
 */
#ifndef DENOISE_WORDS_H
#define DENOISE_WORDS_H

#include <stdbool.h>

#include "nifti.h"

typedef struct word_option {
    const char *name;
    bool alone;                                     /* it has no value: `take` gets NULL */
    bool (*take)(const char *value, void *options); /* false: not such a value */
} word_option;

typedef struct words {
    const char *input;
    const char *output;
    bool help; /* --help came, and nothing behind it was read */
} words;

/* Read the words after a program's name; `known` options go to `options`. True on success; else `message` holds one line. */
bool words_read(int count, char **list, const word_option *known, int known_count, void *options, words *paths,
                char message[NIFTI_MESSAGE_BYTES]);

/* Put the text, and where help is, in `message`; false. */
bool words_refuse(char message[NIFTI_MESSAGE_BYTES], const char *text);

#endif /* DENOISE_WORDS_H */
