/*
 * exif.h - which way up a photograph is: cameras write that beside the pixels.
 */
#ifndef EXIF_H
#define EXIF_H

#include <stdint.h>

/*
 * How the pixels of a JPEG file are to be shown, 1 to 8: as they are; mirrored; turned by half;
 * upside down; and these four once more with rows as columns. 1 if the file does not say.
 */
uint32_t exif_orientation(const uint8_t *bytes, uint64_t count);

#endif /* EXIF_H */
