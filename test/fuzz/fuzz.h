/* fuzz.h - the one function of a fuzz target, under the name that libFuzzer calls. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Feed @size bytes to the code under test. Returns 0; anything wrong must abort. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_FUZZ_H */
