/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin_note.h"

#include "core/plugin_elf.h"
#include "core/util/str.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Notes of a shared object are some hundred bytes. */
#define NOTES_SIZE_MAX ((uint64_t)64 << 10)

static const char rebuild[] = "build the plugin against the headers of this version";
static const char entry_differs[] = "has an entry point that does not say what its note says";

static int bad(al_buf *problem, const char *what) {
    al_buf_append_str(problem, what);
    return EBADMSG;
}

/* Copies a text field: closed by NUL, and nothing but NUL behind that. */
static bool take_field(const char *field, size_t size, char *out) {
    size_t length = strnlen(field, size);
    if (length == 0 || length == size)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (field[i] <= ' ' || field[i] > '~')
            return false;
    }
    for (size_t i = length; i < size; i++) {
        if (field[i] != '\0')
            return false;
    }
    memcpy(out, field, size);
    return true;
}

static int take_note(const unsigned char *description, al_identity *out, al_buf *problem) {
    alineo_plugin_note note;
    memcpy((char *)&note + offsetof(alineo_plugin_note, magic), description,
           ALINEO_PLUGIN_NOTE_DESC_SIZE);
    if (note.magic != ALINEO_PLUGIN_MAGIC)
        return bad(problem, "has an alineo note with the wrong magic number");
    if (!take_field(note.kind, sizeof(note.kind), out->kind) ||
        !take_field(note.id, sizeof(note.id), out->id) ||
        !take_field(note.version, sizeof(note.version), out->version))
        return bad(problem, "has an alineo note with a damaged kind, id or version");
    al_kind kind;
    if (!al_kind_from_name(out->kind, strlen(out->kind), &kind)) {
        al_buf_printf(problem, "is a plugin of the kind \"%s\", which there is not", out->kind);
        return EBADMSG;
    }
    if (!al_plugin_id_valid(out->id)) {
        al_buf_printf(problem, "has the id \"%s\", which is malformed", out->id);
        return EBADMSG;
    }
    out->abi_major = note.abi_major;
    out->abi_minor = note.abi_minor;
    return 0;
}

static uint64_t round_up(uint64_t size, uint64_t alignment) {
    return (size + alignment - 1) & ~(alignment - 1);
}

static bool is_ours(const unsigned char *name, uint32_t name_size) {
    return name_size == sizeof("alineo") && memcmp(name, "alineo", sizeof("alineo")) == 0;
}

/* Goes through the notes of one segment; *count says how many of ours were found so far. */
static int scan_notes(const unsigned char *notes, uint64_t size, uint64_t alignment,
                      al_identity *out, int *count, al_buf *problem) {
    uint64_t at = 0;
    while (size - at >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) head;
        memcpy(&head, notes + at, sizeof(head));
        uint64_t name_at = at + sizeof(head);
        uint64_t data_at = round_up(name_at + head.n_namesz, alignment);
        uint64_t end = data_at + head.n_descsz;
        if (end > size)
            return bad(problem, "has a note that reaches beyond its segment");
        if (is_ours(notes + name_at, head.n_namesz)) {
            if (head.n_type != ALINEO_PLUGIN_NOTE_TYPE ||
                head.n_descsz != ALINEO_PLUGIN_NOTE_DESC_SIZE)
                return bad(problem, "has an alineo note of another type or size");
            if (++*count > 1)
                return bad(problem, "has two alineo notes; a file holds one plugin");
            int rc = take_note(notes + data_at, out, problem);
            if (rc != 0)
                return rc;
        }
        at = round_up(end, alignment);
        if (at > size)
            break;
    }
    return 0;
}

static int scan_segment(const al_elf *elf, const ElfW(Phdr) * segment, al_identity *out, int *count,
                        al_buf *problem) {
    if (segment->p_filesz > NOTES_SIZE_MAX)
        return bad(problem, "has a segment of notes that is too large");
    unsigned char *notes = malloc((size_t)segment->p_filesz + 1);
    if (notes == NULL)
        return ENOMEM;
    int rc = al_elf_bytes(elf, segment->p_offset, notes, (size_t)segment->p_filesz, problem);
    if (rc == 0)
        rc = scan_notes(notes, segment->p_filesz, segment->p_align == 8 ? 8 : 4, out, count,
                        problem);
    free(notes);
    return rc;
}

static int read_note(int fd, al_identity *out, al_buf *problem) {
    al_elf elf;
    int rc = al_elf_read(fd, &elf, problem);
    int count = 0;
    for (size_t i = 0; rc == 0 && i < elf.count; i++) {
        if (elf.segments[i].p_type == PT_NOTE)
            rc = scan_segment(&elf, &elf.segments[i], out, &count, problem);
    }
    if (rc == 0 && count == 0)
        return bad(problem, "is a shared object, but no alineo plugin: it has no alineo note");
    return rc;
}

