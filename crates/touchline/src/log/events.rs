//! Table of all log events. Names and fields are an interface for operators and programs; `touchline help events` prints
//! the table.

/// Severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The process ends, or cannot do its task.
    Error,
    /// Data was lost or is not trusted, or may be soon.
    Warn,
    /// The state changed as expected.
    Info,
}

/// Whether repeated lines of an event are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Every line is written: a change of state.
    Each,
    /// At most one line a second, for each link, recorded bus or line that the event names, with the number of lines left out (`repeated`).
    Limited,
}

/// Event of a log line.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    /// Name to search for.
    pub name: &'static str,
    /// Severity.
    pub level: Level,
    /// Whether repeated lines are left out.
    pub rate: Rate,
    /// Fields of its lines beside those of every line. `fix` is [`Event::action`].
    pub fields: &'static [&'static str],
    /// What happened.
    pub meaning: &'static str,
    /// The operator's action.
    pub action: &'static str,
}

impl Event {
    /// Fix in the event's lines, if they have one.
    pub fn fix(&self) -> Option<&'static str> {
        self.fields.contains(&"fix").then_some(self.action)
    }

    /// Whether it is the last line of a process, behind all that were left out.
    pub fn is_end(&self) -> bool {
        [STOPPED, RECORD_STOPPED, FAILED].contains(self)
    }
}

/// The event of this name.
pub fn named(name: &str) -> &'static Event {
    let found = EVENTS.iter().find(|event| event.name == name);
    found.expect("an event is in the table")
}

macro_rules! events {
    ($($ident:ident = $level:ident $rate:ident $name:literal [$($field:ident)*] $meaning:literal $action:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $ident: Event = Event {
                name: $name,
                level: Level::$level,
                rate: Rate::$rate,
                fields: &[$(stringify!($field)),*],
                meaning: $meaning,
                action: $action,
            };
        )*

        /// Every event.
        pub const EVENTS: &[&Event] = &[$(&$ident),*];
    };
}

