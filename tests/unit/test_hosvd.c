/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * examples/hosvd, run as a program: the real scan, with one worker and two to the same bits; a volume of exactly low rank, whose ranks it
 * finds; both methods within what theory says; bad arguments and files. The program is examples/hosvd of TENURE_BUILD_DIR. The scan is
 * Debian's (mricron-data) or what TENURE_TEST_SCAN names; files are made in a folder of their own.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, posix_spawn */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nifti_file.h"
#include "support/run_program.h"

static char folder[] = "/tmp/tenure-hosvd-XXXXXX";
static char program[4096];

static void in_folder(const char *name, char path[128]) { (void)snprintf(path, 128, "%s/%s", folder, name); }

static void remove_file(const char *name)
{
    char path[128];
    in_folder(name, path);
    assert_int_equal(remove(path), 0);
}

/* Run, and it has to end well. */
static outcome run(const char *const *words)
{
    const outcome result = run_program(program, folder, words);
    if (result.code != 0 || result.err[0] != '\0') {
        fail_msg("code %d, stderr \"%s\", stdout \"%s\"", result.code, result.err, result.out);
    }
    return result;
}

/* The numbers of the line that begins with `name`, at most `most` of them. */
static int numbers_of(const char *out, const char *name, double *numbers, int most)
{
    const char *line = strstr(out, name);
    if (line == NULL) {
        fail_msg("no line \"%s\" in \"%s\"", name, out);
        return 0;
    }
    int count = 0;
    const char *at = line + strlen(name);
    while (*at != '\n' && *at != '\0' && count < most) {
        char *end = NULL;
        const double number = strtod(at, &end);
        if (end == at) {
            at++;
        } else {
            numbers[count++] = number;
            at = end;
        }
    }
    return count;
}

static double number_of(const char *out, const char *name)
{
    double number = NAN;
    assert_int_equal(numbers_of(out, name, &number, 1), 1);
    return number;
}

/* The rank that each axis got. */
static void check_ranks(const char *out, int64_t first, int64_t second, int64_t third)
{
    const int64_t expected[3] = {first, second, third};
    static const char *const lines[3] = {"\n  0   ", "\n  1   ", "\n  2   "};
    for (int axis = 0; axis < 3; axis++) {
        double numbers[3];
        assert_int_equal(numbers_of(out, lines[axis], numbers, 3), 3);
        assert_int_equal((int64_t)numbers[1], expected[axis]);
    }
}

/* ---- A volume of low rank ------------------------------------------------------------------------------------------ */

enum { SIDE_X = 20, SIDE_Y = 22, SIDE_Z = 18, VOXELS = SIDE_X * SIDE_Y * SIDE_Z };
enum { RANK_X = 2, RANK_Y = 3, RANK_Z = 4 };

static double voxels[VOXELS];
static double found[VOXELS];

