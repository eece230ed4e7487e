# trainx in an image: built and packaged by the commands of the README, installed as a wheel.
#   docker build -t trainx .
#   docker run --rm -v "$PWD:/work" trainx train quickstart.yaml
# Debian has no nvcc, so this image trains on CPUs. For GPUs, of every generation from A100 on, name a
# Debian 12 image that has CUDA 13's:
#   docker build --build-arg BUILD_IMAGE=... -t trainx .
ARG BUILD_IMAGE=debian:12-slim
FROM ${BUILD_IMAGE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git python3 python3-venv
WORKDIR /src
COPY . .
RUN scripts/setup
RUN scripts/package

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3 python3-venv && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/dist /tmp/dist
RUN python3 -m venv /opt/trainx && /opt/trainx/bin/pip install --no-cache-dir /tmp/dist/trainx-*.whl && rm -rf /tmp/dist
ENV PATH=/opt/trainx/bin:$PATH
RUN trainx version
WORKDIR /work
ENTRYPOINT ["trainx"]
CMD ["--help"]
