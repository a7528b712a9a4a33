/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * make_volume NX NY NZ FILE [turned]: a NIfTI volume of int16 with edges and noise, the same every time, for tests that run the denoise
 * programs. `turned`: its axes point to the front, up, and left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/nifti_file.h"

int main(int count, char **words)
{
    static nifti_file file;
    static int16_t voxels[(NIFTI_FILE_ROOM - NIFTI_FILE_OFFSET) / 2];
    const int room = (int)(sizeof voxels / sizeof voxels[0]);
    int n[3] = {0, 0, 0};
    for (int i = 0; i < 3 && count >= 5; i++) {
        n[i] = atoi(words[i + 1]);
    }
    if (count < 5 || n[0] < 1 || n[1] < 1 || n[2] < 1 || n[0] > room || n[1] > room / n[0] ||
        n[2] > room / (n[0] * n[1])) {
        (void)fprintf(stderr, "usage: make_volume NX NY NZ FILE [turned], at most %d voxels\n", room);
        return 2;
    }
    uint32_t random = 12345;
    for (int at = 0; at < n[0] * n[1] * n[2]; at++) {
        const int z = at / (n[0] * n[1]);
        random = random * 1664525U + 1013904223U;
        voxels[at] = (int16_t)((at % n[0] * 2 > n[0] ? 400 : 0) + (z * 3 > n[2] ? 150 : -20) + (int)(random >> 26));
    }
    nifti_make(&file, n[0], n[1], n[2], 4, 16, voxels, (size_t)(n[0] * n[1] * n[2]) * sizeof voxels[0]);
    if (count > 5) {
        nifti_put_int16(&file, 254, 1);
        nifti_put_float(&file, 280 + 8, -2.0F);
        nifti_put_float(&file, 296 + 0, 1.0F);
        nifti_put_float(&file, 312 + 4, 1.5F);
    }
    return nifti_write(&file, words[4], false) ? 0 : 1;
}