static alineo_code fail_by(alineo_error **err, int rc, const char *path, const al_buf *problem) {
    if (rc == EBADMSG && problem->error == 0)
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, rebuild, "plugin %s %s", path,
                       al_buf_str(problem));
    return al_fail_errno(err, ALINEO_IO, rc == EBADMSG ? ENOMEM : rc, NULL, "read plugin %s", path);
}

alineo_code al_identity_read(int fd, const char *path, al_identity *out, alineo_error **err) {
    al_auto(al_buf_free) al_buf problem = AL_BUF_INIT;
    al_identity identity = {0};
    int rc = read_note(fd, &identity, &problem);
    if (rc != 0)
        return fail_by(err, rc, path, &problem);
    *out = identity;
    return ALINEO_OK;
}

/* Before the first release any change of the minor may break; afterwards it only adds. */
static bool abi_fits(const al_identity *identity) {
    if (identity->abi_major != ALINEO_ABI_MAJOR)
        return false;
    return ALINEO_ABI_MAJOR == 0 ? identity->abi_minor == ALINEO_ABI_MINOR
                                 : identity->abi_minor <= ALINEO_ABI_MINOR;
}

bool al_identity_fits(const al_identity *identity, al_kind kind, const char *id, al_buf *problems) {
    al_auto(al_buf_free) al_buf sink = AL_BUF_INIT;
    al_buf *out = problems != NULL ? problems : &sink;
    bool fits = true;
    if (!abi_fits(identity)) {
        fits = false;
        al_buf_printf(out, "It is built for ABI %u.%u, this library has %d.%d. ",
                      (unsigned)identity->abi_major, (unsigned)identity->abi_minor,
                      ALINEO_ABI_MAJOR, ALINEO_ABI_MINOR);
    }
    if (id != NULL && strcmp(identity->kind, al_kind_name(kind)) != 0) {
        fits = false;
        al_buf_printf(out, "Its kind is %s, not %s. ", identity->kind, al_kind_name(kind));
    }
    if (id != NULL && strcmp(identity->id, id) != 0) {
        fits = false;
        al_buf_printf(out, "Its id is \"%s\", not \"%s\". ", identity->id, id);
    }
    if (!fits && out->size > 0)
        al_buf_truncate(out, out->size - 1);
    return fits;
}

char *al_entry_symbol(const char *kind, const char *id) {
    char *symbol = al_strf("alineo_plugin_%s_%s", kind, id);
    for (char *c = symbol; c != NULL && *c != '\0'; c++) {
        if (*c == '-')
            *c = '_';
    }
    return symbol;
}

/* Whether the pointer at `place` leads to `text`. Where that cannot be told, it is looked at again
 * once the file is loaded. */
static int check_text(const al_elf *elf, uint64_t place, const char *text, al_buf *problem) {
    uint64_t target = 0;
    char found[64];
    size_t size = strlen(text) + 1;
    int rc = al_elf_pointer(elf, place, &target, problem);
    if (rc == ENOENT)
        return 0;
    if (rc == 0)
        rc = al_elf_at(elf, target, found, size, problem);
    if (rc != 0)
        return rc;
    return memcmp(found, text, size) == 0 ? 0 : bad(problem, entry_differs);
}

static int check_entry(int fd, const char *symbol, const al_identity *identity, al_buf *problem) {
    al_elf elf;
    uint64_t address = 0;
    int rc = al_elf_read(fd, &elf, problem);
    if (rc == 0)
        rc = al_elf_symbol(&elf, symbol, &address, problem);
    if (rc == ENOENT) {
        al_buf_printf(problem, "has no entry point: it does not export %s", symbol);
        return EBADMSG;
    }
    alineo_plugin entry;
    if (rc == 0)
        rc = al_elf_at(&elf, address, &entry, sizeof(entry), problem);
    if (rc != 0)
        return rc;
    if (entry.size < sizeof(entry) || entry.magic != ALINEO_PLUGIN_MAGIC ||
        entry.abi_major != identity->abi_major || entry.abi_minor != identity->abi_minor)
        return bad(problem, entry_differs);
    rc = check_text(&elf, address + offsetof(alineo_plugin, kind), identity->kind, problem);
    if (rc == 0)
        rc = check_text(&elf, address + offsetof(alineo_plugin, id), identity->id, problem);
    if (rc == 0)
        rc = check_text(&elf, address + offsetof(alineo_plugin, version), identity->version,
                        problem);
    return rc;
}

alineo_code al_identity_check_entry(int fd, const char *path, const al_identity *identity,
                                    alineo_error **err) {
    al_autofree char *symbol = al_entry_symbol(identity->kind, identity->id);
    if (symbol == NULL)
        return al_fail_memory(err);
    al_auto(al_buf_free) al_buf problem = AL_BUF_INIT;
    int rc = check_entry(fd, symbol, identity, &problem);
    return rc == 0 ? ALINEO_OK : fail_by(err, rc, path, &problem);
}
