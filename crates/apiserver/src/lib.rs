//! The embedded Kubernetes-compatible API server, as a library.
//!
//! Takes HTTP requests (a `tower::Service`), gives what a kube-apiserver would answer, and keeps every object in
//! memory. Time comes from [`Options::now`], uids and name suffixes from [`Options::seed`], so the same requests in
//! the same order give the same bytes. Only [`https`], the HTTPS listener for clients outside the process, opens a socket,
//! spawns tasks and uses randomness.
//!
//! The way of a request, which is also the way to read the code: `server` (body, counters) -> `request` and
//! `negotiate` (what is asked) -> `handler` (which verb, or `about` for questions about the server itself) -> `call`
//! (runs it and shapes the answer) -> `read`, `watch` or `write` (the rules) -> `store`.

mod admission;
mod builtin;
mod call;
mod clock;
mod cluster;
mod conversion;
mod crd;
mod decode;
mod deprecation;
mod depth;
mod discovery;
mod event;
mod field;
mod gc;
mod handler;
mod history;
pub mod https;
mod ids;
mod meta;
mod names;
mod namespace;
mod negotiate;
mod object_schema;
mod openapi;
mod options;
mod patch;
mod percent;
mod protobuf;
mod read;
mod record;
mod request;
mod resource;
mod response;
mod review;
mod scale;
mod schema;
mod selector;
mod server;
mod server_context;
mod server_info;
mod side_effects;
mod status;
mod store;
mod strategic;
mod table;
mod user;
mod view;
mod watch;
mod write;
mod write_query;

pub use admission::{Admission, AdmissionRequest, Denial, Operation};
pub use conversion::{Conversion, RewriteApiVersion};
pub use history::Revision;
pub use object_schema::{ObjectSchema, SchemaError};
pub use options::Options;
pub use record::{RequestCount, WriteRecord};
pub use response::ResponseBody;
pub use server::ApiServer;
