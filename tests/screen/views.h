/* views.h: the answers of a hutchd that the further views are tested with. */
#ifndef HUTCH_TESTS_VIEWS_H
#define HUTCH_TESTS_VIEWS_H

#include "tests/screen/screen.h"

#define SESSION(id, state, pty, exit, ended, command, more)                                                  \
    "{\"id\":\"" id "\",\"state\":\"" state "\",\"pty\":" pty ",\"pid\":412,\"attached\":false,"             \
    "\"exit_status\":" exit ",\"signal\":0,\"timed_out\":false,\"started_ns\":1795960899000000000,"          \
    "\"ended_ns\":" ended ",\"user_us\":1200000,\"system_us\":300000,\"max_rss\":83886080,"                  \
    "\"out_total\":20480,\"err_total\":0,\"command\":\"" command "\",\"cwd\":\"/home/agent/shop\","          \
    "\"user\":\"agent\",\"label\":\"" more "\",\"project\":\"shop\"}"

#define FULL_PROJECT                                                                                         \
    "{\"id\":\"p1\",\"name\":\"shop\",\"state\":\"run\",\"template\":\"debian-13\",\"base\":"                \
    "\"5f1e0c77a2b94d10\",\"kits\":[],\"agent\":null,\"waiting\":0,\"net_rate\":0,\"disk\":6549825126,"      \
    "\"cpus\":2,\"memory\":2147483648,\"disk_size\":68719476736,\"folder\":\"/home/you/src/shop\","          \
    "\"created_ns\":1795870000000000000,\"accel\":\"emulated\",\"step\":null,\"failure\":null,"              \
    "\"vm\":{\"state\":\"running\",\"domain\":\"hutch-shop-p1\",\"busy\":null},"                             \
    "\"guest\":{\"version\":1,\"phase\":\"ready\",\"hostname\":\"shop\",\"kernel\":\"6.12.41-amd64\","       \
    "\"os\":\"Debian GNU/Linux 13 (trixie)\",\"uptime_ms\":7512000,\"memory_total\":2061584384,"             \
    "\"memory_available\":1503238553,\"disk_size\":68719476736,\"disk_free\":61203283968,"                   \
    "\"failed_units\":\"\",\"capture\":\"on\",\"proxy\":\"127.0.0.1:3128\",\"up\":true},"                         \
    "\"repos\":[{\"name\":\"shop\",\"source\":\"/home/you/src/shop\",\"remote\":null,"                       \
    "\"ref\":\"refs/heads/main\",\"commit\":\"9d2f5c1e7ab03344\",\"path\":\"/home/agent/shop\","             \
    "\"done\":true}],"                                                                                       \
    "\"layers\":[{\"path\":\"/home/you/.local/share/hutch/p1/disk/0.qcow2\",\"disk\":6549825126,"            \
    "\"frozen\":false},{\"base\":\"5f1e0c77a2b94d10\",\"template\":\"debian-13\",\"frozen\":true}]}"

static inline void give_sessions(struct screen *screen)
{
    uint64_t id = screen_asked(screen, "GET", "/v1/projects/shop/sessions");
    screen_line(screen, id, SESSION("s1", "exited", "false", "0", "1795960915000000000", "npm ci", ""));
    screen_line(screen, id, SESSION("s2", "exited", "false", "1", "1795960905100000000", "npm test", ""));
    screen_line(screen, id, SESSION("s3", "running", "true", "0", "0", "", "shell"));
    screen_answer(screen, id, NULL);
}

static inline void give_templates(struct screen *screen)
{
    uint64_t id = screen_asked(screen, "GET", "/v1/templates");
    screen_line(screen, id,
                "{\"name\":\"alpine\",\"about\":\"Alpine, small, with git and a shell\",\"built\":false,"
                "\"disk_min\":1073741824,\"distribution\":\"alpine\",\"projects\":[]}");
    screen_line(screen, id,
                "{\"name\":\"debian-13\",\"about\":\"Debian 13 with git, build tools, Node and Python\","
                "\"built\":true,\"size\":1288490188,\"built_ns\":1795870000000000000,"
                "\"kernel\":\"6.12.41-amd64\",\"distribution\":\"debian\",\"suite\":\"trixie\","
                "\"packages\":[\"git\",\"build-essential\",\"nodejs\",\"python3\"],\"user\":\"agent\","
                "\"disk_min\":4294967296,\"projects\":[\"shop\",\"api\",\"docs\"]}");
    screen_line(screen, id,
                "{\"name\":\"mine\",\"built\":false,\"failure\":\"line 4: \\\"pakages\\\" is no key here; "
                "did you mean \\\"packages\\\"?\"}");
    screen_answer(screen, id, NULL);
}

static inline void give_doctor(struct screen *screen)
{
    uint64_t id = screen_asked(screen, "GET", "/v1/doctor");
    screen_line(screen, id,
                "{\"check\":\"kvm\",\"state\":\"warn\",\"text\":\"/dev/kvm is missing. EMULATED: 10 to 30 "
                "times slower\",\"fix\":\"turn virtualisation on in the firmware, or nested virtualisation "
                "on the host of this machine\"}");
    screen_line(screen, id,
                "{\"check\":\"libvirt\",\"state\":\"ok\",\"text\":\"qemu:///session: libvirt 11.3.0, QEMU\","
                "\"fix\":null}");
    screen_line(screen, id,
                "{\"check\":\"mmdebstrap\",\"state\":\"fail\",\"text\":\"mmdebstrap is missing: it builds "
                "bases\",\"fix\":\"sudo apt install mmdebstrap\"}");
    screen_line(screen, id,
                "{\"check\":\"disk\",\"state\":\"ok\",\"text\":\"61G free for machines in "
                "\\\"/home/you/.local/share/hutch\\\"\",\"fix\":null}");
    screen_answer(screen, id, "{\"failed\":1,\"warned\":1}");
}

#endif
