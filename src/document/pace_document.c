#include "document/pace_document.h"

#include "document/scenario.h"

static const struct reader_range factor_range = {0.01, 100, "between 0.01 and 100"};

static void read_factors(struct reader *reader, const struct tree_node *node, void *record)
{
    struct scenario *scenario = record;
    uint32_t count = 0;

    reader_list(reader, node);
    if (reader_is_good(reader) &&
        (node->child_count == 0 || node->child_count > PACE_FACTORS_MAX)) {
        reader_fail(reader, node, "'factors' wants 1 to %d numbers", PACE_FACTORS_MAX);
    }
    if (!reader_is_good(reader)) {
        return;
    }
    double *factors = arena_alloc(&scenario->arena, node->child_count * sizeof(*factors));
    READER_EACH (value, reader, node) {
        factors[count++] = reader_quantity(reader, value, QUANTITY_NUMBER, &factor_range);
    }
    scenario->pace.factors = factors;
    scenario->pace.count = count;
}

static void write_factors(struct writer *writer, const void *record)
{
    const struct scenario *scenario = record;
    writer_numbers(writer, "factors", scenario->pace.factors, scenario->pace.count);
}

const struct field pace_fields[] = {
    {"every", FIELD_DURATION(struct scenario, pace.every_ns), .needed = true,
     .range = FIELD_RANGE(1e6, 864e12, "between 1ms and 240h"),
     .help = "from one factor to the next"},
    {"factors", .read = read_factors, .write = write_factors, .needed = true,
     .form = "list of numbers",
     .help = "how many times as long batches take, one after another, again and again"},
    {0},
};

void pace_read(struct reader *reader, const struct tree_node *node, void *scenario)
{
    record_read(reader, node, pace_fields, scenario);
}

void pace_write(struct writer *writer, const void *scenario)
{
    if (((const struct scenario *)scenario)->pace.count > 0) {
        writer_key(writer, "pace");
        record_write_inline(writer, pace_fields, scenario);
    }
}
