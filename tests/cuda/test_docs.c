/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of errors in docs/cuda.md has the functions that the library has on devices, each once, and what the tests allow. */
#include "catalogue/catalogue.h"
#include "scene.h"

#include "../../src/cuda/cuda_internal.h"

enum { MOST_ROWS = 32 };

typedef struct row {
    char name[32];
    double error[2]; /* of f32 and f64 */
    double allowed;
    int seen;
} row;

/* Rows such as "| `exp` | 2 | 1 | 4 (1 + abs) |" of the table whose head begins with "| function | f32 | f64 |". */
static int read_rows(row *rows)
{
    const char *source = getenv("TENURE_SOURCE_DIR");
    char path[1024];
    char line[1024];
    bool inside = false;
    int count = 0;
    (void)snprintf(path, sizeof(path), "%s/docs/cuda.md", source != NULL ? source : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        row *of = &rows[count];
        if (strncmp(line, "| function | f32 | f64 |", 24) == 0) {
            inside = true;
        } else if (inside && line[0] != '|') {
            break;
        } else if (inside && line[2] == '`') {
            assert_true(count < MOST_ROWS);
            *of = (row){.seen = 0};
            const char *end = strchr(line + 3, '`');
            assert_true(end != NULL && (size_t)(end - line - 3) < sizeof(of->name));
            memcpy(of->name, line + 3, (size_t)(end - line - 3));
            double *const numbers[3] = {&of->error[0], &of->error[1], &of->allowed};
            for (int at = 0; at < 3; at++) {
                end = strchr(end, '|');
                assert_non_null(end);
                char *after = NULL;
                *numbers[at] = strtod(end + 1, &after);
                assert_true(after != end + 1); /* there is a number */
                end = after;
            }
            count++;
        }
    }
    (void)fclose(file);
    return count;
}

/* "exp" of the kernel "tnri_exp_f32", as its operation is called. */
static void function_of(const char *kernel, char *name, size_t bytes)
{
    const char *end = strrchr(kernel, '_');
    assert_true(strncmp(kernel, "tnri_", 5) == 0 && end > kernel + 5);
    (void)snprintf(name, bytes, "%.*s", (int)(end - kernel - 5), kernel + 5);
    if (strcmp(name, "power") == 0) {
        (void)snprintf(name, bytes, "pow");
    }
}

static void errors_of_functions(void **state)
{
    (void)state;
    row rows[MOST_ROWS];
    const int count = read_rows(rows);
    for (int kernel = 0; kernel < TNRI_KERNELS; kernel++) {
        char name[64];
        int found = 0;
        if (tnri_kernel_modules[kernel] != TNRI_MODULE_math &&
            tnri_kernel_modules[kernel] != TNRI_MODULE_math_complex) {
            continue;
        }
        function_of(tnri_kernel_names[kernel], name, sizeof(name));
        for (int at = 0; at < count; at++) {
            if (strcmp(rows[at].name, name) == 0) {
                rows[at].seen++;
                found++;
            }
        }
        if (found != 1) {
            print_error("docs/cuda.md has %d rows of %s (%s)\n", found, name, tnri_kernel_names[kernel]);
        }
        assert_int_equal(found, 1);
    }
    for (int at = 0; at < count; at++) {
        const catalogue_op *op = NULL;
        for (int o = 0; (op = catalogue_op_at(o)) != NULL && strcmp(op->name, rows[at].name) != 0; o++) {
        }
        if (rows[at].seen != 4 || op == NULL) {
            print_error("docs/cuda.md: %s is a function of %d dtypes\n", rows[at].name, rows[at].seen);
        }
        assert_int_equal(rows[at].seen, 4); /* f32, f64, c32, c64 */
        assert_non_null(op);
        assert_true(op->tolerance == rows[at].allowed);
        assert_true(rows[at].error[0] <= op->tolerance && rows[at].error[1] <= op->tolerance);
    }
    assert_true(count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors_of_functions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
