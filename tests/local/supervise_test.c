/* SPDX-License-Identifier: Apache-2.0 */
/* A supervisor whose pid 1 has been taken over by a guest: whatever that says, the supervisor acts
 * on nothing that it did not ask for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/msg.h"
#include "core/util/random.h"
#include "plugins/providers/local/helper/supervise.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

static const al_deadline at_once = {0};

/* A supervisor with a socket to pid 1, one client that waits for pid 1, and one command. */
struct scene {
    struct local_supervisor supervisor;
    int pid1;   /* the other end */
    int plugin; /* the client's other end */
    int exec;   /* the command's other end */
    struct local_client *client;
};

static void open_scene(struct scene *scene) {
    static const struct local_watch none = LOCAL_WATCH_NONE;
    struct local_supervisor *supervisor = &scene->supervisor;
    int fd;
    memset(scene, 0, sizeof(*scene));
    supervisor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    supervisor->listener = supervisor->pid1_end = supervisor->owner = none;
    supervisor->timer = supervisor->signals = none;
    supervisor->is_committed = true;
    supervisor->next_serial = 7;
    local_box_init(&supervisor->box);
    al_list_init(&supervisor->clients);
    al_list_init(&supervisor->runs);
    assert_int_equal(al_msg_pair(&fd, &scene->pid1), 0);
    assert_int_equal(
        local_watch_begin(&supervisor->pid1, supervisor->epoll_fd, fd, EPOLLIN, local_pid1_ready),
        0);
    assert_int_equal(al_msg_pair(&fd, &scene->plugin), 0);
    assert_int_equal(local_client_begin(supervisor, fd, &scene->client), 0);
    scene->client->awaits_pid1 = true;
    struct local_run *run = calloc(1, sizeof(*run));
    assert_non_null(run);
    run->start = run->out = run->err = none;
    run->supervisor = supervisor;
    run->number = 3;
    run->is_started = true;
    assert_int_equal(al_msg_pair(&fd, &scene->exec), 0);
    assert_int_equal(local_watch_begin(&run->control, supervisor->epoll_fd, fd, EPOLLIN,
                                       local_run_control_ready),
                     0);
    al_list_append(&supervisor->runs, &run->link);
}

static void close_scene(struct scene *scene) {
    struct local_supervisor *supervisor = &scene->supervisor;
    al_list *link;
    while ((link = al_list_take_first(&supervisor->runs)) != NULL)
        local_run_free(AL_CONTAINER(link, struct local_run, link));
    while (!al_list_empty(&supervisor->clients))
        local_client_end(AL_CONTAINER(supervisor->clients.next, struct local_client, link));
    local_watch_end(&supervisor->pid1);
    local_message_free(&supervisor->in);
    free(supervisor->busy_groups);
    al_close(supervisor->epoll_fd);
    al_close(scene->pid1);
    al_close(scene->plugin);
    al_close(scene->exec);
}

static void hear(struct scene *scene) {
    scene->supervisor.pid1.ready(&scene->supervisor.pid1, EPOLLIN);
}

/* What arrived at one of the other ends; 0 = nothing. */
static uint32_t arrived(int fd) {
    struct local_message in = {0};
    int rc = local_link_receive(fd, &local_link_trusted, &in, at_once);
    uint32_t type = rc == 0 ? in.type : 0;
    local_message_free(&in);
    return type;
}

static void nonsense_of_pid1_changes_nothing(void **state) {
    (void)state;
    struct scene scene;
    size_t before = test_count_fds();
    open_scene(&scene);
    for (int i = 0; i < 5000; i++) {
        unsigned char packet[512];
        uint16_t size;
        assert_int_equal(al_random_bytes(packet, sizeof(packet)), 0);
        assert_int_equal(al_random_bytes(&size, sizeof(size)), 0);
        int fds[] = {scene.pid1, scene.pid1};
        assert_int_equal(al_msg_send(scene.pid1, packet, 1 + size % 511, fds, size % 3, at_once),
                         0);
        hear(&scene);
    }
    assert_false(scene.supervisor.is_ending);
    assert_int_equal(arrived(scene.plugin), 0);
    assert_int_equal(arrived(scene.exec), 0);
    close_scene(&scene);
    assert_int_equal(test_count_fds(), before);
}

static void answers_that_nobody_asked_for_go_nowhere(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene);
    struct local_ended ended = {99, 0, 0};
    struct local_done done = {0};
    struct local_state other = {.id = "x", .image = "y", .state = LOCAL_RUNNING};
    assert_int_equal(local_link_send(scene.pid1, LOCAL_ENDED, 0, &ended, NULL, 0, at_once), 0);
    hear(&scene);
    assert_int_equal(local_link_send(scene.pid1, LOCAL_KILLED, 8, &done, NULL, 0, at_once), 0);
    hear(&scene);
    assert_int_equal(local_link_send(scene.pid1, LOCAL_STATE, 7, &other, NULL, 0, at_once), 0);
    hear(&scene);
    assert_int_equal(local_link_send(scene.pid1, LOCAL_DESTROY, 7, NULL, NULL, 0, at_once), 0);
    hear(&scene);
    assert_false(scene.supervisor.is_ending);
    assert_int_equal(arrived(scene.plugin), 0);
    assert_int_equal(arrived(scene.exec), 0);
    /* The one that was asked for arrives, once. */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(local_link_send(scene.pid1, LOCAL_KILLED, 7, &done, NULL, 0, at_once), 0);
        hear(&scene);
        assert_int_equal(arrived(scene.plugin), i == 0 ? LOCAL_ANSWER : 0);
    }
    close_scene(&scene);
}

static void an_outcome_is_told_once(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene);
    struct local_ended ended = {3, 0, 5};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(local_link_send(scene.pid1, LOCAL_ENDED, 0, &ended, NULL, 0, at_once), 0);
        hear(&scene);
        assert_int_equal(arrived(scene.exec), i == 0 ? LOCAL_OUTCOME : 0);
    }
    close_scene(&scene);
}

static void a_file_that_was_asked_for_arrives_with_one_descriptor_at_most(void **state) {
    (void)state;
    struct scene scene;
    size_t before = test_count_fds();
    open_scene(&scene);
    struct local_file_done done = {.info = {.owner = "", .group = ""}};
    int fds[] = {scene.pid1, scene.pid1};
    assert_int_equal(local_link_send(scene.pid1, LOCAL_FILE_DONE, 7, &done, fds, 2, at_once), 0);
    hear(&scene);
    assert_int_equal(arrived(scene.plugin), 0);
    assert_int_equal(local_link_send(scene.pid1, LOCAL_FILE_DONE, 7, &done, fds, 1, at_once), 0);
    hear(&scene);
    assert_int_equal(arrived(scene.plugin), LOCAL_FILE_DONE);
    close_scene(&scene);
    assert_int_equal(test_count_fds(), before);
}

static void the_end_of_pid1_is_the_end_of_the_sandbox(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene);
    al_close(scene.pid1);
    scene.pid1 = -1;
    hear(&scene);
    assert_true(scene.supervisor.is_ending);
    assert_true(scene.supervisor.has_pid1_died);
    close_scene(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_of_pid1_changes_nothing),
        cmocka_unit_test(answers_that_nobody_asked_for_go_nowhere),
        cmocka_unit_test(an_outcome_is_told_once),
        cmocka_unit_test(a_file_that_was_asked_for_arrives_with_one_descriptor_at_most),
        cmocka_unit_test(the_end_of_pid1_is_the_end_of_the_sandbox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
