//! Messages of the order session: requests of a client, and the fields of a desk's answers.

use super::super::config::PairConfig;
use super::order::Order;
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Message, Precision, timestamp, write_timestamp};

/// Request of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// D.
    Order {
        id: String,
        symbol: String,
        is_buy: bool,
        quantity: i64,
        price: String,
        is_fok: bool,
        /// SettlDate (64), and TransactTime (60), nanoseconds since 1970.
        date: String,
        made_ns: u64,
    },
    /// F.
    Cancel { id: String, original: String },
    /// H.
    Status {
        id: String,
        request: String,
        /// Symbol (55) and side (54) of the question: an answer "unknown order" repeats them.
        about: [String; 2],
    },
    /// AF.
    MassStatus { request: String },
    /// Q.
    DontKnow,
    /// A malformed order.
    Malformed { id: String },
}

/// Content of a report.
#[derive(Debug, Clone, Copy)]
pub enum Answer<'a> {
    /// The current state: new, or the end of a hold.
    State,
    Fill {
        exec_id: &'a str,
        quantity: i64,
        price: i64,
    },
    Reject {
        reason: u32,
    },
    Canceled {
        request: &'a str,
    },
    Bust {
        exec_id: &'a str,
    },
    Correct {
        exec_id: &'a str,
        quantity: i64,
        price: i64,
    },
    /// Answer to a status request; that of a mass status has the number of reports, and whether it is the last.
    Status {
        request: &'a str,
        mass: Option<(usize, bool)>,
    },
}

impl Request {
    /// Reads a message; none for one that is not answered.
    pub fn read(message: &Message<'_>) -> Option<Request> {
        let text = |tag: u32| {
            let mut fields = message.fields().filter_map(Result::ok);
            let field = fields.find(|field| field.tag == tag)?;
            std::str::from_utf8(field.value).ok().map(str::to_owned)
        };
        let id = || text(11).unwrap_or_default();
        Some(match message.msg_type() {
            b"D" => {
                let order = || {
                    Some(Request::Order {
                        id: text(11)?,
                        symbol: text(55)?,
                        is_buy: text(54)? == "1",
                        quantity: text(38)?.parse().ok().filter(|quantity| *quantity > 0)?,
                        price: text(44)?,
                        is_fok: text(59)? == "4",
                        date: text(64).unwrap_or_default(),
                        made_ns: text(60)
                            .and_then(|time| timestamp(time.as_bytes()).ok())
                            .unwrap_or(0),
                    })
                };
                order().unwrap_or_else(|| Request::Malformed { id: id() })
            }
            b"F" => Request::Cancel {
                id: id(),
                original: text(41).unwrap_or_default(),
            },
            b"H" => Request::Status {
                id: id(),
                request: text(790).unwrap_or_default(),
                about: [55, 54].map(|tag| text(tag).unwrap_or_default()),
            },
            b"AF" => Request::MassStatus {
                request: text(584).unwrap_or_default(),
            },
            b"Q" => Request::DontKnow,
            _ => return None,
        })
    }
}

/// Fields of a message.
pub type Fields = Vec<(u32, String)>;

/// A price as ticks; none if it is not of the precision.
pub fn ticks(text: &str, precision: u8) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let missing = usize::from(precision).checked_sub(fraction.len())?;
    let digits = format!("{whole}{fraction}{}", "0".repeat(missing));
    digits.parse().ok().filter(|ticks| *ticks > 0)
}

/// The execution report of an order.
pub fn report(
    order: &Order,
    number: usize,
    pair: &PairConfig,
    exec_id: &str,
    answer: &Answer<'_>,
    at: ReceiveTime,
) -> Fields {
    let precision = pair.precision;
    let exec_type = match answer {
        Answer::State => char::from(order.status),
        Answer::Fill { .. } => 'F',
        Answer::Reject { .. } => '8',
        Answer::Canceled { .. } => '4',
        Answer::Bust { .. } => 'H',
        Answer::Correct { .. } => 'G',
        Answer::Status { .. } => 'I',
    };
    let leaves = match order.ended_ns {
        Some(_) => 0,
        None => order.quantity - order.cum,
    };
    let mut fields: Fields = vec![
        (37, format!("O{number}")),
        (17, exec_id.to_owned()),
        (150, exec_type.to_string()),
        (39, char::from(order.status).to_string()),
        (55, pair.symbol.clone()),
        (54, if order.is_buy { "1" } else { "2" }.to_owned()),
        (38, order.quantity.to_string()),
        (44, price(order.price, precision)),
        (151, leaves.to_string()),
        (14, order.cum.to_string()),
        (6, average(order, precision)),
        (60, time(at.wall_ns)),
    ];
    match answer {
        Answer::Canceled { request } => {
            fields.push((11, (*request).to_owned()));
            fields.push((41, order.id.clone()));
        }
        _ => fields.push((11, order.id.clone())),
    }
    add_answer(&mut fields, answer, precision);
    fields
}

