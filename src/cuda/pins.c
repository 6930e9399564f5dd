#include "cuda/pins.h"

static void on_mapped(void *context, void *data, size_t bytes)
{
    struct cuda_pins *pins = context;
    (void)pthread_mutex_lock(&pins->lock);
    if (pins->count < LENDER_MAPPINGS_MAX &&
        pins->driver->host_register(data, bytes, CUDA_HOST_PORTABLE | CUDA_HOST_READ_ONLY) ==
            CUDA_SUCCESS) {
        pins->items[pins->count].data = data;
        pins->items[pins->count].bytes = bytes;
        pins->count++;
    }
    (void)pthread_mutex_unlock(&pins->lock);
}

static void on_unmapped(void *context, void *data)
{
    struct cuda_pins *pins = context;
    (void)pthread_mutex_lock(&pins->lock);
    for (uint32_t i = 0; i < pins->count; i++) {
        if (pins->items[i].data == data) {
            (void)pins->driver->host_unregister(data); /* It goes in any case. */
            pins->items[i] = pins->items[--pins->count];
            break;
        }
    }
    (void)pthread_mutex_unlock(&pins->lock);
}

void cuda_pins_open(struct cuda_pins *pins, const struct cuda_driver *driver, struct lender *lender)
{
    *pins = (struct cuda_pins){.driver = driver, .lender = lender};
    (void)pthread_mutex_init(&pins->lock, NULL);
    if (lender != NULL) {
        const struct lender_watch watch = {
            .mapped = on_mapped, .unmapped = on_unmapped, .context = pins};
        lender_set_watch(lender, &watch);
    }
}

void cuda_pins_close(struct cuda_pins *pins)
{
    if (pins->lender != NULL) {
        lender_set_watch(pins->lender, &(struct lender_watch){.context = NULL});
    }
    for (uint32_t i = 0; i < pins->count; i++) {
        (void)pins->driver->host_unregister(pins->items[i].data);
    }
    (void)pthread_mutex_destroy(&pins->lock);
}

bool cuda_pins_have(struct cuda_pins *pins, const void *data, uint64_t bytes)
{
    const uint8_t *first = data;
    bool is_found = false;
    (void)pthread_mutex_lock(&pins->lock);
    for (uint32_t i = 0; i < pins->count && !is_found; i++) {
        is_found = first >= pins->items[i].data &&
                   first + bytes <= pins->items[i].data + pins->items[i].bytes;
    }
    (void)pthread_mutex_unlock(&pins->lock);
    return is_found;
}
