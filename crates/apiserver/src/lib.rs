//! The embedded Kubernetes-compatible API server, as a library.
//!
//! Takes HTTP requests (a `tower::Service`), gives what a kube-apiserver would answer, and keeps every object in
//! memory. It never opens a socket, never spawns a task, never reads a clock or a random source of its own: time
//! comes from [`Options::now`], uids and name suffixes from [`Options::seed`], so the same requests in the same
//! order give the same bytes.
//!
//! The way of a request, which is also the way to read the code: `server` (body, counters) -> `request` and
//! `negotiate` (what is asked) -> `handler` (which verb) -> `read`, `watch` or `write` (the rules) -> `store`.

mod admission;
mod aftermath;
mod builtin;
mod clock;
mod cluster;
mod conversion;
mod crd;
mod discovery;
mod env;
mod field;
mod gc;
mod handler;
mod ids;
mod meta;
mod names;
mod namespace;
mod negotiate;
mod options;
mod patch;
mod percent;
mod read;
mod record;
mod request;
mod resource;
mod response;
mod schema;
mod selector;
mod server;
mod status;
mod store;
mod view;
mod watch;
mod write;

pub use admission::{Admission, AdmissionRequest, Denial, Operation};
pub use conversion::{Conversion, RewriteApiVersion};
pub use options::Options;
pub use record::{RequestCount, WriteRecord};
pub use response::ResponseBody;
pub use server::ApiServer;
