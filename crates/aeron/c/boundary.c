/*
 * What crosses between Rust and Aeron: the layout of each struct that src/raw.rs declares. An Aeron that moves a field does
 * not compile. Below it, two functions that C alone can provide.
 */
#include <stdarg.h>
#include <stddef.h>

#include "aeronc.h"
#include "aeronmd.h"
#include "aeron_cnc_file_descriptor.h"
#include "aeron_counters.h"

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define AT(type, field, bytes) _Static_assert(offsetof(type, field) == (bytes), "offset of " #type "." #field)

SIZE(void *, 8);
SIZE(size_t, 8);

SIZE(aeron_buffer_claim_t, 24);
AT(aeron_buffer_claim_t, frame_header, 0);
AT(aeron_buffer_claim_t, data, 8);
AT(aeron_buffer_claim_t, length, 16);

SIZE(aeron_header_values_frame_t, 32);
AT(aeron_header_values_frame_t, frame_length, 0);
AT(aeron_header_values_frame_t, version, 4);
AT(aeron_header_values_frame_t, flags, 5);
AT(aeron_header_values_frame_t, type, 6);
AT(aeron_header_values_frame_t, term_offset, 8);
AT(aeron_header_values_frame_t, session_id, 12);
AT(aeron_header_values_frame_t, stream_id, 16);
AT(aeron_header_values_frame_t, term_id, 20);
AT(aeron_header_values_frame_t, reserved_value, 24);
SIZE(aeron_header_values_t, 44);
AT(aeron_header_values_t, frame, 0);
AT(aeron_header_values_t, initial_term_id, 32);
AT(aeron_header_values_t, position_bits_to_shift, 36);

SIZE(aeron_publication_constants_t, 88);
AT(aeron_publication_constants_t, channel, 0);
AT(aeron_publication_constants_t, original_registration_id, 8);
AT(aeron_publication_constants_t, registration_id, 16);
AT(aeron_publication_constants_t, max_possible_position, 24);
AT(aeron_publication_constants_t, position_bits_to_shift, 32);
AT(aeron_publication_constants_t, term_buffer_length, 40);
AT(aeron_publication_constants_t, max_message_length, 48);
AT(aeron_publication_constants_t, max_payload_length, 56);
AT(aeron_publication_constants_t, stream_id, 64);
AT(aeron_publication_constants_t, session_id, 68);
AT(aeron_publication_constants_t, initial_term_id, 72);
AT(aeron_publication_constants_t, publication_limit_counter_id, 76);
AT(aeron_publication_constants_t, channel_status_indicator_id, 80);

SIZE(aeron_image_constants_t, 72);
AT(aeron_image_constants_t, subscription, 0);
AT(aeron_image_constants_t, source_identity, 8);
AT(aeron_image_constants_t, correlation_id, 16);
AT(aeron_image_constants_t, join_position, 24);
AT(aeron_image_constants_t, position_bits_to_shift, 32);
AT(aeron_image_constants_t, term_buffer_length, 40);
AT(aeron_image_constants_t, mtu_length, 48);
AT(aeron_image_constants_t, session_id, 56);
AT(aeron_image_constants_t, initial_term_id, 60);
AT(aeron_image_constants_t, subscriber_position_id, 64);

SIZE(aeron_threading_mode_t, 4);
_Static_assert(AERON_THREADING_MODE_DEDICATED == 0, "AERON_THREADING_MODE_DEDICATED");
_Static_assert(AERON_THREADING_MODE_SHARED == 2, "AERON_THREADING_MODE_SHARED");
_Static_assert(AERON_THREADING_MODE_INVOKER == 3, "AERON_THREADING_MODE_INVOKER");

_Static_assert(AERON_PUBLICATION_NOT_CONNECTED == -1, "AERON_PUBLICATION_NOT_CONNECTED");
_Static_assert(AERON_PUBLICATION_BACK_PRESSURED == -2, "AERON_PUBLICATION_BACK_PRESSURED");
_Static_assert(AERON_PUBLICATION_ADMIN_ACTION == -3, "AERON_PUBLICATION_ADMIN_ACTION");
_Static_assert(AERON_PUBLICATION_CLOSED == -4, "AERON_PUBLICATION_CLOSED");
_Static_assert(AERON_PUBLICATION_MAX_POSITION_EXCEEDED == -5, "AERON_PUBLICATION_MAX_POSITION_EXCEEDED");
_Static_assert(AERON_PUBLICATION_ERROR == -6, "AERON_PUBLICATION_ERROR");

/* Type ids of counters: src/counters.rs. */
_Static_assert(AERON_COUNTER_SYSTEM_COUNTER_TYPE_ID == 0, "system counters");
_Static_assert(AERON_COUNTER_PUBLISHER_LIMIT_TYPE_ID == 1, "publisher limit");
_Static_assert(AERON_COUNTER_SENDER_POSITION_TYPE_ID == 2, "sender position");
_Static_assert(AERON_COUNTER_RECEIVER_HWM_TYPE_ID == 3, "receiver high water mark");
_Static_assert(AERON_COUNTER_SUBSCRIPTION_POSITION_TYPE_ID == 4, "subscriber position");
_Static_assert(AERON_COUNTER_RECEIVER_POSITION_TYPE_ID == 5, "receiver position");
_Static_assert(AERON_COUNTER_SENDER_LIMIT_TYPE_ID == 9, "sender limit");
_Static_assert(AERON_COUNTER_PUBLISHER_POSITION_TYPE_ID == 12, "publisher position");
_Static_assert(AERON_COUNTER_SENDER_BPE_TYPE_ID == 13, "back pressure events");
_Static_assert(AERON_COUNTER_FC_NUM_RECEIVERS_TYPE_ID == 17, "receivers of flow control");
_Static_assert(AERON_COUNTER_SENDER_NAKS_RECEIVED_TYPE_ID == 19, "NAKs received");
_Static_assert(AERON_COUNTER_RECEIVER_NAKS_SENT_TYPE_ID == 20, "NAKs sent");

/* System counters: src/counters.rs. */
_Static_assert(AERON_SYSTEM_COUNTER_ID_BYTES_SENT == 0, "bytes sent");
_Static_assert(AERON_SYSTEM_COUNTER_ID_BYTES_RECEIVED == 1, "bytes received");
_Static_assert(AERON_SYSTEM_COUNTER_ID_NAK_MESSAGES_SENT == 5, "NAKs sent");
_Static_assert(AERON_SYSTEM_COUNTER_ID_NAK_MESSAGES_RECEIVED == 6, "NAKs received");
_Static_assert(AERON_SYSTEM_COUNTER_ID_STATUS_MESSAGES_SENT == 7, "status messages sent");
_Static_assert(AERON_SYSTEM_COUNTER_ID_STATUS_MESSAGES_RECEIVED == 8, "status messages received");
_Static_assert(AERON_SYSTEM_COUNTER_ID_RETRANSMITS_SENT == 11, "retransmits sent");
_Static_assert(AERON_SYSTEM_COUNTER_ID_FLOW_CONTROL_UNDER_RUNS == 12, "flow control under runs");
_Static_assert(AERON_SYSTEM_COUNTER_ID_FLOW_CONTROL_OVER_RUNS == 13, "flow control over runs");
_Static_assert(AERON_SYSTEM_COUNTER_ID_INVALID_PACKETS == 14, "invalid packets");
_Static_assert(AERON_SYSTEM_COUNTER_ID_ERRORS == 15, "errors");
_Static_assert(AERON_SYSTEM_COUNTER_ID_SHORT_SENDS == 16, "short sends");
_Static_assert(AERON_SYSTEM_COUNTER_ID_LOSS_GAP_FILLS == 23, "loss gap fills");

/* The version that the first four bytes of cnc.dat have. */
int32_t touchline_aeron_cnc_version(void)
{
    return AERON_CNC_VERSION;
}

static int say_nothing(const char *source, uint64_t line, void *stream, const char *format, va_list arguments)
{
    (void)source;
    (void)line;
    (void)stream;
    (void)format;
    (void)arguments;
    return 0;
}

/* Aeron prints warnings to stderr; a library leaves stderr to the program, and returns what it has to say. */
void touchline_aeron_be_quiet(void)
{
    aeron_set_fprintf_handler(say_nothing);
}
