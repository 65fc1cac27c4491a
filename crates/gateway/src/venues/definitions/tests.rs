use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use touchline_testing::{Folder, captures};
use touchline_types::{Code, OptionRight, Price, Quantity, SecurityType, Side};

/// A security definition as CME writes it, with fields separated by `|`.
fn line(fields: &str) -> String {
    fields.replace('|', "\u{1}") + "\u{1}\n"
}

const FUTURE: &str = "35=d|980=A|1180=310|207=XCME|1151=AA|6937=AB|55=ABU4|48=118|22=8|167=FUT|461=FFIXSX|200=202409|15=USD|562=1|1140=3000|969=25.000000000|9787=0.010000000|1147=50.000000000|1149=457200.000000000|1148=399550.000000000|864=2|865=5|1145=20220617133000000000000|865=7|1145=20240920133000000000000|1141=1|1022=GBX|264=10|870=1|871=24|872=1";
const SPREAD: &str = "35=d|980=A|1180=310|55=ABU4-ABZ4|48=119|167=FUT|461=FMIXSX|969=5|37702=32|37703=4|1141=2|1022=GBX|264=5|1022=GBI|264=2|555=2|602=118|603=8|624=1|623=1|602=120|603=8|624=2|623=3|1234=1|1093=2|1231=10";
const OPTION: &str = "35=d|1180=311|55=ABU4 C450|48=121|167=OOF|461=OCAFXS|201=1|202=450000|711=1|309=118|305=8|541=20240920";

fn known(text: &str, channel: Option<u32>) -> Result<KnownDefinitions, DefinitionMistakes> {
    let folder = Folder::new("known-definitions");
    let path = folder.join("secdef.dat");
    std::fs::write(&path, text).expect("our folder");
    read_definitions([path], channel)
}

/// Symbols, factors, depths and reference data of the file are those that the messages of the feed would have given.
#[test]
fn the_file_of_the_venue_is_read() {
    let text = line(FUTURE) + &line(SPREAD) + &line(OPTION);
    let all = known(&text, None).expect("three definitions");
    let find = |id| {
        all.find(Code::lossy(b"cme"), id)
            .expect("it is there")
            .clone()
    };
    let future = find(118);
    assert_eq!(
        (future.direct_depth, future.implied_depth),
        (Some(10), None)
    );
    let definition = &future.definition;
    let texts =
        [definition.symbol, definition.group, definition.asset].map(|text| text.to_string());
    assert_eq!(texts, ["ABU4", "AA", "AB"]);
    assert_eq!(definition.tick, Price(25_000_000_000));
    let reference = &definition.reference;
    let factor = reference.display_factor.expect("a factor");
    assert_eq!((factor.numerator(), factor.denominator()), (1, 100));
    assert_eq!(reference.security_type, Some(SecurityType::Future));
    assert_eq!(
        (reference.currency.as_str(), reference.maturity),
        ("USD", 20_240_900)
    );
    assert_eq!(reference.expiry_ns, 1_726_839_000_000_000_000);
    assert_eq!(
        (reference.quantity_min, reference.quantity_max),
        (Quantity(1), Quantity(3_000))
    );
    let limits = [reference.low_limit, reference.high_limit];
    assert_eq!(
        limits,
        [Price(399_550_000_000_000), Price(457_200_000_000_000)]
    );

    let spread = find(119);
    assert_eq!(
        (spread.direct_depth, spread.implied_depth),
        (Some(5), Some(2))
    );
    let reference = &spread.definition.reference;
    assert_eq!(reference.security_type, Some(SecurityType::FutureSpread));
    let fraction = reference.price_fraction.expect("a fraction");
    assert_eq!(
        (fraction.main, fraction.sub, reference.lot),
        (32, 4, Quantity(10))
    );
    let legs = reference.legs.as_slice().iter();
    let legs: Vec<_> = legs
        .map(|leg| (leg.security_id, leg.ratio, leg.side))
        .collect();
    assert_eq!(legs, [(118, 1, Side::Bid), (120, 3, Side::Ask)]);

    let reference = find(121).definition.reference;
    assert_eq!(reference.security_type, Some(SecurityType::Option));
    assert_eq!(
        (reference.right, reference.underlying),
        (Some(OptionRight::Call), Some(118))
    );
    assert_eq!(
        (reference.strike, reference.maturity),
        (Price(450_000_000_000_000), 20_240_920)
    );
}

