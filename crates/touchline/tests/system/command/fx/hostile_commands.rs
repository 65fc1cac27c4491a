//! Commands of the desk that are hostile or wrong, over the rings of a running engine: each is one line of the log and one
//! answer, the journal has its bytes, and no order is sent for it.

use super::full_disk::logged;
use super::live::end;
use super::scripted_bank::ScriptedBank;
use super::trade::Market;
use super::trade_hostile::{ENGINE, assert_lines, lines, open, order};
use crate::command::until;
use touchline_fx_desk::records;
use touchline_fx_desk::ring_name;
use touchline_fx_events::command::{Command, Order};
use touchline_fx_events::encoding::Entry;
use touchline_lab::bank::scripted::value;
use touchline_transport::boot_ns;
use touchline_transport::bus::{END_OF_BATCH, Layout, Lock, Publication, Root};
use touchline_types::{Id, Side};

/// Clients with limits of their own.
const CLIENTS: &str = "\n[[clients]]\nname = \"guest\"\nmay = [\"send\"]\nmax_order = 5000\n\
                       \n[[clients]]\nname = \"fast\"\nmay = [\"send\"]\nmax_commands_per_s = 1\n";
const SECOND_NS: u64 = 1_000_000_000;
/// Commands in a burst of the client with a rate.
const BURST: u64 = 10;

/// A parent that buys at the market.
fn parent(id: &str, quantity: i64) -> Vec<u8> {
    let name = |text: &str| Id::lossy(text.as_bytes());
    let order = Order::new(name(id), name("EUR/USD"), Side::Bid, quantity);
    encoded(&Command::Parent(order))
}

fn encoded(command: &Command) -> Vec<u8> {
    let mut bytes = Vec::new();
    command.encode(&mut bytes);
    bytes
}

/// A client's ring, for any bytes.
struct Ring(Publication);

impl Ring {
    fn open(root: &Root, client: &str) -> Ring {
        let layout = Layout {
            ring_bytes: 65_536,
            message_bytes_min: 512,
            schema: 901,
            tables: [],
            lossless: None,
            huge_pages: false,
            lock: Lock::No,
        };
        let opened = Publication::open(root, &ring_name("fx-run", client), &layout);
        let (publication, []) = opened.expect("a ring of ours");
        Ring(publication)
    }

    fn send(&mut self, request: u64, command: &[u8]) {
        let message = [&request.to_le_bytes(), command].concat();
        self.0.stage(message.len(), |frame| {
            frame.put(message.as_slice());
            frame.finish();
        });
        self.0.release(END_OF_BATCH);
    }
}

/// A command that was sent, and the reason of its refusal, if one is expected.
struct Sent {
    request: u64,
    bytes: Vec<u8>,
    refused: Option<&'static str>,
}

/// Everything that a client should not send, and one command that it may.
fn commands() -> Vec<Sent> {
    let now_ns = boot_ns();
    let sent = |request, bytes: Vec<u8>, refused| Sent {
        request,
        bytes,
        refused,
    };
    let cancel = encoded(&Command::Cancel {
        id: Id::lossy(b"H2"),
    });
    let cut = parent("H6", 2_000)[..20].to_vec();
    vec![
        sent(now_ns - 3 * SECOND_NS, parent("H0", 2_000), Some("too_old")),
        sent(
            now_ns + 60 * SECOND_NS,
            parent("H1", 2_000),
            Some("from_the_future"),
        ),
        sent(now_ns, parent("H2", 2_000), None),
        sent(now_ns, parent("H3", 2_000), Some("replayed")),
        sent(now_ns + 1, cut, Some("malformed")),
        sent(
            now_ns + 2,
            b"{\"op\":\"kill\"}".to_vec(),
            Some("other_version"),
        ),
        sent(now_ns + 3, parent("H4", 6_000), Some("client_order_qty")),
        sent(now_ns + 4, cancel, Some("not_allowed")),
        sent(0, parent("H5", 2_000), Some("malformed")),
    ]
}

/// Values, each with the number of its command.
type Numbered<T> = Vec<(u64, T)>;

/// Commands of a client as the journal has them, and its answers with number and reason.
fn journaled(market: &Market, of: &str) -> (Numbered<Vec<u8>>, Numbered<String>) {
    let (mut commands, mut answers) = (Vec::new(), Vec::new());
    let read = records::read(
        &market.desk.path("fx/journal"),
        |_, _, _, entry, _| match entry {
            Entry::Command {
                request,
                client,
                bytes,
                ..
            } if client == of => commands.push((request, bytes.to_owned())),
            Entry::Answer(answer) if answer.client == of => {
                answers.push((answer.request, answer.reason.unwrap_or("").to_owned()));
            }
            _ => {}
        },
    );
    read.expect("a journal");
    (commands, answers)
}

