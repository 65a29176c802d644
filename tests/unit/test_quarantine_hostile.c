/* What a hostile machine tries on the way out of it: cases of the threat catalogue carry their id. */
#include "quarantine_rig.h"

#include <time.h>

#define LONG_LINE (1024 * 1024)

/* ---- what a hostile one tries ---- */

static void G01_the_machines_configuration_runs_nothing_here(void **state)
{
    struct quarantine_news news;

    rig_run(
        "printf '#!/bin/sh\\necho >%s/marker\\n' \"$PWD\" >evil; chmod +x evil; cd bare.git; mkdir -p hooks;"
        "for k in uploadpack.packObjectsHook core.fsmonitor core.sshCommand core.pager core.editor "
        "core.askPass gpg.program diff.external core.alternateRefsCommand; do git config $k "
        "\"$PWD/../evil\"; done;"
        "git config core.hooksPath \"$PWD/hooks\"; git config include.path \"$PWD/more\";"
        "printf '[core]\\n\\tfsmonitor = %s/../evil\\n' \"$PWD\" >more;"
        "for h in post-update reference-transaction post-checkout pre-auto-gc post-merge; do "
        "cp ../evil hooks/$h; done");
    rig_run("cd work; echo 1 >>a; git commit -qam more; git push -q origin HEAD; rm -f ../marker");
    rig_fetch(&news);
    assert_non_null(rig_find(&news, "refs/guest/heads/main"));
    quarantine_news_finish(&news);
    rig_run("git --git-dir q/app.git log -p --all >/dev/null; test ! -e marker; test ! -e q/app.git/hooks;"
            "! grep -q evil q/app.git/config");
}

static void G03_submodule_tricks_are_refused_or_inert(void **state)
{
    struct quarantine_news news;

    rig_run(
        "cd work; blob=$(printf a | git hash-object -w --stdin); tree=$(printf '120000 blob "
        "%s\\t.gitmodules\\n' "
        "$blob | git mktree); git push -q origin $(git commit-tree -m link $tree):refs/heads/link;"
        "try() { blob=$(printf '[submodule \"%s\"]\\n\\tpath = %s\\n\\turl = %s\\n' \"$2\" \"$3\" \"$4\" | "
        "git hash-object "
        "-w --stdin); tree=$(printf '100644 blob %s\\t.gitmodules\\n' $blob | git mktree); git push -q "
        "origin "
        "$(git commit-tree -m $1 $tree):refs/heads/$1; };"
        "try option sub sub -u./payload; try name ../../x sub ./x; try ext sub sub 'ext::sh -c >marker';"
        "try file sub sub file:///etc; try cr sub \"$(printf 'sub\\r')\" ./x");
    rig_fetch(&news);
    assert_null(rig_find(&news, "refs/guest/heads/link"));
    assert_null(rig_find(&news, "refs/guest/heads/option"));
    assert_null(rig_find(&news, "refs/guest/heads/name"));
    assert_non_null(rig_find(&news, "refs/guest/heads/main"));
    assert_non_null(rig_find(&news, "refs/guest/heads/ext"));
    assert_non_null(rig_find(&news, "refs/guest/heads/file"));
    assert_non_null(rig_find(&news, "refs/guest/heads/cr"));
    assert_int_equal(news.skip_count, 3);
    for (size_t i = 0; i < news.skip_count; i++)
        assert_non_null(strstr(news.skips[i].why, "gitmodules"));
    quarantine_news_finish(&news);
    rig_run("test ! -e marker; test ! -e q/app.git/modules");
}

/* ---- a server that lies ---- */

#define TIP "1234567812345678123456781234567812345678"

