/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct termios before; /* guarded by lock, as the next one */
static bool is_raw;

void cli_terminal_size(uint16_t *rows, uint16_t *columns) {
    struct winsize size;
    *rows = *columns = 0;
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return;
    *rows = size.ws_row;
    *columns = size.ws_col;
}

static void set_raw(void) {
    struct termios raw = before;
    cfmakeraw(&raw);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

void cli_terminal_begin(void) {
    static bool is_registered;
    pthread_mutex_lock(&lock);
    if (!is_raw && tcgetattr(STDIN_FILENO, &before) == 0) {
        /* Without the promise that it is undone it is not done. */
        is_registered = is_registered || atexit(cli_terminal_end) == 0;
        is_raw = is_registered;
        if (is_raw)
            set_raw();
    }
    pthread_mutex_unlock(&lock);
}

void cli_terminal_again(void) {
    pthread_mutex_lock(&lock);
    if (is_raw)
        set_raw();
    pthread_mutex_unlock(&lock);
}

void cli_terminal_end(void) {
    pthread_mutex_lock(&lock);
    if (is_raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    is_raw = false;
    pthread_mutex_unlock(&lock);
}
