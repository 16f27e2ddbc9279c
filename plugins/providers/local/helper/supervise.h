/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_SUPERVISE_H
#define ALINEO_LOCAL_SUPERVISE_H

/* The supervisor of one sandbox: a single thread around one epoll set. It never waits for anyone
 * but in building and in ending the box: what cannot be sent at once ends that connection.
 *
 *   supervise.c         the life of the sandbox from CREATE to its end
 *   supervise_setup.c   what is made for it on the host
 *   supervise_client.c  connections of plugins: requests and answers
 *   supervise_state.c   the state file, lifetime, metadata, pause
 *   supervise_exec.c    starting commands
 *   supervise_end.c     how commands end, and what they leave running
 *   supervise_pid1.c    talk with pid 1
 *   supervise_port.c    listening for connections to ports inside
 *   keep.c              background commands
 *   relay.c             carrying their bytes */

#include <stdbool.h>
#include <stdint.h>

#include "alineo/provider.h"
#include "core/util/list.h"
#include "core/util/strv.h"
#include "plugins/providers/local/helper/watch.h"
#include "plugins/providers/local/link.h"
#include "plugins/providers/local/protocol.h"
#include "plugins/providers/local/runtime/box.h"

struct local_client;
struct local_run;
struct local_kept;

struct local_supervisor {
    int epoll_fd;

    /* What was asked for; its strings lie in `request`. */
    struct local_message request;
    struct local_create create;
    al_strv metadata; /* pairs, as they are now */

    /* On the host. */
    int entries_fd; /* RUN_DIR/sandboxes */
    int entry_fd;   /* RUN_DIR/sandboxes/ID, locked */
    int folders_fd; /* STATE_DIR/sandboxes */
    int folder_fd;  /* STATE_DIR/sandboxes/ID, locked */
    char *folder;   /* the path of that */
    char *trash;
    struct local_box box;
    bool is_built;

    struct local_watch listener;
    struct local_watch pid1;     /* the socket */
    struct local_watch pid1_end; /* a pidfd */
    struct local_watch owner;    /* a pidfd of the creating process */
    struct local_watch timer;
    struct local_watch signals;

    al_list clients;
    al_list runs;
    al_list ports;  /* that are listened on for the sandbox */
    al_list relays; /* connections to them */
    size_t relay_count;
    bool are_ports_held;          /* no connection is taken until another ended */
    struct local_client *creator; /* until COMMIT */
    int given_up_fd;              /* its connection, when it went away before */
    uint64_t next_serial;
    uint64_t next_number;
    uint64_t *busy_groups; /* of commands that ended while what they started runs on */
    size_t busy_group_count;
    size_t busy_group_next;

    bool is_committed;
    bool is_paused;
    int64_t paused_at_ms;  /* this and the next ones by the boot-time clock */
    int64_t ends_at_ms;    /* -1 = never */
    int64_t sweep_at_ms;   /* -1 = done */
    int64_t created_at_ms; /* Unix time */

    bool is_ending;
    bool has_pid1_died;      /* by itself */
    bool is_remembered;      /* it ended without being asked to */
    char reason[256];        /* why */
    struct local_message in; /* room for what is received */
};

/* A connection of a plugin. It has at most one request under way. */
struct local_client {
    al_list link;
    struct local_watch watch;
    struct local_supervisor *supervisor;
    uint64_t serial;
    struct local_run *starting; /* the command that is being started for it */
    bool awaits_pid1;
    bool awaits_end; /* of the sandbox */
};

/* A command, from its start until nothing that it left behind needs us. */
struct local_run {
    al_list link;
    struct local_supervisor *supervisor;
    uint64_t number;
    struct local_client *client; /* who waits to hear that it started */
    struct local_watch start;    /* end of the pipe that execve() closes */
    struct local_watch control;  /* our end of the exec's socket */
    struct local_watch out;      /* copies of what the plugin reads from: read by us once it is */
    struct local_watch err;      /* gone, so that writers meet neither a full pipe nor its end */
    int peer_fds[4];             /* for the plugin: socket, stdout, stderr, stdin */
    size_t peer_count;
    char *program;
    char *cwd;               /* NULL = / */
    char *user;              /* NULL = the sandbox's */
    struct local_kept *kept; /* a background command's (keep.h); NULL = it is none */
    int64_t deadline_ms;     /* boot-time clock; -1 = none */
    uint64_t oom_kills;      /* of the box before it */
    bool has_group;
    bool is_entrypoint;
    bool awaits_terminal; /* from pid 1; its master is then `out` */
    bool is_start_known;  /* how it went; told when the terminal is there */
    bool is_started;
    bool has_ended;
    bool has_outcome; /* it was told */
    bool is_cancelled;
    bool is_timed_out;
    bool is_released; /* runs on when the plugin lets go of it */
};

/* --- supervise.c --- */

/* The whole life of a supervisor whose first message, a CREATE, is REQUEST (moved from) and came
 * from the plugin by FD. Gives an exit code. */
int local_supervise(struct local_message *request, int fd);

/* The sandbox is to end after the event at hand. REASON is for people; REMEMBERED: leave a note for
 * whoever asks later. The first one counts. */
void local_supervisor_end(struct local_supervisor *supervisor, bool remembered, const char *reason);

