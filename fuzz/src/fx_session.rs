//! The FX core over lines of a session: any input of banks and desk.

use crate::Target;
use touchline_fx::Setup;
use touchline_fx::sessions::Replay;
use touchline_fx_events::event::{Event, Message, OrderEvent};

pub(crate) const TARGET: Target = Target {
    name: "fx_session",
    about: "any lines are refused or taken; a parent never comes to more than was asked, nothing is sent before it is journaled",
    run,
    seeds,
};

/// Three banks: amounts, named quotes, bands.
const CONFIG: &str = r#"
date = "20260105"
prefix = "T"
account = "D"
[[pairs]]
symbol = "EUR/USD"
precision = 5
spot_date = "20260107"
sizes = [1000000, 3000000]
[[banks]]
name = "A"
pairs = ["EUR/USD"]
[[banks]]
name = "B"
pairs = ["EUR/USD"]
orders = "quoted"
ttl_ms = 900
recover = "AF"
[[banks]]
name = "C"
pairs = ["EUR/USD"]
kind = "full"
silence_ms = 700
stale_ms = 800
[router]
combine = true
[risk]
kill_lifters = ["ann", "bob"]
"#;

/// Lines, of which a FIX message without its head gets one that is right. A line that is refused is left out.
fn run(bytes: &[u8]) {
    let setup = Setup::parse(CONFIG).expect("our configuration");
    let mut replay = Replay::new(setup);
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines().take(200) {
        if replay.line(&framed(line)).is_ok() {
            check(&replay);
        }
    }
    let _ = replay.finish();
}

fn framed(line: &str) -> String {
    let Some((head, body)) = line.split_once(" 35=") else {
        return line.to_owned();
    };
    let text = format!("8=FIX.4.4|9={}|35={body}|", body.len() + 4);
    let byte = |byte: u8| if byte == b'|' { 1 } else { byte };
    let sum = text
        .bytes()
        .fold(0_u8, |sum, next| sum.wrapping_add(byte(next)));
    format!("{head} {text}10={sum:03}|")
}

fn check(replay: &Replay) {
    let events = &replay.batch().events;
    for (at, (_, event)) in events.iter().enumerate() {
        let Event::Order(line) = event else {
            continue;
        };
        if let (OrderEvent::Sent, Some(Message::Order(_))) = (line.what, &line.message) {
            let before = at.checked_sub(1).map(|before| &events[before].1);
            let is_journal = |event: &Event| matches!(event, Event::Order(other) if other.what == OrderEvent::Journal && other.id == line.id);
            assert!(
                before.is_some_and(is_journal),
                "sent before it was journaled"
            );
        }
    }
    let parents = replay.engine().trading().parents();
    for at in parents.live() {
        let exposure = parents.get(*at).exposure();
        assert!(exposure.done() + exposure.out() <= exposure.quantity() + exposure.late());
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let sessions = [
        "1 A.q !up\n1 A.o !up\n2 A.q 35=W|262=R|55=EUR/USD|268=2|269=0|270=1.1|271=5000000|269=1|270=1.10002|271=5000000\n\
         3 - {\"op\":\"parent\",\"id\":\"P\",\"pair\":\"EUR/USD\",\"side\":\"buy\",\"qty\":1000000,\"deadline_ms\":900}\n\
         4 A.o 35=8|11=T-P-1|17=E1|150=F|39=1|14=400000|32=400000|31=1.10002|151=600000\n\
         5 A.o 35=8|11=T-P-1|17=E2|150=4|39=4|14=400000|151=0\n6 A.o 35=8|11=T-P-1|17=E3|150=H|39=4|19=E1\n9 - {\"op\":\"end\"}",
        "1 B.q !up\n1 B.o !up\n2 B.q 35=S|131=R|117=Q|55=EUR/USD|132=1.1|133=1.10002|134=1000000|135=1000000|62=20260105-09:00:00.000\n\
         3 - {\"op\":\"parent\",\"id\":\"P\",\"pair\":\"EUR/USD\",\"side\":\"sell\",\"qty\":3000,\"tif\":\"ioc\",\"limit\":\"1.09\"}\n\
         4 B.o !down\n5 B.o !up\n6 B.o 35=8|11=T-P-1|17=0|150=I|39=8|103=5|14=0|584=T-M1|912=Y\n7 B.q 35=Z|298=4",
        "1 C.q !up\n1 C.o !up\n2 C.q 35=i|296=1|302=1|295=1|299=0|188=1.1|134=1000000|190=1.10002|135=1000000\n\
         3 C.q 35=X|268=1|279=0|278=1|55=EUR/USD|269=0|270=1.1|271=1000\n4 C.q 35=AI|297=4\n5 - {\"op\":\"kill\",\"by\":\"ann\"}\n\
         6 - {\"op\":\"lift\",\"by\":\"ann\"}\n7 - {\"op\":\"lift\",\"by\":\"bob\"}\n900000000 C.q 35=0\n1700000000 - {\"op\":\"restart\"}",
    ];
    sessions.map(|session| session.as_bytes().to_vec()).to_vec()
}
