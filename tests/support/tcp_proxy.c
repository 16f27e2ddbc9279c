/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/util/io.h"
#include "tests/support/test.h"

enum {
    CONNECTIONS_MAX = 16
};

typedef struct link_pair {
    int client;
    int server;
} link_pair;

static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static void link_close(link_pair *pair) {
    /* At once, without a farewell. */
    const struct linger hard = {1, 0};
    (void)setsockopt(pair->client, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    (void)close(pair->client);
    (void)close(pair->server);
    pair->client = pair->server = -1;
}

static bool link_open(const tcp_proxy *proxy, link_pair *pair) {
    struct sockaddr_in address = loopback(proxy->target_port);
    pair->client = accept4(proxy->fd, NULL, NULL, SOCK_CLOEXEC);
    pair->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(pair->server, (struct sockaddr *)&address, sizeof(address)) == 0)
        return true;
    link_close(pair);
    return false;
}

/* False: the connection is to be closed. */
static bool carry_up(tcp_proxy *proxy, const link_pair *pair) {
    char bytes[16384];
    ssize_t size = recv(pair->client, bytes, sizeof(bytes), 0);
    if (size <= 0)
        return false;
    long left = atomic_load(&proxy->cut_after);
    bool is_cut = left >= 0 && size > left;
    if (is_cut)
        size = left;
    if (al_write_full(pair->server, bytes, (size_t)size) != 0)
        return false;
    if (left >= 0)
        atomic_store(&proxy->cut_after, is_cut ? -1 : left - size);
    if (is_cut)
        (void)atomic_fetch_add(&proxy->cuts, 1);
    return !is_cut;
}

static bool carry_down(tcp_proxy *proxy, const link_pair *pair) {
    char bytes[16384];
    ssize_t size = recv(pair->server, bytes, sizeof(bytes), 0);
    if (size <= 0)
        return false;
    const char *word = atomic_load(&proxy->swallow);
    if (word != NULL && memmem(bytes, (size_t)size, word, strlen(word)) != NULL) {
        atomic_store(&proxy->swallow, NULL);
        (void)atomic_fetch_add(&proxy->cuts, 1);
        return false;
    }
    return al_write_full(pair->client, bytes, (size_t)size) == 0;
}

static void *carry(void *argument) {
    tcp_proxy *proxy = argument;
    link_pair pairs[CONNECTIONS_MAX];
    struct pollfd fds[2 * CONNECTIONS_MAX + 1];
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        pairs[i] = (link_pair){-1, -1};
    while (!atomic_load(&proxy->stops)) {
        fds[2 * CONNECTIONS_MAX] = (struct pollfd){proxy->fd, POLLIN, 0};
        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
            fds[2 * i] = (struct pollfd){pairs[i].client, POLLIN, 0};
            fds[2 * i + 1] = (struct pollfd){pairs[i].server, POLLIN, 0};
        }
        (void)poll(fds, 2 * CONNECTIONS_MAX + 1, 20);
        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
            bool is_fine = fds[2 * i].revents == 0 || carry_up(proxy, &pairs[i]);
            if (is_fine && fds[2 * i + 1].revents != 0)
                is_fine = carry_down(proxy, &pairs[i]);
            if (!is_fine)
                link_close(&pairs[i]);
        }
        for (size_t i = 0; fds[2 * CONNECTIONS_MAX].revents != 0 && i < CONNECTIONS_MAX; i++)
            if (pairs[i].client < 0) {
                (void)link_open(proxy, &pairs[i]);
                break;
            }
    }
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        if (pairs[i].client >= 0)
            link_close(&pairs[i]);
    return NULL;
}

void tcp_proxy_start(tcp_proxy *proxy, int target_port) {
    memset(proxy, 0, sizeof(*proxy));
    proxy->target_port = target_port;
    atomic_store(&proxy->cut_after, -1);
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    proxy->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(proxy->fd >= 0);
    assert_int_equal(bind(proxy->fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(proxy->fd, 16), 0);
    assert_int_equal(getsockname(proxy->fd, (struct sockaddr *)&address, &size), 0);
    proxy->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&proxy->thread, NULL, carry, proxy), 0);
}

void tcp_proxy_stop(tcp_proxy *proxy) {
    atomic_store(&proxy->stops, true);
    assert_int_equal(pthread_join(proxy->thread, NULL), 0);
    assert_int_equal(close(proxy->fd), 0);
}
