/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of our own, from the launch's side: which there are, the structs that are their parameters, and what fills these
 * (layouts.c: pure, no driver). What a kernel does with them is said in kernels/contract.h.
 */
#ifndef TENURE_CUDA_KERNELS_INTERNAL_H
#define TENURE_CUDA_KERNELS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/contract.h"

/* ---- Kernels and modules ------------------------------------------------------------------------------------------------------- */

/* TNRI_KERNEL_pack_1, ...: runs of one family are in the order of dtypes, or of widths. */
#define TNRI_KERNEL_ENUM_(module, name) TNRI_KERNEL_##name,
typedef enum tnri_kernel { TNRI_KERNEL_LIST(TNRI_KERNEL_ENUM_) TNRI_KERNELS } tnri_kernel;
#undef TNRI_KERNEL_ENUM_

typedef enum tnri_module {
    TNRI_MODULE_move,
    TNRI_MODULE_map,
    TNRI_MODULE_cast,
    TNRI_MODULE_math,
    TNRI_MODULE_math_complex,
    TNRI_MODULE_reduce,
    TNRI_MODULE_index,
    TNRI_MODULE_product,
    TNRI_MODULES
} tnri_module;

/* "tnri_pack_1", and the module it is in. */
extern const char *const tnri_kernel_names[TNRI_KERNELS];
extern const unsigned char tnri_kernel_modules[TNRI_KERNELS];
extern const char *const tnri_module_names[TNRI_MODULES];

/* The files of kernels/, by name, as they are compiled at run time; ended by a name of NULL. (Made from them when the library is built.) */
typedef struct tnri_kernel_file {
    const char *name;
    const char *text;
} tnri_kernel_file;
extern const tnri_kernel_file tnri_kernel_files[];

/*
 * Images that nvcc made when the library was built: a fat binary of each module for the architectures of TENURE_CUDA_ARCHITECTURES
 * and as PTX for later ones; NULL, and 0 bytes, where there was no nvcc.
 */
extern const unsigned char *const tnri_module_images[TNRI_MODULES];
extern const size_t tnri_module_image_bytes[TNRI_MODULES];

enum { TNRI_IMAGE_MOST_BYTES = 1 << 24, TNRI_KERNEL_MOST_FILES = 16 };

/* Families: the kernel for a width of 1, 4, 8, 16 bytes, or for a dtype (tnr_dtype's values); -1: there is none. */
static inline int tnri_kernel_of_width(tnri_kernel first, size_t bytes)
{
    return bytes == 1    ? (int)first
           : bytes == 4  ? (int)first + 1
           : bytes == 8  ? (int)first + 2
           : bytes == 16 ? (int)first + 3
                         : -1;
}
/* `op` without TNRI_MAP_REAL_*; the dtype of a, and of a and b in select. Not for casts. */
int tnri_map_kernel(tnri_map_op op, int dtype);
int tnri_cast_kernel(int from);
int tnri_reduce_kernel(tnri_kernel_reduce_op op, int dtype);
int tnri_scatter_kernel(int dtype);
/* f32 f64 c32 c64; `first`: TNRI_KERNEL_product_f32 and its like. */
static inline int tnri_product_kernel_at(tnri_kernel first, int dtype) { return (int)first + dtype - TNRI_KERNEL_F32; }
/* `function`: TNRI_KERNEL_exp_f32, ..., _power_f32. */
int tnri_math_kernel_at(tnri_kernel function, int dtype);

/* ---- Layouts (layouts.c) ---------------------------------------------------------------------------------------------------------- */

/* An operand: strides in elements of `width` bytes; `address` of its first element is moved to where the layout begins. */
typedef struct tnri_kernel_operand {
    uint64_t address;
    size_t width;
    const int64_t *strides;
} tnri_kernel_operand;

/* `operands` of one shape, no extent 0, the target first. */
void tnri_map_layout_make(tnri_map_layout *layout, int rank, const int64_t *shape, int operands,
                          tnri_kernel_operand *operand);