/// Waits for an order of this parent; the parents of the orders before it.
fn order_of(bank: &ScriptedBank, parent: &str) -> Vec<String> {
    let mut before = Vec::new();
    loop {
        let order = bank.next("D");
        let id = value(&order, 11);
        let found = id.split('-').nth(1).expect("a parent in the ClOrdID");
        if found == parent {
            return before;
        }
        before.push(found.to_owned());
    }
}

/// Each refused command gives one line with its reason, one answer, and its bytes in the journal, up to the client's rate; only
/// accepted commands are traded.
#[test]
fn refused_commands_are_told_answered_and_journaled_and_make_no_order() {
    let (market, bank) = open("fx-commands");
    let config = market.desk.read("fx/run.toml");
    market.desk.write("fx/run.toml", config + CLIENTS);
    let engine = logged(&market.desk, ENGINE, "engine");
    order(&market, &bank);
    let root = Root::at(market.desk.path("buses"));
    let (mut guest, mut fast) = (Ring::open(&root, "guest"), Ring::open(&root, "fast"));
    let commands = commands();
    for Sent { request, bytes, .. } in &commands {
        guest.send(*request, bytes);
    }
    let refused = commands.iter().filter(|sent| sent.refused.is_some());
    let refused = refused.count();
    until("a line for each refused command", || {
        lines(&market, &["by=guest"]) == refused
    });
    let first_ns = boot_ns();
    for number in 0..BURST {
        fast.send(first_ns + number, &parent(&format!("R{number}"), 2_000));
    }
    until("a refused command", || lines(&market, &["by=fast"]) > 0);
    guest.send(boot_ns(), &parent("H9", 2_000));
    let traded = order_of(&bank, "H9");
    end(engine);

    let (journaled_bytes, answers) = journaled(&market, "guest");
    for Sent {
        request,
        bytes,
        refused,
    } in &commands
    {
        // A number from the future would refuse all others until then: the journal does not keep it.
        let kept = match refused {
            Some("from_the_future") => 0,
            _ => *request,
        };
        let is_it = |(other, of): &&(u64, Vec<u8>)| (*other, of) == (kept, bytes);
        let found = journaled_bytes.iter().filter(is_it);
        assert_eq!(found.count(), 1, "{bytes:?}");
        let reason = refused.unwrap_or("");
        let is_its = |(other, why): &&(u64, String)| other == request && why == reason;
        assert_eq!(
            answers.iter().filter(is_its).count(),
            1,
            "{bytes:?}: {answers:?}"
        );
        let cause = match reason {
            "client_order_qty" => ": max_order of client guest is 5000",
            "other_version" => {
                ": commands of version 1 are read, this one begins with byte 123; send it with the touchline of the engine's release"
            }
            _ => "",
        };
        let told = format!("text=\"command of guest refused: {reason}{cause}\"");
        let told = ["WARN fx_alarm bus=fx-run reason=refused by=guest ", &told];
        let same = commands.iter().filter(|other| other.refused == *refused);
        let expected = refused.map_or(0, |_| same.count());
        assert_lines(&market, &told, expected);
    }
    // The guest's last command was accepted.
    assert_eq!(
        (journaled_bytes.len(), answers.len()),
        (commands.len() + 1, commands.len() + 1)
    );

    let (journaled_bytes, answers) = journaled(&market, "fast");
    let accepted = answers.iter().filter(|(_, reason)| reason.is_empty());
    let accepted: Vec<u64> = accepted.map(|(request, _)| request - first_ns).collect();
    let refused = answers
        .iter()
        .filter(|(_, reason)| reason == "rate")
        .count();
    // Of the refused commands of a second the journal has as many as the rate; the others are counted.
    assert_eq!(accepted.len() + refused, answers.len(), "{answers:?}");
    assert_eq!(journaled_bytes.len(), answers.len());
    assert!(accepted[0] == 0 && refused > 0, "{answers:?}");
    let told = [
        "reason=refused by=fast ",
        "refused: rate: max_commands_per_s of client fast is 1",
    ];
    assert_lines(&market, &told, refused);

    let mut may_trade: Vec<String> = accepted.iter().map(|number| format!("R{number}")).collect();
    may_trade.push("H2".to_owned());
    let hostile = traded.iter().filter(|parent| {
        let is_ours = parent.starts_with('H') || parent.starts_with('R');
        is_ours && !may_trade.contains(parent)
    });
    assert_eq!(hostile.collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(traded.iter().any(|parent| parent == "H2"), "{traded:?}");
}
