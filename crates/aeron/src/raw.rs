//! The functions and structs of Aeron's C interface that this crate calls, declared by hand from `aeronc.h` and `aeronmd.h`.
//!
//! Almost all types are opaque. `c/boundary.c` asserts the layout of the others and the value of each constant, so an Aeron that
//! moves one does not compile.

use std::ffi::{c_char, c_int, c_void};

macro_rules! opaque {
    ($($name:ident),* $(,)?) => {
        $(
            /// Opaque type of Aeron.
            #[repr(C)]
            pub struct $name {
                _opaque: [u8; 0],
            }
        )*
    };
}

opaque!(
    Context,
    Aeron,
    Publication,
    ExclusivePublication,
    Subscription,
    Image,
    Header,
    CountersReader,
    Assembler,
    DriverContext,
    Driver,
);

/// A publication, a subscription or a destination that is being added.
#[repr(C)]
pub struct Async {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Debug)]
pub struct BufferClaim {
    pub frame_header: *mut u8,
    pub data: *mut u8,
    pub length: usize,
}

#[repr(C, packed(4))]
#[derive(Clone, Copy, Default)]
pub struct HeaderValues {
    pub frame_length: i32,
    pub version: i8,
    pub flags: u8,
    pub kind: i16,
    pub term_offset: i32,
    pub session_id: i32,
    pub stream_id: i32,
    pub term_id: i32,
    pub reserved_value: i64,
    pub initial_term_id: i32,
    pub position_bits_to_shift: usize,
}

#[repr(C)]
pub struct PublicationConstants {
    pub channel: *const c_char,
    pub original_registration_id: i64,
    pub registration_id: i64,
    pub max_possible_position: i64,
    pub position_bits_to_shift: usize,
    pub term_buffer_length: usize,
    pub max_message_length: usize,
    pub max_payload_length: usize,
    pub stream_id: i32,
    pub session_id: i32,
    pub initial_term_id: i32,
    pub publication_limit_counter_id: i32,
    pub channel_status_indicator_id: i32,
}

#[repr(C)]
pub struct ImageConstants {
    pub subscription: *mut Subscription,
    pub source_identity: *const c_char,
    pub correlation_id: i64,
    pub join_position: i64,
    pub position_bits_to_shift: usize,
    pub term_buffer_length: usize,
    pub mtu_length: usize,
    pub session_id: i32,
    pub initial_term_id: i32,
    pub subscriber_position_id: i32,
}

pub const THREADING_DEDICATED: c_int = 0;
pub const THREADING_SHARED: c_int = 2;
pub const THREADING_INVOKER: c_int = 3;

pub const NOT_CONNECTED: i64 = -1;
pub const BACK_PRESSURED: i64 = -2;
pub const ADMIN_ACTION: i64 = -3;
pub const CLOSED: i64 = -4;
pub const MAX_POSITION_EXCEEDED: i64 = -5;

pub type ErrorHandler = extern "C" fn(*mut c_void, c_int, *const c_char);
// SAFETY: a type; each call through it has a separate unsafe block.
pub type FragmentHandler = unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut Header);
pub type ImageHandler = extern "C" fn(*mut Image, *mut c_void);
pub type CounterHandler =
    extern "C" fn(i64, i32, i32, *const u8, usize, *const c_char, usize, *mut c_void);
/// Handlers that are never given: always null.
pub type NoHandler = *const c_void;

