/*
 * fuzz_node.c - no sequence of events breaks a node, and it gives back all it was given.
 *
 * Covers the files of src/node: the script says what happens, the fixture keeps the books.
 */
#include "fuzz/fuzz.h"
#include "unit/lone_script.h"

enum { STEPS_MAX = 4096 }; /* Longer scripts only repeat themselves, slowly. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct lone lone;
    struct lone_script script;

    lone_script_open(&script, &lone, data, size);
    while (script.steps < STEPS_MAX && lone_script_act(&script, &lone)) {
    }
    if (size % 8 != 7) { /* Otherwise it is destroyed in the middle of everything. */
        lone_script_end(&script, &lone);
    }
    lone_close(&lone);
    return 0;
}
