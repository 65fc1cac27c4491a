//! A message schema, through the compiler that writes our codecs.

use crate::Target;
use xtask::codegen::{merge, read, rust};

pub(crate) const TARGET: Target = Target {
    name: "schema_compiler",
    about: "any text is either refused or becomes Rust, the same Rust each time",
    run,
    seeds,
};

/// Texts between zero bytes are versions of one schema.
fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    assert_eq!(compile(text), compile(text));
}

/// Names and texts of the files; `None` when the schema is refused.
fn compile(text: &str) -> Option<Vec<(String, String)>> {
    let versions = text
        .split('\0')
        .map(|version| read::from_texts(&[version.to_owned()]));
    let schema = merge::merge(versions.collect::<Result<_, _>>().ok()?).ok()?;
    let files = rust::files(&schema).ok()?;
    Some(
        files
            .into_iter()
            .map(|file| (file.name, file.text))
            .collect(),
    )
}

/// A schema with one of everything, alone and followed by a newer version.
fn seeds() -> Vec<Vec<u8>> {
    let newer = SCHEMA.replace("version=\"1\"", "version=\"2\"").replace(
        "<!-- newer -->",
        "<field name=\"Later\" id=\"9\" type=\"uInt8NULL\" offset=\"20\" sinceVersion=\"2\"/>",
    );
    vec![
        SCHEMA.as_bytes().to_vec(),
        [SCHEMA.as_bytes(), newer.as_bytes()].join(&0),
    ]
}

const SCHEMA: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<ns2:messageSchema xmlns:ns2="http://fixprotocol.io/2016/sbe" package="seed" id="1" version="1"
    semanticVersion="1" byteOrder="littleEndian">
  <types>
    <type name="uInt8NULL" presence="optional" nullValue="255" primitiveType="uint8"/>
    <type name="Symbol" primitiveType="char" length="20"/>
    <type name="Constant" presence="constant" length="1" primitiveType="char">X</type>
    <composite name="PRICE9">
      <type name="mantissa" primitiveType="int64"/>
      <type name="exponent" presence="constant" primitiveType="int8">-9</type>
    </composite>
    <composite name="groupSize">
      <type name="blockLength" primitiveType="uint16"/>
      <type name="numInGroup" primitiveType="uint8"/>
    </composite>
    <composite name="messageHeader">
      <type name="blockLength" primitiveType="uint16"/>
      <type name="templateId" primitiveType="uint16"/>
      <type name="schemaId" primitiveType="uint16"/>
      <type name="version" primitiveType="uint16"/>
    </composite>
    <enum name="Side" encodingType="char">
      <validValue name="Buy">1</validValue>
      <validValue name="Sell">2</validValue>
    </enum>
    <set name="Flags" encodingType="uint8">
      <choice name="Last">0</choice>
      <choice name="Reserved">7</choice>
    </set>
  </types>
  <ns2:message name="Seed1" id="1" blockLength="32">
    <field name="Price" id="1" type="PRICE9" offset="0"/>
    <field name="Side" id="2" type="Side" offset="8"/>
    <field name="Flags" id="3" type="Flags" offset="9"/>
    <field name="Fixed" id="4" type="Constant"/>
    <!-- newer -->
    <group name="NoEntries" id="5" blockLength="24" dimensionType="groupSize">
      <field name="Symbol" id="6" type="Symbol" offset="0"/>
      <field name="Level" id="7" type="uInt8NULL" offset="20"/>
    </group>
  </ns2:message>
</ns2:messageSchema>
"#;