/// Adds the fields that one kind of report has.
fn add_answer(fields: &mut Fields, answer: &Answer<'_>, precision: u8) {
    match answer {
        Answer::Fill {
            quantity,
            price: at,
            ..
        } => {
            fields.push((32, quantity.to_string()));
            fields.push((31, price(*at, precision)));
        }
        Answer::Reject { reason } => fields.push((103, reason.to_string())),
        Answer::Bust { exec_id } => fields.push((19, (*exec_id).to_owned())),
        Answer::Correct {
            exec_id,
            quantity,
            price: at,
        } => {
            fields.push((19, (*exec_id).to_owned()));
            fields.push((32, quantity.to_string()));
            fields.push((31, price(*at, precision)));
        }
        Answer::Status { request, mass } => match mass {
            None => fields.push((790, (*request).to_owned())),
            Some((all, is_last)) => {
                fields.push((584, (*request).to_owned()));
                fields.push((911, all.to_string()));
                fields.push((912, if *is_last { "Y" } else { "N" }.to_owned()));
            }
        },
        Answer::State | Answer::Canceled { .. } => {}
    }
}

/// "Unknown order", the answer to a question.
pub fn unknown(id: &str, request: &str, about: &[String; 2]) -> Fields {
    let mut fields = nothing(id);
    for (tag, said) in [55, 54].into_iter().zip(about) {
        let place = fields.iter_mut().find(|field| field.0 == tag);
        if let Some(field) = place.filter(|_| !said.is_empty()) {
            field.1.clone_from(said);
        }
    }
    fields.extend([(103, "5".to_owned()), (790, request.to_owned())]);
    fields
}

/// The answer to a mass status without orders.
pub fn no_orders(request: &str) -> Fields {
    let mut fields = nothing("NONE");
    fields.extend([
        (584, request.to_owned()),
        (911, "0".to_owned()),
        (912, "Y".to_owned()),
    ]);
    fields
}

fn nothing(id: &str) -> Fields {
    vec![
        (37, "NONE".to_owned()),
        (11, id.to_owned()),
        (17, "0".to_owned()),
        (150, "I".to_owned()),
        (39, "8".to_owned()),
        (55, "N/A".to_owned()),
        (54, "1".to_owned()),
        (151, "0".to_owned()),
        (14, "0".to_owned()),
        (6, "0".to_owned()),
    ]
}

/// The reject of an order that cannot be read.
pub fn malformed(id: &str, bank: &str) -> Fields {
    let mut fields = nothing(id);
    fields.retain(|(tag, _)| !matches!(tag, 17 | 150));
    fields.extend([
        (17, format!("{bank}-M{id}")),
        (150, "8".to_owned()),
        (103, "99".to_owned()),
        (58, "the order cannot be read".to_owned()),
    ]);
    fields
}

/// 9: too late, or no such order.
pub fn cancel_reject(id: &str, original: &str, status: u8, reason: u8) -> Fields {
    vec![
        (37, "NONE".to_owned()),
        (11, id.to_owned()),
        (41, original.to_owned()),
        (39, char::from(status).to_string()),
        (434, "1".to_owned()),
        (102, char::from(reason).to_string()),
    ]
}

fn price(ticks: i64, precision: u8) -> String {
    scaled(i128::from(ticks), precision)
}

fn average(order: &Order, precision: u8) -> String {
    match order.cum {
        0 => "0".to_owned(),
        cum => scaled(order.cost / i128::from(cum), precision),
    }
}

fn scaled(value: i128, precision: u8) -> String {
    let scale = 10_i128.pow(u32::from(precision));
    let width = usize::from(precision);
    match precision {
        0 => value.to_string(),
        _ => format!("{}.{:0width$}", value / scale, value % scale),
    }
}

fn time(wall_ns: u64) -> String {
    let mut room = [0; 27];
    let text = write_timestamp(wall_ns, Precision::Milliseconds, &mut room);
    String::from_utf8_lossy(text).into_owned()
}