/* A copy: the same for two operands of one width; may find the way TURNED, which says tnri_turn_<bytes> instead of tnri_pack_<bytes>. */
void tnri_copy_layout_make(tnri_map_layout *layout, int rank, const int64_t *shape, tnri_kernel_operand *operand);
/* Axes in their order, those that go on one another in memory joined; side 1 only where `source` is not NULL. Strides in elements. */
void tnri_reshape_layout_make(tnri_reshape_layout *layout, size_t width, int rank, const int64_t *shape,
                              const int64_t *target, int source_rank, const int64_t *source_shape,
                              const int64_t *source);
/*
 * Axes for which `gone` has a bit go away. Strides in elements: `source` of each axis, `target` of each that stays (entries of others
 * are not read). No extent 0. `width`, `target_width`: bytes of an element.
 */
void tnri_reduce_layout_make(tnri_reduce_layout *layout, tnri_kernel_reduce_op op, int dtype, int rank,
                             const int64_t *shape, uint64_t gone, const int64_t *source, const int64_t *target);
/* Bytes of partials that the first launch writes; 0: there is one launch. Aligned to 256. */
uint64_t tnri_reduce_scratch(const tnri_reduce_layout *layout);
/* The layout of the first launch becomes that of the second. */
void tnri_reduce_layout_join(tnri_reduce_layout *layout);
/* Fills in what follows from the rest: elements, window_first, places, way. `overlap`: windows of several vectors may overlap in part. */
void tnri_windows_layout_finish(tnri_windows_layout *layout, bool overlap);
/* Fills in splits, split, way. `c_bytes`: of an element. */
void tnri_product_layout_finish(tnri_product_layout *layout, int dtype);
/* Bytes of partials; 0: none, and no tnri_product_join. */
uint64_t tnri_product_scratch_bytes(const tnri_product_layout *layout, int dtype);

/* A launch has room for 4 KiB of parameters on every device: a layout, and beside it an op, four addresses, or an element. */
enum { TNRI_KERNEL_PARAMETER_BYTES = 4096, TNRI_KERNEL_SMALL_PARAMETERS = 64 };
#define TNRI_KERNEL_TAKES_(layout)                                                               \
    _Static_assert(sizeof(layout) <= TNRI_KERNEL_PARAMETER_BYTES - TNRI_KERNEL_SMALL_PARAMETERS, \
                   #layout " is too long for a launch")
TNRI_KERNEL_TAKES_(tnri_map_layout);
TNRI_KERNEL_TAKES_(tnri_triangle_layout);
TNRI_KERNEL_TAKES_(tnri_reshape_layout);
TNRI_KERNEL_TAKES_(tnri_reduce_layout);
TNRI_KERNEL_TAKES_(tnri_windows_layout);
TNRI_KERNEL_TAKES_(tnri_product_layout);
TNRI_KERNEL_TAKES_(tnri_offsets_layout);

/* ---- Grids: of a device with so many multiprocessors ------------------------------------------------------------------------------ */

static inline unsigned tnri_kernel_blocks_(int64_t wanted, int multiprocessors, int each)
{
    const int64_t most = (int64_t)(multiprocessors < 1 ? 1 : multiprocessors) * each;
    return (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}
/* tnri_map, heavy, size, compare, select, cast, math, pack, fill, triangle, reshape, scan, gather, offsets, windows_check: `count`
 * elements (offsets: entries of a table; windows_check: vectors). */
static inline unsigned tnri_map_blocks(int64_t count, int multiprocessors)
{
    return tnri_kernel_blocks_((count - 1) / TNRI_KERNEL_THREADS + 1, multiprocessors, 16);
}
unsigned tnri_turn_blocks(const tnri_map_layout *layout, int multiprocessors);
unsigned tnri_reduce_blocks(const tnri_reduce_layout *layout, int multiprocessors); /* of each launch */
unsigned tnri_gather_blocks(const tnri_windows_layout *layout, int multiprocessors);
unsigned tnri_scatter_blocks(const tnri_windows_layout *layout, int multiprocessors);
unsigned tnri_product_blocks(const tnri_product_layout *layout, int multiprocessors);
unsigned tnri_product_join_blocks(const tnri_product_layout *layout, int multiprocessors);

#endif /* TENURE_CUDA_KERNELS_INTERNAL_H */
