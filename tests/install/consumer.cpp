/* SPDX-License-Identifier: BSD-3-Clause */
/* BI-04: the C++17 twin of consumer.c, with a complex product as well: std::complex lies in memory as tnr_c64 does. */
#include <array>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include <tenure/tenure.h>

namespace
{

void need(tnr_status status)
{
    if (status != TNR_OK) {
        throw std::runtime_error(tnr_last_error());
    }
}

template <typename T>
bool product_is(tnr_domain *heap, tnr_engine *engine, tnr_dtype dtype, std::array<T, 4> left, std::array<T, 4> right,
                const std::array<T, 4> &expected)
{
    const std::array<std::int64_t, 2> shape{2, 2};
    tnr_tensor *a = nullptr;
    tnr_tensor *b = nullptr;
    tnr_tensor *product = nullptr;
    tnr_view a_view;
    tnr_view b_view;
    const void *data = nullptr;
    need(tnr_tensor_adopt(heap, dtype, 2, shape.data(), left.data(), sizeof left, nullptr, nullptr, &a));
    need(tnr_tensor_adopt(heap, dtype, 2, shape.data(), right.data(), sizeof right, nullptr, nullptr, &b));
    need(tnr_tensor_view(a, &a_view));
    need(tnr_tensor_view(b, &b_view));
    need(tnr_matmul(engine, &a_view, &b_view, nullptr, &product));
    need(tnr_tensor_host_data(product, &data));
    bool good = true;
    for (std::size_t i = 0; i < expected.size(); i++) {
        good = good && static_cast<const T *>(data)[i] == expected[i];
    }
    need(tnr_tensor_release(&product));
    need(tnr_tensor_release(&b));
    need(tnr_tensor_release(&a));
    return good;
}

} // namespace

int main()
{
    try {
        tnr_domain *heap = nullptr;
        tnr_engine *engine = nullptr;
        need(tnr_check_build());
        need(tnr_heap_create(&heap));
        need(tnr_engine_create(heap, nullptr, &engine));
        const bool real = product_is<double>(heap, engine, TNR_F64, {1, 3, 2, 4}, {5, 7, 6, 8}, {19, 43, 22, 50});
        using complex = std::complex<double>;
        const complex i{0, 1};
        const bool imaginary =
            product_is<complex>(heap, engine, TNR_C64, {i, 0, 0, i}, {1, 2, 3, 4}, {i, 2.0 * i, 3.0 * i, 4.0 * i});
        need(tnr_engine_destroy(&engine));
        need(tnr_domain_close(&heap));
        if (!real || !imaginary) {
            std::fprintf(stderr, "consumer: a product is wrong\n");
            return 1;
        }
        std::printf("consumer: good, tenure %s\n", TNR_VERSION_STRING);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "consumer: %s\n", failure.what());
        return 1;
    }
    return 0;
}
