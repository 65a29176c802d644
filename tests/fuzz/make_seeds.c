/* Writes the first inputs of the corpora: make_seeds FOLDER. What a fuzzer finds on top is added by hand. */
#include "base/alloc.h"
#include "base/file.h"
#include "frames.h"
#include "wire/hello.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *root;

static void save(const char *target, const char *name, struct buf *seed)
{
    autofree char *folder = xasprintf("%s/%s", root, target);
    autofree char *path = file_join(folder, name);
    auto(error) struct error *err = NULL;
    if (file_make_folder(folder, 0755, &err) < 0 ||
        file_replace(path, buf_data(seed), seed->len, 0644, &err) < 0) {
        fprintf(stderr, "%s\n", err->message);
        exit(1);
    }
    buf_consume(seed, seed->len);
}

static void add(struct buf *seed, const void *data, size_t len)
{
    require(buf_append(seed, data, len, NULL) == 0);
}

static void hello_seeds(struct buf *seed)
{
    struct hello_host host;
    uint8_t wire[HELLO_KEY_SIZE + HELLO_SIZE];
    hello_host_init(&host, NULL);
    hello_host_make(&host, wire);
    memset(wire, 'k', HELLO_KEY_SIZE);
    memset(wire + HELLO_KEY_SIZE + HELLO_MAGIC_SIZE, 'n', HELLO_NONCE_SIZE);
    memset(wire + sizeof(wire) - HELLO_KEY_SIZE, 'K', HELLO_KEY_SIZE);

    add(seed, "\1\0\2\0", 4);
    add(seed, wire, sizeof(wire));
    add(seed, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
    add(seed, wire + sizeof(wire) - HELLO_KEY_SIZE, HELLO_KEY_SIZE);
    add(seed, wire, sizeof(wire));
    save("hello", "session-and-next", seed);

    add(seed, "\0\0\2\0", 4);
    add(seed, wire, 70);
    add(seed, wire, sizeof(wire));
    add(seed, "\0\0\6\4\0\0\0\0\0\0\3\0\0\1\0", 15);
    save("hello", "cut-then-whole", seed);

    add(seed, "\3\0\0\0", 4);
    add(seed, hello_reply_magic, 7);
    add(seed, hello_reply_magic, HELLO_MAGIC_SIZE);
    for (int i = 0; i < HELLO_NONCE_SIZE; i++)
        add(seed, "n", 1);
    add(seed, "\0\0\0\1http2", 9);
    save("hello", "reply", seed);

    add(seed, "\xaa\xaa\xaa\xaa", 4);
    for (int i = 0; i < 40; i++)
        add(seed, i % 3 ? "ab" : "ba", 2);
    save("hello", "nearly-keys", seed);
}

static void server_seed(struct buf *seed, char mode)
{
    const char head[3] = {mode, 1, 2};
    add(seed, head, sizeof(head));
    frames_preface(seed);
    frames_add(seed, F_SETTINGS, F_ACK, 0, NULL, 0);
}

static void h2_seeds(struct buf *seed)
{
    server_seed(seed, 0);
    frames_request(seed, 1, F_END_HEADERS, ":method", "POST", ":scheme", "http", ":path", "/v1/x?a=1",
                   ":authority", "h", "content-type", "application/json", NULL);
    frames_add(seed, F_DATA, F_END_STREAM, 1, "{\"a\":1}", 7);
    frames_window(seed, 0, 100000);
    frames_window(seed, 1, 100000);
    frames_add(seed, F_PING, 0, 0, "12345678", 8);
    save("h2", "server-post", seed);

    server_seed(seed, 2);
    frames_request(seed, 1, F_END_HEADERS, ":method", "CONNECT", ":authority", "example.org:443",
                   "hutch-session", "7", NULL);
    frames_add(seed, F_DATA, F_PADDED, 1, "\2bytes\0\0", 8);
    frames_request(seed, 1, F_END_HEADERS | F_END_STREAM, "x-trailer", "1", NULL);
    frames_rst(seed, 1, 8);
    save("h2", "server-connect", seed);

    server_seed(seed, 4);
    for (uint32_t id = 1; id < 20; id += 2) {
        frames_request(seed, id, F_END_HEADERS | F_END_STREAM, ":method", "GET", ":scheme", "http", ":path",
                       "/", ":authority", "h", NULL);
        frames_add(seed, F_PRIORITY, 0, id, "\0\0\0\0\20", 5);
        frames_rst(seed, id, 8);
    }
    frames_add(seed, F_GOAWAY, 0, 0, "\0\0\0\0\0\0\0\0", 8);
    save("h2", "server-resets", seed);

    server_seed(seed, 0);
    struct buf block;
    buf_init(&block, 0);
    frames_field(&block, ":method", "GET");
    frames_field(&block, ":path", "/");
    frames_add(seed, F_HEADERS, F_END_STREAM, 1, buf_data(&block), block.len);
    buf_consume(&block, block.len);
    frames_field(&block, ":scheme", "http");
    frames_add(seed, F_CONTINUATION, F_END_HEADERS, 1, buf_data(&block), block.len);
    buf_finish(&block);
    save("h2", "server-continued", seed);

    add(seed, "\1\1\2", 3);
    frames_add(seed, F_SETTINGS, 0, 0, "\0\3\0\0\1\0\0\4\0\1\0\0", 12);
    frames_add(seed, F_SETTINGS, F_ACK, 0, NULL, 0);
    for (uint32_t id = 1; id < 8; id += 2) {
        frames_request(seed, id, F_END_HEADERS, ":status", "103", NULL);
        frames_request(seed, id, F_END_HEADERS, ":status", "200", "hutch-offset", "0", NULL);
        frames_add(seed, F_DATA, id > 1 ? F_END_STREAM : 0, id, "{\"a\":1}\n{}\n", 11);
    }
    frames_window(seed, 1, 1000000);
    save("h2", "client-answers", seed);

    add(seed, "\1\1\3", 3);
    frames_add(seed, F_SETTINGS, 0, 0, NULL, 0);
    frames_request(seed, 5, F_END_HEADERS, ":status", "404", NULL);
    frames_add(seed, F_DATA, F_END_STREAM, 5, "{\"error\":{\"code\":\"not-found\",\"message\":\"m\"}}", 45);
    frames_add(seed, F_PUSH, F_END_HEADERS, 1, "\0\0\0\2", 4);
    save("h2", "client-error-and-push", seed);
}

static void json_seeds(struct buf *seed)
{
    const struct {
        const char *name, *text;
    } seeds[] = {
        {"object", "{\"s\":\"text\",\"n\":7,\"b\":true,\"l\":[\"a\",\"b\"],\"z\":null}"},
        {"error", "{\"error\":{\"code\":\"not-found\",\"message\":\"no \\u001b[31m\",\"hint\":\"look\"}}"},
        {"deep", "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]"},
        {"escapes", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00\""},
        {"numbers", "[0,-1,1.5e10,9223372036854775807,-0.0]"},
        {"query", "/v1/files?path=%2Fhome%2fagent%20x&user=agent"},
        {"bytes", "\xff\xc3\xa4\xe2\x80\xae\x1b]0;x\a"},
    };
    for (size_t i = 0; i < countof(seeds); i++) {
        add(seed, seeds[i].text, strlen(seeds[i].text));
        save("json", seeds[i].name, seed);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_seeds FOLDER\n");
        return 2;
    }
    root = argv[1];
    struct buf seed;
    buf_init(&seed, 0);
    hello_seeds(&seed);
    h2_seeds(&seed);
    json_seeds(&seed);
    buf_finish(&seed);
    return 0;
}