static void send_text(int fd, const char *text)
{
    send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* A pkt-line of a band (0: none). */
static bool send_packet(int fd, int band, const void *data, size_t len)
{
    char head[8];
    size_t n = (size_t)snprintf(head, sizeof(head), "%04zx", len + 4 + (band != 0));
    if (band)
        head[n++] = (char)band;
    return send(fd, head, n, MSG_NOSIGNAL) > 0 && (!len || send(fd, data, len, MSG_NOSIGNAL) > 0);
}

static void send_advert(int fd, const char *more)
{
    static const char first[] = TIP " refs/heads/x\0side-band-64k ofs-delta shallow thin-pack\n";
    send_packet(fd, 0, first, sizeof(first) - 1);
    if (more)
        send_packet(fd, 0, more, strlen(more));
    send_text(fd, "0000");
}

/* Reads until the client has rig_said all that it wants; false: it only looked. */
static bool wait_for_done(int fd)
{
    char seen[65536];
    size_t len = 0;
    ssize_t n;

    while (len < sizeof(seen) - 1 && (n = read(fd, seen + len, sizeof(seen) - 1 - len)) > 0) {
        len += (size_t)n;
        seen[len] = '\0';
        if (strstr(seen, "done\n"))
            return true;
    }
    return false;
}

struct lie {
    const char *garbage; /* in place of all */
    const char *more;    /* a line of the list */
    const char *text;    /* on the band of messages */
    size_t text_times;
    const char *pack; /* begins with PACK */
    size_t pack_len;
    const char *endless; /* comes again and again after it */
    size_t endless_len;
};

static void tell(int fd, void *user)
{
    const struct lie *lie = user;

    if (lie->garbage) {
        send_text(fd, lie->garbage);
        return;
    }
    send_advert(fd, lie->more);
    if (!wait_for_done(fd))
        return;
    send_text(fd, "0008NAK\n");
    for (size_t i = 0; i < lie->text_times; i++)
        if (!send_packet(fd, 2, lie->text, strlen(lie->text)))
            return;
    if (lie->pack && !send_packet(fd, 1, lie->pack, lie->pack_len))
        return;
    while (lie->endless && send_packet(fd, 1, lie->endless, lie->endless_len))
        ;
    send_text(fd, "0000");
}

static void refuses_lie(struct lie *lie, enum error_code code, const char *word)
{
    struct end end = {.lie = tell, .user = lie};
    struct quarantine_news news;
    auto(error) struct error *err = NULL;
    autofree char *before = rig_refs();

    int rc = rig_fetch_from(&end, NULL, &news, &err);
    if (rc == 0 && news.skip_count && code == ERROR_FAILED) { /* the one ref that there was */
        rc = error_set(&err, ERROR_FAILED, "%s", news.skips[0].why);
        assert_int_equal(news.change_count, 0);
        quarantine_news_finish(&news);
    }
    if (rc == 0)
        fail_msg("it was taken");
    if (word && !strstr(err->message, word))
        fail_msg("'%s' does not say '%s'", err->message, word);
    rig_refused(rc, code, err, before);
}

static void G05_bombs_and_endless_streams(void **state)
{
    static const char many[] = "PACK\0\0\0\2\0\x98\x96\x80"; /* ten million objects */
    static const char empty[] = "\x30\x78\x9c\3\0\0\0\0\1";  /* a blob */
    struct lie objects = {.pack = many, .pack_len = 12, .endless = empty, .endless_len = 9};
    struct quarantine_news news;
    struct end end = {.bare = "bare.git"};
    auto(error) struct error *err = NULL;

    rig_fetch(&news);
    quarantine_news_finish(&news);
    refuses_lie(&objects, ERROR_LIMIT, "10000000 objects");

    /* half a megabyte that is 513 of them */
    rig_run(
        "cd bare.git; blob=$(head -c 537919489 /dev/zero | git -c core.compression=1 hash-object -w "
        "--stdin); tree=$(printf '100644 blob "
        "%s\\tzero\\n' $blob | git mktree); git update-ref refs/heads/bomb $(git commit-tree -m bomb $tree)");
    autofree char *before = rig_refs();
    int rc = rig_fetch_from(&end, NULL, &news, &err);
    rig_refused(rc, ERROR_LIMIT, err, before);
    assert_non_null(strstr(err->message, "537919489"));

    /* an object of the history is missing in the machine */
    rig_run(
        "rm -rf bare.git; git clone -q --bare mirror.git bare.git; cd bare.git;"
        "blob=$(echo gone | git hash-object -w --stdin); tree=$(printf '100644 blob %s\\tgone\\n' $blob | "
        "git "
        "mktree); git update-ref refs/heads/hole $(git commit-tree -m hole $tree); rm -f "
        "objects/$(echo $blob | cut -c1-2)/$(echo $blob | cut -c3-)");
    rig_fetch(&news);
    assert_int_equal(news.skip_count, 1);
    assert_int_equal(news.change_count, 0);
    quarantine_news_finish(&news);
}

static void G06_lies_of_the_protocol(void **state)
{
    static const char wrong_sum[] = "PACK\0\0\0\2\0\0\0\0xxxxxxxxxxxxxxxxxxxx";
    struct lie garbage = {.garbage = "zzzz\001\002\003 this is no git"};
    struct lie length = {.garbage = "fff0x"};
    struct lie bundle = {.garbage = "000eversion 2\n000fbundle-uri\n0000"};
    struct lie sum = {.pack = wrong_sum, .pack_len = 32};
    struct lie shallow = {.more = "shallow " TIP, .pack = wrong_sum, .pack_len = 32};
    struct lie no_hex = {.more = "not-a-hash refs/heads/y\n"};
    struct quarantine_news news;

    rig_fetch(&news);
    quarantine_news_finish(&news);
    refuses_lie(&garbage, ERROR_FAILED, NULL);
    refuses_lie(&length, ERROR_FAILED, NULL);
    refuses_lie(&bundle, ERROR_FAILED, NULL);
    refuses_lie(&sum, ERROR_FAILED, NULL);
    refuses_lie(&shallow, ERROR_FAILED, NULL);
    refuses_lie(&no_hex, ERROR_FAILED, NULL);
}

static void a_shallow_repository_does_not_cut_history(void **state)
{
    struct quarantine_news news;

    rig_fetch(&news);
    quarantine_news_finish(&news);
    rig_run(
        "cd work; echo 2 >a; git commit -qam two; echo 3 >a; git commit -qam three; git push -q origin HEAD;"
        "cd ..; rm -rf s bare.git; git clone -q --depth 1 --bare file://$PWD/work bare.git");
    autofree char *before = rig_refs();
    rig_fetch(&news);
    autofree char *after = rig_refs();
    assert_int_equal(news.change_count, 0);
    assert_string_equal(before, after);
    quarantine_news_finish(&news);
    rig_run("test ! -e q/app.git/shallow");
}

static void G07_words_of_the_machine_are_made_safe(void **state)
{
    autofree char *line = xcalloc(LONG_LINE + 1, 1);
    struct lie words = {.text = "\033]52;c;ZXZpbA==\007\033[2J\rremote: 50% (1/2)\033[31m\n",
                        .text_times = 50};
    struct lie flood = {.text = line, .text_times = 40};

    memset(line, 'A', 60000);
    refuses_lie(&words, ERROR_FAILED, NULL);
    for (const char *p = rig_said; *p; p++)
        assert_true(*p == '\n' || (unsigned char)*p >= ' ');
    refuses_lie(&flood, ERROR_FAILED, NULL);
}

static void G09_escapes_in_commits_and_names(void **state)
{
    static const char escape[] = TIP " refs/heads/\033]52;c;x\007\n";
    struct lie name = {.more = escape};
    struct quarantine_news news;

    rig_run("cd work; f=$(printf 'p\\033[31m\\nq'); echo 1 >\"$f\"; git add -A; git -c user.name=\"$(printf "
            "'A\\033[2J')\" "
            "commit -qm \"$(printf 'subject\\033]0;x\\007')\"; git push -q origin HEAD:odd");
    rig_fetch(&news);
    assert_non_null(rig_find(&news, "refs/guest/heads/odd"));
    quarantine_news_finish(&news);
    for (const char *p = rig_said; *p; p++)
        assert_true(*p == '\n' || (unsigned char)*p >= ' ');
    refuses_lie(&name, ERROR_FAILED, NULL);
}

/* ---- killed ---- */

static void *cancel_soon(void *user)
{
    usleep(700000);
    atomic_store((atomic_bool *)user, true);
    return NULL;
}

static void a_killed_one_leaves_it_as_it_was(void **state)
{
    static const char head[] = "PACK\0\0\0\2\0\0\0\5";
    struct lie endless = {.text = "wait\n", .text_times = 1, .pack = head, .pack_len = 12};
    struct end end = {.lie = tell, .user = &endless};
    struct quarantine_news news;
    auto(error) struct error *err = NULL;
    atomic_bool cancel = false;
    pthread_t thread;

    rig_fetch(&news);
    quarantine_news_finish(&news);
    autofree char *before = rig_refs();
    endless.text_times = 2000000000; /* it would talk for days */
    endless.text = "Counting objects: 1, done.\r";
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &cancel), 0);
    int rc = rig_fetch_from(&end, &cancel, &news, &err);
    rig_refused(rc, ERROR_CANCELLED, err, before);
    pthread_join(thread, NULL);

    /* what a killed hutchd leaves does not stop the next */
    rig_run("mkdir -p q/app.git.incoming/objects/pack q/app.git.incoming.new q/app.git.new; echo x "
            ">q/app.git.incoming/objects/pack/tmp_pack_1; echo '[core] x' >q/app.git.incoming/config");
    rig_run("cd work; echo 9 >>a; git commit -qam nine; git push -q origin HEAD");
    rig_fetch(&news);
    assert_int_equal(news.change_count, 1);
    quarantine_news_finish(&news);
}

