/* json.h: JSON under limits, and requests and answers with JSON bodies over a stream. */
#ifndef HUTCH_WIRE_JSON_H
#define HUTCH_WIRE_JSON_H

#include "wire/h2.h"

#include <jansson.h>
#include <uv.h>

#define JSON_BODY_MAX  (256 * 1024) /* a request or answer */
#define JSON_LINE_MAX  (64 * 1024)  /* a line of a stream */
#define JSON_DEPTH_MAX 16

AUTO_DEFINE(json, json_t *, json_decref);

/* Strict: one value, duplicate keys and trailing bytes refused, depth limited. ERROR_PROTOCOL. Caller json_decrefs. */
json_t *json_parse(const char *data, size_t len, struct error **err);
/* Compact text; caller frees. */
char *json_text(const json_t *value);
/* Typed access with an error that names the key. The optional forms leave *ret untouched when the key is absent or null. */
int json_get_string(const json_t *object, const char *key, size_t max, const char **ret, struct error **err);
int json_get_number(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *ret, struct error **err);
int json_get_bool(const json_t *object, const char *key, bool *ret, struct error **err);
int json_opt_string(const json_t *object, const char *key, size_t max, const char **ret, struct error **err);
int json_opt_number(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *ret, struct error **err);
int json_opt_bool(const json_t *object, const char *key, bool *ret, struct error **err);
/* A list of strings as a NULL-ended array of copies (free each and the array: json_free_strings). Absent: NULL. */
int json_opt_strings(const json_t *object, const char *key, size_t max_count, size_t max_len, char ***ret, struct error **err);
void json_free_strings(char **list);
/* A JSON string of untrusted bytes: valid UTF-8 as it is, other bytes escaped by text.h. */
json_t *json_bytes(const void *data, size_t len);

/* {"error":{"code","message","hint"}} and back. json_error returns ERROR_NONE (0) if there is no "error" member. */
json_t *json_from_error(const struct error *error);
int json_to_error(const json_t *object, struct error **err);

/* ---- server: collect a body, answer ---- */
/* Collects a JSON request body (an empty one gives NULL), then calls done once: body or err. The stream's ops are taken over
 * until then and reset to `after` (may be NULL) before done is called. */
typedef void (*json_body_fn)(struct h2_stream *stream, json_t *body, const struct error *err, void *user);
int json_collect(struct h2_stream *stream, const struct h2_head *head, json_body_fn done, void *user, struct error **err);
/* Sends a whole JSON answer and ends the stream (queued as a unit, later parts as the window opens). */
void json_reply(struct h2_stream *stream, int status, json_t *body /* borrowed; NULL: no body */);
void json_reply_error(struct h2_stream *stream, const struct error *error);

/* ---- lines: a body of JSON values, one a line (application/x-ndjson) ---- */
struct json_writer;
/* Server: begins a 200 answer of lines. on_gone: the client went away (the writer is still yours to close). */
struct json_writer *json_writer_create(struct h2_stream *stream, void (*on_gone)(struct json_writer *writer, void *user), void *user);
/* Queues a line; returns false when more than 1 MiB is waiting (slow client: the caller stops or drops and says so). */
bool json_writer_line(struct json_writer *writer, const json_t *value);
void json_writer_end(struct json_writer *writer); /* after what is queued; frees */
void json_writer_on_drained(struct json_writer *writer, void (*fn)(struct json_writer *writer, void *user));

/* ---- client ---- */
/* One request with a JSON body (or NULL) and a JSON answer. done is called once with status and body (borrowed) or err
 * (an {"error":…} answer arrives as err). */
typedef void (*json_answer_fn)(int status, json_t *body, const struct error *err, void *user);
int json_call(struct h2_session *session, const char *method, const char *path, const json_t *body, json_answer_fn done,
              void *user, struct error **err);
/* The same with an answer of lines: line is called for each, done at the end. */
typedef void (*json_line_fn)(json_t *line, void *user);
int json_call_lines(struct h2_session *session, const char *method, const char *path, const json_t *body, json_line_fn line,
                    json_answer_fn done, void *user, struct error **err);

/* ---- paths and queries ---- */
/* Percent-encodes one path segment or query value; caller frees. */
char *json_url_encode(const char *raw, size_t len);
/* Decodes a query value of a path ("/x?a=1&b=2"): *ret NULL if absent; caller frees; *ret_len may be NULL. NUL is refused. */
int json_query(const char *path, const char *key, char **ret, size_t *ret_len, struct error **err);

#endif
