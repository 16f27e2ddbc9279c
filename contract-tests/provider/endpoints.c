/* SPDX-License-Identifier: Apache-2.0 */
/* Servers in a sandbox, reached from here. */
#include "contract.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT 8123

/* Says what it was sent, turned into capitals, when the sender is done. argv: address. */
static const char server[] =
    "import socket,threading,sys\n"
    "family=socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET\n"
    "s=socket.socket(family); s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n"
    "s.bind((sys.argv[1],8123)); s.listen(200)\n"
    "def serve(c):\n"
    "  data=b''\n"
    "  while True:\n"
    "    got=c.recv(65536)\n"
    "    if not got: break\n"
    "    data+=got\n"
    "  c.sendall(data.upper()); c.close()\n"
    "print('ready',flush=True)\n"
    "while True:\n"
    "  c,_=s.accept(); threading.Thread(target=serve,args=(c,),daemon=True).start()\n";

typedef struct place {
    char url[256];
    char host[128];
    char port[16];
    bool has_headers;
} place;

static void note_endpoint(void *user, const alineo_endpoint *endpoint) {
    place *self = user;
    (void)snprintf(self->url, sizeof(self->url), "%s", endpoint->url);
    self->has_headers = endpoint->headers != NULL && endpoint->headers[0] != NULL;
}

static place endpoint_of(contract *c, alineo_sandbox *sandbox) {
    place found;
    memset(&found, 0, sizeof(found));
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_sandbox_endpoint(sandbox, PORT, NULL, note_endpoint, &found, &err), err);
    CHECK(c, found.url[0] != '\0');
    return found;
}

/* Where a connection of our own can be made; else the case does not apply. */
static place plain_endpoint(contract *c, alineo_sandbox *sandbox) {
    place found = endpoint_of(c, sandbox);
    char rest[2] = "";
    if (sscanf(found.url, "http://%127[^:/]:%15[0-9]%1s", found.host, found.port, rest) != 2 ||
        found.has_headers)
        contract_skip(c, "the endpoint %s is no plain connection", found.url);
    return found;
}

static alineo_exec *serve(contract *c, alineo_sandbox *sandbox, const char *address) {
    const char *argv[] = {"python3", "-c", server, address, NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    options.argv = argv;
    CHECK_OK(c, alineo_sandbox_exec(sandbox, NULL, &options, &exec, &err), err);
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    CHECK_OK(c, alineo_exec_next(exec, 20000, &event, &err), err);
    if (event.type != ALINEO_EXEC_STDOUT)
        contract_skip(c, "no server could be started inside with python3");
    return exec;
}

static int connect_to(const place *at) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(at->host, at->port, &hints, &found) != 0)
        return -1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    struct timeval limit = {20, 0};
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

