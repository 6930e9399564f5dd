/*
 * Linked into every test program: WEFT_CASE names the cases that run, with '*' and '?' as
 * wildcards, so that one can be looked at alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void choose_case(void)
{
    const char *pattern = getenv("WEFT_CASE");
    if (pattern != NULL) {
        cmocka_set_test_filter(pattern);
    }
}
