/* origin.c: keeps the start of a static program away from an assertion. Before main, glibc asks for
 * /proc/self/exe, only to know what $ORIGIN would be for libraries that are loaded later, and aborts on an
 * answer that it does not understand (seen under emulation). For PID 1 that is a kernel panic, and nothing is
 * ever loaded here. The linker takes this definition in place of the archive's. */
const char *_dl_get_origin(void);

const char *_dl_get_origin(void)
{
    return (const char *)-1; /* glibc's own word for "not known" */
}