// SAFETY: the signatures are those of `aeronc.h`, `aeronmd.h` and `c/boundary.c`, which the build script compiles and links.
unsafe extern "C" {
    pub fn touchline_aeron_cnc_version() -> i32;
    pub fn touchline_aeron_be_quiet();

    pub fn aeron_errcode() -> c_int;
    pub fn aeron_errmsg() -> *const c_char;
    pub fn aeron_version_text() -> *const c_char;

    pub fn aeron_context_init(context: *mut *mut Context) -> c_int;
    pub fn aeron_context_close(context: *mut Context) -> c_int;
    pub fn aeron_context_set_dir(context: *mut Context, value: *const c_char) -> c_int;
    pub fn aeron_context_set_client_name(context: *mut Context, value: *const c_char) -> c_int;
    pub fn aeron_context_set_driver_timeout_ms(context: *mut Context, value: u64) -> c_int;
    pub fn aeron_context_set_resource_linger_duration_ns(
        context: *mut Context,
        value: u64,
    ) -> c_int;
    pub fn aeron_context_set_pre_touch_mapped_memory(context: *mut Context, value: bool) -> c_int;
    pub fn aeron_context_set_use_conductor_agent_invoker(
        context: *mut Context,
        value: bool,
    ) -> c_int;
    pub fn aeron_context_set_error_handler(
        context: *mut Context,
        handler: ErrorHandler,
        clientd: *mut c_void,
    ) -> c_int;

    pub fn aeron_init(client: *mut *mut Aeron, context: *mut Context) -> c_int;
    pub fn aeron_start(client: *mut Aeron) -> c_int;
    pub fn aeron_main_do_work(client: *mut Aeron) -> c_int;
    pub fn aeron_close(client: *mut Aeron) -> c_int;
    pub fn aeron_is_closed(client: *mut Aeron) -> bool;

    pub fn aeron_async_add_publication(
        pending: *mut *mut Async,
        client: *mut Aeron,
        uri: *const c_char,
        stream_id: i32,
    ) -> c_int;
    pub fn aeron_async_add_publication_poll(
        publication: *mut *mut Publication,
        pending: *mut Async,
    ) -> c_int;
    pub fn aeron_async_add_publication_cancel(client: *mut Aeron, pending: *mut Async) -> c_int;
    pub fn aeron_async_add_exclusive_publication(
        pending: *mut *mut Async,
        client: *mut Aeron,
        uri: *const c_char,
        stream_id: i32,
    ) -> c_int;
    pub fn aeron_async_add_exclusive_publication_poll(
        publication: *mut *mut ExclusivePublication,
        pending: *mut Async,
    ) -> c_int;
    pub fn aeron_async_add_exclusive_publication_cancel(
        client: *mut Aeron,
        pending: *mut Async,
    ) -> c_int;
    pub fn aeron_async_add_subscription(
        pending: *mut *mut Async,
        client: *mut Aeron,
        uri: *const c_char,
        stream_id: i32,
        on_available_image: NoHandler,
        on_available_image_clientd: *mut c_void,
        on_unavailable_image: NoHandler,
        on_unavailable_image_clientd: *mut c_void,
    ) -> c_int;
    pub fn aeron_async_add_subscription_poll(
        subscription: *mut *mut Subscription,
        pending: *mut Async,
    ) -> c_int;
    pub fn aeron_async_add_subscription_cancel(client: *mut Aeron, pending: *mut Async) -> c_int;

    pub fn aeron_publication_offer(
        publication: *mut Publication,
        buffer: *const u8,
        length: usize,
        reserved_value_supplier: NoHandler,
        clientd: *mut c_void,
    ) -> i64;
    pub fn aeron_publication_try_claim(
        publication: *mut Publication,
        length: usize,
        claim: *mut BufferClaim,
    ) -> i64;
    pub fn aeron_publication_is_closed(publication: *mut Publication) -> bool;
    pub fn aeron_publication_is_connected(publication: *mut Publication) -> bool;
    pub fn aeron_publication_position(publication: *mut Publication) -> i64;
    pub fn aeron_publication_position_limit(publication: *mut Publication) -> i64;
    pub fn aeron_publication_constants(
        publication: *mut Publication,
        constants: *mut PublicationConstants,
    ) -> c_int;
    pub fn aeron_publication_async_add_destination(
        pending: *mut *mut Async,
        client: *mut Aeron,
        publication: *mut Publication,
        uri: *const c_char,
    ) -> c_int;
    pub fn aeron_publication_async_destination_poll(pending: *mut Async) -> c_int;
    pub fn aeron_publication_close(
        publication: *mut Publication,
        on_complete: NoHandler,
        clientd: *mut c_void,
    ) -> c_int;

    pub fn aeron_exclusive_publication_offer(
        publication: *mut ExclusivePublication,
        buffer: *const u8,
        length: usize,
        reserved_value_supplier: NoHandler,
        clientd: *mut c_void,
    ) -> i64;
    pub fn aeron_exclusive_publication_try_claim(
        publication: *mut ExclusivePublication,
        length: usize,
        claim: *mut BufferClaim,
    ) -> i64;
    pub fn aeron_exclusive_publication_is_closed(publication: *mut ExclusivePublication) -> bool;
    pub fn aeron_exclusive_publication_is_connected(publication: *mut ExclusivePublication)
    -> bool;
    pub fn aeron_exclusive_publication_position(publication: *mut ExclusivePublication) -> i64;
    pub fn aeron_exclusive_publication_position_limit(
        publication: *mut ExclusivePublication,
    ) -> i64;
    pub fn aeron_exclusive_publication_constants(
        publication: *mut ExclusivePublication,
        constants: *mut PublicationConstants,
    ) -> c_int;
    pub fn aeron_exclusive_publication_async_add_destination(
        pending: *mut *mut Async,
        client: *mut Aeron,
        publication: *mut ExclusivePublication,
        uri: *const c_char,
    ) -> c_int;
    pub fn aeron_exclusive_publication_async_destination_poll(pending: *mut Async) -> c_int;
    pub fn aeron_exclusive_publication_close(
        publication: *mut ExclusivePublication,
        on_complete: NoHandler,
        clientd: *mut c_void,
    ) -> c_int;

    pub fn aeron_buffer_claim_commit(claim: *mut BufferClaim) -> c_int;
    pub fn aeron_buffer_claim_abort(claim: *mut BufferClaim) -> c_int;

    pub fn aeron_header_values(header: *mut Header, values: *mut HeaderValues) -> c_int;
    pub fn aeron_header_position(header: *mut Header) -> i64;

    pub fn aeron_subscription_poll(
        subscription: *mut Subscription,
        handler: FragmentHandler,
        clientd: *mut c_void,
        fragment_limit: usize,
    ) -> c_int;
    pub fn aeron_subscription_is_connected(subscription: *mut Subscription) -> bool;
    pub fn aeron_subscription_is_closed(subscription: *mut Subscription) -> bool;
    pub fn aeron_subscription_image_count(subscription: *mut Subscription) -> c_int;
    pub fn aeron_subscription_for_each_image(
        subscription: *mut Subscription,
        handler: ImageHandler,
        clientd: *mut c_void,
    );
    pub fn aeron_subscription_resolved_endpoint(
        subscription: *mut Subscription,
        address: *mut c_char,
        length: usize,
    ) -> c_int;
    pub fn aeron_subscription_close(
        subscription: *mut Subscription,
        on_complete: NoHandler,
        clientd: *mut c_void,
    ) -> c_int;

    pub fn aeron_image_constants(image: *mut Image, constants: *mut ImageConstants) -> c_int;
    pub fn aeron_image_position(image: *mut Image) -> i64;
    pub fn aeron_image_is_end_of_stream(image: *mut Image) -> bool;
    pub fn aeron_image_is_closed(image: *mut Image) -> bool;

    pub fn aeron_fragment_assembler_create(
        assembler: *mut *mut Assembler,
        handler: FragmentHandler,
        clientd: *mut c_void,
    ) -> c_int;
    pub fn aeron_fragment_assembler_delete(assembler: *mut Assembler) -> c_int;

    pub fn aeron_fragment_assembler_handler(
        assembler: *mut c_void,
        buffer: *const u8,
        length: usize,
        header: *mut Header,
    );

    pub fn aeron_counters_reader(client: *mut Aeron) -> *mut CountersReader;
    pub fn aeron_counters_reader_foreach_counter(
        reader: *mut CountersReader,
        handler: CounterHandler,
        clientd: *mut c_void,
    );

    pub fn aeron_driver_context_init(context: *mut *mut DriverContext) -> c_int;
    pub fn aeron_driver_context_close(context: *mut DriverContext) -> c_int;
    pub fn aeron_driver_init(driver: *mut *mut Driver, context: *mut DriverContext) -> c_int;
    pub fn aeron_driver_start(driver: *mut Driver, manual_main_loop: bool) -> c_int;
    pub fn aeron_driver_main_do_work(driver: *mut Driver) -> c_int;
    pub fn aeron_driver_close(driver: *mut Driver) -> c_int;
    pub fn aeron_is_driver_active(
        folder: *const c_char,
        timeout_ms: i64,
        log: extern "C" fn(*const c_char),
    ) -> bool;
}