/* Names that cannot be together, and names that come twice, cost themselves: not all that the machine has. */
static void advertise(int fd, void *user)
{
    static const char *const names[] = {"a", "a/b", "new", "new", "new/below", "z"};

    for (size_t i = 0; i < countof(names); i++) {
        char line[256];
        int len = snprintf(line, sizeof(line), "%s refs/heads/%s%cside-band-64k ofs-delta\n",
                           (const char *)user, names[i], '\0');
        send_packet(fd, 0, line, (size_t)len);
    }
    send_text(fd, "0000");
    wait_for_done(fd);
}

static void a_list_that_contradicts_itself(void **state)
{
    struct quarantine_news news;
    auto(error) struct error *err = NULL;

    rig_run("cd work; git push -q origin HEAD:a");
    rig_fetch(&news);
    quarantine_news_finish(&news);
    autofree char *tip = rig_sh("git -C work rev-parse HEAD");
    struct end end = {.lie = advertise, .user = tip};
    if (rig_fetch_from(&end, NULL, &news, &err) < 0)
        fail_msg("%s", err->message);
    assert_int_equal(news.change_count, 2);
    assert_non_null(rig_find(&news, "refs/guest/heads/new"));
    assert_non_null(rig_find(&news, "refs/guest/heads/z"));
    assert_int_equal(news.skip_count, 3);
    quarantine_news_finish(&news);
}

