/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include "core/file_command.h"

static void complaints_have_the_codes_of_what_they_tell(void **state) {
    (void)state;
    static const struct {
        const char *text;
        alineo_code code;
    } complaints[] = {
        {"cat: /x: No such file or directory\n", ALINEO_FILE_NOT_FOUND},
        {"sh: 1: cannot create /n/x: Directory nonexistent", ALINEO_FILE_NOT_FOUND},
        {"sh: can't open /x: no such file\n", ALINEO_FILE_NOT_FOUND},
        {"mkdir: can't create directory '/x': File exists\n", ALINEO_FILE_EXISTS},
        {"rmdir: failed to remove '/x': Directory not empty\n", ALINEO_DIRECTORY_NOT_EMPTY},
        {"chown: changing ownership of '/x': Operation not permitted\n", ALINEO_PERMISSION_DENIED},
        {"sh: 1: cannot create /x: Read-only file system\n", ALINEO_PERMISSION_DENIED},
        {"cat: write error: No space left on device\n", ALINEO_NO_SPACE},
        {"cat: write error: Disk quota exceeded\n", ALINEO_NO_SPACE},
        {"cat: write error: File too large\n", ALINEO_TOO_LARGE},
        {"chown: invalid user: 'x'\n", ALINEO_INVALID_ARGUMENT},
        {"chown: unknown user x\n", ALINEO_INVALID_ARGUMENT},
        {"rm: cannot remove '/x': Device or resource busy\n", ALINEO_CONFLICT},
        {"sh: 3: mkdir: not found\n", ALINEO_CAPABILITY_UNSUPPORTED},
        {"a warning\nrm: /x: Permission denied\n", ALINEO_PERMISSION_DENIED},
        {"cat: /Permission denied: something else\n", ALINEO_OK},
        {"", ALINEO_OK},
        {"\n\n", ALINEO_OK},
    };
    for (size_t i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++)
        assert_int_equal(al_file_complaint_code(complaints[i].text), complaints[i].code);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complaints_have_the_codes_of_what_they_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
