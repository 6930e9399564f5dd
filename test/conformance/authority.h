/* authority.h - certificates for tests: an authority, and what it signs. */
#ifndef CONFORMANCE_AUTHORITY_H
#define CONFORMANCE_AUTHORITY_H

struct authority;

/* Makes a key, and writes its certificate to @path. */
struct authority *authority_create(const char *path);
void authority_destroy(struct authority *authority);

/* Writes a certificate for the name @name, and its key. */
void authority_sign(
    const struct authority *authority, const char *name, const char *certificate_path,
    const char *key_path);

#endif /* CONFORMANCE_AUTHORITY_H */
