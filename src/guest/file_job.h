/* file_job.h: work on the files of the guest, in a helper process that is the user whose files they are:
 *   stat PATH           one JSON object (file of doc/protocol.md) on stdout; never follows a link
 *   list PATH           one such line for each entry
 *   read PATH           the bytes of a regular file
 *   write PATH MODE     stdin becomes the file, at once and only after a byte came on descriptor 3
 *   folder PATH MODE    mkdir -p; only folders that it makes get the mode
 *   remove PATH         rm -r; a missing one is no error
 *   tar-out PATH        becomes `tar` with an archive of PATH on stdout, its last element as the name; "/"
 * and a path that ends in a dot element as "." tar-in PATH         becomes `tar` that unpacks stdin below the
 * folder PATH rename FROM TO      TO may be an empty folder, nothing else */
#ifndef HUTCH_GUEST_FILE_JOB_H
#define HUTCH_GUEST_FILE_JOB_H

/* Returns the exit status; an error is written as task_report does. */
int file_job_main(int argc, char **argv);

#endif
