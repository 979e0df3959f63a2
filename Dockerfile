# SPDX-License-Identifier: BSL-1.0
# An image with the installed program and the plugins: docker build -t ration . && docker run ration policies
FROM debian:bookworm AS build
COPY . /source
WORKDIR /source
RUN cmake/debian_packages.sh /packages

FROM debian:bookworm
RUN --mount=type=bind,from=build,source=/packages,target=/packages \
    apt-get update -qq && apt-get install -y --no-install-recommends /packages/ration_*.deb /packages/ration-plugins_*.deb && \
    rm -rf /var/lib/apt/lists/*
ENTRYPOINT ["ration"]
