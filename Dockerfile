# The image of `cargo xtask image`, for who has a container engine:
#
#   docker build -t localhost/capm3:v0.1.0 --build-arg CAPM3_COMMIT=$(git rev-parse HEAD) .
#
# The program, its files and user are the same. The digest is another one: the engine writes times of its own.
FROM --platform=linux/amd64 docker.io/library/rust:1.95.0-bookworm AS build
ARG CAPM3_COMMIT=unknown
# The toolchain of this image, without the components that rust-toolchain.toml adds for development.
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /src
COPY . .
RUN cargo xtask image --folder /image

FROM scratch
ARG CAPM3_COMMIT=unknown
COPY --from=build /image/ /
LABEL org.opencontainers.image.title="capm3" \
      org.opencontainers.image.description="Cluster API Provider Metal3 in Rust" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${CAPM3_COMMIT}" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532
WORKDIR /
EXPOSE 8443 9440 9443
ENTRYPOINT ["/manager"]