#[test]
fn only_the_channel_is_taken_and_deleted_instruments_are_not() {
    let deleted = FUTURE.replace("980=A", "980=D").replace("48=118", "48=7");
    let text = line(FUTURE) + &line(OPTION) + &line(&deleted);
    let count = |channel| known(&text, channel).map(|all| all.len());
    assert_eq!(count(None), Ok(2));
    assert_eq!(count(Some(311)), Ok(1));
    assert_eq!(count(Some(9)), Ok(0));
}

/// The venue publishes the file packed, too.
#[test]
fn a_packed_file_is_read() {
    let folder = Folder::new("packed-definitions");
    let path = folder.join("secdef.dat.gz");
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed
        .write_all(line(FUTURE).as_bytes())
        .expect("a vector takes everything");
    std::fs::write(&path, packed.finish().expect("a vector takes everything")).expect("our folder");
    assert!(is_of_definitions(&path));
    assert_eq!(
        read_definitions([&path], Some(310)).map(|all| all.len()),
        Ok(1)
    );
}

#[test]
fn a_malformed_line_has_file_line_field_and_cure() {
    let cases = [
        (
            "969=25.000000000",
            "969=25,0",
            "MinPriceIncrement (969) is \"25,0\": give a decimal",
        ),
        (
            "9787=0.010000000",
            "9787=0",
            "DisplayFactor (9787) is \"0\": give a decimal above 0",
        ),
        (
            "48=118",
            "48=x",
            "SecurityID (48) is \"x\": give a whole number",
        ),
        ("48=118|", "", "SecurityID (48) is missing"),
        ("55=ABU4|", "", "Symbol (55) is missing"),
        ("264=10", "264", "field 28 is \"264\": give TAG=VALUE"),
        (
            "20240920133000000000000",
            "2024",
            "EventTime (1145) is \"2024\": give a time",
        ),
        ("35=d", "35=f", "message type (35) is \"f\""),
    ];
    for (right, wrong, words) in cases {
        let broken = line(&FUTURE.replace(right, wrong));
        let said = known(&(line(SPREAD) + &broken), None).expect_err(wrong);
        let [said] = said.lines() else {
            panic!("one line: {said}");
        };
        assert!(
            said.contains("secdef.dat:2: ") && said.contains(words),
            "{said}"
        );
    }
    let many = line(&FUTURE.replace("48=118", "48=x")).repeat(50);
    let said = known(&(line(SPREAD) + &many), None).expect_err("50 mistakes");
    assert_eq!(said.lines().len(), MISTAKES_MAX + 1);
    assert!(
        said.to_string().ends_with("30 more lines are malformed"),
        "{said}"
    );
    // Cut in the id, which is another number then.
    let cut = line(SPREAD);
    let in_id = &cut[..cut.find("48=119").expect("an id") + "48=11".len()];
    // Behind a field: what follows is missing.
    let behind_tick = &cut[..cut.find("37702").expect("a price display")];
    for (cut, end) in [(in_id, ""), (in_id, "\n"), (behind_tick, "")] {
        let said = known(&(line(FUTURE) + cut + end), None).expect_err("a cut file");
        let words = "secdef.dat:2: the line does not end with SOH and a line feed";
        assert!(said.to_string().contains(words), "{said}");
    }
    let said = known("id,symbol\n1,A\n", None).expect_err("another format");
    assert!(
        said.to_string()
            .contains("secdef.dat:1: not a file of definitions"),
        "{said}"
    );
    let said = known("", None).expect_err("no definition");
    assert!(
        said.to_string().contains("no definition of an instrument"),
        "{said}"
    );
}

/// Lines that the venue has published.
#[test]
fn published_lines_are_read() {
    let Some(folder) = captures("lines of secdef.dat") else {
        return;
    };
    let path = folder.join("cme-mdp3/secdef_2022-07-31_sample-lines.dat");
    let all = read_definitions([path], Some(310)).expect("definitions of channel 310");
    let future = all.find(Code::lossy(b"cme"), 118).expect("its line");
    assert_eq!(future.definition.symbol.as_str(), "ESU4");
    assert_eq!((all.len(), future.direct_depth), (2, Some(10)));
    let factor = future
        .definition
        .reference
        .display_factor
        .expect("a factor");
    assert_eq!((factor.numerator(), factor.denominator()), (1, 100));
    assert_eq!(
        future.definition.reference.expiry_ns,
        1_726_839_000_000_000_000
    );
}
