#include "vm/xml.h"

#include "base/alloc.h"

#include <string.h>

static const struct {
    const char *entity;
    char byte;
} entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&apos;", '\''}, {"&quot;", '"'}};

/* Appends bytes; the buffers of this module are made large enough for what is put into them. */
static void put(struct buf *buf, const char *data, size_t len)
{
    require(buf_append(buf, data, len, NULL) == 0);
}

void xml_write_escaped(struct buf *buf, const char *text)
{
    for (const char *p = text; *p; p++) {
        size_t i = 0;
        while (i < countof(entities) && entities[i].byte != *p)
            i++;
        if (i < countof(entities))
            put(buf, entities[i].entity, strlen(entities[i].entity));
        else if ((unsigned char)*p < 0x20 && *p != '\t' && *p != '\n')
            put(buf, "?", 1);
        else
            put(buf, p, 1);
    }
}

void xml_write(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    autofree char *text = xvasprintf(format, args);
    va_end(args);
    put(buf, text, strlen(text));
}

char *xml_escape(const char *text)
{
    struct buf buf;
    buf_init(&buf, 0);
    xml_write_escaped(&buf, text);
    return buf_take_string(&buf);
}

/* Reader's place in the document. */
struct reader {
    const char *start, *p;
    char open[XML_DEPTH_MAX][64]; /* names of the open elements */
    int depth;
    struct xml_document *document;
    size_t room;
};

static int refuse(const struct reader *reader, const char *what, struct error **err)
{
    return error_set(err, ERROR_CORRUPT, "XML from libvirt: %s at byte %zu", what,
                     (size_t)(reader->p - reader->start));
}

static struct xml_token *add(struct reader *reader, enum xml_kind kind)
{
    struct xml_document *document = reader->document;
    if (document->count == reader->room) {
        reader->room = reader->room ? reader->room * 2 : 256;
        document->tokens = xrealloc(document->tokens, reader->room, sizeof(document->tokens[0]));
    }
    struct xml_token *token = &document->tokens[document->count++];
    *token = (struct xml_token){.kind = kind, .depth = reader->depth};
    return token;
}

static bool name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':';
}

