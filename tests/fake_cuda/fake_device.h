/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a device has and the host's compiler has not, for the kernels of src/cuda/kernels: included before them.
 *
 * A kernel's thread is a call; where threads of a block wait for one another, it is a fiber, and between two barriers the fibers of a
 * block run in an order that the seed chooses, so that a missing barrier shows. Addresses stay the device's: every load and store is
 * looked up in the fake's memory, and must be aligned.
 */
#ifndef TENURE_TESTS_FAKE_DEVICE_H
#define TENURE_TESTS_FAKE_DEVICE_H

#include <cmath>
#include <cstdint>
#include <cstring>

#define TNRI_FAKE_DEVICE
#define __global__
#define __shared__ static
#define __launch_bounds__(...)

struct fake_place {
    unsigned x;
};
extern fake_place threadIdx;
extern fake_place blockIdx;
extern fake_place gridDim;

/* All threads of the block come here before one goes on. */
void __syncthreads();

/* Where these bytes of the device are now; somewhere else, and blame, when they may not be touched. */
char *fake_touch(const char *address, size_t bytes, size_t alignment);

/* Devices go on after a division by zero, hosts do not. */
void fake_blame_division();
template <class T> inline T fake_divisor(T divisor)
{
    if (divisor == 0) {
        fake_blame_division();
        return 1;
    }
    return divisor;
}

static inline uint64_t __umul64hi(uint64_t a, uint64_t b)
{
    const uint64_t low_a = (uint32_t)a;
    const uint64_t low_b = (uint32_t)b;
    const uint64_t middle = (a >> 32) * low_b + (low_a * low_b >> 32);
    const uint64_t other = low_a * (b >> 32) + (uint32_t)middle;
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }

template <class T> inline T load(const char *from)
{
    T value;
    std::memcpy(&value, fake_touch(from, sizeof(T), alignof(T)), sizeof(T));
    return value;
}
template <class T> inline void store(char *to, const T &value)
{
    std::memcpy(fake_touch(to, sizeof(T), alignof(T)), &value, sizeof(T));
}
inline void lower(int64_t *to, int64_t value)
{
    char *const at = reinterpret_cast<char *>(to);
    if (value < load<int64_t>(at)) {
        store(at, value);
    }
}

using std::memcpy;
using std::memset;

#endif /* TENURE_TESTS_FAKE_DEVICE_H */