/* splitmix64, as a number in [-1, 1). */
static double draw(uint64_t *random)
{
    uint64_t z = (*random += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1.0p-52 - 1.0;
}

/* Sum of core[r,s,t] x[i,r] y[j,s] z[k,t], with random numbers in all four; `noise` on top. */
static void make_volume(double noise)
{
    double core[RANK_X][RANK_Y][RANK_Z];
    double x[SIDE_X][RANK_X];
    double y[SIDE_Y][RANK_Y];
    double z[SIDE_Z][RANK_Z];
    uint64_t random = 5;
    for (int i = 0; i < RANK_X * RANK_Y * RANK_Z; i++) {
        core[i / (RANK_Y * RANK_Z)][i / RANK_Z % RANK_Y][i % RANK_Z] = draw(&random);
    }
    for (int i = 0; i < SIDE_X * RANK_X; i++) {
        x[i / RANK_X][i % RANK_X] = draw(&random);
    }
    for (int i = 0; i < SIDE_Y * RANK_Y; i++) {
        y[i / RANK_Y][i % RANK_Y] = draw(&random);
    }
    for (int i = 0; i < SIDE_Z * RANK_Z; i++) {
        z[i / RANK_Z][i % RANK_Z] = draw(&random);
    }
    for (int at = 0; at < VOXELS; at++) {
        const int i = at % SIDE_X;
        const int j = at / SIDE_X % SIDE_Y;
        const int k = at / (SIDE_X * SIDE_Y);
        double sum = noise * draw(&random);
        for (int c = 0; c < RANK_X * RANK_Y * RANK_Z; c++) {
            const int r = c / (RANK_Y * RANK_Z);
            const int s = c / RANK_Z % RANK_Y;
            const int t = c % RANK_Z;
            sum += core[r][s][t] * x[i][r] * y[j][s] * z[k][t];
        }
        voxels[at] = sum;
    }
    static nifti_file file;
    char path[128];
    nifti_make(&file, SIDE_X, SIDE_Y, SIDE_Z, 64, 64, voxels, sizeof voxels);
    in_folder("volume.nii", path);
    assert_true(nifti_write(&file, path, false));
}

/* Relative error of what the program wrote, by a plain loop. */
static double error_of_file(const char *path)
{
    double difference = 0.0;
    double all = 0.0;
    assert_int_equal(nifti_read_bytes(path, found, sizeof found), (long)sizeof found);
    for (int i = 0; i < VOXELS; i++) {
        difference += (found[i] - voxels[i]) * (found[i] - voxels[i]);
        all += voxels[i] * voxels[i];
    }
    return sqrt(difference / all);
}

static void low_rank_is_found_exactly(void **state)
{
    (void)state;
    char input[128];
    char output[128];
    char rebuilt[128];
    in_folder("volume.nii", input);
    in_folder("picture.png", output);
    in_folder("rebuilt.raw", rebuilt);
    make_volume(0.0);
    for (int method = 0; method < 2; method++) {
        const char *const words[] = {
            "--error", "1e-6", "--voxels", rebuilt, input, output, method == 1 ? "--plain" : NULL, NULL};
        const outcome result = run(words);
        check_ranks(result.out, RANK_X, RANK_Y, RANK_Z);
        assert_true(error_of_file(rebuilt) < 5e-15);
        assert_true(number_of(result.out, "\nrelative error ") < 5e-15);
        const int numbers = RANK_X * RANK_Y * RANK_Z + SIDE_X * RANK_X + SIDE_Y * RANK_Y + SIDE_Z * RANK_Z;
        assert_true(fabs(number_of(result.out, "\ncompression ratio ") - (double)VOXELS / numbers) <= 0.005);
        assert_non_null(strstr(result.out, " 0 copies"));
    }
    remove_file("volume.nii");
    remove_file("picture.png");
    remove_file("rebuilt.raw");
}

/* With noise there is something to leave out; the error of the file is what the program says, and what the spectrum says. */
static void error_is_the_discarded_spectrum(void **state)
{
    (void)state;
    static const char *const requests[][3] = {
        {"--error=0.3", "--", ""},         {"--error=0.03", "--", ""},
        {"--error=0.3", "--plain", ""},    {"--ranks=2,3,4", "--", ""},
        {"--ranks", "1,1,1", ""},          {"--ranks=20,22,18", "--", ""},
        {"--ranks=5,22,1", "--plain", ""}, {"--ranks=20,22,17", "--plain", ""},
    };
    char input[128];
    char output[128];
    char rebuilt[128];
    in_folder("volume.nii", input);
    in_folder("picture.png", output);
    in_folder("rebuilt.raw", rebuilt);
    make_volume(0.05);
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        const char *const words[] = {"--voxels", rebuilt, requests[i][0], requests[i][1], input, output, NULL};
        const outcome result = run(words);
        const double measured = error_of_file(rebuilt);
        const double told = number_of(result.out, "\nrelative error ");
        double spectrum[2];
        const bool plain = strcmp(requests[i][1], "--plain") == 0;
        assert_int_equal(numbers_of(result.out, "  by the spectrum ", spectrum, 2), 2);
        assert_true(fabs(measured - told) <= 2e-6 * measured + 1e-13); /* seven digits are printed */
        if (plain) {
            assert_true(told >= spectrum[0] * (1.0 - 1e-6) && told <= spectrum[1] * (1.0 + 1e-6));
            assert_true(spectrum[0] < spectrum[1] || strcmp(requests[i][0], "--ranks=20,22,17") == 0); /* one axis */
        } else {
            assert_true(fabs(told - spectrum[0]) <=
                        2e-6 * told + 1e-7); /* what is nothing has eigenvalues near 1e-15 */
        }
        if (strncmp(requests[i][0], "--error=", 8) == 0) {
            assert_true(measured <= strtod(requests[i][0] + 8, NULL) && measured > 0.01);
        }
    }
    remove_file("volume.nii");
    remove_file("picture.png");
    remove_file("rebuilt.raw");
}

