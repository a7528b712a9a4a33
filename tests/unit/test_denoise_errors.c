/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the denoise program on bad files, bad options and unwritable outputs: one line on stderr, nothing on stdout,
 * exit code 1 and no output file, every time. The program is examples/denoise of TENURE_BUILD_DIR. All files are made
 * here, in a folder of their own.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, posix_spawn */

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

static char folder[] = "/tmp/tenure-denoise-XXXXXX";
static char program[4096];

static void in_folder(const char *name, char path[128]) { (void)snprintf(path, 128, "%s/%s", folder, name); }

static outcome run(const char *const *words) { return run_program(program, folder, words); }

static bool exists(const char *path) { return run_exists(path); }

static void assert_refused(const char *const *words, const char *fragment)
{
    run_refused(program, folder, "denoise", words, fragment);
}

/* The program refuses the input, and leaves no picture. */
static void assert_input_refused(const char *input, const char *fragment)
{
    char output[128];
    in_folder("picture.png", output);
    const char *const words[] = {"--steps", "1", input, output, NULL};
    assert_refused(words, fragment);
    assert_false(exists(output));
}

/* Write a file in both ways and see both refused. */
static void assert_file_refused(const nifti_file *file, const char *fragment)
{
    char path[128];
    for (int packed = 0; packed < 2; packed++) {
        in_folder(packed != 0 ? "volume.nii.gz" : "volume.nii", path);
        assert_true(nifti_write(file, path, packed != 0));
        assert_input_refused(path, fragment);
        assert_int_equal(remove(path), 0);
    }
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static void good_file_is_accepted(void **state)
{
    (void)state;
    nifti_file file;
    char path[128];
    char output[128];
    unsigned char head[8] = {0};
    static const unsigned char png[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    nifti_make_small(&file);
    in_folder("volume.nii.gz", path);
    in_folder("picture.png", output);
    assert_true(nifti_write(&file, path, true));
    const char *const words[] = {"--steps=2", "--kappa", "10", "--dt", "0.1", path, output, NULL};
    const outcome result = run(words);
    assert_string_equal(result.err, "");
    assert_int_equal(result.code, 0);
    assert_non_null(strstr(result.out, "voxels             120\n"));
    assert_non_null(strstr(result.out, "tensors made"));
    assert_int_equal(nifti_read_bytes(output, head, sizeof head), 8);
    assert_memory_equal(head, png, sizeof png);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(output), 0);
}

static void truncated(void **state)
{
    (void)state;
    nifti_file file;
    nifti_make_small(&file);
    file.length -= 1;
    assert_file_refused(&file, "truncated");
    file.length = NIFTI_FILE_OFFSET;
    assert_file_refused(&file, "truncated");
    file.length = NIFTI_FILE_OFFSET - 2;
    assert_file_refused(&file, "truncated");
    file.length = NIFTI_FILE_HEADER - 1;
    assert_file_refused(&file, "truncated");
    file.length = 0;
    assert_file_refused(&file, "truncated");
}

/* gzip data cut at every length, and with every byte changed in turn: never accepted, never anything but one line. */
static void damaged_gzip(void **state)
{
    (void)state;
    nifti_file file;
    char path[128];
    char cut[128];
    unsigned char packed[4096];
    nifti_make_small(&file);
    in_folder("whole.nii.gz", path);
    in_folder("cut.nii.gz", cut);
    assert_true(nifti_write(&file, path, true));
    const long length = nifti_read_bytes(path, packed, sizeof packed);
    assert_in_range(length, 40, 1000);
    for (long keep = 0; keep < length; keep += keep < length - 12 ? 7 : 1) {
        assert_true(nifti_write_bytes(cut, packed, (size_t)keep));
        assert_input_refused(cut, "");
    }
    /* From the tenth byte on, where the data begin: the ten before hold time and system, which nobody checks. */
    for (long at = 10; at < length; at += at < length - 12 ? 5 : 1) {
        packed[at] ^= 0x55;
        assert_true(nifti_write_bytes(cut, packed, (size_t)length));
        assert_input_refused(cut, "");
        packed[at] ^= 0x55;
    }
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(cut), 0);
}

static void neither_gzip_nor_nifti(void **state)
{
    (void)state;
    char path[128];
    unsigned char noise[2000];
    for (size_t i = 0; i < sizeof noise; i++) {
        noise[i] = (unsigned char)(i * i * 31 + 7);
    }
    in_folder("noise.nii.gz", path);
    assert_true(nifti_write_bytes(path, noise, sizeof noise));
    assert_input_refused(path, "not a NIfTI-1 file");
    assert_int_equal(remove(path), 0);

    nifti_file file;
    nifti_make_small(&file);
    memcpy(file.bytes + 344, "xyz", 4);
    assert_file_refused(&file, "not a NIfTI-1 file");
    memcpy(file.bytes + 344, "ni1", 4);
    assert_file_refused(&file, "pair");
}

