//! Migrates texts: what can be read is migrated, what cannot is explained.

use capm3_engine::manifests;

use super::{Migration, Options, migrate, syntax};

/// Brings the documents of these files, given by name and content, to the form of v1beta2.
pub fn migrate_texts(texts: &[(String, String)], options: Options) -> Migration {
    let mut documents = Vec::new();
    let mut unread = Vec::new();
    for (file, text) in texts {
        let reading = manifests::parse_parts(file, text);
        documents.extend(reading.documents);
        unread.extend(reading.problems.iter().map(|problem| syntax::explain(text, problem)));
    }
    let mut migration = migrate(&documents, options);
    migration.problems.splice(0..0, unread);
    migration
}
