/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/cleanup.h"

#include <fcntl.h>

#include "tests/support/test.h"

static int freed_count;

struct thing {
    int value;
};

static void thing_free(struct thing *thing) {
    freed_count++;
    errno = EBADF;
    free(thing);
}
AL_CLEANUP(struct thing *, thing_free);

static void thing_end(struct thing *thing) {
    freed_count += thing->value;
}
AL_CLEANUP_INSIDE(struct thing, thing_end);

static void handles_end_with_their_scope_unless_they_are_null(void **state) {
    (void)state;
    freed_count = 0;
    {
        al_auto(thing_free) struct thing *none = NULL;
        al_auto(thing_free) struct thing *one = malloc(sizeof(*one));
        assert_null(none);
        assert_non_null(one);
        errno = ENOENT;
    }
    assert_int_equal(freed_count, 1);
    assert_int_equal(errno, ENOENT);
    {
        al_auto(thing_end) struct thing inside = {.value = 10};
        assert_int_equal(inside.value, 10);
    }
    assert_int_equal(freed_count, 11);
}

static void what_was_stolen_is_not_freed(void **state) {
    (void)state;
    freed_count = 0;
    struct thing *kept;
    {
        al_auto(thing_free) struct thing *one = malloc(sizeof(*one));
        kept = AL_STEAL(one);
        assert_null(one);
    }
    assert_int_equal(freed_count, 0);
    thing_free(kept);
}

static void descriptors_close_with_their_scope_and_errno_stays(void **state) {
    (void)state;
    int number;
    int kept;
    {
        al_autofd int none = -1;
        al_autofd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        al_autofd int stolen = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0 && stolen >= 0 && none < 0);
        number = fd;
        kept = al_steal_fd(&stolen);
        assert_int_equal(stolen, -1);
        errno = ENOENT;
    }
    assert_int_equal(errno, ENOENT);
    assert_int_equal(fcntl(number, F_GETFD), -1);
    assert_true(fcntl(kept, F_GETFD) >= 0);
    errno = ENOENT;
    al_close(kept);
    al_close(kept); /* gone already: only errno could tell, and it must not */
    assert_int_equal(errno, ENOENT);
}

static void streams_folders_and_memory_end_too(void **state) {
    (void)state;
    int fd;
    {
        al_autofree char *text = malloc(10);
        al_autofile FILE *file = fopen("/dev/null", "re");
        al_autodir DIR *dir = opendir("/");
        assert_non_null(text);
        assert_non_null(file);
        assert_non_null(dir);
        fd = dirfd(dir);
        assert_true(fcntl(fd, F_GETFD) >= 0);
    }
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void a_lock_is_held_to_the_end_of_its_scope(void **state) {
    (void)state;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    {
        al_autolock(&mutex);
        assert_int_equal(pthread_mutex_trylock(&mutex), EBUSY);
    }
    assert_int_equal(pthread_mutex_trylock(&mutex), 0);
    assert_int_equal(pthread_mutex_unlock(&mutex), 0);
    assert_int_equal(pthread_mutex_destroy(&mutex), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_end_with_their_scope_unless_they_are_null),
        cmocka_unit_test(what_was_stolen_is_not_freed),
        cmocka_unit_test(descriptors_close_with_their_scope_and_errno_stays),
        cmocka_unit_test(streams_folders_and_memory_end_too),
        cmocka_unit_test(a_lock_is_held_to_the_end_of_its_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