static bool blank_byte(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Bytes of a name at p, 0 if there is none. */
static size_t name_length(const char *p)
{
    size_t n = 0;
    while (name_byte(p[n]))
        n++;
    return n;
}

/* Moves over the attributes of a start tag and checks their form. */
static int read_attributes(struct reader *reader, struct xml_token *token, struct error **err)
{
    token->body = reader->p;
    for (;;) {
        token->body_len = (size_t)(reader->p - token->body);
        while (blank_byte(*reader->p))
            reader->p++;
        if (*reader->p == '>' || *reader->p == '/')
            return 0;
        size_t n = name_length(reader->p);
        if (n == 0 || reader->p[n] != '=')
            return refuse(reader, "no attribute", err);
        reader->p += n + 1;
        char quote = *reader->p;
        if (quote != '\'' && quote != '"')
            return refuse(reader, "an attribute without quotes", err);
        size_t length = strcspn(reader->p + 1, quote == '"' ? "\"<" : "'<");
        if (reader->p[1 + length] != quote)
            return refuse(reader, "an open attribute", err);
        reader->p += length + 2;
    }
}

/* A start tag; p is at its name. */
static int read_start(struct reader *reader, struct error **err)
{
    size_t n = name_length(reader->p);
    if (n == 0 || n >= sizeof(reader->open[0]))
        return refuse(reader, "no element name", err);
    if (reader->depth == XML_DEPTH_MAX)
        return refuse(reader, "elements nested too deep", err);
    struct xml_token *token = add(reader, XML_START);
    token->name = reader->p;
    token->name_len = n;
    reader->p += n;
    int rc = read_attributes(reader, token, err);
    if (rc < 0)
        return rc;
    if (*reader->p == '/') {
        token->empty = true;
        reader->p++;
    } else {
        memcpy(reader->open[reader->depth], token->name, n);
        reader->open[reader->depth][n] = '\0';
        reader->depth++;
    }
    if (*reader->p != '>')
        return refuse(reader, "an open tag", err);
    reader->p++;
    return 0;
}

/* An end tag; p is at its name. */
static int read_end(struct reader *reader, struct error **err)
{
    size_t n = name_length(reader->p);
    const char *open = reader->depth > 0 ? reader->open[reader->depth - 1] : "";
    if (n == 0 || strlen(open) != n || memcmp(open, reader->p, n) != 0 || reader->p[n] != '>')
        return refuse(reader, "an end without its start", err);
    reader->depth--;
    struct xml_token *token = add(reader, XML_END);
    token->name = reader->p;
    token->name_len = n;
    reader->p += n + 1;
    return 0;
}

/* Text up to the next tag; white space alone is no token. */
static int read_text(struct reader *reader, struct error **err)
{
    size_t n = strcspn(reader->p, "<");
    size_t blanks = 0;
    while (blanks < n && blank_byte(reader->p[blanks]))
        blanks++;
    if (blanks < n) {
        if (reader->depth == 0)
            return refuse(reader, "text outside of the root", err);
        struct xml_token *token = add(reader, XML_TEXT);
        token->body = reader->p;
        token->body_len = n;
    }
    reader->p += n;
    return 0;
}

/* One construct of the document. */
static int read_one(struct reader *reader, struct error **err)
{
    if (*reader->p != '<')
        return read_text(reader, err);
    if (strncmp(reader->p, "<!--", 4) == 0 || strncmp(reader->p, "<?xml ", 6) == 0) {
        bool comment = reader->p[1] == '!';
        const char *end = strstr(reader->p, comment ? "-->" : "?>");
        if (!end)
            return refuse(reader, "an open comment", err);
        reader->p = end + (comment ? 3 : 2);
        return 0;
    }
    reader->p++;
    if (*reader->p == '/') {
        reader->p++;
        return read_end(reader, err);
    }
    if (reader->depth == 0 && reader->document->count > 0)
        return refuse(reader, "a second root", err);
    return read_start(reader, err);
}

int xml_parse(const char *data, struct xml_document *ret_document, struct error **err)
{
    struct xml_document document = {0};
    if (strnlen(data, XML_SIZE_MAX) == XML_SIZE_MAX)
        return error_set(err, ERROR_CORRUPT, "XML from libvirt is over %zu bytes", XML_SIZE_MAX);
    document.data = xstrdup(data);
    struct reader *reader = xnew(struct reader);
    *reader = (struct reader){.start = document.data, .p = document.data, .document = &document};
    int rc = 0;
    while (rc == 0 && *reader->p)
        rc = read_one(reader, err);
    if (rc == 0 && (reader->depth > 0 || document.count == 0))
        rc = refuse(reader, "an early end", err);
    free(reader);
    if (rc < 0) {
        xml_finish(&document);
        return rc;
    }
    *ret_document = document;
    return 0;
}

void xml_finish(struct xml_document *document)
{
    free(document->data);
    free(document->tokens);
    *document = (struct xml_document){0};
}

bool xml_is(const struct xml_token *token, enum xml_kind kind, const char *name)
{
    return token->kind == kind && strlen(name) == token->name_len &&
           memcmp(name, token->name, token->name_len) == 0;
}

/* Bytes of one character reference at p (&#10; &#xA;), its value in *ret; 0 if it is none or not plain ASCII.
 */
static size_t character_reference(const char *p, size_t len, char *ret)
{
    size_t i = 2;
    unsigned value = 0;
    if (len < 4 || p[0] != '&' || p[1] != '#')
        return 0;
    bool hex = p[2] == 'x';
    if (hex)
        i++;
    for (; i < len && p[i] != ';' && value < 128; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit = strchr(digits, p[i] | (p[i] >= 'A' ? 0x20 : 0));
        if (!digit || p[i] == '\0' || (!hex && digit - digits > 9))
            return 0;
        value = value * (hex ? 16 : 10) + (unsigned)(digit - digits);
    }
    if (i >= len || p[i] != ';' || value == 0 || value > 127)
        return 0;
    *ret = (char)value;
    return i + 1;
}

/* Unescaped copy. An unknown entity stays as it is: it then matches nothing that is expected. */
static char *unescape(const char *p, size_t len)
{
    char *out = xcalloc(len + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        size_t used = character_reference(p + i, len - i, &out[n]);
        for (size_t k = 0; used == 0 && k < countof(entities); k++) {
            size_t length = strlen(entities[k].entity);
            if (len - i >= length && memcmp(p + i, entities[k].entity, length) == 0) {
                out[n] = entities[k].byte;
                used = length;
            }
        }
        if (used == 0) {
            out[n] = p[i];
            used = 1;
        }
        n++;
        i += used;
    }
    return out;
}

bool xml_next_attribute(const struct xml_token *token, size_t *position, char **ret_name, char **ret_value)
{
    const char *end = token->body + token->body_len;
    const char *p = token->body + *position;
    if (token->kind != XML_START)
        return false;
    while (p < end && blank_byte(*p))
        p++;
    if (p >= end)
        return false;
    size_t n = name_length(p);
    const char *value = p + n + 2;
    const char *close = memchr(value, p[n + 1], (size_t)(end - value));
    require(close != NULL); /* read_attributes checked it */
    *ret_name = xstrndup(p, n);
    *ret_value = unescape(value, (size_t)(close - value));
    *position = (size_t)(close + 1 - token->body);
    return true;
}

char *xml_attribute(const struct xml_token *token, const char *name)
{
    size_t position = 0;
    char *found, *value;
    while (xml_next_attribute(token, &position, &found, &value)) {
        autofree char *free_found = found;
        if (strcmp(found, name) == 0)
            return value;
        free(value);
    }
    return NULL;
}

char *xml_text(const struct xml_token *token)
{
    require(token->kind == XML_TEXT);
    return unescape(token->body, token->body_len);
}

size_t xml_skip(const struct xml_document *document, size_t i)
{
    const struct xml_token *start = &document->tokens[i];
    require(start->kind == XML_START);
    if (start->empty)
        return i + 1;
    for (i++; i < document->count; i++) {
        const struct xml_token *token = &document->tokens[i];
        if (token->kind == XML_END && token->depth == start->depth)
            return i + 1;
    }
    return document->count;
}