static bool send_all(int fd, const char *data, size_t size) {
    while (size > 0) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* Reads to the end; gives how many bytes were `expected` in a row, or -1 when one was not. */
static ssize_t receive_all(int fd, char expected) {
    static char piece[65536];
    ssize_t total = 0;
    for (;;) {
        ssize_t n = recv(fd, piece, sizeof(piece), 0);
        if (n < 0)
            return -1;
        if (n == 0)
            return total;
        for (ssize_t i = 0; i < n; i++)
            if (piece[i] != expected)
                return -1;
        total += n;
    }
}

/* Sends, closes that half, and reads the answer. */
static void talk(contract *c, const place *at, size_t size) {
    int fd = connect_to(at);
    CHECK_SAYING(c, fd >= 0, "no connection to %s", at->url);
    char *data = malloc(size + 1);
    CHECK(c, data != NULL);
    memset(data, 'a', size);
    CHECK(c, send_all(fd, data, size));
    CHECK(c, shutdown(fd, SHUT_WR) == 0);
    ssize_t got = receive_all(fd, 'A');
    CHECK_SAYING(c, got == (ssize_t)size, "of %zu bytes came back %zd", size, got);
    free(data);
    close(fd);
}

static void a_server_is_reached_and_each_half_ends_by_itself(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    place at = plain_endpoint(c, sandbox);
    alineo_exec *exec = serve(c, sandbox, "127.0.0.1");
    talk(c, &at, 5);
    talk(c, &at, 0);
    talk(c, &at, 3 << 20);
    alineo_exec_free(exec);
}

static void a_server_on_the_other_loopback_address_too(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    place at = plain_endpoint(c, sandbox);
    alineo_exec *exec = serve(c, sandbox, "::1");
    talk(c, &at, 100000);
    alineo_exec_free(exec);
}

static void many_connections_at_once(contract *c) {
    enum {
        COUNT = 100
    };
    int fds[COUNT];
    alineo_sandbox *sandbox = contract_sandbox(c);
    place at = plain_endpoint(c, sandbox);
    alineo_exec *exec = serve(c, sandbox, "127.0.0.1");
    for (int i = 0; i < COUNT; i++) {
        fds[i] = connect_to(&at);
        CHECK_SAYING(c, fds[i] >= 0, "connection %d failed", i);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        char letter = (char)('a' + i % 26);
        CHECK(c, send_all(fds[i], &letter, 1) && shutdown(fds[i], SHUT_WR) == 0);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(c, receive_all(fds[i], (char)('A' + i % 26)) == 1);
        close(fds[i]);
    }
    alineo_exec_free(exec);
}

static void asked_again_it_is_the_same(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_sandbox *other = NULL;
    alineo_error *err = NULL;
    place first = endpoint_of(c, sandbox);
    CHECK_OK(
        c,
        alineo_sandbox_connect(contract_client(c), alineo_sandbox_id(sandbox), NULL, &other, &err),
        err);
    place second = endpoint_of(c, other);
    CHECK_SAYING(c, strcmp(first.url, second.url) == 0, "%s, then %s", first.url, second.url);
    alineo_sandbox_free(other);
}

static void without_a_server_a_connection_ends(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    place at = plain_endpoint(c, sandbox);
    int fd = connect_to(&at);
    char byte;
    CHECK(c, fd < 0 || recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    /* And it is there once a server is. */
    alineo_exec *exec = serve(c, sandbox, "0.0.0.0");
    talk(c, &at, 5);
    alineo_exec_free(exec);
}

static void it_ends_with_the_sandbox(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_error *err = NULL;
    place at = plain_endpoint(c, sandbox);
    alineo_exec *exec = serve(c, sandbox, "127.0.0.1");
    int fd = connect_to(&at);
    char byte;
    CHECK(c, fd >= 0);
    CHECK_OK(c, alineo_sandbox_close(sandbox, NULL, &err), err);
    CHECK(c, recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    CHECK(c, connect_to(&at) < 0);
    alineo_exec_free(exec);
}

static void ports_that_are_none_are_refused(contract *c) {
    static const int32_t ports[] = {0, -1, 65536};
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_error *err = NULL;
    place none;
    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
        CHECK_CODE(c, ALINEO_INVALID_ARGUMENT,
                   alineo_sandbox_endpoint(sandbox, ports[i], NULL, note_endpoint, &none, &err),
                   err);
}

static void it_is_refused_where_it_is_denied(contract *c) {
    if (contract_has(c, ALINEO_CAP_ENDPOINTS))
        contract_skip(c, "the provider has endpoints");
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_error *err = NULL;
    place none;
    CHECK_CODE(c, ALINEO_CAPABILITY_UNSUPPORTED,
               alineo_sandbox_endpoint(sandbox, PORT, NULL, note_endpoint, &none, &err), err);
}

const contract_case contract_endpoint_cases[] = {
    {"endpoints/a server is reached, and each half ends by itself", "endpoints",
     a_server_is_reached_and_each_half_ends_by_itself, 0},
    {"endpoints/a server on the other loopback address too", "endpoints",
     a_server_on_the_other_loopback_address_too, 0},
    {"endpoints/many connections at once", "endpoints", many_connections_at_once, 0},
    {"endpoints/asked again it is the same", "endpoints", asked_again_it_is_the_same, 0},
    {"endpoints/without a server a connection ends", "endpoints",
     without_a_server_a_connection_ends, 0},
    {"endpoints/it ends with the sandbox", "endpoints", it_ends_with_the_sandbox, 0},
    {"endpoints/ports that are none are refused", "", ports_that_are_none_are_refused, 0},
    {"endpoints/it is refused where it is denied", "", it_is_refused_where_it_is_denied, 0},
    {NULL, NULL, NULL, 0},
};
