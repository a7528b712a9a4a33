/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 07: Whatever holds bytes can be a domain: bring a table of functions.
 *
 * Here it is a file: each block is a stretch of it, and the host reaches a block only through a mapping that reads the
 * stretch and, after writing, puts it back. Tensors, views and the engine work in it as anywhere else. What needs a
 * plain pointer is refused, with the call to make instead.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tenure/tenure.h>

/* Every answer is looked at; a surprise ends the program. */
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tnr_last_error()); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

/* The domain's state. The library places it, zeroed; `size` in the table says how large. */
typedef struct file_state {
    FILE *file;
    long end; /* blocks are never used again: good enough for a scratch file */
} file_state;

static tnr_status file_open(void *state, const void *config)
{
    (void)config;
    ((file_state *)state)->file = tmpfile();
    return ((file_state *)state)->file != NULL ? TNR_OK : tnr_set_error(TNR_ERR_IO, "file: no temporary file");
}

static void file_close(void *state) { (void)fclose(((file_state *)state)->file); }

static tnr_status file_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    file_state *const s = state;
    (void)alignment; /* a block has no address here, and calloc aligns what mappings return */
    block->bytes = bytes;
    block->tag = (uint64_t)s->end;
    s->end += (long)bytes;
    return TNR_OK;
}

static void file_release(void *state, const tnr_block *block)
{
    (void)state;
    (void)block;
}

static tnr_status file_map(void *state, const tnr_block *block, tnr_map_mode mode, void **host)
{
    file_state *const s = state;
    (void)mode; /* also before writing: elements that are not written keep their values */
    *host = calloc(1, block->bytes);
    if (*host == NULL) {
        return tnr_set_error(TNR_ERR_MEMORY, "file: no memory for a mapping");
    }
    if (fseek(s->file, (long)block->tag, SEEK_SET) != 0) {
        free(*host);
        return tnr_set_error(TNR_ERR_IO, "file: cannot be read");
    }
    (void)!fread(*host, 1, block->bytes, s->file); /* what was never written reads as zeros */
    return TNR_OK;
}

static tnr_status file_unmap(void *state, const tnr_block *block, tnr_map_mode mode, void *host)
{
    file_state *const s = state;
    bool good = true;
    if (mode == TNR_MAP_WRITE) {
        good =
            fseek(s->file, (long)block->tag, SEEK_SET) == 0 && fwrite(host, 1, block->bytes, s->file) == block->bytes;
    }
    free(host);
    return good ? TNR_OK : tnr_set_error(TNR_ERR_IO, "file: cannot be written");
}

static const tnr_domain_ops file_ops = {
    .size = sizeof(file_state),
    .name = "file",
    .open = file_open,
    .close = file_close,
    .allocate = file_allocate,
    .release = file_release,
    .map = file_map,
    .unmap = file_unmap,
};

int main(void)
{
    const double rows[4] = {1, 2, 3, 4};
    const int64_t shape[2] = {2, 2};
    tnr_domain *heap = NULL;
    tnr_domain *file = NULL;
    CHECK(tnr_heap_create(&heap) == TNR_OK);

    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &file_ops;
    config.placement.kind = TNR_MEMORY_OTHER;
    config.access = TNR_ACCESS_MAPPED;
    CHECK(tnr_domain_create(heap, &config, &file) == TNR_OK);

    tnr_tensor *tensor = NULL;
    tnr_tensor_info info;
    CHECK(tnr_tensor_from_row_major(file, TNR_F64, 2, shape, rows, sizeof rows, &tensor) == TNR_OK);
    CHECK(tnr_tensor_describe(tensor, &info) == TNR_OK);
    CHECK(tnr_domain_id_equal(info.domain, tnr_domain_identity(file)) && info.placement.kind == TNR_MEMORY_OTHER);
    printf("a tensor in domain \"%s\", allocation %d\n", tnr_domain_name(file), (int)info.allocation);

    const void *data = NULL;
    CHECK(tnr_tensor_host_data(tensor, &data) == TNR_ERR_RESIDENCY);
    printf("refused: %s\n", tnr_last_error());

    /* An engine that reads the file and writes its outputs to it. */
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_engine *engine = NULL;
    tnr_tensor *sum = NULL;
    tnr_view view;
    double last = 0.0;
    options.output = file;
    CHECK(tnr_engine_create(heap, &options, &engine) == TNR_OK);
    CHECK(tnr_tensor_view(tensor, &view) == TNR_OK);
    CHECK(tnr_add(engine, &view, &view, &sum) == TNR_OK);
    CHECK(tnr_tensor_view(sum, &view) == TNR_OK);
    CHECK(tnr_view_get(&view, (const int64_t[]){1, 1}, &last) == TNR_OK && last == 8.0);
    printf("an engine adds inside the file: 4 + 4 is %g\n", last);

    CHECK(tnr_domain_close(&file) == TNR_ERR_BUSY); /* tensors live in it */
    CHECK(tnr_tensor_release(&sum) == TNR_OK);
    CHECK(tnr_tensor_release(&tensor) == TNR_OK);
    CHECK(tnr_engine_destroy(&engine) == TNR_OK);
    CHECK(tnr_domain_close(&file) == TNR_OK);
    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