static void nothing_is_of_rank_one(void **state)
{
    (void)state;
    static nifti_file file;
    char input[128];
    char output[128];
    memset(voxels, 0, sizeof voxels);
    nifti_make(&file, SIDE_X, SIDE_Y, SIDE_Z, 64, 64, voxels, sizeof voxels);
    in_folder("volume.nii", input);
    in_folder("picture.png", output);
    assert_true(nifti_write(&file, input, false));
    const char *const words[] = {input, output, NULL};
    const outcome result = run(words);
    check_ranks(result.out, 1, 1, 1);
    assert_true(number_of(result.out, "\nrelative error ") == 0.0);

    nifti_make(&file, 1, 1, 1, 64, 64, &(double){3.0}, sizeof(double));
    assert_true(nifti_write(&file, input, false));
    const outcome single = run(words);
    check_ranks(single.out, 1, 1, 1);
    assert_true(number_of(single.out, "\nrelative error ") < 1e-15);
    remove_file("volume.nii");
    remove_file("picture.png");
}

/* ---- The real scan --------------------------------------------------------------------------------------------------- */

static const char *scan(void)
{
    const char *named = getenv("TENURE_TEST_SCAN");
    return named != NULL ? named : "/usr/share/mricron/templates/ch2.nii.gz";
}

static bool same_files(const char *a, const char *b)
{
    static unsigned char pieces[2][1 << 16];
    FILE *const files[2] = {fopen(a, "rb"), fopen(b, "rb")};
    bool same = files[0] != NULL && files[1] != NULL;
    size_t got = 1;
    while (same && got != 0) {
        got = fread(pieces[0], 1, sizeof pieces[0], files[0]);
        same = fread(pieces[1], 1, sizeof pieces[1], files[1]) == got && memcmp(pieces[0], pieces[1], got) == 0;
    }
    for (int i = 0; i < 2; i++) {
        if (files[i] != NULL) {
            (void)fclose(files[i]);
        }
    }
    return same;
}

static void real_scan_with_one_worker_and_two(void **state)
{
    (void)state;
    if (!run_exists(scan())) {
        print_message("skipped: %s is missing (Debian: mricron-data)\n", scan());
        skip();
    }
    char picture[2][128];
    char rebuilt[2][128];
    static outcome results[2];
    static const char *const workers[2] = {"--workers=1", "--workers=2"};
    for (int i = 0; i < 2; i++) {
        in_folder(i == 0 ? "one.png" : "two.png", picture[i]);
        in_folder(i == 0 ? "one.raw" : "two.raw", rebuilt[i]);
        const char *const words[] = {workers[i], "--error=0.1", "--voxels", rebuilt[i], scan(), picture[i], NULL};
        results[i] = run(words);
        const double error = number_of(results[i].out, "\nrelative error ");
        assert_true(error > 0.05 && error <= 0.1);
        assert_true(number_of(results[i].out, "\ncompression ratio ") > 5.0);
        assert_true((int)number_of(results[i].out, "\nworkers ") <= i + 1);
        assert_non_null(strstr(results[i].out, " 0 copies"));
    }
    const bool same = same_files(rebuilt[0], rebuilt[1]) && same_files(picture[0], picture[1]);
    remove_file("one.png");
    remove_file("two.png");
    remove_file("one.raw");
    remove_file("two.raw");
    assert_true(same);
    if ((int)number_of(results[1].out, "\nworkers ") < 2) {
        print_message("this machine has one core: one worker was compared with one\n");
    }
}

/* ---- What is refused --------------------------------------------------------------------------------------------------- */

static void assert_refused(const char *const *words, const char *fragment)
{
    run_refused(program, folder, "hosvd", words, fragment);
}