/// A setting of the driver: a number, or a text that Aeron copies.
// SAFETY: a type; each call through it has a separate unsafe block.
pub type Set<T> = unsafe extern "C" fn(*mut DriverContext, T) -> c_int;

#[cfg(test)]
// SAFETY: the signatures are those of `aeronmd.h`.
unsafe extern "C" {
    pub fn aeron_driver_context_get_network_publication_max_messages_per_send(
        context: *mut DriverContext,
    ) -> u32;
    pub fn aeron_driver_context_get_sender_io_vector_capacity(context: *mut DriverContext) -> u32;
    pub fn aeron_driver_context_get_receiver_io_vector_capacity(context: *mut DriverContext)
    -> u32;
}

macro_rules! settings {
    ($($kind:ty: $($name:ident),* ;)*) => {
        // SAFETY: the signatures are those of `aeronmd.h`.
        unsafe extern "C" {
            $($(pub fn $name(context: *mut DriverContext, value: $kind) -> c_int;)*)*
        }
    };
}

settings! {
    *const c_char:
        aeron_driver_context_set_dir,
        aeron_driver_context_set_shared_idle_strategy_init_args,
        aeron_driver_context_set_shared_idle_strategy;
    bool:
        aeron_driver_context_set_dir_delete_on_start,
        aeron_driver_context_set_dir_delete_on_shutdown,
        aeron_driver_context_set_dir_warn_if_exists,
        aeron_driver_context_set_print_configuration,
        aeron_driver_context_set_term_buffer_sparse_file,
        aeron_driver_context_set_perform_storage_checks,
        aeron_driver_context_set_reliable_stream,
        aeron_driver_context_set_tether_subscriptions;
    usize:
        aeron_driver_context_set_counters_buffer_length,
        aeron_driver_context_set_term_buffer_length,
        aeron_driver_context_set_ipc_term_buffer_length,
        aeron_driver_context_set_ipc_publication_term_window_length,
        aeron_driver_context_set_mtu_length,
        aeron_driver_context_set_ipc_mtu_length,
        aeron_driver_context_set_socket_so_rcvbuf,
        aeron_driver_context_set_socket_so_sndbuf,
        aeron_driver_context_set_rcv_initial_window_length,
        aeron_driver_context_set_nak_multicast_group_size;
    u32:
        aeron_driver_context_set_network_publication_max_messages_per_send,
        aeron_driver_context_set_sender_io_vector_capacity,
        aeron_driver_context_set_receiver_io_vector_capacity;
    u64:
        aeron_driver_context_set_driver_timeout_ms,
        aeron_driver_context_set_client_liveness_timeout_ns,
        aeron_driver_context_set_image_liveness_timeout_ns,
        aeron_driver_context_set_publication_unblock_timeout_ns,
        aeron_driver_context_set_publication_linger_timeout_ns,
        aeron_driver_context_set_untethered_window_limit_timeout_ns,
        aeron_driver_context_set_untethered_linger_timeout_ns,
        aeron_driver_context_set_untethered_resting_timeout_ns,
        aeron_driver_context_set_low_file_store_warning_threshold,
        aeron_driver_context_set_nak_multicast_max_backoff_ns;
    i32:
        aeron_driver_context_set_threading_mode,
        aeron_driver_context_set_conductor_cpu_affinity,
        aeron_driver_context_set_sender_cpu_affinity,
        aeron_driver_context_set_receiver_cpu_affinity;
}
