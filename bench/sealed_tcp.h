/*
 * sealed_tcp.h - bare TCP whose bytes are encrypted and decrypted as TLS does it, and nothing else:
 * pieces of 16 KiB with AES-128-GCM, from where they lie to the buffer that is sent, and from the
 * buffer that was read to where they go. No implementation of TLS on one core can be faster.
 */
#ifndef SEALED_TCP_H
#define SEALED_TCP_H

#include <string.h>

#include <openssl/evp.h>

#include "bare_tcp.h"

enum { SEALED_PIECE = 16 * 1024, SEALED_TAG = 16, SEALED_PIECES = 8, SEALED_NONCE = 12 };

/* Encrypt or decrypt one piece: @count bytes from @from to @to; the tag follows what is encrypted.
 */
static inline void sealed_tcp_piece(uint8_t *to, uint8_t *from, int count, bool is_write)
{
    static const uint8_t key[16] = {1};
    static EVP_CIPHER_CTX *contexts[2];
    static uint64_t nonces[2]; /* Of what is read, and written. */
    EVP_CIPHER_CTX *context = contexts[is_write];
    uint8_t nonce[SEALED_NONCE] = {0};
    uint8_t head[5] = {0};
    int done;
    if (context == NULL) {
        context = contexts[is_write] = EVP_CIPHER_CTX_new();
        check(
            context != NULL &&
                EVP_CipherInit_ex(context, EVP_aes_128_gcm(), NULL, key, NULL, is_write) == 1,
            "no cipher");
    }
    memcpy(nonce, &nonces[is_write], 8);
    nonces[is_write]++;
    check(EVP_CipherInit_ex(context, NULL, NULL, NULL, nonce, is_write) == 1, "no nonce");
    if (!is_write) {
        (void)EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, SEALED_TAG, from + count);
    }
    check(
        EVP_CipherUpdate(context, NULL, &done, head, sizeof(head)) == 1 &&
            EVP_CipherUpdate(context, to, &done, from, count) == 1 &&
            EVP_CipherFinal_ex(context, to + count, &done) == 1,
        "a piece cannot be encrypted, or is not what was sent");
    if (is_write) {
        (void)EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, SEALED_TAG, to + count);
    }
}

/* Read or write all of @count bytes, with encryption; ends the process as bare_tcp_move() does. */
static inline void sealed_tcp_move(int socket, uint8_t *bytes, size_t count, bool is_write)
{
    static uint8_t buffer[SEALED_PIECES * (SEALED_PIECE + SEALED_TAG)];
    for (size_t at = 0; at < count;) {
        const size_t some =
            count - at < SEALED_PIECES * SEALED_PIECE ? count - at : SEALED_PIECES * SEALED_PIECE;
        const size_t pieces = (some + SEALED_PIECE - 1) / SEALED_PIECE;
        if (!is_write) {
            bare_tcp_move(socket, buffer, some + pieces * SEALED_TAG, is_write);
        }
        for (size_t done = 0, i = 0; done < some; done += SEALED_PIECE, i++) {
            const size_t piece = some - done < SEALED_PIECE ? some - done : SEALED_PIECE;
            uint8_t *sealed = buffer + i * (SEALED_PIECE + SEALED_TAG);
            uint8_t *plain = bytes + at + done;
            sealed_tcp_piece(
                is_write ? sealed : plain, is_write ? plain : sealed, (int)piece, is_write);
        }
        if (is_write) {
            bare_tcp_move(socket, buffer, some + pieces * SEALED_TAG, is_write);
        }
        at += some;
    }
}

#endif /* SEALED_TCP_H */