events! {
    // Start and end.
    STARTED = Info Each "started" [version commit profile]
        "the first line of each log: the build that writes it"
        "nothing";
    LISTENING = Info Each "listening" [groups interface receive generation]
        "the multicast groups are joined and the bus is open"
        "nothing";
    CONNECTING = Info Each "connecting" [hosts generation]
        "the bus is open and the first connection to the venue starts"
        "nothing";
    SOCKET_WARNING = Warn Each "socket_warning" [reason]
        "the kernel did not grant a configured socket option"
        "follow reason";
    BUS_WARNING = Warn Each "bus_warning" [reason]
        "the memory of the bus is not as configured: not locked, or without huge pages"
        "follow reason";
    STOPPED = Info Each "stopped" []
        "the process ends on request; books and counters stay on the bus, marked as stale"
        "nothing";
    FAILED = Error Each "failed" [status reason]
        "the process ends with this exit status"
        "follow reason; after status 1 another try may succeed, after status 2 it fails the same way";

    // Readiness.
    READY = Info Each "ready" [books]
        "every definition was received and every book is live"
        "nothing";
    NOT_READY = Warn Each "not_ready" [live books]
        "some books are not live: after a gap, a reset, a silence or a lost connection"
        "see the preceding lines; ready follows when the books are recovered";
    STALL = Warn Limited "stall" [count fix]
        "the process was stopped for longer than a quarter of the liveness timeout; books were stale until it caught up"
        "give the thread a CPU of its own (loop_cpu_affinity), and see touchline doctor";

    // Packets of a multicast channel.
    JOINED = Info Each "joined" [missed action]
        "reception has started in mid-session, behind this number of packets; books are live when they are recovered"
        "nothing: ready follows";
    GAP = Warn Limited "gap" [line first last packets gaps action]
        "sequence gap: packets first to last were lost on both lines; gaps is the number of gaps since the last line, packets their sum, and first and last are those of the newest"
        "nothing for one gap: snapshots recover the books; for many, compare with packets_dropped_kernel on this host, then call the network's operator";
    COPIES_DIFFER = Warn Limited "copies_differ" [line source number packets action]
        "both lines brought a packet with this number, sending time and length, and different bytes: one of the two is forged or damaged, and it is not known which; every book of the channel is recovered, as after a gap. line and source are those of the later copy, packets the number of such packets since the last line"
        "find out who else sends to the channel's groups and what changes packets on the way of each line; capture both lines and compare the two packets";
    GAP_FILLED = Info Limited "gap_filled" [packets source]
        "packets lost on both lines came from TCP replay; no book was lost"
        "nothing";
    LINE_SILENT = Warn Each "line_silent" [line fix]
        "one line sent nothing for five seconds while the other line did: no redundancy"
        "look at the network path of this line; a loss on the other line is a gap now";
    LINE_BACK = Info Each "line_back" [line]
        "a silent line sends again"
        "nothing";
    CHANNEL_SILENT = Warn Each "channel_silent" [count limit_ms fix]
        "no packet of any group of the channel came for limit_ms, snapshots and definitions included: the exchange or the network is gone, and books are stale"
        "look at the interface and its multicast groups on this host (touchline doctor --interface NAME), then ask the network and the venue";
    CHANNEL_BACK = Info Each "channel_back" []
        "a packet showed that the silent channel sends again; books are live, or recovered after the gap that follows"
        "nothing";
    FEED_TIMEOUT = Warn Limited "feed_timeout" [count]
        "no packet of the incremental feed came on either line for stale_after_ms, or for silence_limit_ms while snapshots showed that the venue sent some; or nothing came from the venue of a FIX session: books are stale"
        "look at the venue's status and trading hours, then at the network; ready follows when packets come again";
    SEQUENCE_RESET = Warn Limited "sequence_reset" [count]
        "the venue's packet numbers started again at 1 (weekly reset, failover): books are empty until it sends them again"
        "nothing at the venue's weekly reset; else ask the venue";
    CHANNEL_RESET = Warn Limited "channel_reset" [count]
        "the venue emptied every book of the channel (template 4)"
        "nothing: the venue sends the books again";
    KERNEL_DROP = Warn Limited "kernel_drop" [packets fix]
        "the kernel dropped packets because the receive buffer of a socket was full"
        "raise receive_buffer_bytes and net.core.rmem_max, or give the thread a CPU of its own";
    FOREIGN_SOURCE = Warn Limited "foreign_source" [packets fix]
        "packets came from a host that the venue does not publish; they were dropped"
        "find out who sends to the channel's groups; sources = \"any\" accepts packets from every host";
    INVALID_PACKET = Warn Limited "invalid_packet" [packets]
        "packets broke the packet rules and count as not received"
        "compare config.xml with the venue's current one; capture the packets and run replay --print";
    TRUNCATED_PACKET = Warn Limited "truncated_packet" [packets fix]
        "packets were longer than packet_bytes_max and were dropped"
        "raise packet_bytes_max";
    OUT_OF_WINDOW = Warn Limited "out_of_window" [packets]
        "packets were far ahead of the channel and waited for a second one to confirm the jump"
        "nothing for a few; for many, see whether another channel uses the same groups";
    IMPLAUSIBLE_PACKET = Warn Limited "implausible_packet" [packets]
        "packets contradicted what was processed, by number or by sending time; they were dropped"
        "check whether another host replays or forges packets on the channel's groups";
    GROUP_LOST = Warn Each "group_lost" [groups fix]
        "multicast groups are not joined because their interface is gone"
        "bring the interface back (ip link); the groups are joined again by themselves";
    XDP_DETACHED = Warn Each "xdp_detached" []
        "packets come from sockets although AF_XDP is configured: its program was refused at the start, or is gone with its interface"
        "refused at the start (see socket_warning): remove the cause and restart the gateway; gone: the gateway tries again each second to minute; touchline doctor --interface";
    GROUP_REJOINED = Info Limited "group_rejoined" [groups]
        "the interface is back and the groups are joined again"
        "nothing";
    RECEIVE_ERROR = Warn Limited "receive_error" [count fix]
        "a receive call failed on a working socket, for example because the interface is down"
        "look at the interface: ip -s link";

    // TCP replay of a multicast channel.
    REPLAY_REJECTED = Warn Limited "replay_rejected" [count fix]
        "the venue rejected the logon or a request for TCP replay; snapshots recover the books"
        "check user and password of [venue.replay], and the permissions of the account";
    REPLAY_UNREACHABLE = Warn Limited "replay_unreachable" [count fix]
        "a host for TCP replay cannot be reached; snapshots recover the books"
        "check hosts of [venue.replay] and the firewall";
    REPLAY_BUDGET = Warn Limited "replay_budget" [count fix]
        "the connections for TCP replay of this day are used up; snapshots recover the books until tomorrow (UTC)"
        "raise requests_per_day_max if the venue allows it, and find the cause of the losses";

    CLOCK_STEP = Warn Each "clock_step" [step_ms]
        "the wall clock of this host was set by more than 100 ms; ages, timeouts and open FIX sessions do not follow it, receive times do; a composer uses the quotes of each bank again when they are new"
        "check chronyd or ntpd of this host";

    // A FIX session.
    CONNECTED = Info Limited "connected" [host]
        "a connection to the venue was made; the Logon follows"
        "nothing";
    LOGON = Info Limited "logon" [count host]
        "the session is logged on"
        "nothing";
    CONNECTION_FAILED = Warn Limited "connection_failed" [host reason retry_ms]
        "a connection failed: connection refused, timed out, name not found, or TLS"
        "check hosts, DNS, the firewall and whether the venue is open; the next attempt follows by itself";
    CONNECTION_LOST = Warn Limited "connection_lost" [host reason retry_ms]
        "the venue or the network ended the connection without a Logout: connection reset or closed; books are stale"
        "nothing once; if it repeats, ask the venue and look at the network between";
    CONNECTION_CLOSED = Warn Limited "connection_closed" [host reason retry_ms]
        "the session closed the connection: a logout of either side, a Logon refused, or market data that cannot be trusted"
        "follow reason: correct credentials or CompIDs, or ask the venue; the next connection follows by itself";
    SESSION_CLOSED = Info Each "session_closed" [until]
        "the venue's session is closed by its hours: there is no connection until then, and its books are not live"
        "nothing";
    FAILURE_REPEATED = Error Each "failure_repeated" [host reason count message]
        "the connection, or a book of it, has failed count times in a row for the same reason; message is what the venue sent last; the pauses between the attempts grow to a minute or more"
        "follow reason, and show message to the venue; it is written for the third failure, and each time that there are twice as many";
    SEQUENCE_GAP = Warn Limited "sequence_gap" [count]
        "sequence gap of the session: messages of the venue are missing and a ResendRequest was sent"
        "nothing once; if it repeats, another process may use the same CompIDs";
    REQUEST_REJECTED = Warn Limited "request_rejected" [count fix]
        "the venue rejected a request for market data (35=Y)"
        "check symbols and the permissions of the account";
    REJECTION = Warn Limited "rejection" [message]
        "the venue's message that rejects a request or a message of the gateway (35=Y, AG, 3, j), with its reason: MDReqRejReason (281), Text (58) and others"
        "follow the reason in message";
    REQUEST_REFUSED = Warn Limited "request_refused" [count fix]
        "the venue rejected a message of the gateway (35=3, 35=j)"
        "check request_fields and logon_fields against the venue's specification";
    BOOK_INCONSISTENT = Warn Limited "book_inconsistent" [count]
        "an update did not fit its book; the book was requested again"
        "nothing once; if it repeats, record the session and ask the venue";
    INSTRUMENT_CHANGED = Warn Limited "instrument_changed" [count]
        "the venue defined an instrument again with another currency, type or contract; its book was requested again"
        "make sure that subscribers use the new definition";
    INSTRUMENT_REFUSED = Warn Limited "instrument_refused" [instruments fix]
        "selected instruments were rejected: a name over 32 bytes, or more than instruments_max"
        "raise instruments_max, or select fewer symbols";

    // Limits.
    QUEUE_FULL = Warn Limited "queue_full" [count fix]
        "the recovery queue was full and was dropped; later snapshots recover the books"
        "raise queue_entries_max";
    INSTRUMENTS_FULL = Warn Limited "instruments_full" [count fix]
        "entries or definitions beyond instruments_max were dropped: those instruments have no book"
        "raise instruments_max";
    ORDERS_FULL = Warn Limited "orders_full" [count fix]
        "the limit of orders was reached and the order book of an instrument was dropped"
        "raise orders_max";
    IMAGE_REFUSED = Warn Limited "image_refused" [count fix]
        "an instrument has no snapshot slot on the bus: beyond the limit, or /dev/shm is full"
        "free memory (df -h /dev/shm, touchline stat --prune, a smaller ring_bytes), or raise instruments_max";
    READER_LOST = Warn Each "reader_lost" [name place reason count fix]
        "the publisher of a lossless bus does not wait for this reader any more (the last of count): it died, or was slower than wait_ms of [publication.lossless] allows (too_slow) and may be overrun; - is a reader without a name, -@UID one of another user"
        "start the reader again; or make it faster, or raise wait_ms or ring_bytes";
    CURSORS_RENEWED = Warn Limited "cursors_renewed" [count fix]
        "another process changed the length of the file cursors of a lossless bus; the publisher made it again, and its readers move there within 100 ms: until then it does not wait for them"
        "find the process of the gateway's user that truncates or extends files below the directory of buses, and end it";

    // `touchline metrics`.
    SERVING = Info Each "serving" [address directory]
        "touchline metrics answers on this address"
        "nothing";
    ADDRESS_EXPOSED = Warn Each "address_exposed" [address fix]
        "the address can be reached from other hosts, without a password"
        "listen on 127.0.0.1, or behind a proxy that authenticates";

    // `touchline fx`.
    FX_STARTED = Info Each "fx_started" [what]
        "the trading engine has restored its journal, and its order sessions start to connect"
        "nothing";
    FX_SETTING = Warn Each "fx_setting" [what]
        "a setting of the trading engine has a word of an earlier version; it is read as what says"
        "write the new word";
    FX_SESSION = Info Each "fx_session" [reason bank text]
        "an order session of the trading engine is up (session_up), has logged out (logout), is closed by its hours (session_closed), or requests messages that the bank sent while there was no connection (sequence_gap); or commands of before the start found no engine (commands_missed)"
        "nothing";
    FX_STANDBY = Info Each "fx_standby" [what]
        "a standby follows the journal of the active trading engine, or was promoted"
        "nothing";
    FX_COPY = Info Each "fx_copy" [what]
        "the trading engine continues a copied journal that has everything that its source had as of its last status"
        "nothing";
    FX_COPY_INCOMPLETE = Warn Each "fx_copy_incomplete" [what]
        "the trading engine continues a copied journal that lacks records of its source, or whose source was never heard"
        "compare orders and positions with every bank, whose orders the engine asks for; look for the other host's journal";
    FX_ALARM = Warn Each "fx_alarm" [reason bank order by retry_ms text]
        "the trading engine needs a person: a session was lost or cannot connect, messages of a bank were lost, garbled or repeated, an outcome is unknown, a trade was refused, reversed or corrected, the kill switch was set, a command or the ring of a client was refused, or the journal cannot be written"
        "read text; docs/fx/operate.md has the answer to each reason";
    FX_BACK_OFFICE = Info Each "fx_back_office" [what]
        "a client of the drop copy logged on or off, or a connection was refused"
        "refused: read what; compare CompIDs, password, addresses and TLS with the section [report]";
    FX_COMPOSING = Info Each "fx_composing" [pairs banks]
        "the bus of the composite is open, and the buses of the banks are read as they appear"
        "nothing";
    FX_QUOTES_REFUSED = Warn Each "fx_quotes_refused" [bank text]
        "the gateway of a bank publishes bands where kind is sweep, or amounts where it is full: the composite has no quotes of it"
        "correct stream of the gateway or kind of the composer as text says, and restart it";
    SIM_STARTED = Info Each "sim_started" [what]
        "the simulator sends or listens"
        "nothing";
    CLIENT_CONNECTED = Info Limited "client_connected" [count]
        "counterparties connected to the simulator"
        "nothing";
    CLIENT_LOGON = Info Limited "client_logon" [count]
        "counterparties logged on to the simulator"
        "nothing";
    CLIENT_REFUSED = Warn Limited "client_refused" [count fix]
        "connections or Logons were rejected: an address that is not allowed, wrong names or secrets, or a pause after failed Logons"
        "check --from, CompIDs and credentials; an address with failed Logons waits up to a minute";

    // Copies of a journal on other hosts.
    JOURNAL_SEND_CONNECTED = Info Each "journal_send_connected" [copy position]
        "a copy connected and continues at this position"
        "nothing";
    JOURNAL_SEND_LOST = Warn Each "journal_send_lost" [copy reason]
        "the connection of a copy ended: what is written from now on is not on that host"
        "check journal receive on that host, and the network; it connects again by itself";
    JOURNAL_SEND_REFUSED = Warn Limited "journal_send_refused" [copy reason]
        "a connection was refused, or ended before it was that of a copy"
        "see reason; block foreign connections in the firewall";
    JOURNAL_SEND_BEHIND = Warn Each "journal_send_behind" [copy lag_bytes]
        "a copy fell behind: more than 1 MiB of the journal is not on its disk"
        "check disk and processor of that host, and the network; after the start of a copy nothing";
    JOURNAL_SEND_CAUGHT_UP = Info Each "journal_send_caught_up" [copy lag_bytes]
        "a copy that was behind lacks less than 256 KiB"
        "nothing";
    JOURNAL_RECEIVE_CONNECTED = Info Each "journal_receive_connected" [source position source_position]
        "the source was heard; the copy is at position, and the journal at source_position"
        "nothing";
    JOURNAL_RECEIVE_LOST = Warn Limited "journal_receive_lost" [source reason retry_ms]
        "the connection to the source was lost, or cannot be made; a line for each new reason, while it is tried again every retry_ms"
        "check journal send on the source's host, --allow and certificates there, and the network";
    JOURNAL_RECEIVE_BEHIND = Warn Each "journal_receive_behind" [source lag_bytes]
        "the copy fell behind: it lacks more than 1 MiB of the journal"
        "check disk and processor of this host, and the network; after the start of a copy nothing";
    JOURNAL_RECEIVE_CAUGHT_UP = Info Each "journal_receive_caught_up" [source lag_bytes]
        "the copy was behind and lacks less than 256 KiB"
        "nothing";

    // Links to other hosts (relay); `link` is from where to where.
    RELAY_STARTED = Info Each "relay_started" [link]
        "a link was started"
        "nothing";
    RELAY_HEARTBEATS_RARE = Warn Each "relay_heartbeats_rare" [link heartbeat_ms]
        "receivers with the default link_timeout_ms (350) have stale books between the heartbeats of this link; once at start"
        "set heartbeat_ms to 100, or link_timeout_ms of every receiver to three heartbeats or more";
    RELAY_WAITING = Warn Each "relay_waiting" [link reason]
        "the bus to send does not exist yet, the relay that writes it has received no data yet, or its publisher has no counters yet, which say whose data it has; the relay checks four times a second"
        "start its gateway, or the sender of that relay";
    RELAY_SENDING = Info Each "relay_sending" [link epoch]
        "the bus is sent from now on; another epoch restarts the bus on every receiving host"
        "nothing";
    RELAY_SOURCE_DOWN = Warn Each "relay_source_down" [link]
        "the publisher of the sent bus has ended or is stalled: books are stale on every receiving host"
        "check the gateway that writes the bus";
    RELAY_SOURCE_BACK = Info Each "relay_source_back" [link]
        "the publisher of the sent bus is active again"
        "nothing";
    RELAY_OVERRUN = Warn Limited "relay_overrun" [link messages]
        "overrun of the relay on the bus: messages were lost before the link; all books are sent again"
        "give the relay a CPU of its own (cpu_affinity, wait = \"spin\"), or the bus a larger ring_bytes";
    RELAY_BACK_PRESSURE = Warn Limited "relay_back_pressure" [link lag_bytes]
        "the link has been full for a second: a receiver holds it, through fc=min, fc=tagged or a stopped reader of aeron:ipc; messages wait in the ring of the bus, and are lost when it is full"
        "restart or stop the receiver that relay_receiver_slow or relay_slow_receiver names, or a reader of aeron:ipc that stands still; remove fc=min";
    RELAY_AERON_WARNING = Warn Each "relay_aeron_warning" [link warning]
        "a limit of the host or a setting of the channel costs data or time on Aeron; once at start"
        "as the warning says: it ends with the fix";
    RELAY_AERON_ERROR = Warn Limited "relay_aeron_error" [link reason]
        "Aeron's client or driver reported an error; if the client is closed, the relay ends as well"
        "see reason; for a driver that has ended or a pause of the process start the relay again (systemd does)";
    RELAY_RECEIVER_CONNECTED = Info Each "relay_receiver_connected" [link receiver]
        "a receiver connected; it gets a refresh of every book"
        "nothing";
    RELAY_RECEIVER_GONE = Warn Each "relay_receiver_gone" [link receiver reason]
        "the connection of a receiver ended"
        "check the receiving host; it reconnects by itself";
    RELAY_RECEIVER_SLOW = Warn Limited "relay_receiver_slow" [link receiver queued_bytes behind_messages]
        "a receiver did not read and was disconnected with a full queue, or, on Aeron, is a second behind or sends no reports; other receivers are not affected"
        "check CPU and network of that host; it gets a refresh when it is back";
    RELAY_RECEIVER_HELD = Warn Limited "relay_receiver_held" [link receiver queued_ms]
        "the line to a receiver is slower than the market: its queue was dropped, and it gets the newest state each time it has caught up; at most once in ten seconds for a receiver"
        "a faster line, or fewer instruments on it; relay_receivers_held counts how often";
    RELAY_RECEIVER_REFUSED = Warn Limited "relay_receiver_refused" [link receiver reason]
        "a connection was rejected: no request or TLS handshake in time, another version, a failed TLS handshake, too many receivers, or requests without end"
        "see reason; block foreign connections in the firewall";
    RELAY_UP = Info Each "relay_up" [link]
        "the link is up: books are as reliable as on the sender's host"
        "nothing";
    RELAY_DOWN = Warn Each "relay_down" [link reason]
        "no batch arrives from the sender, its publisher has ended, or books are older than lag_ms_max (reason lag): books are stale"
        "check the sending relay and the network; the link recovers by itself; for lag see relay_lag_ns, and whether both ends have the same release";
    RELAY_STREAM = Info Each "relay_stream" [link source epoch]
        "a stream is received from its source; another epoch restarts the bus"
        "nothing";
    RELAY_GAP = Warn Limited "relay_gap" [link messages]
        "messages of the link were lost: books are gapped until they are refreshed"
        "nothing for one gap after a broken connection; for many, check the network";
    RELAY_CLOCK_STEP = Warn Each "relay_clock_step" [link step_ms]
        "the wall clock of this host was set by more than 100 ms; no age or timeout of the relay depends on it, relay_latency_ns does"
        "check chronyd or ntpd of this host";
    RELAY_RECOVERED = Info Limited "relay_recovered" [link]
        "a complete round of refreshes arrived: every book is complete"
        "nothing";
    RELAY_REFUSED = Warn Limited "relay_refused" [link batches reason]
        "batches, or requests of receivers, were rejected: another source, a second sender, too many hops, another version, or malformed"
        "compare source on both sides; for version install the same release on both; for hops search for a loop; for malformed search for other programs on the port";

    // Recorder of a tape (record).
    RECORD_STARTED = Info Each "record_started" [recorded_bus generation journal]
        "a bus is recorded from now on"
        "nothing";
    RECORD_LISTENING = Info Each "record_listening" [groups interface receive journal]
        "the multicast groups are joined, and their packets are recorded from now on"
        "nothing";
    RECORD_CONNECTING = Info Each "record_connecting" [hosts journal]
        "the session of a raw recording connects for the first time"
        "nothing";
    RECORD_CONNECTED = Info Each "record_connected" [host]
        "the bytes of this connection are recorded"
        "nothing";
    RECORD_DISCONNECTED = Warn Limited "record_disconnected" [host reason retry_ms]
        "the venue cannot be reached, or the connection has ended; the recorder connects again"
        "follow reason";
    RECORD_PACKETS_LOST = Warn Limited "record_packets_lost" [line packets]
        "the kernel dropped packets of a raw recording, which has a gap there"
        "give the recorder a processor of its own or a faster disk, or larger receive buffers (receive_buffer_bytes)";
    RECORD_WAITING = Warn Each "record_waiting" [recorded_bus reason]
        "the bus cannot be joined, at the start or when it was created again; the recorder tries again several times a second"
        "start its gateway, or follow reason";
    RECORD_NOT_WAITED_FOR = Warn Each "record_not_waited_for" [recorded_bus]
        "the present publisher of the bus does not wait for the recorder, which was started with --lossless: messages can be lost from here on, each loss as a gap of the tape"
        "make the bus lossless again ([publication.lossless]), or give it more readers_max, and restart its gateway";
    RECORD_OVERRUN = Warn Limited "record_overrun" [recorded_bus messages]
        "the publisher has overrun the recorder: the tape has a gap, and the books after it"
        "give the recorder a processor of its own or a faster disk, or a larger ring to the bus (ring_mb)";
    RECORD_SOURCE_DOWN = Warn Each "record_source_down" [recorded_bus]
        "the publisher of the bus has ended or is stalled: the tape says that its books are stale"
        "check the gateway that writes the bus";
    RECORD_SOURCE_BACK = Info Each "record_source_back" [recorded_bus]
        "the publisher of the bus works again"
        "nothing";
    RECORD_DISK = Warn Each "record_disk" [journal reason]
        "the tape has taken no record for a second: messages wait in the rings of the buses, and are overrun when these are full"
        "free space, or find what slows the disk";
    RECORD_DISK_BACK = Info Each "record_disk_back" [journal]
        "the tape takes records again"
        "nothing";
    RECORD_FAILED = Error Each "record_failed" [journal durable reason]
        "a write or a sync has failed, or the directory was removed: the recorder opens the tape again each second; messages wait in the rings of the buses, and are overrun when these are full"
        "follow reason; the tape is complete up to position durable, and what it lacks after that is a gap";
    RECORD_NOT_COMPRESSED = Warn Limited "record_not_compressed" [journal reason]
        "a closed segment stays as it is, and the recorder goes on; it tries again after a minute unless the segment is damaged"
        "follow reason";
    RECORD_NOT_INDEXED = Warn Limited "record_not_indexed" [journal reason]
        "a closed segment has no index: a search for a place reads it as a whole; the recorder goes on, and tries again after a minute"
        "follow reason";
    RECORD_NOT_REMOVED = Warn Limited "record_not_removed" [journal reason]
        "segments over keep_gb, keep_hours or free_gb cannot be removed; the recorder goes on"
        "follow reason";
    RECORD_STOPPED = Info Each "record_stopped" [messages gaps lost]
        "the recorder ends on request; the end of the tape is on the disk"
        "nothing";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn event_names_can_be_found_by_grep() {
        let mut names = BTreeSet::new();
        for event in EVENTS {
            assert!(names.insert(event.name), "{} stands twice", event.name);
            let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
            let is_word = |text: &str| !text.is_empty() && text.bytes().all(is_letter);
            for name in event.fields.iter().chain([&event.name]) {
                assert!(is_word(name), "{name}");
            }
            for reserved in ["time", "level", "event", "bus", "repeated"] {
                assert!(
                    !event.fields.contains(&reserved),
                    "{}: {reserved}",
                    event.name
                );
            }
            assert_eq!(named(event.name), *event);
        }
    }
}
