/* SPDX-License-Identifier: BSD-3-Clause */
/* See words.h. */
#include "words.h"

#include <stdio.h>
#include <string.h>

bool words_refuse(char message[NIFTI_MESSAGE_BYTES], const char *text)
{
    (void)snprintf(message, NIFTI_MESSAGE_BYTES, "%s (see --help)", text);
    return false;
}

/* The option that a word names; *value when it follows in the same word. */
static const word_option *find(const char *word, const word_option *known, int known_count, const char **value)
{
    for (int n = 0; n < known_count; n++) {
        const size_t length = strlen(known[n].name);
        if (strncmp(word, known[n].name, length) == 0 &&
            (word[length] == '\0' || (word[length] == '=' && !known[n].alone))) {
            *value = word[length] == '=' ? word + length + 1 : NULL;
            return &known[n];
        }
    }
    return NULL;
}

bool words_read(int count, char **list, const word_option *known, int known_count, void *options, words *paths,
                char message[NIFTI_MESSAGE_BYTES])
{
    bool only_paths = false;
    *paths = (words){.input = NULL};
    for (int i = 0; i < count; i++) {
        const char *word = list[i];
        const char *value = NULL;
        if (only_paths || word[0] != '-' || word[1] == '\0') {
            if (paths->output != NULL) {
                return words_refuse(message, "more than two paths");
            }
            *(paths->input == NULL ? &paths->input : &paths->output) = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_paths = true;
            continue;
        }
        if (strcmp(word, "--help") == 0) {
            paths->help = true;
            return true;
        }
        const word_option *option = find(word, known, known_count, &value);
        if (option == NULL) {
            (void)snprintf(message, NIFTI_MESSAGE_BYTES, "unknown option %.200s (see --help)", word);
            return false;
        }
        if (!option->alone && value == NULL) {
            if (++i == count) {
                (void)snprintf(message, NIFTI_MESSAGE_BYTES, "%s needs a value (see --help)", option->name);
                return false;
            }
            value = list[i];
        }
        if (!option->take(value, options)) {
            (void)snprintf(message, NIFTI_MESSAGE_BYTES, "%s: \"%.200s\" is not allowed here (see --help)",
                           option->name, value == NULL ? "" : value);
            return false;
        }
    }
    return paths->output != NULL || words_refuse(message, "needs an input and an output");
}
