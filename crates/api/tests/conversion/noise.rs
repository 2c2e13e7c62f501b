//! Arbitrary JSON into the conversion: an answer each time, never a panic.

use capm3_api::{crd, v1beta1, v1beta2, vocabulary::annotation::CONVERSION_DATA};
use serde_json::{Map, Value, json};

use crate::{KINDS, cases, convert};

#[test]
fn arbitrary_json_gives_an_answer_and_never_a_panic() {
    let (mut converted, mut refused) = (0_u32, 0_u32);
    for seed in 0..u64::from(cases()) * 100 {
        let object = Noise(seed).object();
        for to in [v1beta1::API_VERSION, v1beta2::API_VERSION] {
            let text = format!("seed {seed}");
            match std::panic::catch_unwind(|| convert(object.clone(), to)).expect(&text) {
                Ok(_) => converted += 1,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(
        converted > refused / 10 && refused > converted / 100,
        "{converted} converted, {refused} refused"
    );
}

/// Random numbers that depend on the seed alone (splitmix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Nearly an object: the right members of a kind with wrong values here and there.
    fn object(&mut self) -> Value {
        let kind = KINDS[self.below(KINDS.len())];
        let version = if self.once_in(2) { v1beta1::VERSION } else { v1beta2::VERSION };
        let mut object = self.like(crd::schema(kind, version).unwrap(), 0);
        if self.once_in(50) {
            return object;
        }
        if let Value::Object(members) = &mut object {
            members.insert("kind".to_owned(), kind.into());
            members.insert("apiVersion".to_owned(), format!("{}/{version}", v1beta2::GROUP).into());
            if self.once_in(3) {
                let stored = self.stored(kind);
                members.insert("metadata".to_owned(), json!({"annotations": {CONVERSION_DATA: stored}}));
            }
        }
        object
    }

    fn stored(&mut self, kind: &str) -> Value {
        match self.below(4) {
            0 => self.anything(0),
            1 => Value::String(self.anything(0).to_string()),
            _ => Value::String(self.like(crd::schema(kind, v1beta2::VERSION).unwrap(), 0).to_string()),
        }
    }

    fn like(&mut self, schema: &Value, depth: usize) -> Value {
        if self.once_in(12) {
            return self.anything(depth);
        }
        match schema["type"].as_str() {
            Some("object") => self.object_like(schema, depth),
            Some("array") => (0..self.below(4)).map(|_| self.like(&schema["items"], depth + 1)).collect(),
            Some("integer") => self.number(),
            Some("boolean") => Value::Bool(self.once_in(2)),
            Some("string") => self.text(),
            _ => self.anything(depth),
        }
    }

    fn object_like(&mut self, schema: &Value, depth: usize) -> Value {
        let mut members = Map::new();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            if !self.once_in(3) {
                members.insert(name.clone(), self.like(schema, depth + 1));
            }
        }
        if let Some(values) = schema.get("additionalProperties") {
            for _ in 0..self.below(3) {
                let name = self.word();
                members.insert(name, self.like(values, depth + 1));
            }
        }
        if self.once_in(6) {
            let name = self.word();
            members.insert(name, self.anything(depth));
        }
        Value::Object(members)
    }

    fn anything(&mut self, depth: usize) -> Value {
        match self.below(if depth > 12 { 4 } else { 6 }) {
            0 => Value::Null,
            1 => Value::Bool(self.once_in(2)),
            2 => self.number(),
            3 => self.text(),
            4 => (0..self.below(3)).map(|_| self.anything(depth + 1)).collect(),
            _ => {
                let members = (0..self.below(3)).map(|_| (self.word(), self.anything(depth + 1)));
                Value::Object(members.collect())
            }
        }
    }

    fn number(&mut self) -> Value {
        match self.below(6) {
            0 => json!(0),
            1 => json!(self.next()),
            2 => json!((self.next() as i64).wrapping_neg()),
            3 => json!(self.next() as f64 / 7.0),
            4 => json!(-1),
            _ => json!(self.below(200)),
        }
    }

    fn text(&mut self) -> Value {
        Value::String(self.word())
    }

    /// Words that some step of the conversion looks for, and some that none expects.
    fn word(&mut self) -> String {
        const WORDS: [&str; 26] = [
            "",
            "name",
            "namespace",
            "a",
            "5m30s",
            "-1h",
            "9999999999999999999h",
            "1.5.5s",
            ".",
            "µs",
            "conditions",
            "deprecated",
            "v1beta1",
            "v1beta2",
            "failureDomains",
            "indexes",
            "parameters",
            "netmask",
            "prefix",
            "format",
            "noCloudProvider",
            "values",
            "timeout",
            "\u{0}",
            "日本語",
            "initialization",
        ];
        WORDS[self.below(WORDS.len())].to_owned()
    }
}