static void bad_options(void **state)
{
    (void)state;
    static const char *const wrong[][3] = {
        {"--error", "0", "--error"},
        {"--error", "1", "--error"},
        {"--error", "-0.1", "--error"},
        {"--error", "1e-7", "--error"},
        {"--error", "nan", "--error"},
        {"--error", "", "--error"},
        {"--error", "0.1x", "--error"},
        {"--ranks", "1,2", "--ranks"},
        {"--ranks", "1,2,3,4", "--ranks"},
        {"--ranks", "1,2,0", "--ranks"},
        {"--ranks", "1,-2,3", "--ranks"},
        {"--ranks", "1, 2,3", "--ranks"},
        {"--ranks", "1,2,three", "--ranks"},
        {"--ranks", "40000,2,3", "--ranks"},
        {"--ranks", "99999999999999999999,2,3", "--ranks"},
        {"--workers", "0", "--workers"},
        {"--workers", "-1", "--workers"},
        {"--workers", "5000", "--workers"},
        {"--workers", "two", "--workers"},
        {"--voxels", "", "--voxels"},
        {"--colour", "red", "--colour"},
        {"-e", "0.1", "-e"},
    };
    char output[128];
    in_folder("picture.png", output);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *const words[] = {wrong[i][0], wrong[i][1], "in.nii", output, NULL};
        assert_refused(words, wrong[i][2]);
    }
    const char *const none[] = {NULL};
    assert_refused(none, "--help");
    const char *const one[] = {"in.nii", NULL};
    assert_refused(one, "--help");
    const char *const three[] = {"a", "b", "c", NULL};
    assert_refused(three, "--help");
    const char *const hanging[] = {"in.nii", output, "--ranks", NULL};
    assert_refused(hanging, "needs a value");
    const char *const both[] = {"--error=0.1", "--ranks=1,1,1", "in.nii", output, NULL};
    assert_refused(both, "--error and --ranks");
    const char *const one_path[] = {"--voxels", output, "in.nii", output, NULL};
    assert_refused(one_path, "one path");
    assert_false(run_exists(output));
}

static void bad_files(void **state)
{
    (void)state;
    nifti_file file;
    char path[128];
    char output[128];
    char nowhere[128];
    in_folder("picture.png", output);
    in_folder("missing.nii.gz", path);
    const char *const missing[] = {path, output, NULL};
    assert_refused(missing, "cannot be opened");
    const char *const directory[] = {folder, output, NULL};
    assert_refused(directory, "is a directory");

    nifti_make_small(&file); /* 6 x 5 x 4 */
    in_folder("volume.nii", path);
    in_folder("no/such/folder.png", nowhere);
    assert_true(nifti_write(&file, path, false));
    const char *const too_many[] = {"--ranks", "6,6,4", path, output, NULL};
    assert_refused(too_many, "rank 6 along axis 1, which is 5 long");
    const char *const unwritable[] = {path, nowhere, NULL};
    assert_refused(unwritable, "cannot be written");
    const char *const unwritable_voxels[] = {"--voxels", nowhere, path, output, NULL};
    assert_refused(unwritable_voxels, "cannot be written");
    const char *const onto_itself[] = {path, path, NULL};
    assert_refused(onto_itself, "replace the input");
    assert_true(run_exists(path));
    if (run_exists("/dev/full")) {
        const char *const full[] = {"--voxels", "/dev/full", path, output, NULL};
        assert_refused(full, "cannot be written");
    }
    file.length -= 1;
    assert_true(nifti_write(&file, path, false));
    const char *const truncated[] = {path, output, NULL};
    assert_refused(truncated, "truncated");

    nifti_make(&file, 1, 1, 2, 64, 64, (const double[2]){1e200, 1.0}, 2 * sizeof(double));
    assert_true(nifti_write(&file, path, false));
    assert_refused(truncated, "range of f64");
    assert_int_equal(remove(path), 0);
    assert_false(run_exists(output));
}

static void help_is_no_error(void **state)
{
    (void)state;
    const char *const words[] = {"--help", NULL};
    const outcome result = run(words);
    assert_int_equal(strncmp(result.out, "usage: hosvd ", 13), 0);
}

static int make_folder(void **state)
{
    (void)state;
    const char *build = getenv("TENURE_BUILD_DIR");
    (void)snprintf(program, sizeof program, "%s/examples/hosvd", build != NULL ? build : "build");
    if (!run_exists(program)) {
        print_error("%s is missing\n", program);
        return -1;
    }
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return run_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_rank_is_found_exactly),
        cmocka_unit_test(error_is_the_discarded_spectrum),
        cmocka_unit_test(nothing_is_of_rank_one),
        cmocka_unit_test(real_scan_with_one_worker_and_two),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(help_is_no_error),
    };
    return cmocka_run_group_tests_name("hosvd", tests, make_folder, remove_folder);
}
