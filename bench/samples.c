/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"

#include "core/util/clock.h"

#include <stdlib.h>

void bench_add(bench_samples *samples, double value) {
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity > 0 ? 2 * samples->capacity : 256;
        double *grown = realloc(samples->values, capacity * sizeof(*grown));
        if (grown == NULL) {
            samples->failed++;
            return;
        }
        samples->values = grown;
        samples->capacity = capacity;
    }
    samples->values[samples->count++] = value;
}

static int by_value(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

double bench_percentile(bench_samples *samples, double p) {
    if (samples->count == 0)
        return 0;
    qsort(samples->values, samples->count, sizeof(*samples->values), by_value);
    size_t at = (size_t)(p / 100.0 * (double)(samples->count - 1) + 0.5);
    return samples->values[at];
}

void bench_samples_free(bench_samples *samples) {
    free(samples->values);
    *samples = (bench_samples){NULL, 0, 0, 0};
}

int64_t bench_now_ns(void) {
    return al_clock_monotonic_ns();
}

double bench_ms_since(int64_t start_ns) {
    return (double)(al_clock_monotonic_ns() - start_ns) / 1e6;
}
