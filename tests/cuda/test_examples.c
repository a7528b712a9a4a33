/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * examples/denoise and examples/hosvd with --engine cuda, run as programs of TENURE_BUILD_DIR: on the driver under test against their own
 * results with --engine cpu, and where there is no driver.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, setenv, posix_spawn */

#include "scene.h"

#include <math.h>

#include "support/run_program.h"

enum { SIDE_X = 12, SIDE_Y = 10, SIDE_Z = 9, VOXELS = SIDE_X * SIDE_Y * SIDE_Z };

static char folder[] = "/tmp/tenure-examples-XXXXXX";
static char volume[RUN_PATH_BYTES];

static void path_of(const char *name, char path[RUN_PATH_BYTES])
{
    (void)snprintf(path, RUN_PATH_BYTES, "%s/%s", folder, name);
}

static void program_of(const char *name, char path[4096])
{
    (void)snprintf(path, 4096, "%s/%s", getenv("TENURE_BUILD_DIR"), name);
    if (!run_exists(path)) {
        print_message("skipped: %s is not built (zlib, libpng, LAPACK)\n", name);
        skip();
    }
}

/* Run an example and read the voxels that it writes. `more`: one option, or NULL. */
static outcome run_example(const char *name, const char *engine, const char *more, double voxels[VOXELS])
{
    char program[4096];
    char picture[RUN_PATH_BYTES];
    char raw[RUN_PATH_BYTES];
    program_of(name, program);
    path_of("picture.png", picture);
    path_of("voxels", raw);
    const char *words[] = {"--engine", engine, "--voxels", raw, volume, picture, more, NULL};
    const outcome result = run_program(program, folder, words);
    if (result.code != 0) {
        fail_msg("%s %s: code %d, %s", name, engine, result.code, result.err);
    }
    FILE *in = fopen(raw, "rb");
    assert_non_null(in);
    assert_int_equal(fread(voxels, sizeof(double), VOXELS, in), VOXELS);
    assert_int_equal(fclose(in), 0);
    assert_int_equal(remove(raw), 0);
    assert_int_equal(remove(picture), 0);
    return result;
}

/* The line of a text that begins with these words is the same in another text. */
static void same_line(const char *of, const char *name, const char *in)
{
    const char *line = strstr(of, name);
    assert_non_null(line);
    char copy[256];
    const size_t length = strcspn(line, "\n");
    assert_true(length < sizeof(copy));
    memcpy(copy, line, length);
    copy[length] = '\0';
    if (strstr(in, copy) == NULL) {
        fail_msg("no line \"%s\" in \"%s\"", copy, in);
    }
}

static double voxels_cpu[VOXELS];
static double voxels_device[VOXELS];

/* Where no conductance differs from 1 the arithmetic is sums and products: the very bits. Else exp is off by units in the last place. */
static void denoise_gives_what_cpus_give(void **state)
{
    (void)state;
    (void)run_example("examples/denoise", "cpu", "--kappa=1e12", voxels_cpu);
    (void)run_example("examples/denoise", "cuda", "--kappa=1e12", voxels_device);
    assert_memory_equal(voxels_cpu, voxels_device, sizeof(voxels_cpu));

    const outcome cpu = run_example("examples/denoise", "cpu", "--steps=7", voxels_cpu);
    const outcome device = run_example("examples/denoise", "cuda", "--steps=7", voxels_device);
    for (int at = 0; at < VOXELS; at++) {
        assert_true(fabs(voxels_cpu[at] - voxels_device[at]) <= 1e-11);
    }
    static const char *const lines[] = {"input ", "voxels ", "steps ", "mean ", "min ", "max "};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        same_line(cpu.out, lines[i], device.out);
    }
    assert_non_null(strstr(device.out, "\ndevice  "));
    assert_null(strstr(cpu.out, "\ndevice  "));
    if (scene_fake() != NULL) {
        assert_non_null(strstr(device.out, "tenure fake device 0"));
    }
}

