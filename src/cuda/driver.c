/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding the driver: one table filled by name from the library that is there when the program asks.
 *
 * The library stays loaded once it was: drivers start threads and cannot be unloaded. Every object has a table of its own, so that
 * a test may use two drivers in one process.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "driver_internal.h"

#define DEFAULT_DRIVER "libcuda.so.1"

static void put(char *text, size_t *at, const char *words)
{
    for (; *words != '\0' && *at + 1 < TNR_ERROR_TEXT_BYTES; words++) {
        text[(*at)++] = *words;
    }
    text[*at] = '\0';
}

static void put_number(char *text, size_t *at, uint64_t number)
{
    char digits[TNRI_DIGITS + 1];
    digits[tnri_put_decimal(digits, number)] = '\0';
    put(text, at, digits);
}

static void say(tnr_cuda_sight *sight, tnr_cuda_state state, const char *words, const char *more)
{
    size_t at = 0;
    sight->state = state;
    put(sight->text, &at, words);
    put(sight->text, &at, more);
}

static bool fill(void *library, tnri_driver *driver, tnr_cuda_sight *sight)
{
    /* POSIX lets dlsym's answer be a function; C does not let it be converted, so the bytes are copied. */
#define FIND(member, name, parameters)                                         \
    {                                                                          \
        void *found = dlsym(library, name);                                    \
        if (found == NULL) {                                                   \
            say(sight, TNR_CUDA_TOO_OLD, "the driver has no function ", name); \
            return false;                                                      \
        }                                                                      \
        memcpy(&driver->member, &found, sizeof(found));                        \
    }
    TNRI_CUDA_CALLS(FIND)
#undef FIND
    return true;
}

static void start(const tnri_driver *driver, tnr_cuda_sight *sight)
{
    const CUresult started = driver->init(0);
    if (started == CUDA_ERROR_STUB_LIBRARY) {
        say(sight, TNR_CUDA_STUB, "the driver is the toolkit's stand-in, not a driver", "");
        return;
    }
    int version = 0;
    if (driver->driver_version(&version) == CUDA_SUCCESS) {
        sight->driver_version = version;
        if (version < TNRI_CUDA_LEAST_VERSION) {
            size_t at = 0;
            say(sight, TNR_CUDA_TOO_OLD, "the driver is of CUDA ", "");
            at = strlen(sight->text);
            put_number(sight->text, &at, (uint64_t)(version / 1000));
            put(sight->text, &at, ".");
            put_number(sight->text, &at, (uint64_t)(version % 1000 / 10));
            put(sight->text, &at, "; 11.4 is the first that serves");
            return;
        }
    }
    if (started == CUDA_ERROR_NO_DEVICE) {
        say(sight, TNR_CUDA_NO_DEVICE, "the driver sees no device", "");
        return;
    }
    if (started != CUDA_SUCCESS) {
        say(sight, TNR_CUDA_INIT_FAILED, "cuInit: ", tnri_driver_error(driver, started));
        return;
    }
    int count = 0;
    const CUresult counted = driver->device_count(&count);
    if (counted != CUDA_SUCCESS) {
        say(sight, TNR_CUDA_INIT_FAILED, "cuDeviceGetCount: ", tnri_driver_error(driver, counted));
        return;
    }
    if (count <= 0) {
        say(sight, TNR_CUDA_NO_DEVICE, "the driver sees no device", "");
        return;
    }
    size_t at = 0;
    sight->devices = count;
    sight->state = TNR_CUDA_AVAILABLE;
    put_number(sight->text, &at, (uint64_t)count);
    put(sight->text, &at, count == 1 ? " device" : " devices");
}

void tnri_driver_look(const char *path, tnri_driver *driver, tnr_cuda_sight *sight)
{
    memset(sight, 0, sizeof(*sight));
    memset(driver, 0, sizeof(*driver));
    const bool named = path != NULL && path[0] != '\0';
    if (path == NULL) {
        path = getenv("TENURE_CUDA_DRIVER");
    }
    if (path == NULL || path[0] == '\0') {
        path = DEFAULT_DRIVER;
    }
    if (strcmp(path, "off") == 0) {
        say(sight, TNR_CUDA_NO_DRIVER, named ? "the driver that was named is \"off\"" : "TENURE_CUDA_DRIVER is off",
            "");
        return;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *why = dlerror();
        say(sight, TNR_CUDA_NO_DRIVER, "no driver: ", why != NULL ? why : path);
        return;
    }
    if (fill(library, driver, sight)) {
        start(driver, sight);
    }
}

void tnr_cuda_look(const char *path, tnr_cuda_sight *sight)
{
    if (sight != NULL) {
        tnri_driver driver;
        tnri_driver_look(path, &driver, sight);
    }
}

const char *tnri_driver_error(const tnri_driver *driver, CUresult code)
{
    const char *name = NULL;
    if (driver->error_name(code, &name) != CUDA_SUCCESS || name == NULL) {
        return "unknown error";
    }
    return name;
}

bool tnri_driver_is_fatal(CUresult code)
{
    switch ((int)code) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case 226: /* CONTAINED, of CUDA 12.8 */
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case 721: /* TENSOR_MEMORY_LEAK, of CUDA 13 */
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN:
        return true;
    default:
        return false;
    }
}
