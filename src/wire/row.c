#include "wire/row.h"

#include "base/assert.h"
#include "wire/bytes.h"

/*
 *   version  parts  worker  incarnation
 *   1        1      4       4
 *     [queued_ns  run_ns  sequence  items  gpu_free  cpu_free  layout  urgency  wanted]
 *     [8          8       8         2      1         2         4       2        2     ]
 *     [put_off  accepting  waits_steps  first_steps  last_steps]
 *     [1        1          4            4            4         ]
 *     [sequence  free_bytes  resident  loading]
 *     [8         8           32        32     ]
 */
_Static_assert(10 + 51 + 80 <= ROW_BYTES_MAX, "a row with both parts fits");

static uint32_t incarnation_of(const struct row *row)
{
    return (row->parts & ROW_LOAD) != 0 ? row->load.incarnation : row->cache.incarnation;
}

/* What both sides agree on; a duration is never negative. */
static bool is_valid(const struct row *row)
{
    return row->worker < WORKERS_MAX && row->parts >= ROW_LOAD && row->parts <= ROW_BOTH &&
           row->load.queued_ns >= 0 && row->load.run_ns >= 0 &&
           (row->parts != ROW_BOTH || row->load.incarnation == row->cache.incarnation);
}

static void put_models(struct bytes_writer *writer, const struct model_set *models)
{
    for (uint32_t i = 0; i < MODEL_SET_WORDS; i++) {
        bytes_put(writer, models->words[i], 8);
    }
}

static void take_models(struct bytes_reader *reader, struct model_set *models_out)
{
    for (uint32_t i = 0; i < MODEL_SET_WORDS; i++) {
        models_out->words[i] = bytes_take(reader, 8);
    }
}

static void put_load(struct bytes_writer *writer, const struct row_load *load)
{
    bytes_put(writer, (uint64_t)load->queued_ns, 8);
    bytes_put(writer, (uint64_t)load->run_ns, 8);
    bytes_put(writer, load->sequence, 8);
    bytes_put(writer, load->queued_items, 2);
    bytes_put(writer, load->gpu_free, 1);
    bytes_put(writer, load->cpu_free, 2);
    bytes_put(writer, load->layout, 4);
    bytes_put(writer, load->urgency, 2);
    bytes_put(writer, load->wanted, 2);
    bytes_put(writer, load->put_off, 1);
    bytes_put(writer, load->accepting, 1);
    bytes_put(writer, load->waits_steps, 4);
    bytes_put(writer, (uint32_t)load->first_steps, 4);
    bytes_put(writer, (uint32_t)load->last_steps, 4);
}

static void take_load(struct bytes_reader *reader, struct row_load *load_out)
{
    load_out->queued_ns = (int64_t)bytes_take(reader, 8);
    load_out->run_ns = (int64_t)bytes_take(reader, 8);
    load_out->sequence = bytes_take(reader, 8);
    load_out->queued_items = (uint16_t)bytes_take(reader, 2);
    load_out->gpu_free = (uint8_t)bytes_take(reader, 1);
    load_out->cpu_free = (uint16_t)bytes_take(reader, 2);
    load_out->layout = (uint32_t)bytes_take(reader, 4);
    load_out->urgency = (uint16_t)bytes_take(reader, 2);
    load_out->wanted = (uint16_t)bytes_take(reader, 2);
    load_out->put_off = (uint8_t)bytes_take(reader, 1);
    load_out->accepting = (uint8_t)bytes_take(reader, 1);
    load_out->waits_steps = (uint32_t)bytes_take(reader, 4);
    load_out->first_steps = (int32_t)(uint32_t)bytes_take(reader, 4);
    load_out->last_steps = (int32_t)(uint32_t)bytes_take(reader, 4);
}

size_t row_encode(const struct row *row, uint8_t *bytes, size_t bytes_max)
{
    struct bytes_writer writer = {.bytes = bytes, .count_max = bytes_max};

    ASSERT(is_valid(row));
    bytes_put(&writer, WIRE_VERSION, 1);
    bytes_put(&writer, row->parts, 1);
    bytes_put(&writer, row->worker, 4);
    bytes_put(&writer, incarnation_of(row), 4);
    if ((row->parts & ROW_LOAD) != 0) {
        put_load(&writer, &row->load);
    }
    if ((row->parts & ROW_CACHE) != 0) {
        bytes_put(&writer, row->cache.sequence, 8);
        bytes_put(&writer, row->cache.free_bytes, 8);
        put_models(&writer, &row->cache.resident);
        put_models(&writer, &row->cache.loading);
    }
    return writer.is_short ? 0 : writer.count;
}

enum weft_status row_decode(const uint8_t *bytes, size_t bytes_count, struct row *row_out)
{
    struct bytes_reader reader = {.bytes = bytes, .count = bytes_count};
    struct row row = {0};

    const uint64_t version = bytes_take(&reader, 1);
    row.parts = (uint32_t)bytes_take(&reader, 1);
    row.worker = (uint32_t)bytes_take(&reader, 4);
    const uint32_t incarnation = (uint32_t)bytes_take(&reader, 4);
    if ((row.parts & ROW_LOAD) != 0) {
        row.load.incarnation = incarnation;
        take_load(&reader, &row.load);
    }
    if ((row.parts & ROW_CACHE) != 0) {
        row.cache.incarnation = incarnation;
        row.cache.sequence = bytes_take(&reader, 8);
        row.cache.free_bytes = bytes_take(&reader, 8);
        take_models(&reader, &row.cache.resident);
        take_models(&reader, &row.cache.loading);
    }
    if (version != WIRE_VERSION || !bytes_is_spent(&reader) || !is_valid(&row)) {
        return WEFT_INVALID;
    }
    *row_out = row;
    return WEFT_OK;
}