static void hosvd_gives_what_cpus_give(void **state)
{
    (void)state;
    static const char *const ways[] = {"--error=0.05", "--plain"};
    for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
        const outcome cpu = run_example("examples/hosvd", "cpu", ways[way], voxels_cpu);
        const outcome device = run_example("examples/hosvd", "cuda", ways[way], voxels_device);
        for (int at = 0; at < VOXELS; at++) {
            assert_true(fabs(voxels_cpu[at] - voxels_device[at]) <= 1e-9);
        }
        same_line(cpu.out, "numbers ", device.out);
        same_line(cpu.out, "compression ratio ", device.out);
        assert_non_null(strstr(device.out, ": good\n")); /* the error is what the discarded spectrum says */
        assert_non_null(strstr(device.out, "\ndevice  "));
    }
}

static void without_a_driver_they_say_so(void **state)
{
    (void)state;
    static const char *const names[] = {"denoise", "hosvd"};
    char before[4096];
    const char *was = getenv("TENURE_CUDA_DRIVER");
    (void)snprintf(before, sizeof(before), "%s", was != NULL ? was : "");
    for (size_t i = 0; i < 2; i++) {
        char name[64];
        char program[4096];
        char picture[RUN_PATH_BYTES];
        char expected[RUN_TEXT_BYTES];
        (void)snprintf(name, sizeof(name), "examples/%s", names[i]);
        program_of(name, program);
        path_of("none.png", picture);
        const char *words[] = {"--engine=cuda", volume, picture, NULL};
        tnr_cuda_sight sight;
        assert_int_equal(setenv("TENURE_CUDA_DRIVER", "off", 1), 0);
        tnr_cuda_look(NULL, &sight);
        outcome result = run_program(program, folder, words);
        assert_int_equal(result.code, 2);
        assert_int_equal(result.out[0], '\0');
        (void)snprintf(expected, sizeof(expected), "%s: no device: %s\n", names[i], sight.text);
        assert_string_equal(result.err, expected);
        assert_false(run_exists(picture));
        if (scene_fake() == NULL) {
            continue;
        }
        assert_int_equal(setenv("TENURE_CUDA_DRIVER", CUDA_STUB_PATH, 1), 0); /* or nothing is there */
        result = run_program(program, folder, words);
        assert_int_equal(result.code, 2);
        assert_false(run_exists(picture));
    }
    assert_int_equal(setenv("TENURE_CUDA_DRIVER", before, 1), 0);
}

static void other_engines_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"denoise", "hosvd"};
    for (size_t i = 0; i < 2; i++) {
        char name[64];
        char program[4096];
        char picture[RUN_PATH_BYTES];
        (void)snprintf(name, sizeof(name), "examples/%s", names[i]);
        program_of(name, program);
        path_of("none.png", picture);
        run_refused(program, folder, names[i], (const char *const[]){"--engine=gpu", volume, picture, NULL},
                    "--engine");
        run_refused(program, folder, names[i], (const char *const[]){volume, picture, "--engine", NULL},
                    "needs a value");
    }
}

static int set_up(void **state)
{
    (void)state;
    char program[4096];
    assert_non_null(mkdtemp(folder));
    path_of("volume.nii", volume);
    /* what the programs find by themselves is what the other tests name */
    assert_int_equal(setenv("TENURE_CUDA_DRIVER", scene_driver(), 1), 0);
    if (scene_fake() != NULL) {
        assert_int_equal(setenv("TENURE_NVRTC", scene_driver(), 1), 0);
        assert_int_equal(setenv("TENURE_CUBLAS", scene_driver(), 1), 0);
    }
    (void)snprintf(program, sizeof(program), "%s/tests/make_volume", getenv("TENURE_BUILD_DIR"));
    if (run_exists(program)) {
        const outcome made = run_program(program, folder, (const char *const[]){"12", "10", "9", volume, NULL});
        assert_int_equal(made.code, 0);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)remove(volume);
    return run_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(denoise_gives_what_cpus_give),
        cmocka_unit_test(hosvd_gives_what_cpus_give),
        cmocka_unit_test(without_a_driver_they_say_so),
        cmocka_unit_test(other_engines_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
