/* SPDX-License-Identifier: BSD-3-Clause */
/* One module of the library's kernels, compiled for the host: its kernels by name. MODULE_FILE and MODULE_IS_<name> tell which. */
#include "fake_device.h"

#include <type_traits>
#include <utility>

#include "fake_launch.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include MODULE_FILE

#ifdef MODULE_IS_move
#define ENTER_move(name) ENTER(name)
#else
#define ENTER_move(name)
#endif
#ifdef MODULE_IS_map
#define ENTER_map(name) ENTER(name)
#else
#define ENTER_map(name)
#endif
#ifdef MODULE_IS_cast
#define ENTER_cast(name) ENTER(name)
#else
#define ENTER_cast(name)
#endif
#ifdef MODULE_IS_math
#define ENTER_math(name) ENTER(name)
#else
#define ENTER_math(name)
#endif
#ifdef MODULE_IS_math_complex
#define ENTER_math_complex(name) ENTER(name)
#else
#define ENTER_math_complex(name)
#endif
#ifdef MODULE_IS_reduce
#define ENTER_reduce(name) ENTER(name)
#else
#define ENTER_reduce(name)
#endif
#ifdef MODULE_IS_index
#define ENTER_index(name) ENTER(name)
#else
#define ENTER_index(name)
#endif
#ifdef MODULE_IS_product
#define ENTER_product(name) ENTER(name)
#else
#define ENTER_product(name)
#endif

namespace
{

/* A call with parameters from memory, by the kernel's own types; and what these are. */
template <auto KERNEL_CALLED> struct called;
template <class... P, void (*KERNEL_CALLED)(P...)> struct called<KERNEL_CALLED> {
    template <size_t... I> static void with(void *const *values, std::index_sequence<I...>)
    {
        KERNEL_CALLED(*static_cast<std::remove_cv_t<P> *>(values[I])...);
    }
    static void from(void *const *values) { with(values, std::index_sequence_for<P...>()); }
    explicit called(const char *name)
    {
        static_assert(sizeof...(P) <= FAKE_PARAMETERS, "too many parameters");
        entry =
            fake_kernel{name, (int)sizeof...(P), {sizeof(P)...}, {std::is_pointer<P>::value...}, from, false, nullptr};
        fake_kernel_add(&entry);
    }
    fake_kernel entry;
};

#define ENTER(name) called<&tnri_##name> enter_##name("tnri_" #name);
#define ENTER_KERNEL(module, name) ENTER_##module(name)
TNRI_KERNEL_LIST(ENTER_KERNEL)

} // namespace
