/*
 * fake_call.h - call a function of a shared object as Weft would, without Weft.
 *
 *     struct fake *fake = fake_open("document");
 *     fake_input(fake, "file", WEFT_UINT8, 1, shape, bytes);
 *     assert_int_equal(fake_call(fake, "decode"), WEFT_OK);
 *     ... fake_output(fake, "pixels") ...
 *     fake_close(fake);
 *
 * The outputs of one call may be inputs of the next: fake_pass() makes them so.
 */
#ifndef FUNCTIONS_FAKE_CALL_H
#define FUNCTIONS_FAKE_CALL_H

#include <weft/function.h>

struct fake;

/* What stands in for a model. */
typedef enum weft_status (*fake_model)(
    void *context, const char *model, const struct weft_tensor *inputs, uint32_t input_count,
    const struct weft_tensor **outputs_out, uint32_t *output_count_out);

/* @name is the shared object, without ".so". */
struct fake *fake_open(const char *name);
void fake_close(struct fake *fake);

/* Files beside the shared object are looked for in @folder. Borrowed. */
void fake_set_folder(struct fake *fake, const char *folder);
void fake_set_model(struct fake *fake, fake_model model, void *context);

/* Copy @data, as large as dtype and shape say. */
void fake_input(
    struct fake *fake, const char *name, enum weft_dtype dtype, uint32_t rank, const int64_t *shape,
    const void *data);

/* Output @from of the last call is input @to of the next. */
void fake_pass(struct fake *fake, const char *from, const char *to);

/* Call the function with the inputs so far, and forget them. The old outputs are released. */
enum weft_status fake_call(struct fake *fake, const char *function);

/* NULL if the call gave no such output. */
const struct weft_tensor *fake_output(const struct fake *fake, const char *name);
uint32_t fake_items(const struct fake *fake);

/* What the function said when it failed. Never NULL. */
const char *fake_message(const struct fake *fake);

/* Text @index of output @name, as a C string. Borrowed until the next call of this. */
const char *fake_text(struct fake *fake, const char *name, uint32_t index);

#endif /* FUNCTIONS_FAKE_CALL_H */
