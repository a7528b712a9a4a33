/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The smallest useful program: f32, elementwise arithmetic, matrix products and a group, all in one static arena. Its size is what a
 * board pays for these (tests/board/sizes.cmake); it runs, too.
 */
#include "tenure/tenure.h"

static _Alignas(64) unsigned char region[32 * 1024];

static tnr_status work(tnr_domain *arena, tnr_engine *engine, float *sum)
{
    const int64_t shape[2] = {4, 4};
    tnr_tensor *owners[2] = {NULL, NULL};
    tnr_view view[2];
    tnr_group *group = NULL;
    tnr_slot slot;
    tnr_tensor *product = NULL;
    tnr_tensor *total = NULL;
    tnr_status status = TNR_OK;
    for (int i = 0; status == TNR_OK && i < 2; i++) {
        void *data = NULL;
        status = tnr_tensor_zeros(arena, TNR_F32, 2, shape, &owners[i]);
        if (status == TNR_OK) {
            status = tnr_tensor_host_data_mut(owners[i], &data);
        }
        for (int k = 0; status == TNR_OK && k < 16; k++) {
            ((float *)data)[k] = (float)(k + i);
        }
    }
    if (status == TNR_OK) {
        status = tnr_group_from_tensors(arena, owners, 2, &group);
    }
    for (uint32_t i = 0; status == TNR_OK && i < 2; i++) {
        status = tnr_group_slot(group, i, &slot);
        if (status == TNR_OK) {
            status = tnr_group_view(group, slot, &view[i]);
        }
    }
    if (status == TNR_OK) {
        status = tnr_matmul(engine, &view[0], &view[1], NULL, &product);
    }
    if (status == TNR_OK) {
        status = tnr_tensor_view(product, &view[0]);
    }
    if (status == TNR_OK) {
        status = tnr_add(engine, &view[0], &view[1], &total);
    }
    if (status == TNR_OK) {
        const void *data = NULL;
        status = tnr_tensor_host_data(total, &data);
        for (int k = 0; status == TNR_OK && k < 16; k++) {
            *sum += ((const float *)data)[k];
        }
    }
    tnr_status ended = tnr_tensor_release(&total);
    status = status == TNR_OK ? ended : status;
    ended = tnr_tensor_release(&product);
    status = status == TNR_OK ? ended : status;
    ended = tnr_group_release(&group);
    return status == TNR_OK ? ended : status;
}

int main(void)
{
    tnr_domain *arena = NULL;
    tnr_engine *engine = NULL;
    float sum = 0.0F;
    tnr_status status = tnr_arena_create(region, sizeof region, NULL, &arena);
    if (status == TNR_OK) {
        status = tnr_engine_create(arena, NULL, &engine);
    }
    if (status == TNR_OK) {
        status = work(arena, engine, &sum);
    }
    if (status == TNR_OK) {
        status = tnr_engine_destroy(&engine);
    }
    if (status == TNR_OK) {
        status = tnr_domain_close(&arena);
    }
    return status == TNR_OK && sum == 4536.0F ? 0 : 1 + (int)status;
}
