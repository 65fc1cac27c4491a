//! `touchline demo`, the first thing that anybody runs.

use crate::Desk;

#[test]
fn every_book_of_the_demo_equals_the_truth() {
    let desk = Desk::new("demo");
    for (arguments, instruments) in [
        ("demo", 8),
        ("demo --seed 9 --version 9 --instruments 20", 20),
    ] {
        let page = desk.run(arguments).done().stdout;
        for words in [
            format!("{instruments} of {instruments} price books equal the truth"),
            format!("{instruments} of {instruments} order books equal the truth"),
            "lost on both lines: only a snapshot heals these".to_owned(),
            "misses updates, recovering".to_owned(),
            "is live again, after ".to_owned(),
            "with the subscriber".to_owned(),
            "bid | ask".to_owned(),
        ] {
            assert!(page.contains(&words), "{words}\n{page}");
        }
        assert!(!page.contains('\x1b'), "colours are for terminals");
        let widest = page.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{widest:?} columns\n{page}");
    }
}

#[test]
fn a_seed_gives_the_same_session() {
    let desk = Desk::new("seed");
    let session = |seed: u8| {
        let page = desk.run(&format!("demo --seed {seed}")).done().stdout;
        let (session, _) = page.split_once("Latency").expect("a latency table");
        session.to_owned()
    };
    assert_eq!(session(2), session(2));
    assert_ne!(session(2), session(3));
}

#[test]
fn a_saved_session_replays_to_the_exchange_s_books() {
    let desk = Desk::new("save");
    desk.run("demo --save saved").done();
    desk.run(
        "replay --config saved/cme.toml --pcap saved/session.pcap --books b --orders o --quiet",
    )
    .done();
    assert_eq!(desk.read("b"), desk.read("saved/truth-books.jsonl"));
    assert_eq!(desk.read("o"), desk.read("saved/truth-orders.jsonl"));
    desk.run("demo --save /proc/nowhere")
        .refused(1, &["/proc/nowhere", "cannot be written"]);
}
