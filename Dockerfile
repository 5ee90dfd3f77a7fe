# The image that docker-compose.yml runs: `docker build -t pgrcp .`
#
# The base is pinned by tag. To pin its bytes too, build with --build-arg NODE_IMAGE=node:24-slim@sha256:<digest>, or see
# deploy/README.md.
ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS build
ENV NPM_CONFIG_AUDIT=false NPM_CONFIG_FUND=false NPM_CONFIG_LOGLEVEL=error NPM_CONFIG_UPDATE_NOTIFIER=false
WORKDIR /build
# deploy/build-ca.pem is for networks whose proxy signs TLS with an authority of its own; where it is absent, nothing changes.
COPY package.json package-lock.json .npmrc deploy/build-ca.pem* ./
# No package needs its install script here: the runtime is the base image's, and native parts come ready in their packages.
RUN if [ -f build-ca.pem ]; then export NODE_EXTRA_CA_CERTS=/build/build-ca.pem; fi && npm ci --ignore-scripts
# What runs: no development dependencies, and of onnxruntime-node's libraries for every platform only this one's.
RUN mkdir /app && cp -R package.json package-lock.json .npmrc node_modules /app && cd /app \
 && npm prune --omit=dev --ignore-scripts && rm package-lock.json .npmrc \
 && cd node_modules/onnxruntime-node/bin/napi-v* \
 && find . -mindepth 1 -maxdepth 1 ! -name linux -exec rm -rf {} + \
 && find linux -mindepth 1 -maxdepth 1 ! -name "$(node -p process.arch)" -exec rm -rf {} +
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build && mv dist /app
COPY bin /app/bin
COPY migrations /app/migrations
COPY models /app/models
COPY samples /app/samples
COPY deploy/make-secrets.mjs /app/deploy/
# Readable for any user, whatever the umask of the checkout was.
RUN chmod -R a+rX,go-w /app

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="pgrcp" \
      org.opencontainers.image.description="A multi-tenant retrieval server that speaks the Retrieval Context Protocol" \
      org.opencontainers.image.licenses="Apache-2.0"
# Package managers have no work at run time. The mount points of the secrets are there so that new volumes take over their owner.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-* \
 && install -d -o 1000 -g 1000 -m 700 /secrets/superuser /secrets/logins /secrets/operator /secrets/signing \
 && install -d -o 1000 -g 1000 -m 755 /secrets/public
# What changes least comes first, so that a new version shares its largest layers with the old one.
COPY --from=build /app/node_modules /app/node_modules
COPY --from=build /app/models /app/models
COPY --from=build /app/package.json /app/
COPY --from=build /app/bin /app/bin
COPY --from=build /app/deploy /app/deploy
COPY --from=build /app/migrations /app/migrations
COPY --from=build /app/samples /app/samples
COPY --from=build /app/dist /app/dist
# onnxruntime reports its use to its makers unless told not to.
ENV NODE_ENV=production ORT_DISABLE_TELEMETRY=1
WORKDIR /app
USER 1000:1000
EXPOSE 8787
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8787/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/pgrcp.mjs"]
CMD ["serve"]
