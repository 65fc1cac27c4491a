//! Versions that are not append-only are refused: a reader of one would misread the other.

use xtask::codegen::merge::merge;
use xtask::codegen::read::from_texts;
use xtask::codegen::schema::Schema;

#[test]
fn appended_fields_are_merged() {
    let old = version(
        1,
        "<field name=\"a\" id=\"1\" type=\"uint32\"/>",
        "blockLength=\"8\"",
        "",
    );
    let new = version(
        2,
        "<field name=\"a\" id=\"1\" type=\"uint32\"/><field name=\"padding\" id=\"2\" type=\"uint16\" sinceVersion=\"2\"/>
         <field name=\"behind\" id=\"3\" type=\"uint16\" offset=\"8\" sinceVersion=\"2\"/>",
        "",
        "<group name=\"g\" id=\"9\" dimensionType=\"dim\" sinceVersion=\"2\"/>",
    );
    for order in [vec![old.clone(), new.clone()], vec![new, old]] {
        let merged = merge(order).expect("append-only");
        let body = &merged.messages[0].body;
        assert_eq!(
            (
                merged.version,
                body.block_length,
                body.base.block_length,
                body.base.version
            ),
            (2, 10, 8, 1)
        );
        assert_eq!((body.fields.len(), body.groups.len()), (3, 1));
    }
}

#[test]
fn changed_fields_are_refused() {
    let field = "<field name=\"a\" id=\"1\" type=\"uint32\"/>";
    let old = || {
        version(
            1,
            field,
            "blockLength=\"8\"",
            "<group name=\"g\" id=\"9\" dimensionType=\"dim\"/>",
        )
    };
    let group = "<group name=\"g\" id=\"9\" dimensionType=\"dim\"/>";
    for (new, expected) in [
        (version(1, field, "", group), "twice"),
        (version(2, field, "", group), "shrank"),
        (
            version(
                2,
                "<field name=\"b\" id=\"1\" type=\"uint32\" sinceVersion=\"2\"/>",
                "blockLength=\"8\"",
                group,
            ),
            "taken away",
        ),
        (
            version(
                2,
                "<field name=\"a\" id=\"2\" type=\"uint32\"/>",
                "blockLength=\"8\"",
                group,
            ),
            "id was 1",
        ),
        (
            version(
                2,
                "<field name=\"a\" id=\"1\" type=\"int32\"/>",
                "blockLength=\"8\"",
                group,
            ),
            "encoding",
        ),
        (
            version(
                2,
                "<field name=\"a\" id=\"1\" type=\"uint32\" offset=\"4\"/>",
                "",
                group,
            ),
            "moved",
        ),
        (
            version(
                2,
                &format!("{field}<field name=\"b\" id=\"2\" type=\"uint16\"/>"),
                "blockLength=\"8\"",
                group,
            ),
            "is new",
        ),
        (
            version(
                2,
                &format!(
                    "{field}<field name=\"b\" id=\"2\" type=\"uint32\" offset=\"6\" sinceVersion=\"2\"/>"
                ),
                "",
                group,
            ),
            "padding",
        ),
        (
            version(2, field, "blockLength=\"8\"", ""),
            "group was taken away",
        ),
        (
            version(
                2,
                field,
                "blockLength=\"8\"",
                &group.replace("\"g\"", "\"h\""),
            ),
            "place was taken",
        ),
        (
            version(
                2,
                field,
                "blockLength=\"8\"",
                &format!("{group}{}", group.replace("\"g\"", "\"h\"")),
            ),
            "is new",
        ),
    ] {
        let error = merge(vec![old(), new]).map(drop).expect_err(expected);
        assert!(
            format!("{error:#}").contains(expected),
            "{expected}: {error:#}"
        );
    }
}

fn version(version: u16, fields: &str, block: &str, groups: &str) -> Schema {
    let header = ["blockLength", "templateId", "schemaId", "version"]
        .map(|name| format!("<type name=\"{name}\" primitiveType=\"uint16\"/>"));
    let text = format!(
        "<messageSchema id=\"1\" version=\"{version}\"><types><composite name=\"messageHeader\">{}</composite>
         <composite name=\"dim\"><type name=\"blockLength\" primitiveType=\"uint16\"/><type name=\"numInGroup\" primitiveType=\"uint8\"/></composite>
         </types><message name=\"M\" id=\"1\" {block}>{fields}{groups}</message></messageSchema>",
        header.concat()
    );
    from_texts(&[text]).expect("a right schema")
}
