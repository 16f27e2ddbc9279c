/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets in a box's network. One belongs to the network that it was made in, wherever its holder
 * is; so nothing that listens or is accepted on the host ever is in the box's hands. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "plugins/providers/local/runtime/box.h"

int local_box_socket(const struct local_box *box, int domain, int *fd) {
    al_autofd int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own < 0 || setns(box->pid_fd, CLONE_NEWNET) != 0)
        return errno;
    int made = socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = made < 0 ? errno : 0;
    if (setns(own, CLONE_NEWNET) != 0) {
        al_close(made);
        return ENOTRECOVERABLE;
    }
    if (error == 0)
        *fd = made;
    return error;
}
