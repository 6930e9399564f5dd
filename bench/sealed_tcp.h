/*
 * sealed_tcp.h - bare TCP whose bytes are encrypted and decrypted as TLS does it, and nothing else:
 * pieces of 16 KiB with AES-128-GCM, from where they lie to the buffer that is sent, and from the
 * buffer that was read to where they go. What one core per end can do at most with that cipher.
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

/* How many bytes of @left are encrypted as one. */
static inline size_t sealed_tcp_size(size_t left)
{
    return left < SEALED_PIECE ? left : SEALED_PIECE;
}

/* Write one piece after the other; the system waits for the last before it sends the rest. */
static inline void sealed_tcp_write(int socket, uint8_t *bytes, size_t count)
{
    static uint8_t piece[SEALED_PIECE + SEALED_TAG];
    for (size_t at = 0; at < count;) {
        const size_t some = sealed_tcp_size(count - at);
        const int flags = MSG_DONTWAIT | (at + some < count ? MSG_MORE : 0);
        sealed_tcp_piece(piece, bytes + at, (int)some, /* is_write */ true);
        const ssize_t sent = send(socket, piece, some + SEALED_TAG, flags);
        const size_t gone = sent > 0 ? (size_t)sent : 0;
        bare_tcp_move(socket, piece + gone, some + SEALED_TAG - gone, /* is_write */ true);
        at += some;
    }
}

/* Read as many pieces at once as there is room for. */
static inline void sealed_tcp_read(int socket, uint8_t *bytes, size_t count)
{
    static uint8_t pieces[SEALED_PIECES * (SEALED_PIECE + SEALED_TAG)];
    for (size_t at = 0; at < count;) {
        const size_t all = (size_t)SEALED_PIECES * SEALED_PIECE;
        const size_t some = count - at < all ? count - at : all;
        const size_t tags = (some + SEALED_PIECE - 1) / SEALED_PIECE * SEALED_TAG;
        bare_tcp_move(socket, pieces, some + tags, /* is_write */ false);
        for (size_t done = 0, i = 0; done < some; done += SEALED_PIECE, i++) {
            sealed_tcp_piece(
                bytes + at + done, pieces + i * (SEALED_PIECE + SEALED_TAG),
                (int)sealed_tcp_size(some - done), /* is_write */ false);
        }
        at += some;
    }
}

/* Read or write all of @count bytes, with encryption; ends the process as bare_tcp_move() does. */
static inline void sealed_tcp_move(int socket, uint8_t *bytes, size_t count, bool is_write)
{
    if (is_write) {
        sealed_tcp_write(socket, bytes, count);
    } else {
        sealed_tcp_read(socket, bytes, count);
    }
}

#endif /* SEALED_TCP_H */