/* Thousands of names, all others than before: no work that grows with their square. */
static void other_names_each_time(void **state)
{
    struct quarantine_news news;
    struct timespec from, to;

    rig_run("t=$(git -C work rev-parse HEAD); (echo '# pack-refs with: peeled fully-peeled sorted ';"
            "seq -f \"$t refs/guest/heads/o%06.0f\" 4000) >q/app.git/packed-refs;"
            "(echo '# pack-refs with: peeled fully-peeled sorted ';"
            "seq -f \"$t refs/heads/n%06.0f\" 4000) >bare.git/packed-refs");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    rig_fetch(&news);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    assert_true(to.tv_sec - from.tv_sec < 20);
    assert_int_equal(news.change_count, 4000);
    quarantine_news_finish(&news);

    rig_run("t=$(git -C work rev-parse HEAD); rm -rf q/app.git/refs/guest;"
            "(echo '# pack-refs with: peeled fully-peeled sorted ';"
            "seq -f \"$t refs/guest/heads/o%06.0f\" 19999) >q/app.git/packed-refs");
    rig_fetch(&news);
    assert_int_equal(news.change_count, 1);
    assert_int_equal(news.skip_count, FETCH_ALONE_MAX); /* that many are named */
    assert_string_equal(news.skips[0].why, "the quarantine has 20000 branches and tags already");
    quarantine_news_finish(&news);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, rig_fresh)
    const struct CMUnitTest tests[] = {
        TEST(G01_the_machines_configuration_runs_nothing_here),
        TEST(G03_submodule_tricks_are_refused_or_inert),
        TEST(G05_bombs_and_endless_streams),
        TEST(G06_lies_of_the_protocol),
        TEST(a_shallow_repository_does_not_cut_history),
        TEST(G07_words_of_the_machine_are_made_safe),
        TEST(G09_escapes_in_commits_and_names),
        TEST(a_killed_one_leaves_it_as_it_was),
        TEST(a_list_that_contradicts_itself),
        TEST(other_names_each_time),
    };
    return cmocka_run_group_tests(tests, rig_make, rig_remove);
}
