/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake's device: runs a kernel's threads on the host.
 *
 * All threads of a block are fibers of one stack each, which are kept; switching is a jump, without a call of the system. Between two barriers they run in an order that is drawn anew, each to its next
 * barrier or to its end; a thread that ends while others wait at a barrier is blamed. Kernels without barriers are called thread by
 * thread.
 */
#include "fake_device.h"

#include <setjmp.h>
#include <ucontext.h>

#include <cstdlib>

#include "fake_launch.h"

/* Clang's way of telling; GCC defines these itself. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

fake_place threadIdx;
fake_place blockIdx;
fake_place gridDim;

namespace
{

fake_kernel *kernels;

const size_t STACK = 256 * 1024;

struct fiber {
    ucontext_t begin; /* how it comes onto its stack, once */
    jmp_buf at;       /* and where it left off */
    char *stack;
    bool ended;
#if defined(__SANITIZE_THREAD__)
    void *known;
#endif
};

fiber fibers[FAKE_THREADS];
jmp_buf home;
bool in_fiber;
const fake_kernel *running;
void *const *running_values;
#if defined(__SANITIZE_ADDRESS__)
const void *home_stack;
size_t home_bytes;
void *home_fake_stack;
#endif
#if defined(__SANITIZE_THREAD__)
void *home_known;
#endif

/* From a fiber back to the loop over fibers. */
void go_home(fiber *from)
{
#if defined(__SANITIZE_ADDRESS__)
    void *saved = nullptr;
    __sanitizer_start_switch_fiber(&saved, home_stack, home_bytes);
#endif
    if (_setjmp(from->at) == 0) {
#if defined(__SANITIZE_THREAD__)
        __tsan_switch_to_fiber(home_known, 0);
#endif
        _longjmp(home, 1);
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(saved, &home_stack, &home_bytes);
#endif
}

/* One thread number of all blocks and launches. */
void body()
{
    fiber *const self = &fibers[threadIdx.x];
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &home_stack, &home_bytes);
#endif
    for (;;) {
        running->call(running_values);
        self->ended = true;
        go_home(self);
    }
}

void make(fiber *made)
{
    made->stack = static_cast<char *>(std::malloc(STACK));
#if defined(__SANITIZE_THREAD__)
    made->known = __tsan_create_fiber(0);
#endif
    getcontext(&made->begin);
    made->begin.uc_stack.ss_sp = made->stack;
    made->begin.uc_stack.ss_size = STACK;
    made->begin.uc_link = nullptr;
    makecontext(&made->begin, body, 0);
}

void go_on(unsigned thread)
{
    fiber *const to = &fibers[thread];
    const bool fresh = to->stack == nullptr;
    threadIdx.x = thread;
    if (fresh) {
        make(to);
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&home_fake_stack, to->stack, STACK);
#endif
    if (_setjmp(home) == 0) {
#if defined(__SANITIZE_THREAD__)
        __tsan_switch_to_fiber(to->known, 0);
#endif
        if (fresh) {
            setcontext(&to->begin);
        }
        _longjmp(to->at, 1);
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(home_fake_stack, nullptr, nullptr);
#endif
}

/* One block, from barrier to barrier. */
void run_fibers()
{
    unsigned order[FAKE_THREADS];
    for (unsigned i = 0; i < FAKE_THREADS; i++) {
        order[i] = i;
        fibers[i].ended = false;
    }
#if defined(__SANITIZE_THREAD__)
    home_known = __tsan_get_current_fiber();
#endif
    in_fiber = true;
    unsigned ended = 0;
    while (ended < FAKE_THREADS) {
        for (unsigned i = FAKE_THREADS - 1; i > 0; i--) {
            const unsigned j = (unsigned)(fake_device_random() % (i + 1));
            const unsigned other = order[i];
            order[i] = order[j];
            order[j] = other;
        }
        for (unsigned i = 0; i < FAKE_THREADS; i++) {
            if (!fibers[order[i]].ended) {
                go_on(order[i]);
                ended += fibers[order[i]].ended ? 1U : 0U;
            }
        }
        if (ended != 0 && ended != FAKE_THREADS) {
            fake_device_blame("threads of a block part at a barrier");
        }
    }
    in_fiber = false;
}

/* Kernels whose threads wait for one another. */
bool has_barriers(const char *name)
{
    static const char *const families[] = {"tnri_turn_", "tnri_reduce_", "tnri_arg_", "tnri_scatter_", "tnri_product_"};
    for (const char *family : families) {
        if (std::strncmp(name, family, std::strlen(family)) == 0) {
            return std::strncmp(name, "tnri_product_join", 17) != 0;
        }
    }
    return false;
}

} // namespace

void fake_kernel_add(fake_kernel *kernel)
{
    kernel->next = kernels;
    kernels = kernel;
}

const fake_kernel *fake_kernel_find(const char *name)
{
    for (const fake_kernel *kernel = kernels; kernel != nullptr; kernel = kernel->next) {
        if (std::strcmp(kernel->name, name) == 0) {
            return kernel;
        }
    }
    return nullptr;
}

void __syncthreads()
{
    if (!in_fiber) {
        fake_device_blame("a barrier in a kernel that is said to have none");
        return;
    }
    if (!fake_device_has_barriers()) {
        return;
    }
    const unsigned self = threadIdx.x;
    go_home(&fibers[self]);
    threadIdx.x = self;
}

char *fake_touch(const char *address, size_t bytes, size_t alignment)
{
    return fake_device_bytes((uint64_t)(uintptr_t)address, bytes, alignment);
}

void fake_blame_division() { fake_device_blame("a kernel divides whole numbers by zero"); }

void fake_device_run(const fake_kernel *kernel, unsigned blocks, void *const *values)
{
    running = kernel;
    running_values = values;
    gridDim.x = blocks;
    const bool fiberwise = has_barriers(kernel->name);
    const unsigned first = (unsigned)fake_device_first_block();
    const unsigned left = blocks > first ? blocks - first : 0;
    const unsigned turn = (unsigned)(fake_device_random() % (left > 0 ? left : 1)); /* blocks come in no order either */
    for (unsigned block = 0; block < left; block++) {
        blockIdx.x = first + (block + turn) % left;
        if (fiberwise) {
            run_fibers();
            continue;
        }
        const bool loses = blockIdx.x + 1 == blocks && fake_device_loses_a_thread();
        for (unsigned thread = 0; thread < FAKE_THREADS - (loses ? 1 : 0); thread++) {
            threadIdx.x = thread;
            kernel->call(values);
        }
    }
}
