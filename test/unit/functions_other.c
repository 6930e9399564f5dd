/* functions_other.c - a shared object for another version of functions. */
#include <weft/function.h>

extern const struct weft_function_table weft_functions;
__attribute__((visibility("default")))
const struct weft_function_table weft_functions = {WEFT_FUNCTION_VERSION + 1, 0, NULL};
