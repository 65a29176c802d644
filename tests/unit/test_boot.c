/* The initrd of a start: an archive that cpio reads, the base behind it byte for byte, made anew only when it
 * must be. */
#include "test_base_scratch.h"

#include "base/spawn.h"
#include "vm/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct files {
    char *base, *guest, *out;
};

static struct files make_files(const char *folder)
{
    struct files files = {file_join(folder, "base"), file_join(folder, "hutch-guest"),
                          file_join(folder, "initrd")};
    char data[5003];
    memset(data, 'g', sizeof(data));
    assert_ok(file_replace(files.base,
                           "\x02\x21\x4c\x18"
                           "base",
                           8, 0644, &err));
    assert_ok(file_replace(files.guest, data, sizeof(data), 0755, &err));
    return files;
}

static void finish_files(struct files *files)
{
    free(files->base);
    free(files->guest);
    free(files->out);
}

/* Runs cpio -i in a folder with a file as its input. */
static void unpack(const char *folder, const char *archive, const char *const *argv)
{
    int in = open(archive, O_RDONLY | O_CLOEXEC);
    struct spawn spawn = {.argv = argv, .cwd = folder, .in = in, .out = -1, .err = -1};
    assert_true(in >= 0);
    assert_ok(spawn_run(&spawn, 20000, 65536, NULL, &err));
    close(in);
}

