/*
 * tls_client.h - a certificate for a server under test, and a client that speaks TLS to it.
 */
#ifndef SERVING_TLS_CLIENT_H
#define SERVING_TLS_CLIENT_H

#include <stddef.h>

/* Write a new key and its certificate to two files, whose names end in XXXXXX as for mkstemp(). */
void tls_client_certify(char *certificate_path, char *key_path);

/*
 * Say @count bytes on @descriptor, which is connected, and hear what comes until the server
 * hangs up, as a text. The caller frees it. The server is trusted, without a look at its
 * certificate.
 */
char *tls_client_ask(int descriptor, const char *bytes, size_t count);

#endif /* SERVING_TLS_CLIENT_H */
