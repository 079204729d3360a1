# Node and the program, and nothing else: no package manager, no compiler, no shell scripts of ours.
# Probes are the Deployment's business (:8081/healthz and /readyz), so there is no HEALTHCHECK here.
ARG NODE_VERSION=24

# The program is the same on every architecture.
FROM --platform=$BUILDPLATFORM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY src src
COPY test/setup/bundle.mjs test/setup/parts.mjs test/setup/
RUN npm run build

FROM node:${NODE_VERSION}-bookworm-slim AS node

FROM debian:bookworm-slim
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=build /build/dist /app
COPY LICENSE /app/LICENSE
ENV NODE_ENV=production
USER 65532:65532
ENTRYPOINT ["node", "/app/main.js"]
