/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_TCP_PROXY_H
#define ALINEO_TESTS_SUPPORT_TCP_PROXY_H

/* Carries connections from a loopback port to another, and loses them as it is told to. */

#include <pthread.h>
#include <stdatomic.h>

typedef struct tcp_proxy {
    int port;        /* where it listens */
    int target_port; /* where it carries to, on the loopback address */
    int fd;
    pthread_t thread;
    atomic_bool stops;

    /* Bytes from the client that still go through; then that connection is cut, once. Negative:
     * all. */
    atomic_long cut_after;
    /* Cuts the connection, once, in place of handing on an answer with this word in it. */
    _Atomic(const char *) swallow;
    atomic_int cuts; /* how often it has cut */
} tcp_proxy;

void tcp_proxy_start(tcp_proxy *proxy, int target_port);
/* Connections that are open are closed. */
void tcp_proxy_stop(tcp_proxy *proxy);

#endif
