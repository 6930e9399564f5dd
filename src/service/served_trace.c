#include "service/served_trace.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

static void write_trace(void *context, const char *bytes, size_t count)
{
    (void)fwrite(bytes, 1, count, context); /* A full disk must not end a server. */
}

enum weft_status served_trace_open(
    struct served_trace *trace, const char *path, const struct fleet *fleet,
    const struct catalogue *catalogue, struct weft_error *error)
{
    *trace = (struct served_trace){.file = NULL};
    if (path == NULL) {
        return WEFT_OK;
    }
    trace->file = fopen(path, "w");
    if (trace->file == NULL) {
        return error_set(error, WEFT_IO, "%s: %s", path, strerror(errno));
    }
    (void)setvbuf(trace->file, NULL, _IOLBF, 0); /* Whole lines, for those who read meanwhile. */
    const struct trace_writer_options options = {
        .form = trace_form_of(path),
        .fleet = fleet,
        .catalogue = catalogue,
        .write = write_trace,
        .context = trace->file,
    };
    trace->writer = trace_writer_create(&options);
    return WEFT_OK;
}

void served_trace_add(const struct served_trace *trace, const struct record *record)
{
    if (trace->writer != NULL) {
        trace_writer_add(trace->writer, record);
    }
}

void served_trace_close(struct served_trace *trace)
{
    trace_writer_destroy(trace->writer);
    if (trace->file != NULL) {
        (void)fclose(trace->file);
    }
    *trace = (struct served_trace){.file = NULL};
}
