/*
 * ucx.h - bytes from one process to another as active messages of UCX: over TCP, InfiniBand, RoCE.
 *
 * A receiver makes an inlet, and tells the sender its address and the token of the inlet over a
 * connection on which both have proven who they are. The sender makes an outlet from them. What
 * does not carry the token of an inlet is dropped. Nothing is encrypted: UCX is for a network that
 * only nodes can reach. UCX does not say when a peer stands still, and a stopped peer that it sends
 * to would cost memory without bound; so an outlet has few messages under way, and its user has the
 * connection on which both have met to notice that the other is gone.
 */
#ifndef FABRIC_UCX_H
#define FABRIC_UCX_H

#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

struct iovec;
struct ucx;
struct ucx_inlet;
struct ucx_outlet;
struct uv_loop_s;

enum { UCX_ADDRESS_BYTES_MAX = 400, UCX_TOKEN_BYTES = 16 };

/*
 * Called from the loop: bytes have come to an inlet, or an outlet has room or is over. The owner of
 * an inlet may read and close it, and send; that of an outlet does nothing before it returns.
 */
typedef void (*ucx_ready)(void *context);

/*
 * Open UCX on @loop, for the device that has the address @host. The caller owns *ucx_out.
 *
 * Errors: those of ucx_library_open(); WEFT_IO if it does not work on this machine.
 */
enum weft_status ucx_create(
    struct uv_loop_s *loop, const char *host, struct ucx **ucx_out, struct weft_error *error);

/* Inlets and outlets are destroyed before. The loop releases the rest. NULL is allowed. */
void ucx_destroy(struct ucx *ucx);

/* Where the inlets of @ucx are, for ucx_outlet_create(): how many bytes that takes. */
size_t ucx_address(const struct ucx *ucx, uint8_t bytes_out[UCX_ADDRESS_BYTES_MAX]);

/* NULL if there is no memory, or the system has no random bytes. The caller owns it. */
struct ucx_inlet *ucx_inlet_create(struct ucx *ucx, ucx_ready ready, void *context);
const uint8_t *ucx_inlet_token(const struct ucx_inlet *inlet);
void ucx_inlet_destroy(struct ucx_inlet *inlet);

/* Read up to @room bytes: how many; 0 if there are none yet; -1 if some were lost on the way. */
ptrdiff_t ucx_inlet_read(struct ucx_inlet *inlet, void *bytes, size_t room);

/*
 * An outlet to the inlet with @token at @address, which must come from a peer that is trusted: UCX
 * does not check it. NULL if it cannot be made. The caller owns it.
 */
struct ucx_outlet *ucx_outlet_create(
    struct ucx *ucx, const uint8_t *address, const uint8_t token[UCX_TOKEN_BYTES], ucx_ready ready,
    void *context);
void ucx_outlet_destroy(struct ucx_outlet *outlet);

/*
 * Write bytes of @parts, one after the other: how many; 0 if there is no room yet; -1 if the
 * connection is over. What was written need not stay where it was.
 */
ptrdiff_t ucx_outlet_write(struct ucx_outlet *outlet, const struct iovec *parts, int part_count);

#endif /* FABRIC_UCX_H */
