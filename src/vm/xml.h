/* xml.h: the little XML that libvirt speaks: escaped writing, and a strict reader of what libvirt wrote
 * (elements, attributes, text; no DTD, CDATA or entities beyond the five). What the reader does not know it
 * refuses. */
#ifndef HUTCH_VM_XML_H
#define HUTCH_VM_XML_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define XML_SIZE_MAX  ((size_t)1 << 20)
#define XML_DEPTH_MAX 64

/* Appends text with & < > ' " escaped; control characters other than tab and newline, which XML cannot carry,
 * become '?'. Writing has no limit of its own: the caller's buffer has one, and passing it is a programming
 * error. */
void xml_write_escaped(struct buf *buf, const char *text);
/* Appends printf-formatted markup; every %s in the result must have been escaped before (xml_escape). */
void xml_write(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The escaped form of a string; caller frees. */
char *xml_escape(const char *text);

enum xml_kind { XML_START, XML_END, XML_TEXT };

/* One piece of a document; the pointers lie in the document. */
struct xml_token {
    enum xml_kind kind;
    const char *name; /* start and end: the element's name */
    size_t name_len;
    const char *body; /* start: the attributes; text: the text as it stands, still escaped */
    size_t body_len;
    int depth;  /* of the element: 0 for the root; text: that of its element plus 1 */
    bool empty; /* start of an element written <name/>: no end follows */
};
struct xml_document {
    char *data; /* a copy */
    struct xml_token *tokens;
    size_t count;
};

/* Splits a document; comments and white space between elements are left out. ERROR_CORRUPT says at which byte
 * it is not understood. xml_finish frees. */
int xml_parse(const char *data, struct xml_document *ret_document, struct error **err);
void xml_finish(struct xml_document *document);
bool xml_is(const struct xml_token *token, enum xml_kind kind, const char *name);
/* Value of an attribute, unescaped, or NULL; caller frees. */
char *xml_attribute(const struct xml_token *token, const char *name);
/* Goes through the attributes: *position starts at 0; false at the end. Caller frees both. */
bool xml_next_attribute(const struct xml_token *token, size_t *position, char **ret_name, char **ret_value);
/* Unescaped text of a text token; caller frees. */
char *xml_text(const struct xml_token *token);
/* Index of the token behind the element that starts at index i. */
size_t xml_skip(const struct xml_document *document, size_t i);

#endif