static void holds_guest_and_hook(void **state)
{
    struct files files = make_files(*state);
    autofree char *tree = file_join(*state, "tree");
    autofree char *inner = file_join(*state, "inner");
    const char *argv[] = {"cpio", "-i", "--quiet", "-d", NULL};
    struct stat st;
    assert_ok(boot_make_initrd(files.base, files.guest, files.out, &err));
    assert_ok(file_make_folder(tree, 0700, &err));
    assert_ok(file_make_folder(inner, 0700, &err));
    unpack(tree, files.out, argv);
    autofree char *conf = file_join(tree, "conf/conf.d/zz-hutch-guest");
    autofree char *hook = file_join(tree, "scripts/init-bottom/hutch-guest");
    autofree char *nested = file_join(tree, "hutch/guest.cpio");
    assert_true(file_exists(conf));
    assert_int_equal(stat(hook, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    unpack(inner, nested, argv);
    autofree char *guest = file_join(inner, "hutch-guest");
    char was[65], is[65];
    assert_int_equal(stat(guest, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    assert_ok(file_sha256(files.guest, was, &err));
    assert_ok(file_sha256(guest, is, &err));
    assert_string_equal(was, is);
    finish_files(&files);
}

static void ends_in_the_base(void **state)
{
    struct files files = make_files(*state);
    autofree char *data = NULL;
    size_t len;
    assert_ok(boot_make_initrd(files.base, files.guest, files.out, &err));
    assert_ok(file_read(files.out, 1 << 20, &data, &len, &err));
    assert_true(len > 5003 + 8);
    assert_memory_equal(data, "070701", 6);
    assert_memory_equal(data + len - 8,
                        "\x02\x21\x4c\x18"
                        "base",
                        8);
    assert_int_equal((len - 8) % 4, 0); /* the kernel looks for the next archive at multiples of four */
    finish_files(&files);
}

static ino_t inode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

static void is_made_anew_when_needed(void **state)
{
    struct files files = make_files(*state);
    assert_ok(boot_make_initrd(files.base, files.guest, files.out, &err));
    ino_t first = inode_of(files.out);
    int keep = open(files.out, O_RDONLY | O_CLOEXEC); /* so that the inode number is not used again */
    assert_ok(boot_make_initrd(files.base, files.guest, files.out, &err));
    assert_int_equal(inode_of(files.out), first);
    /* the same size, other bytes: a new hutch-guest */
    char data[5003];
    memset(data, 'h', sizeof(data));
    assert_ok(file_replace(files.guest, data, sizeof(data), 0755, &err));
    assert_ok(boot_make_initrd(files.base, files.guest, files.out, &err));
    ino_t second = inode_of(files.out);
    int keep_second = open(files.out, O_RDONLY | O_CLOEXEC);
    assert_int_not_equal(second, first);
    assert_ok(file_replace(files.base, "other bytes", 11, 0644, &err));
    assert_ok(boot_make_initrd(files.base, files.guest, files.out, &err));
    ino_t third = inode_of(files.out);
    int keep_third = open(files.out, O_RDONLY | O_CLOEXEC);
    assert_int_not_equal(third, second);
    /* a cut one */
    assert_int_equal(truncate(files.out, 3000), 0);
    assert_ok(boot_make_initrd(files.base, files.guest, files.out, &err));
    assert_int_not_equal(inode_of(files.out), third);
    close(keep);
    close(keep_second);
    close(keep_third);
    finish_files(&files);
}

static void says_what_is_missing(void **state)
{
    struct files files = make_files(*state);
    assert_error(boot_make_initrd(files.base, "/nowhere/hutch-guest", files.out, &err), ERROR_MISSING,
                 "/nowhere/hutch-guest");
    assert_error(boot_make_initrd("/nowhere/initrd", files.guest, files.out, &err), ERROR_NOT_FOUND,
                 "/nowhere/initrd");
    assert_false(file_exists(files.out));
    finish_files(&files);
}

/* The hook adds itself once to the list that a base has, and works where there is none. */
static void joins_the_order(void **state)
{
    struct files files = make_files(*state);
    autofree char *tree = file_join(*state, "tree");
    autofree char *order = file_join(tree, "scripts/init-bottom/ORDER");
    autofree char *conf = NULL;
    const char *argv[] = {"cpio", "-i", "--quiet", "-d", NULL};
    size_t len;
    assert_ok(boot_make_initrd(files.base, files.guest, files.out, &err));
    assert_ok(file_make_folder(tree, 0700, &err));
    unpack(tree, files.out, argv);
    assert_ok(file_replace(order, "/scripts/init-bottom/udev \"$@\"\n", 31, 0644, &err));
    autofree char *path = file_join(tree, "conf/conf.d/zz-hutch-guest");
    assert_ok(file_read(path, 4096, &conf, &len, &err));
    /* it names full paths: run it with / replaced by the tree */
    char script[4096] = "";
    size_t n = 0;
    for (const char *p = conf; *p; p++) {
        if (strncmp(p, ">>/scripts", 10) == 0 || strncmp(p, " /scripts/init-bottom/ORDER", 27) == 0)
            n += (size_t)snprintf(script + n, sizeof(script) - n, "%.*s%s", *p == ' ' ? 1 : 2, p, tree),
                p += *p != ' ';
        else
            script[n++] = *p;
    }
    const char *sh[] = {"sh", "-c", script, NULL};
    struct spawn spawn = {.argv = sh, .in = -1, .out = -1, .err = -1};
    for (int i = 0; i < 2; i++)
        assert_ok(spawn_run(&spawn, 20000, 65536, NULL, &err));
    autofree char *text = NULL;
    assert_ok(file_read(order, 4096, &text, &len, &err));
    assert_string_equal(text, "/scripts/init-bottom/udev \"$@\"\n/scripts/init-bottom/hutch-guest \"$@\"\n");
    finish_files(&files);
}

static void command_line(void **state)
{
    autofree char *plain = boot_command_line(NULL);
    autofree char *more = boot_command_line("mitigations=auto");
    assert_non_null(strstr(plain, "root=/dev/vda "));
    assert_non_null(strstr(plain, "init=/run/hutch/bin/hutch-guest"));
    assert_memory_equal(more, plain, strlen(plain));
    assert_string_equal(more + strlen(plain), " mitigations=auto");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(holds_guest_and_hook),     scratch_test(ends_in_the_base),
        scratch_test(is_made_anew_when_needed), scratch_test(says_what_is_missing),
        scratch_test(joins_the_order),          cmocka_unit_test(command_line),
    };
    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
