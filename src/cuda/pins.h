/*
 * pins.h - memory of other processes that a GPU reads where it lies.
 *
 * Tensors of requests lie in segments that the server has filled (segment.h). What an engine
 * process maps of them is registered with the driver, and stays so as long as it is mapped: kernels
 * read their inputs there, and nothing is copied in between. Where the driver refuses, inputs are
 * copied. Safe from any thread that works on the device.
 */
#ifndef CUDA_PINS_H
#define CUDA_PINS_H

#include <pthread.h>

#include "cuda/driver.h"
#include "engine/lender.h"

struct cuda_pins {
    const struct cuda_driver *driver;
    struct lender *lender; /* Borrowed. NULL: there is none. */
    pthread_mutex_t lock;  /* Of the rest. */
    uint32_t count;
    struct {
        uint8_t *data;
        size_t bytes;
    } items[LENDER_MAPPINGS_MAX];
};

/* Register what @lender maps from now on, until cuda_pins_close(). */
void cuda_pins_open(
    struct cuda_pins *pins, const struct cuda_driver *driver, struct lender *lender);
void cuda_pins_close(struct cuda_pins *pins);

/* Whether kernels can read the @bytes at @data. */
bool cuda_pins_have(struct cuda_pins *pins, const void *data, uint64_t bytes);

#endif /* CUDA_PINS_H */
