/* A histogram of latencies.
 *
 * Nanoseconds, 64 linear steps within each power of two: a percentile is at most 1.6 % too high. It never rounds down:
 * what is told is the upper end of the step that the percentile falls into.
 */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <stdint.h>

enum { STEP_BITS = 6, STEPS = 1 << STEP_BITS };

struct histogram {
    uint64_t count[64 * STEPS], total, largest;
};

static inline void record(struct histogram *h, int64_t ns) {
    uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
    int step = (int)value;
    if (value >= STEPS) {
        int power = 63 - __builtin_clzll(value);
        step = (power - STEP_BITS + 1) * STEPS + (int)((value >> (power - STEP_BITS)) & (STEPS - 1));
    }
    h->count[step]++, h->total++;
    if (value > h->largest) h->largest = value;
}

static inline double percentile_us(const struct histogram *h, double share) {
    uint64_t seen = 0;
    for (int i = 0; i < 64 * STEPS; i++) {
        seen += h->count[i];
        if (seen == 0 || (double)seen < share * (double)h->total) continue;
        uint64_t upper = i < STEPS ? (uint64_t)i : ((uint64_t)(STEPS + i % STEPS + 1) << (i / STEPS - 1)) - 1;
        return (double)(upper < h->largest ? upper : h->largest) / 1000;
    }
    return 0;
}

#endif
