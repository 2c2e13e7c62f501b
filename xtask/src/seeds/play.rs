//! Plays a row: creates its documents, edits them, reads them back, and says where the server did otherwise.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    rows::{Change, Edit, Expect, Row, api_version},
    server::Server,
    verdict::Verdict,
    writing::{Reply, Way},
};

/// What came of a row.
#[derive(Default)]
pub struct Played {
    /// How many writes the server was asked for.
    pub writes: usize,
    /// One line for each thing that was otherwise than the row says.
    pub differences: Vec<String>,
    /// Refusals and warnings whole, for those who want to read them.
    pub words: Vec<String>,
}

/// Gives every document of a row to a server.
pub async fn play(server: &Server, row: &Row) -> Result<Played> {
    let mut played = Played::default();
    for (number, one) in row.tries.iter().enumerate() {
        let lenient = one.lenient.then(|| server.lenient());
        let server = lenient.as_ref().unwrap_or(server);
        for (version, document) in row.documents(number)? {
            let about = format!("{} {version}: {}", row.id, one.it);
            let reply = server.write(Way::Create, &document).await?;
            let mut object = Object { server, document, played: &mut played };
            object.check(&about, &reply, &one.expect).await?;
            for edit in one.then.iter().filter(|_| reply.verdict == Verdict::Accepted) {
                let reply = object.edit(edit).await?;
                object.check(&format!("{about}; {}", edit.it), &reply, &edit.expect).await?;
            }
        }
    }
    Ok(played)
}

/// An object on a server, and the notes that are taken of it.
struct Object<'a> {
    server: &'a Server,
    document: Value,
    played: &'a mut Played,
}

impl Object<'_> {
    async fn edit(&self, edit: &Edit) -> Result<Reply> {
        match &edit.by {
            Change::Patch(patch) => self.server.patch(&self.document, patch).await,
            Change::Status { version, with } => {
                let mut document = self.document.clone();
                json_patch::merge(&mut document, &json!({"apiVersion": api_version(version)}));
                self.server.patch_status(&document, with).await
            }
            Change::Put { version, with } => {
                let mut object = self.server.read(&self.document, &api_version(version)).await?;
                json_patch::merge(&mut object, with);
                self.server.write(Way::Replace, &object).await
            }
        }
    }

    async fn check(&mut self, about: &str, reply: &Reply, expect: &Expect) -> Result<()> {
        self.played.writes += 1;
        if let Verdict::Refused(why) = &reply.verdict {
            self.played.words.push(format!("{about}: refused: {why}"));
        }
        self.played.words.extend(reply.warnings.iter().map(|warning| format!("{about}: {warning}")));
        let otherwise = differences(reply, expect);
        self.played.differences.extend(otherwise.into_iter().map(|what| format!("{about}: {what}")));
        if reply.verdict != Verdict::Accepted {
            return Ok(());
        }
        for (version, part) in &expect.reads {
            let found = self.server.read(&self.document, &api_version(version)).await?;
            self.compare(&format!("{about}, read in {version}"), part, &found);
        }
        if let Some(version) = &expect.stored {
            let stored = self.server.stored_versions(&self.document).await?;
            if stored != json!([version]) {
                self.played.differences.push(format!("{about}: stored in {stored}, not in {version} alone"));
            }
        }
        Ok(())
    }

    fn compare(&mut self, about: &str, part: &Value, found: &Value) {
        let missing = missing(part, found, "");
        self.played.differences.extend(missing.into_iter().map(|what| format!("{about}: {what}")));
    }
}

/// What was answered otherwise than expected.
fn differences(reply: &Reply, expect: &Expect) -> Vec<String> {
    let mut lines = Vec::new();
    match (&reply.verdict, &expect.refused) {
        (Verdict::Accepted, Some(words)) => {
            lines.push(format!("accepted, not refused with {words:?}"));
        }
        (Verdict::Refused(why), None) => lines.push(format!("refused: {why}")),
        (Verdict::Refused(why), Some(words)) if !why.contains(words) => {
            lines.push(format!("refused without {words:?}: {why}"));
        }
        _ => {}
    }
    let is_given = |words: &&String| reply.warnings.iter().any(|warning| warning.contains(*words));
    for words in expect.warns.iter().filter(|words| !is_given(words)) {
        lines.push(format!("no warning {words:?} but {:?}", reply.warnings));
    }
    lines
}

/// Where an object does not have a part: null stands for a member that must not be there.
fn missing(part: &Value, found: &Value, path: &str) -> Vec<String> {
    let Some(members) = part.as_object() else {
        let differs = (part != found).then(|| format!("{path} is {found}, not {part}"));
        return differs.into_iter().collect();
    };
    let nothing = Value::Null;
    let lines = members.iter().flat_map(|(name, value)| {
        missing(value, found.get(name).unwrap_or(&nothing), &format!("{path}/{name}"))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_names_members_that_must_be_there_and_nulls_that_must_not() {
        let found = json!({"spec": {"a": 1, "b": [1, 2]}});
        assert!(missing(&json!({"spec": {"a": 1, "b": [1, 2], "c": null}}), &found, "").is_empty());
        let wrong = missing(&json!({"spec": {"a": null, "b": [1], "c": 3}}), &found, "");
        assert_eq!(wrong, ["/spec/a is 1, not null", "/spec/b is [1,2], not [1]", "/spec/c is null, not 3"]);
    }

    #[test]
    fn an_answer_is_judged_by_its_verdict_its_words_and_its_warnings() {
        let refused = || Reply { verdict: Verdict::refused("spec: Required value"), warnings: Vec::new() };
        let accepted = || Reply { verdict: Verdict::Accepted, warnings: vec!["x is deprecated".to_owned()] };
        let words = |words: &str| Expect { refused: Some(words.to_owned()), ..Expect::default() };
        let warns = |words: &str| Expect { warns: vec![words.to_owned()], ..Expect::default() };
        assert!(differences(&refused(), &words("Required")).is_empty());
        assert!(differences(&accepted(), &warns("deprecated")).is_empty());
        assert_eq!(differences(&refused(), &words("Invalid")).len(), 1);
        assert_eq!(differences(&refused(), &Expect::default()).len(), 1);
        assert_eq!(differences(&accepted(), &words("Required")).len(), 1);
        assert_eq!(differences(&accepted(), &warns("other")).len(), 1);
    }
}