static void wrong_size(void **state)
{
    (void)state;
    nifti_file file;
    nifti_make_small(&file);
    file.length += 1;
    assert_file_refused(&file, "wrong size");

    nifti_make_small(&file);
    nifti_put_int16(&file, 46, 5); /* a slice more than there is */
    assert_file_refused(&file, "truncated");
    for (size_t at = 42; at <= 46; at += 2) { /* 280 TB of voxels: refused before memory is asked for */
        nifti_put_int16(&file, at, 32767);
    }
    assert_file_refused(&file, "truncated");

    nifti_make_small(&file);
    nifti_put_int16(&file, 44, 0);
    assert_file_refused(&file, "extent 0");
    nifti_put_int16(&file, 44, -5);
    assert_file_refused(&file, "extent -5");

    nifti_make_small(&file);
    nifti_put_int16(&file, 40, 2);
    assert_file_refused(&file, "dimensions");
    nifti_put_int16(&file, 40, 4);
    nifti_put_int16(&file, 48, 2);
    assert_file_refused(&file, "more than one volume");

    static const float offsets[] = {0.0F, 347.0F, 352.5F, -1.0F, 1e30F};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        nifti_make_small(&file);
        nifti_put_float(&file, 108, offsets[i]);
        assert_file_refused(&file, "cannot start");
    }
}

static void unsupported_type(void **state)
{
    (void)state;
    static const int types[] = {0, 1, 32, 128, 1024, 1280, 1536, 1792, 2048, 2304, -1};
    nifti_file file;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        nifti_make_small(&file);
        nifti_put_int16(&file, 70, types[i]);
        assert_file_refused(&file, "unsupported type");
    }
    nifti_make_small(&file);
    nifti_put_int16(&file, 72, 16);
    assert_file_refused(&file, "contradicts itself");
}

static void not_a_number(void **state)
{
    (void)state;
    nifti_file file;
    float voxels[8] = {0};
    const uint32_t nan_bits = 0x7FC00000U;
    memcpy(&voxels[5], &nan_bits, sizeof nan_bits);
    nifti_make(&file, 2, 2, 2, 16, 32, voxels, sizeof voxels);
    assert_file_refused(&file, "voxel 5 is not a finite number");
}

/* ---- Paths and options ------------------------------------------------------------------------------------------- */

static void bad_paths(void **state)
{
    (void)state;
    nifti_file file;
    char path[128];
    char nowhere[128];
    in_folder("missing.nii.gz", path);
    assert_input_refused(path, "cannot be opened");
    assert_input_refused(folder, "is a directory");

    nifti_make_small(&file);
    in_folder("volume.nii", path);
    in_folder("no/such/folder.png", nowhere);
    assert_true(nifti_write(&file, path, false));
    const char *const words[] = {"--steps", "1", path, nowhere, NULL};
    assert_refused(words, "cannot be written");
    const char *const onto_itself[] = {"--steps", "1", path, path, NULL};
    assert_refused(onto_itself, "replace the input");
    assert_true(exists(path));
    if (exists("/dev/full")) {
        const char *const full[] = {"--steps", "1", path, "/dev/full", NULL};
        assert_refused(full, "cannot be written");
        assert_true(exists("/dev/full"));
    }
    assert_int_equal(remove(path), 0);
}

static void bad_options(void **state)
{
    (void)state;
    static const char *const wrong[][3] = {
        {"--steps", "0", "--steps"},
        {"--steps", "-1", "--steps"},
        {"--steps", "three", "--steps"},
        {"--steps", "1x", "--steps"},
        {"--steps", "1e3", "--steps"},
        {"--steps", "99999999999999999999", "--steps"},
        {"--kappa", "0", "--kappa"},
        {"--kappa", "-3", "--kappa"},
        {"--kappa", "nan", "--kappa"},
        {"--kappa", "inf", "--kappa"},
        {"--dt", "0", "--dt"},
        {"--dt", "0.17", "--dt"},
        {"--dt", "-0.1", "--dt"},
        {"--dt", "nan", "--dt"},
        {"--dt", "", "--dt"},
        {"--colour", "red", "--colour"},
        {"-s", "1", "-s"},
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
    const char *const hanging[] = {"in.nii", output, "--steps", NULL};
    assert_refused(hanging, "needs a value");
    assert_false(exists(output));
}

static void help_is_no_error(void **state)
{
    (void)state;
    const char *const words[] = {"--help", NULL};
    const outcome result = run(words);
    assert_int_equal(result.code, 0);
    assert_string_equal(result.err, "");
    assert_int_equal(strncmp(result.out, "usage: denoise ", 15), 0);
}

static int make_folder(void **state)
{
    (void)state;
    const char *build = getenv("TENURE_BUILD_DIR");
    (void)snprintf(program, sizeof program, "%s/examples/denoise", build != NULL ? build : "build");
    if (!exists(program)) {
        print_error("%s is missing\n", program);
        return -1;
    }
    return mkdtemp(folder) != NULL ? 0 : -1;
}

/* Empty but for what every run leaves: a test that left more fails here. */
static int remove_folder(void **state)
{
    (void)state;
    return run_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_file_is_accepted),  cmocka_unit_test(truncated),  cmocka_unit_test(damaged_gzip),
        cmocka_unit_test(neither_gzip_nor_nifti), cmocka_unit_test(wrong_size), cmocka_unit_test(unsupported_type),
        cmocka_unit_test(not_a_number),           cmocka_unit_test(bad_paths),  cmocka_unit_test(bad_options),
        cmocka_unit_test(help_is_no_error),
    };
    return cmocka_run_group_tests_name("denoise_errors", tests, make_folder, remove_folder);
}
