# The command-line program on CPUs: `docker build -t sampled-transformer .`, then
# `docker run --rm -v "$PWD:/data" sampled-transformer predict chair.off`.
FROM python:3.12-slim

# Name the index that holds torch's CPU wheels to do without its GPU libraries: --build-arg PIP_EXTRA_INDEX_URL=...
ARG PIP_EXTRA_INDEX_URL

WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir -c constraints.txt ".[train,report,formats]" && rm -rf /build

# One thread that waits is faster than many that spin; see docs/guide/speed.md.
ENV OMP_WAIT_POLICY=passive

RUN useradd --create-home --uid 1000 user
USER user
WORKDIR /data
ENTRYPOINT ["sampled-transformer"]
CMD ["--help"]
