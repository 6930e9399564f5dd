/* policy_document.h - the policy of a scenario or of a server's settings. */
#ifndef DOCUMENT_POLICY_DOCUMENT_H
#define DOCUMENT_POLICY_DOCUMENT_H

#include "document/reader.h"
#include "document/writer.h"
#include "policy/compose.h"

#define POLICY_FORM                                                                                \
    "text as on the command line, `{name, option: value}`, or mapping from roles to either"

/* Read a member char[POLICY_TEXT_BYTES_MAX]: a policy that policy_set_parse() takes; and write it.
 */
void policy_read(struct reader *reader, const struct tree_node *node, void *policy);
void policy_write(struct writer *writer, const void *policy);

#endif /* DOCUMENT_POLICY_DOCUMENT_H */
