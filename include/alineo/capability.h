/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CAPABILITY_H
#define ALINEO_CAPABILITY_H

/**
 * What a provider can do. A capability is a name and a value: "yes", "no", "unverified" (set up to,
 * not proven), "fallback" (the core does it with other means of the provider), or a word of the
 * capability's own. A provider's descriptor says what it can at best; a probe, made on first need,
 * can only lower that to what holds on this host and config, with a reason and a remedy.
 *
 * A call's options decide what it needs; what is missing is refused with CAPABILITY_UNSUPPORTED
 * before anything exists. Names that begin with "x-" are a provider's own.
 */

#include <alineo/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From the reference. */
#define ALINEO_CAP_SNAPSHOT "snapshot"       /* no, filesystem, memory */
#define ALINEO_CAP_PAUSE "pause"             /* no, processes, files */
#define ALINEO_CAP_EGRESS "egress"           /* rules changed at run time */
#define ALINEO_CAP_CREDENTIALS "credentials" /* injected outside the guest */
#define ALINEO_CAP_PTY "pty"
#define ALINEO_CAP_CODE "code" /* stateful code contexts */
/* Running commands. */
#define ALINEO_CAP_STDIN "stdin"
#define ALINEO_CAP_BYTES "bytes"     /* streams are exact to the byte */
#define ALINEO_CAP_STREAMS "streams" /* stdout apart from stderr */
#define ALINEO_CAP_SIGNALS "signals"
#define ALINEO_CAP_KILL_TREE "kill_tree" /* timeout and cancel end all the command started */
#define ALINEO_CAP_BACKGROUND "background"
#define ALINEO_CAP_SHELLS "shells"
#define ALINEO_CAP_USER "user"
/* The sandbox. */
#define ALINEO_CAP_FILES "files"
#define ALINEO_CAP_RENEW "renew"
#define ALINEO_CAP_LIST "list"
#define ALINEO_CAP_BOUND "bound" /* the sandbox can end with the process that made it */
#define ALINEO_CAP_METADATA "metadata"
#define ALINEO_CAP_METRICS "metrics"
#define ALINEO_CAP_ENDPOINTS "endpoints"
#define ALINEO_CAP_DIAGNOSTICS "diagnostics"
#define ALINEO_CAP_IMAGES "images"
#define ALINEO_CAP_MOUNTS "mounts"
#define ALINEO_CAP_LIMITS_CPU "limits.cpu"
#define ALINEO_CAP_LIMITS_MEMORY "limits.memory"
#define ALINEO_CAP_LIMITS_PIDS "limits.pids"
#define ALINEO_CAP_LIMITS_GPU "limits.gpu"
#define ALINEO_CAP_LIMITS_DISK "limits.disk"
#define ALINEO_CAP_NETWORK_NONE "network.none"
#define ALINEO_CAP_NETWORK_OUTBOUND "network.outbound"
#define ALINEO_CAP_NETWORK_HOST "network.host"
#define ALINEO_CAP_ISOLATION "isolation" /* process, namespace, container, userkernel, vm, remote */

/** One capability as it holds here. Strings are valid during the call that hands it out. */
typedef struct alineo_capability {
    size_t size;
    const char *name;
    const char *value;
    const char *detail; /* why it has this value; NULL where nothing is to be said */
    const char *remedy; /* what to do about a "no"; NULL where there is nothing */
} alineo_capability;
#define ALINEO_CAPABILITY_INIT                                                                     \
    { sizeof(alineo_capability), NULL, NULL, NULL, NULL }

/** Called once a capability. A non-zero return ends the listing. */
typedef int32_t alineo_capability_fn(void *user, const alineo_capability *capability);

#ifdef __cplusplus
}
#endif

#endif