/* Tells the creator that the sandbox is there (or cannot be), and is ready for others. */
void local_supervisor_is_ready(struct local_supervisor *supervisor);
void local_supervisor_is_broken(struct local_supervisor *supervisor, alineo_code code,
                                const char *message);

/* --- supervise_setup.c --- */

/* Makes folders and box. On failure tells FAULT and *CODE; what was made is taken away by
 * local_teardown. */
AL_MUST_CHECK int local_setup(struct local_supervisor *supervisor, alineo_code *code,
                              struct local_fault *fault);

/* Whether the sandbox still can be found. One whose entry somebody removed has to end: it would run
 * for ever, known to nobody. */
bool local_entry_is_there(const struct local_supervisor *supervisor);

/* Takes the entry away: nobody finds the sandbox any more. */
void local_teardown_entry(struct local_supervisor *supervisor);

/* Takes everything else away, after the box was killed. What it cannot remove is found by the next
 * sweep, since nobody holds it then. */
AL_MUST_CHECK int local_teardown(struct local_supervisor *supervisor);

/* --- supervise_client.c --- */

/* Begins to serve FD, which is closed on failure. */
AL_MUST_CHECK int local_client_begin(struct local_supervisor *supervisor, int fd,
                                     struct local_client **out);
void local_client_end(struct local_client *client);
struct local_client *local_client_find(struct local_supervisor *supervisor, uint64_t serial);
void local_listener_ready(struct local_watch *watch, uint32_t events);

/* Answers the request under way and waits for the next one. A client that does not read is ended.
 */
void local_client_send(struct local_client *client, uint32_t type, const void *message,
                       const int *fds, size_t count);
void local_client_answer(struct local_client *client, alineo_code code, const char *hint,
                         const char *format, ...) AL_PRINTF(4, 5);
/* Waits only for the client's going away, until the answer. */
void local_client_hold(struct local_client *client);

/* --- supervise_state.c --- */

/* The present state; strings are the supervisor's. */
void local_supervisor_state(const struct local_supervisor *supervisor, struct local_state *state);
AL_MUST_CHECK int local_supervisor_save(const struct local_supervisor *supervisor);
void local_supervisor_renew(struct local_client *client, const struct local_message *message);
void local_supervisor_patch(struct local_client *client, const struct local_message *message);
void local_supervisor_measure(struct local_client *client);
void local_supervisor_pause(struct local_client *client);
void local_supervisor_unpause(struct local_client *client);

/* Sets the timer to what is due next: the lifetime, commands, the sweep. */
void local_timer_arm(struct local_supervisor *supervisor);
void local_timer_ready(struct local_watch *watch, uint32_t events);

/* NOW plus a time that may be anything up to LOCAL_MS_MAX; -1 stays -1. */
int64_t local_after(int64_t now_ms, int64_t time_ms);

/* --- supervise_exec.c --- */

void local_run_request(struct local_client *client, struct local_message *message);
/* Starts the program that a sandbox was made with; local_supervisor_is_ready follows, or is_broken.
 */
void local_run_entrypoint(struct local_supervisor *supervisor);
void local_run_start_failed(struct local_run *run, const struct local_start_failed *failed);
struct local_run *local_run_find(struct local_supervisor *supervisor, uint64_t number);
/* It ended, and pid 1 gave no terminal for it. */
void local_run_without_terminal(struct local_run *run);
/* Pid 1 made the command's terminal; FD, its master, is taken. */
void local_run_terminal(struct local_run *run, int fd);
/* Looks whether it is known by now how the start went. */
void local_run_look_started(struct local_run *run);

/* --- supervise_end.c --- */

void local_run_control_ready(struct local_watch *watch, uint32_t events);
/* Kills the tree. */
void local_run_kill(struct local_run *run);
/* The command itself has ended. */
void local_run_ended(struct local_run *run, const struct local_ended *ended);
void local_run_outcome(struct local_run *run, const struct local_outcome *outcome);
/* Tells of the outcome of a command that the end of the sandbox cut short. */
void local_run_cut_short(struct local_run *run, bool is_killed, const char *detail);
/* Frees it when nothing is left to do for it. */
void local_run_release_if_done(struct local_run *run);
void local_run_free(struct local_run *run);

/* --- supervise_pid1.c --- */

void local_pid1_ready(struct local_watch *watch, uint32_t events);
/* Hears what it said before it ended. */
void local_pid1_hear_out(struct local_supervisor *supervisor);
void local_pid1_end_ready(struct local_watch *watch, uint32_t events);
void local_pid1_signal(struct local_client *client, const struct local_message *message);
void local_pid1_file(struct local_client *client, const struct local_message *message);

/* --- supervise_port.c --- */

void local_port_request(struct local_client *client, const struct local_message *message);
/* Listens no more, and cuts all connections. */
void local_ports_end(struct local_supervisor *supervisor);
/* There is room for one more connection. */
void local_ports_go_on(struct local_supervisor *supervisor);

/* --- relay.c --- */

enum {
    LOCAL_RELAYS_MAX = 1024
};

/* Takes FD, a connection on the host, and connects it to PORT inside. */
void local_relay_begin(struct local_supervisor *supervisor, int fd, uint16_t port);
void local_relays_end(struct local_supervisor *supervisor);

/* --- pid 1 (init.h has the rest) --- */

struct local_init {
    int socket_fd;
    const char *user; /* default of commands; NULL */
    struct local_list env;
};
int local_init_main(void *arg, const struct local_inside *inside);

#endif
