/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugins/providers/local/runtime/filter/filter_code.h"

int local_filter_load(void) {
    struct sock_fprog program = {.len = local_filter_count,
                                 .filter = (struct sock_filter *)local_filter_code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0 ? errno : 0;
}
