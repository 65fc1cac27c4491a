/* Included before aeron_udp_channel_transport.c, which sets SO_REUSEPORT on the sockets of groups where the system has it.
 *
 * Linux treats sockets with SO_REUSEPORT, one port and no address as one set. UDP early demux (net.ipv4.udp_early_demux,
 * on by default; seen on Linux 6.18) hands a datagram that arrives from a network to one socket of the set by a hash of
 * its addresses, whatever groups the sockets joined. A driver that sends and receives on one port has two such sockets:
 * one for data in the group, one for status messages in the group above. The second then misses the status messages,
 * and a publication does not connect. Traffic of the loopback interface does not take that way.
 *
 * SO_REUSEADDR alone, which Aeron sets as well, lets any number of sockets bind the port of a group. */
#define _GNU_SOURCE
#include <sys/socket.h>
#undef SO_REUSEPORT
