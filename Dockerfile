# Node and the program, and nothing else. The base image has the C and C++ libraries and certificates, and has no shell,
# no package manager and no compiler. The Deployment defines the probes (:8081/healthz and /readyz), so there is no
# HEALTHCHECK here.
#
# Base images are pinned by digest, so that the same source gives the same image. How to update them: docs/release.md.
ARG NODE=node:24.18.0-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
ARG BASE=gcr.io/distroless/cc-debian12:nonroot@sha256:9dac0a79194e45a7da0158a9c6da57b217585af0786db3845d1f0ec1a0dd182f

# The program is the same on every architecture. Docker's legacy builder sets no BUILDPLATFORM and would fail on an
# empty one.
FROM --platform=${BUILDPLATFORM:-linux/amd64} ${NODE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY src src
COPY test/setup/bundle.mjs test/setup/sbom.mjs test/setup/
RUN npm run build

FROM ${NODE} AS node

FROM ${BASE}
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=build /build/dist /app
COPY LICENSE /app/LICENSE
ENV NODE_ENV=production
USER 65532:65532
ENTRYPOINT ["node", "/app/main.js"]
