/* port_device.h: virtio-serial ports by name. */
#ifndef HUTCH_GUEST_PORT_DEVICE_H
#define HUTCH_GUEST_PORT_DEVICE_H

/* Opens the port with that name, for reading and writing, non-blocking; -1 when it is not there (yet) or not
 * free. Loads the driver, at most once a second, while the kernel has none. */
int port_device_open(const char *name);

#endif
