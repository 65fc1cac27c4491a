//! Available dictionaries are read; invalid ones are refused with the line.

use super::Tables;
use std::fs;
use touchline_wire::fix::FIX44;
use touchline_wire::fix::dictionary::NO_GROUP;

const FIELDS: &str = "<field number='8' name='BeginString' type='STRING'/>
<field number='10' name='CheckSum' type='STRING'/>
<field number='55' name='Symbol' type='STRING'/>
<field number='268' name='NoEntries' type='NUMINGROUP'/>
<field number='269' name='Type' type='CHAR'><value enum='1' description='A'/><value enum='0'/></field>";

fn dictionary(message: &str, components: &str, more_fields: &str) -> String {
    format!(
        "<fix major='4' minor='4'>
<header><field name='BeginString' required='Y'/></header>
<messages><message name='M' msgtype='M'>{message}</message></messages>
<trailer><field name='CheckSum' required='Y'/></trailer>
<components>{components}</components>
<fields>{FIELDS}{more_fields}</fields></fix>"
    )
}

#[test]
fn components_are_resolved_and_equal_groups_kept_once() {
    let entries =
        "<group name='NoEntries' required='N'><component name='Inner' required='Y'/></group>";
    let components = format!(
        "<component name='Outer'>{entries}<field name='Symbol' required='Y'/></component>
         <component name='Inner'><field name='Type' required='Y'/><field name='Symbol' required='N'/></component>"
    );
    let message = "<component name='Outer' required='N'/>";
    let text = dictionary(message, &components, "").replace(
        "</messages>",
        &format!("<message name='N' msgtype='A'>{entries}</message></messages>"),
    );
    let tables = Tables::read("d.xml", &text).unwrap();
    let dictionary = tables.lend();
    assert_eq!(dictionary.begin_string, "FIX.4.4");
    let names: Vec<&str> = dictionary
        .messages
        .iter()
        .map(|m| dictionary.text(m.name))
        .collect();
    assert_eq!(names, ["N", "M"], "ascending by type");
    let message = dictionary.message(b"M").unwrap();
    let members = dictionary.members(message.members);
    let seen: Vec<_> = members
        .iter()
        .map(|m| (m.tag, m.required, m.place))
        .collect();
    // Symbol is required within an optional component.
    assert_eq!(seen, [(55, false, 1), (268, false, 0)]);
    assert_eq!((members[0].group, dictionary.groups.len()), (NO_GROUP, 1));
    let group = dictionary.group(&members[1]).unwrap();
    assert_eq!(group.delimiter, 269);
    let field = dictionary.field(269).unwrap();
    assert!(dictionary.allows(field, b"0") && dictionary.allows(field, b"1"));
    assert!(!dictionary.allows(field, b"2"));
}

#[test]
fn an_error_of_a_dictionary_names_its_line() {
    let good = "<field name='Symbol' required='Y'/>";
    for (text, line, what) in [
        ("<fix".into(), 1, ""),
        ("<quickfix/>".into(), 1, "another element than <fix>"),
        (
            "<fix major='4' minor='4'/>".into(),
            1,
            "no section <fields>",
        ),
        (
            dictionary("<field name='Nowhere'/>", "", ""),
            3,
            "field Nowhere is not defined",
        ),
        (dictionary("<field/>", "", ""), 3, "no attribute 'name'"),
        (
            dictionary("<component name='C'/>", "", ""),
            3,
            "component C is not defined",
        ),
        (
            dictionary(
                "<component name='C'/>",
                "<component name='C'>\n<component name='D'/></component><component name='D'>\n<group name='NoEntries'><component name='C'/></group></component>",
                "",
            ),
            7,
            "component C is part of itself",
        ),
        (
            dictionary("<group name='NoEntries'/>", "", ""),
            3,
            "a group without fields",
        ),
        (
            dictionary(good, "", "\n<field number='55' name='Other' type='INT'/>"),
            11,
            "55 is the number of Symbol",
        ),
        (
            dictionary(good, "", "\n<field number='56' name='Symbol' type='INT'/>"),
            11,
            "Symbol is defined twice",
        ),
        (
            dictionary(good, "", "\n<field number='0' name='X' type='INT'/>"),
            11,
            "'0' is not a tag",
        ),
        (
            dictionary(good, "", "\n<field number='5' name='X' type='INTEGER'/>"),
            11,
            "a type that FIX does not have",
        ),
        (
            dictionary(good, "", "\n<field number='5' name='X' type='DATA'/>"),
            11,
            "no field XLen",
        ),
        (
            dictionary(good, "<component name='C'/><component name='C'/>", ""),
            5,
            "component C is defined twice",
        ),
        (
            dictionary("<other name='x'/>", "", ""),
            3,
            "<other> is not allowed",
        ),
        (
            dictionary(good, "", "").replace(
                "</messages>",
                "\n<message name='N' msgtype='M'/></messages>",
            ),
            4,
            "M is the type of message M",
        ),
    ] {
        let mistake = Tables::read("d.xml", &text).expect_err(what);
        assert_eq!(
            (mistake.line, mistake.what.contains(what)),
            (line, true),
            "{mistake}"
        );
        assert!(
            mistake
                .to_string()
                .starts_with(&format!("d.xml, line {line}: ")),
            "{mistake}"
        );
    }
    // Components that double at each step would take unlimited time.
    let doubling: String = (0..40)
        .map(|n| format!("<component name='C{n}'><component name='C{0}'/><component name='C{0}'/></component>", n + 1))
        .collect();
    let text = dictionary(
        "<component name='C0'/>",
        &format!("{doubling}<component name='C40'/>"),
        "",
    );
    assert!(
        Tables::read("d.xml", &text)
            .expect_err("hostile")
            .what
            .contains("more than 1000000 elements")
    );
}

#[test]
fn official_dictionaries_are_read() {
    let Some(schemas) = touchline_testing::schemas("dictionaries of venues") else {
        return;
    };
    let read = |name: &str| {
        let text = fs::read_to_string(schemas.join(name)).unwrap();
        Tables::read(name, &text).unwrap()
    };
    let fix44 = read("fix/FIX44.xml");
    assert_eq!(
        format!("{:?}", fix44.lend()),
        format!("{FIX44:?}"),
        "as compiled in"
    );
    let deribit = read("deribit/Deribit_FIX44_quickfix-dictionary.xml");
    let field = deribit
        .lend()
        .field(100_009)
        .copied()
        .expect("a field of Deribit's own");
    assert!(
        deribit.lend().text(field.name).contains("Deribit"),
        "{field:?}"
    );
    let primexm = read("fx/primexm_pxm44_quickfix-dictionary.xml");
    assert!(primexm.lend().message(b"i").is_some());
}
