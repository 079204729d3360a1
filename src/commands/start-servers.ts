import type { FastifyInstance } from 'fastify';
import type { Stores } from '../controllers/shared/services.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Leadership } from '../kube/leader-election/leadership.ts';
import { systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import {
  createCacheSyncedCheck,
  createHealthServer,
  createLeaderKnownCheck,
  createWatchAliveCheck,
} from '../server/health.ts';
import { type BindAddress, listen } from '../server/listen.ts';
import { createMetricsServer, type Metrics } from '../server/metrics.ts';
import { loadServingCertificate } from '../server/serving-certificate.ts';
import { TokenAuthorizer } from '../server/token-authorizer.ts';
import type { RunSettings } from './flags/operator-settings.ts';

/** Starts the health and metrics servers that are configured. Returns a function that stops them. */
export async function startServers(
  settings: Pick<RunSettings, 'health' | 'metrics'>,
  parts: { kube: KubeClient; stores: Stores; leadership: Leadership; metrics: Metrics; log: Log },
): Promise<() => Promise<void>> {
  const { kube, stores, leadership, metrics, log } = parts;
  const reflectors = Object.values(stores);
  const apps: FastifyInstance[] = [];
  if (settings.health) {
    const ready = [...reflectors.map(createCacheSyncedCheck), createLeaderKnownCheck(leadership)];
    const app = createHealthServer({ live: reflectors.map((reflector) => createWatchAliveCheck(reflector)), ready });
    apps.push(await startServer(app, settings.health, log, 'serving probes'));
  }
  if (settings.metrics) {
    for (const reflector of reflectors) metrics.setObjects(reflector);
    metrics.setLeader('leader', leadership);
    const tls = await loadCertificate(settings.metrics);
    const access = new TokenAuthorizer({ client: kube, clock: systemClock, log, served: 'metrics' });
    const app = createMetricsServer(metrics.registry, tls && { tls, access });
    apps.push(await startServer(app, settings.metrics.address, log, 'serving metrics'));
  }
  return async () => void (await Promise.allSettled(apps.map((app) => app.close())));
}

async function startServer(
  app: FastifyInstance,
  address: BindAddress,
  log: Log,
  message: string,
): Promise<FastifyInstance> {
  log.info({ url: await listen(app, address) }, message);
  return app;
}

async function loadCertificate(
  settings: NonNullable<RunSettings['metrics']>,
): Promise<{ cert: string; key: string } | undefined> {
  if (!settings.secure) return undefined;
  const { folder: path, certFile: certName, keyFile: keyName } = settings.certificate ?? {};
  return await loadServingCertificate(
    path ? { path, ...(certName && { certName }), ...(keyName && { keyName }) } : {},
    new Date(),
  );
}
