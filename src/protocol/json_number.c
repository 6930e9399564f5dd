#include "protocol/json_number.h"

#include <stdlib.h>
#include <string.h>

double json_number_slow(const struct json_number *number)
{
    char text[JSON_NUMBER_BYTES_MAX];
    const size_t length = number->length < sizeof(text) - 1 ? number->length : sizeof(text) - 1;
    (void)memcpy(text, number->first, length);
    text[length] = '\0';
    return strtod(text, NULL);
}
